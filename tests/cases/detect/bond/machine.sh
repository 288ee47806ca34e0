# Interfaces over interfaces: an RDMA device over a VLAN over a bond has the
# function of the bond's first card.  A card given to guests has no port, a
# virtual function of it is left out, as are bond, VLAN and bridge themselves.
cpuinfo GenuineIntel 6 106 "Intel(R) Xeon(R) Gold 6338"
node 0 "0 1"
g4=16.0\ GT/s\ PCIe/16
pci pci0000:16/0000:16:02.0 0x060400 8086:347a 8086:0000 0 "$g4"
pci pci0000:16/0000:16:02.0/0000:17:00.0 0x020000 15b3:101d 15b3:0083 0 "$g4"
pci pci0000:16/0000:16:02.0/0000:17:00.1 0x020000 15b3:101d 15b3:0083 0 "$g4"
pci pci0000:30/0000:30:02.0 0x060400 8086:347a 8086:0000 0 "$g4"
pci pci0000:30/0000:30:02.0/0000:31:00.0 0x020000 8086:1592 8086:0002 0 "$g4"
pci pci0000:30/0000:30:02.0/0000:31:01.0 0x020000 8086:1889 8086:0000 0
link sys/bus/pci/devices/0000:31:01.0/physfn sys/bus/pci/devices/0000:31:00.0
driver 0000:17:00.0 mlx5_core
driver 0000:17:00.1 mlx5_core
driver 0000:31:00.0 vfio-pci
for i in 0 1; do
	net ens1f$i pci0000:16/0000:16:02.0/0000:17:00.$i \
		a0:88:c2:00:00:0$i 100000
	put sys/class/net/ens1f$i/operstate up
done
virtual_net bond0
virtual_net vlan7
virtual_net br0
put sys/class/net/br0/operstate down
link sys/class/net/bond0/lower_ens1f0 sys/class/net/ens1f0
link sys/class/net/bond0/lower_ens1f1 sys/class/net/ens1f1
link sys/class/net/vlan7/lower_bond0 sys/class/net/bond0
rdma rxe0 - a288:c2ff:fe00:0000
port rxe0 1 "4: ACTIVE" "100 Gb/sec (4X EDR)" vlan7 Ethernet
put sys/class/infiniband/rxe0/fw_ver ""
