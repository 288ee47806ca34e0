#!/bin/bash
# Prints the arguments of qemu for a server: two sockets, each a NUMA node
# with a root complex of its own, each of these with two PCIe switches, each
# switch with two stand-ins for GPUs and two network cards on one wire.
echo -smp 2,sockets=2,cores=1
for node in 0 1; do
	echo -object memory-backend-ram,id=m$node,size=512M
	echo -numa node,nodeid=$node,cpus=$node,memdev=m$node
done
chassis=0
card=0
for node in 0 1; do
	echo -device pxb-pcie,id=complex$node,bus=pcie.0,numa_node=$node
	echo ,bus_nr=$((32 + 64 * node))
	for switch in 0 1; do
		chassis=$((chassis + 1))
		echo -device pcie-root-port,id=root$node$switch
		echo ,bus=complex$node,chassis=$chassis,slot=$switch
		echo ,x-speed=16,x-width=16
		echo -device x3130-upstream,id=up$node$switch
		echo ,bus=root$node$switch
		for slot in 0 1 2 3; do
			chassis=$((chassis + 1))
			down=down$node$switch$slot
			echo -device xio3130-downstream,id=$down
			echo ,bus=up$node$switch,chassis=$chassis,slot=$slot
			if [ $slot -lt 2 ]; then
				echo -device bochs-display,bus=$down
				continue
			fi
			echo -netdev hubport,id=net$card,hubid=0
			echo -device virtio-net-pci,netdev=net$card,bus=$down
			echo ,mac=52:54:00:00:00:1$card,host_mtu=5000
			echo ,speed=100000,duplex=full
			card=$((card + 1))
		done
	done
done
