#!/bin/bash
# machine.sh WORK NUMBER: the arguments of qemu for one of two machines whose
# network cards have a wire between them.  Like a real one, and unlike a socket
# that holds back who sends, it loses what nobody takes: rdma_rxe 6.1 does not
# survive packets that stay in a card's queue behind the end of their process.
echo -smp 1
echo -netdev dgram,id=net,local.type=inet,remote.type=inet
echo ,local.host=127.0.0.1,local.port=$((WIRE + $2))
echo ,remote.host=127.0.0.1,remote.port=$((WIRE + 1 - $2))
echo -device virtio-net-pci,netdev=net,mac=52:54:00:00:01:1$2
