#!/bin/bash
# Prints the arguments of qemu for a cloud's flat machine: stand-ins for GPUs
# and a network card right on the root bus, one node, the link down.
echo -smp 2
for slot in 6 7; do
	echo -device bochs-display,addr=0x$slot
done
echo -netdev hubport,id=net,hubid=0
echo -device virtio-net-pci,netdev=net,addr=0x5,mac=52:54:00:00:00:10
