# Four AMD MI300X, as the kernel's compute driver lists them: one xGMI link
# between every two.  A fifth is in /sys but not this container's.  The second
# has the card beside it.
cpuinfo AuthenticAMD 25 17 "AMD EPYC 9654 96-Core Processor"
node 0 "0 1"
node 1 "2 3"
module amdgpu 6.7.0
g5=32.0\ GT/s\ PCIe/16
kfd 0 cpu_cores_count 96 simd_count 0 gfx_target_version 0
kfd 1 cpu_cores_count 96 simd_count 0 gfx_target_version 0
for i in 0 1 2 3 4; do
	port=pci0000:0$i/0000:0$i:01.1
	up=$port/0000:${i}a:00.0
	pci $port 0x060400 1022:14ab 1022:14ab $((i / 2 % 2)) "$g5"
	pci $up 0x060400 1002:1500 1002:1500 $((i / 2 % 2)) "$g5"
	pci $up/0000:${i}b:00.0 0x060400 1002:1501 1002:1501 \
		$((i / 2 % 2)) "$g5"
	pci $up/0000:${i}b:00.0/0000:${i}c:00.0 0x120000 1002:74a1 1002:74a1 \
		$((i / 2 % 2)) "$g5"
	driver 0000:${i}c:00.0 amdgpu
	put sys/bus/pci/devices/0000:${i}c:00.0/vbios_version 113-M3000100-103
	put sys/bus/pci/devices/0000:${i}c:00.0/product_name "MI300X-O"
	[ $i -lt 4 ] || continue
	kfd $((i + 2)) cpu_cores_count 0 simd_count 1216 \
		gfx_target_version 90402 vendor_id 4098 device_id 29857 \
		location_id $((0x${i}c00)) domain 0 unique_id $((i + 1000))
	kfd_link $((i + 2)) 0 type 2 node_from $((i + 2)) node_to $((i / 2)) \
		weight 20 min_bandwidth 312 max_bandwidth 64000
	for j in 0 1 2 3; do
		[ $j -eq $i ] || kfd_link $((i + 2)) $((j + 1)) type 11 \
			node_from $((i + 2)) node_to $((j + 2)) weight 15 \
			min_bandwidth 50000 max_bandwidth 50000
	done
done
mkdir -p "$root/sys/class/kfd/kfd/topology/nodes/6"
