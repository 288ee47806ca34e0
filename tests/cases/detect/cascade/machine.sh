# A switch below a switch, as in PCIe-only boxes: the upstream ports are kept,
# root ports and downstream ports are not; a GPU behind the second one only
# trains at x8; a network card of the first; a socket without devices; a list of
# memory modules.
cpuinfo AuthenticAMD 25 17 "AMD EPYC 9654 96-Core Processor"
node 0 "0 1"
node 1 "2 3"
g4=16.0\ GT/s\ PCIe/16
one=pci0000:c0/0000:c0:01.1/0000:c1:00.0
two=$one/0000:c2:01.0/0000:c4:00.0
pci pci0000:c0/0000:c0:01.1 0x060400 1022:14ab 1022:1453 0 "32.0 GT/s PCIe/16" \
	"16.0 GT/s PCIe/16"
pci $one 0x060400 11f8:4000 11f8:beef 0 "$g4"
pci $one/0000:c2:00.0 0x060400 11f8:4000 11f8:beef 0 "$g4" "8.0 GT/s PCIe/8"
pci $one/0000:c2:01.0 0x060400 11f8:4000 11f8:beef 0 "$g4"
pci $one/0000:c2:00.0/0000:c3:00.0 0x020000 14e4:1750 14e4:2100 0 \
	"8.0 GT/s PCIe/8"
net enp195s0 $one/0000:c2:00.0/0000:c3:00.0 bc:97:e1:00:00:01 100000
driver 0000:c3:00.0 bnxt_en
pci $two 0x060400 11f8:4000 11f8:beef 0 "$g4"
pci $two/0000:c5:00.0 0x060400 11f8:4000 11f8:beef 0 "$g4"
pci $two/0000:c5:01.0 0x060400 11f8:4000 11f8:beef 0 "$g4" "16.0 GT/s PCIe/8"
pci $two/0000:c5:00.0/0000:c6:00.0 0x030200 10de:26b9 10de:1851 0 "$g4"
pci $two/0000:c5:01.0/0000:c7:00.0 0x030200 10de:26b9 10de:1851 0 "$g4" \
	"16.0 GT/s PCIe/8"
# The kernel lists a slot that is empty, too.
slot 3 0000:c7:00
slot 5-1 0000:c3:00
slot 7 0000:c8:00
# Two modules on each of twelve channels of a socket.
for channel in A B C D E F G H I J K L; do
	for socket in 0 1; do
		dimm "P$socket CHANNEL $channel" "DIMM 0" 64 4400
		dimm "P$socket CHANNEL $channel" "DIMM 1" 64 4400
	done
done
dimm "P1 CHANNEL M" "DIMM 0" 64 0 2 0
