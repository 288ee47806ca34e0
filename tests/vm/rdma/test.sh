#!/bin/bash
# In the guest: collectives between processes over RDMA, each with a soft-RoCE
# device of its own, and what is said when something is in the way.
set -u
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
ulimit -l unlimited
export GTOPO_SECRET="a secret for tests only" MASTER_ADDR=127.0.0.1
port=7000
"$GTOPO" synth "4 gpu" >machine.xml
"$GTOPO" search --algo ring machine.xml >ring.json
"$GTOPO" search --algo mesh machine.xml >mesh.json

# job SIZE PLAN ARGUMENT...: a process a device; the first one's words.
job() {
	local size=$1 plan=$2 rank status=0
	shift 2
	port=$((port + 1))
	for ((rank = size - 1; rank > 0; rank--)); do
		RANK=$rank WORLD_SIZE=$size MASTER_PORT=$port \
			GTOPO_IB_HCA=rxe$rank "$GTOPO" run --plan "$plan" \
			--device host --link verbs "$@" >/dev/null 2>&1 &
	done
	RANK=0 WORLD_SIZE=$size MASTER_PORT=$port GTOPO_IB_HCA=rxe0:1 \
		"$GTOPO" run --plan "$plan" --device host --link verbs \
		"$@" || status=$?
	echo "status $status"
	wait
}

{
	for size in 2 4; do
		for plan in ring.json mesh.json; do
			echo "$size processes, $plan"
			job $size $plan -b 1 -e 64K -f 256 -n 2 -w 0 |
				grep -E '^# Out|^status'
		done
	done
	echo "a slice that is larger than the network's packets"
	job 2 ring.json -b 4M -e 4M -n 1 -w 0 --coll allreduce |
		grep -E '^# Out|^status'
	echo "no such device"
	GTOPO_IB_HCA=mlx9 RANK=0 WORLD_SIZE=1 "$GTOPO" run --plan ring.json \
		--device host --procs 2 --link verbs 2>&1 >/dev/null |
		sed 's/(.*)/(...)/'
	echo "a cable is pulled"
	(sleep 4; ip link set "$(cd /sys/class/infiniband/rxe1 && cat parent)" \
		down) &
	job 2 ring.json -b 1M -e 1M -n 100000 --timeout 40s 2>&1 |
		sed -n 's/^gtopo run: .*process 1 .*/process 1 is named/p
			s/^gtopo run: rank .*/a rank is named/p
			/^status/p'
} >result.txt
