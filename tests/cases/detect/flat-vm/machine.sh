# A virtual machine as clouds give them: four GPUs and the network card right
# on the root bus, no NUMA node, no link files, an interface of unknown speed.
cpuinfo GenuineIntel 6 143 "Intel(R) Xeon(R) Platinum 8480C"
node 0 "0 1 2 3"
put sys/class/dmi/id/sys_vendor QEMU
mkdir -p "$root/sys/kernel/iommu_groups"
pci pci0000:00/0000:00:00.0 0x060000 8086:29c0 1af4:1100 -1
pci pci0000:00/0000:00:01.0 0x030000 1234:1111 1af4:1100 -1
driver 0000:00:01.0 bochs-drm
pci pci0000:00/0000:00:02.0 0x020000 1af4:1041 1af4:1100 -1
net eth0 pci0000:00/0000:00:02.0/virtio0 52:54:00:12:34:56 -1
virtual_net lo
virtual_net docker0
for i in 6 7 8 9; do
	pci pci0000:00/0000:00:0$i.0 0x030200 10de:2335 10de:18be -1
	driver 0000:00:0$i.0 nvidia
done
put run/systemd/container docker
put proc/driver/nvidia/version "NVRM version: NVIDIA UNIX x86_64 Kernel \
Module  535.129.03"
put proc/sys/kernel/osrelease 5.15.0
# What a hypervisor lists is not what carries bytes.
dimm "Channel A" "DIMM 0" 64 4800
