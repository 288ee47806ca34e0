# A container with part of a server: five GPUs in /sys, of which NVML knows
# four; the environment shows two of them, one is cut into instances, and
# without a bridge they may not all get at each other's memory.
cpuinfo AuthenticAMD 25 1 "AMD EPYC 7763 64-Core Processor"
node 0 "0 1 2 3"
touch "$root/.dockerenv"
for i in 1 2 3 4 5; do
	port=pci0000:40/0000:40:0$i.1
	pci $port 0x060400 1022:1483 1022:1453 0 "16.0 GT/s PCIe/16"
	pci $port/0000:4$i:00.0 0x030200 10de:20f1 10de:145f 0 \
		"16.0 GT/s PCIe/16"
	driver 0000:4$i:00.0 nvidia
	iommu 0000:4$i:00.0 4$i identity
done
