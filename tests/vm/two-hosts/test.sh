#!/bin/bash
# In both guests, NUMBER being which: the same jobs one after the other, of a
# process in each guest; then the second guest's process, cable and machine
# fail, and each tells how that ended for it.
set -u
modprobe -a virtio_net rdma_rxe ib_uverbs 8021q sch_prio cls_u32
echo "guest$NUMBER" >/proc/sys/kernel/hostname
card=$(basename /sys/class/net/e*)
# The other one's address is known: packets of a process that has ended, and
# wait for it, end the kernel (rdma_rxe 6.1).
cable_in() {
	local mac=52:54:00:00:01:1$((1 - NUMBER))
	ip link set "$card" up
	ip link set lan5 up
	ip neigh replace 10.2.0.$((2 - NUMBER)) lladdr $mac dev "$card"
	ip neigh replace 10.5.0.$((2 - NUMBER)) lladdr $mac dev lan5
}
ip addr add "10.2.0.$((NUMBER + 1))/24" dev "$card"
ip link add link "$card" name lan5 type vlan id 5
ip addr add "10.5.0.$((NUMBER + 1))/24" dev lan5
cable_in
rdma link add rxe0 type rxe netdev "$card"
device=/sys/class/infiniband/rxe0/ports/1
for _ in $(seq 50); do
	grep -q ACTIVE $device/state && break
	sleep 0.1
done
ulimit -l unlimited
export GTOPO_SECRET="a secret for tests only" RANK=$NUMBER WORLD_SIZE=2 \
	MASTER_ADDR=10.2.0.1 MASTER_PORT=7000
"$GTOPO" synth "2 gpu" >machine.xml
for plan in ring mesh; do
	"$GTOPO" search --algo $plan machine.xml >$plan.json
done
nic=$(realpath "/sys/class/net/$card/device")
nic=${nic%/virtio*}
"$GTOPO" synth "1 gpu 1 nic" | "$GTOPO" search --nodes 2 \
	--coll allgather - | sed "s/0000:02:00.0/${nic##*/}/g" >card.json

# job PLAN ARGUMENT...: both guests do the same; what process 0 says of it.
job() {
	local plan=$1 status=0
	shift
	MASTER_PORT=$((MASTER_PORT + 1))
	timeout 100 "$GTOPO" run --plan "$plan" --device host "$@" \
		>out 2>err || status=$?
	[ $NUMBER = 1 ] || sed -n '/^# Out/p; s/(.*) //
		/between hosts/p' out err
	echo "status $status"
}

packets() {
	cat $device/hw_counters/sent_pkts
}

# fails COMMAND: a run without end, and what to do in the second guest once it
# is going; a line for who is named, and what is left.
fails() {
	local status=0 before late
	before=$(packets)
	MASTER_PORT=$((MASTER_PORT + 1))
	"$GTOPO" run --plan ring.json --device host --link verbs -b 1M \
		-e 1M -n 1000000 --coll allreduce --timeout 10s >out 2>err &
	process=$!
	if [ $NUMBER = 1 ]; then
		until [ $(($(packets) - before)) -gt 300 ]; do
			kill -0 $process || break
			sleep 0.1
		done
		"$@"
	fi
	{
		sleep 60
		head -n 20 /proc/$process/task/*/{wchan,stack} # where it hangs
	} >&2 &
	late=$!
	wait $process 2>/dev/null || status=$?
	kill $late
	echo "status $status"
	[ $NUMBER = 1 ] || sed -nE 's/^gtopo run: (RDMA with )?//
		s/^(process 1) .*(retry|ended|silent).*/\1 is named/p' err
	rdma resource show qp | grep gtopo
	pgrep gtopo
	ls /dev/shm
}

# The host looks for this, and does what this machine cannot do by itself.
ask() {
	touch "$1"
}

{
	for link in verbs tcp; do
		echo "every collective, $link"
		job mesh.json --link $link -b 1 -e 64K -f 256 -n 1 -w 0
	done
	echo "the plan's card, unasked"
	job card.json -v -b 4K -e 4K -n 1 -w 0
	echo "a virtual network, in its first class"
	tc qdisc add dev lan5 root handle 1: prio priomap \
		2 2 2 2 2 2 2 2 2 2 2 2 2 2 2 2
	tc filter add dev lan5 parent 1: protocol ip u32 \
		match ip dsfield 104 0xff classid 1:1
	GTOPO_IB_TC=104 job ring.json --link verbs --iface lan5 -b 64K -e 64K \
		-n 1 -w 0
	[ "$(tc -s class show dev lan5 |
		sed -n '/ 1:1 /,/pkt/s/.* \([0-9]*\) pkt.*/\1/p')" -lt 100 ] ||
		echo "it was used"
	echo "a process is killed"
	fails eval 'kill -9 $process'
	echo "a cable is cut"
	fails ip link set "$card" down
	[ $NUMBER = 0 ] || sleep 3 # the first one shall not hear of its end
	cable_in
	echo "and whole again"
	job ring.json --link verbs -b 64K -e 64K -n 1 -w 0
	echo "a machine stands still"
	fails ask pause
	touch named
	echo "a machine is no more"
	fails ask kill
} >result.txt
