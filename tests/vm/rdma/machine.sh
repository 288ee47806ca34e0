#!/bin/bash
# Prints the arguments of qemu for a machine with four network cards on one
# wire: a soft-RoCE device each.
echo -smp 2
for number in 0 1 2 3; do
	echo -netdev hubport,id=net$number,hubid=0
	echo -device virtio-net-pci,netdev=net$number,host_mtu=5000
	echo ,mac=52:54:00:00:00:1$number
done
