# A GPU beside an Arm processor, joined to it by ten links chip to chip, one of
# which is down; its memory is a NUMA node without processors.  Another GPU
# fails when it is asked what it is, and so is left out.
cpuinfo ARM 8 0 "Neoverse-V2" aarch64
node 0 "0 1"
put sys/devices/system/node/node1/cpumap 00000000
put sys/devices/system/node/online 0-1
for i in 0 1; do
	pci pci000$i:00/000$i:00:00.0 0x060400 10de:22b2 10de:0000 0 \
		"32.0 GT/s PCIe/16"
	pci pci000$i:00/000$i:00:00.0/000$i:01:00.0 0x030200 10de:2342 10de:16eb \
		0 "32.0 GT/s PCIe/16"
done
