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
			GTOPO_IB_HCA=rxe$rank LD_PRELOAD=${faulty:-} \
			"$GTOPO" run --plan "$plan" --device host \
			--link verbs "$@" >/dev/null 2>&1 &
	done
	RANK=0 WORLD_SIZE=$size MASTER_PORT=$port GTOPO_IB_HCA=rxe0:1 \
		"$GTOPO" run --plan "$plan" --device host --link verbs \
		"$@" || status=$?
	echo "status $status"
	wait
}

# hosts PLAN: two processes that take themselves for two hosts.
hosts() {
	port=$((port + 1))
	GTOPO_HOSTID=b RANK=1 WORLD_SIZE=2 MASTER_PORT=$port "$GTOPO" run \
		--plan "$1" --device host -b 1K -e 1K -n 1 -w 0 >/dev/null 2>&1 &
	GTOPO_HOSTID=a RANK=0 WORLD_SIZE=2 MASTER_PORT=$port "$GTOPO" run -v \
		--plan "$1" --device host -b 1K -e 1K -n 1 -w 0 2>&1 |
		sed -n 's/(.*) //
			/between hosts/p
			/^# Out/p'
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
	echo "the plan's card, unasked"
	nic=$(realpath "/sys/class/net/$(cat /sys/class/infiniband/rxe0/parent)/device")
	nic=${nic%/virtio*}
	"$GTOPO" synth "2 gpu 1 nic" | "$GTOPO" search --nodes 2 \
		--coll allgather - | sed "s/0000:03:00.0/${nic##*/}/g" >card.json
	hosts card.json
	echo "it is not there"
	sed "s/${nic##*/}/0000:99:00.0/g" card.json >none.json
	hosts none.json
	gcc -shared -fPIC -o fault.so "$GTOPO_SRC/tests/vm/rdma/fault.c" \
		-libverbs -ldl -lpthread
	for fault in rkey qp; do
		echo "process 1 is not what it says: $fault"
		faulty=$PWD/fault.so GT_FAULT=$fault job 2 ring.json -b 1M \
			-e 1M -n 100000 --timeout 20s 2>&1 |
			sed -n 's/^gtopo run: .*RDMA with process [01] .*/the connection is named/p
				/^status/p'
	done
	echo "a network that is slow and loses packets"
	modprobe sch_netem
	for one in 0 1; do
		tc qdisc add dev "$(cat /sys/class/infiniband/rxe$one/parent)" \
			root netem delay 2ms loss 1%
	done
	job 2 ring.json -b 64K -e 64K -n 1 -w 0 --coll allreduce |
		grep -E '^# Out|^status'
	for one in 0 1; do
		tc qdisc delete root \
			dev "$(cat /sys/class/infiniband/rxe$one/parent)"
	done
	echo "a cable is pulled"
	(sleep 4; ip link set "$(cd /sys/class/infiniband/rxe1 && cat parent)" \
		down) &
	job 2 ring.json -b 1M -e 1M -n 100000 --timeout 40s 2>&1 |
		sed -n 's/^gtopo run: .*process 1 .*/process 1 is named/p
			s/^gtopo run: rank .*/a rank is named/p
			/^status/p'
} >result.txt
