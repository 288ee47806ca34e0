# What goes wrong: a switch that does not know its speed (as QEMU's), a device
# that no longer answers (width 255), a device whose port alone tells, two
# nodes and a card that no one places, an interface with a made-up address, a
# GPU that fell off the bus and one with a link down and no sysfs of its own.
cpuinfo GenuineIntel 6 106 'Xeon <"odd"> & name'
node 0 "0 1"
node 1 "2 3"
up=pci0000:20/0000:20:00.0/0000:21:00.0
pci pci0000:20/0000:20:00.0 0x060400 1b36:000c 1b36:0000 0 "16.0 GT/s PCIe/16"
pci $up 0x060400 104c:8232 0000:0000 0 "2.5 GT/s PCIe/1"
pci $up/0000:22:00.0 0x060400 104c:8233 0000:0000 0 "Unknown/0"
pci $up/0000:22:01.0 0x060400 104c:8233 0000:0000 0 "32.0 GT/s PCIe/16"
pci $up/0000:22:00.0/0000:23:00.0 0x020000 8086:10d3 8086:0000 0 \
	"2.5 GT/s PCIe/1"
pci $up/0000:22:01.0/0000:24:00.0 0x030200 10de:2330 10de:16c1 0 \
	"Unknown/255"
driver 0000:24:00.0 nvidia
net eth2 $up/0000:22:00.0/0000:23:00.0 52:54:00:00:00:10 -
net eth10 $up/0000:22:00.0/0000:23:00.0 52:54:00:00:00:11 2500
put sys/class/net/eth2/addr_assign_type 1
pci pci0000:40/0000:40:00.0 0x020000 1ae0:0042 1ae0:0058 -1
net gve0 pci0000:40/0000:40:00.0 42:01:0a:80:00:02 -1
net hv0 vmbus/a1b2 00:0d:3a:00:00:01 50000
