# A workstation with four GPUs on root ports, of which most pairs have no peer
# access, each for a reason of its own that the driver tells.
cpuinfo AuthenticAMD 25 1 "AMD EPYC 7763 64-Core Processor"
node 0 "0 1 2 3"
g4=16.0\ GT/s\ PCIe/16
for i in 0 2 4 6; do
	port=pci0000:${i}0/0000:${i}0:01.0
	pci $port 0x060400 1022:1483 1022:1483 0 "$g4"
	id=10de:2684 class=0x030000
	[ "$i" -lt 4 ] || id=10de:26b9 class=0x030200
	pci $port/0000:${i}1:00.0 $class $id 10de:167c 0 "$g4"
	driver 0000:${i}1:00.0 nvidia
done
