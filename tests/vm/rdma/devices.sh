# devices.sh, in the guest of machine.sh: a soft-RoCE device a network card,
# rxe0 to rxe3, with the addresses 10.1.0.1 to 10.1.0.4.
modprobe -a virtio_net rdma_rxe ib_uverbs
sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0 \
	net.ipv4.conf.all.accept_local=1 net.ipv4.conf.default.accept_local=1 \
	net.ipv4.conf.all.arp_ignore=1
for path in /sys/class/net/eth*; do
	number=$(($(cut -d: -f6 "$path/address") - 10))
	name=${path##*/}
	ip addr add "10.1.0.$((number + 1))/24" dev "$name"
	ip link set "$name" mtu 4500 up
	rdma link add "rxe$number" type rxe netdev "$name"
done
for _ in $(seq 50); do
	cat /sys/class/infiniband/*/ports/1/state >states
	[ "$(grep -c ACTIVE states)" -lt 4 ] || break
	sleep 0.1
done
