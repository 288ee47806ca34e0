#!/bin/bash
# In the guest: collectives between processes over RDMA, each with a soft-RoCE
# device of its own, and what is said when something is in the way.
set -u
. "$GTOPO_SRC/tests/vm/rdma/devices.sh"
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
			timeout 120 "$GTOPO" run --plan "$plan" --device host \
			--link verbs "$@" >/dev/null 2>&1 &
	done
	RANK=0 WORLD_SIZE=$size MASTER_PORT=$port GTOPO_IB_HCA=rxe0:1 \
		timeout 120 "$GTOPO" run --plan "$plan" --device host \
		--link verbs "$@" || status=$?
	echo "status $status"
	wait
}

netdev() { # NUMBER
	cat "/sys/class/infiniband/rxe$1/parent"
}

# endless ARGUMENT...: a run of two processes that something will end; who is
# named, and what is left behind.
endless() {
	job 2 ring.json -b 1M -e 1M -n 1000000 --coll allreduce "$@" 2>&1 |
		sed -nE 's/^gtopo run: rank .*/a rank is named/p
			s/^gtopo run: .*its RDMA (port|device) rxe.(:1)? (is down|failed).*/the \1 is named/p
			t
			s/^gtopo run: .*process 1 .*/process 1 is named/p
			/^status/p'
	rdma resource show qp | grep gtopo
	pgrep gtopo
	ls /dev/shm
}

packets() {
	cat /sys/class/infiniband/rxe1/ports/1/hw_counters/sent_pkts
}

# going COMMAND...: once a run's packets go.
going() {
	local before
	before=$(packets)
	until [ $(($(packets) - before)) -gt 100 ]; do
		sleep 0.1
	done
	"$@"
}

# Once no packets go any more, so that none is given up; and how often the
# kernel is asked for the port, which it tells of a card without a speed.
pulled() {
	local before=
	until [ "$(packets)" = "$before" ]; do
		before=$(packets)
		sleep 1
	done
	ip link set "$(netdev 1)" down
	sleep 1
	dmesg -C
	sleep 4
	dmesg | grep 'speed is unknown' >asked
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
			job $size $plan -b 1 -e 64K -f 256 -n 1 -w 0 |
				grep -E '^# Out|^status'
		done
	done
	echo "a slice that is larger than the network's packets"
	job 2 ring.json -b 4M -e 4M -n 1 -w 0 --coll allreduce |
		grep -E '^# Out|^status'
	echo "no such device, port, address"
	for wrong in HCA=mlx9 HCA=rxe1:9 GID_INDEX=77; do
		env "GTOPO_IB_$wrong" RANK=0 WORLD_SIZE=1 "$GTOPO" run \
			--plan ring.json --device host --procs 2 --link verbs \
			2>&1 >/dev/null | sed 's/(.*)/(...)/'
	done
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
	echo "a device with room for one message at a time"
	faulty=$PWD/fault.so GT_FAULT=few job 2 ring.json -b 256K -e 256K \
		-n 1 -w 0 --coll allreduce | grep -E '^# Out|^status'
	for fault in rkey qp device; do
		echo "process 1 is not what it says: $fault"
		faulty=$PWD/fault.so GT_FAULT=$fault endless --timeout 20s
	done
	echo "a network that is slow and loses packets"
	modprobe sch_netem
	for one in 0 1 2 3; do
		tc qdisc add dev "$(netdev $one)" root netem delay 2ms loss 1%
	done
	for size in 2 4; do
		echo "$size processes"
		job $size ring.json -b 16K -e 16K -n 1 -w 0 |
			grep -E '^# Out|^status'
	done
	job 2 ring.json -b 64K -e 64K -n 1 -w 0 --coll allreduce |
		grep -E '^# Out|^status'
	for one in 0 1 2 3; do
		tc qdisc delete root dev "$(netdev $one)"
	done
	echo "a cable is pulled while nothing goes, and nobody asks for it"
	going pulled &
	endless --timeout 40s --inject stall:1:50
	wait
	cat asked
	ip link set "$(netdev 1)" up
	echo "a device is deleted: the kernel waits for the run's end"
	card=$(netdev 1)
	going rdma link delete rxe1 &
	job 2 ring.json -b 1M -e 1M -n 5 -w 0 --coll allreduce |
		grep -E '^# Out|^status'
	wait
	[ ! -e /sys/class/infiniband/rxe1 ] || echo "it is still there"
	rdma link add rxe1 type rxe netdev "$card"
	echo "a card is taken away"
	nic=$(realpath "/sys/class/net/$card/device")
	going tee "${nic%/virtio*}/remove" <<<1 >/dev/null &
	# Where nobody had anything to send, or the kernel holds process 1 while
	# it takes the card away, the time limit ends it: it names a rank.
	endless --timeout 10s | sed 's/^a rank is named$/process 1 is named/'
	wait
	[ ! -e /sys/class/infiniband/rxe1 ] || echo "it is still there"
} >result.txt
