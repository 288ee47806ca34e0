# Soft-RoCE devices have no function: theirs is that of the interface below,
# which one finds in its GID table and the other in its "parent".  A third
# runs over an interface that is virtual itself.
cpuinfo GenuineIntel 6 85 "Intel Core Processor (Cascadelake)"
node 0 "0 1"
pci pci0000:00/0000:00:03.0 0x020000 1af4:1041 1af4:1100 0
pci pci0000:00/0000:00:04.0 0x020000 1af4:1041 1af4:1100 0
net eth0 pci0000:00/0000:00:03.0/virtio0 52:54:00:00:00:10 100000
net eth1 pci0000:00/0000:00:04.0/virtio1 52:54:00:00:00:11 100000
virtual_net veth0
rdma rxe0 - 5054:00ff:fe00:0010
rdma rxe1 - 5054:00ff:fe00:0011
rdma rxe2 - 0000:0000:0000:0000
port rxe0 1 "4: ACTIVE" "100 Gb/sec (4X EDR)" eth0
port rxe1 1 "4: ACTIVE" "2.5 Gb/sec (1X SDR)"
put sys/class/infiniband/rxe1/parent eth1
port rxe2 1 "4: ACTIVE" "40 Gb/sec (4X QDR)" veth0
