# Two AMD MI250 of two GPUs each: four xGMI links within a card, one between
# cards, none across (the kernel lists it, with two hops and no bandwidth);
# links of an old kernel that does not tell bandwidths.  The last GPU is in two
# partitions, of which the second is left out.
cpuinfo AuthenticAMD 25 48 "AMD EPYC 7A53 64-Core Processor"
node 0 "0 1"
g4=16.0\ GT/s\ PCIe/16
kfd 0 cpu_cores_count 64 simd_count 0 gfx_target_version 0
for i in 1 2 3 4; do
	pci pci0000:$i/0000:0$i:01.1 0x060400 1022:14ab 1022:14ab 0 "$g4"
	pci pci0000:$i/0000:0$i:01.1/0000:c$i:00.0 0x038000 1002:740c \
		1002:0b0c 0 "$g4"
	driver 0000:c$i:00.0 amdgpu
	kfd $i gfx_target_version 90010 location_id $((0xc${i}00)) domain 0
done
kfd 5 gfx_target_version 90010 location_id $((0xc400)) domain 0
pair() { # FROM TO MBS WEIGHT
	kfd_link $1 $2 type 11 node_to $2 weight $4 min_bandwidth \
		$(($3 ? 50000 : 0)) max_bandwidth $3
	kfd_link $2 $1 type 11 node_to $1 weight $4 min_bandwidth \
		$(($3 ? 50000 : 0)) max_bandwidth $3
}
pair 1 2 200000 15
pair 3 4 200000 15
pair 1 3 50000 15
pair 2 4 0 15
pair 1 4 0 30
