#!/bin/bash
# All-to-alls of layers of experts between hosts whose cards are slow, planned
# anew each time beside straight from rank to rank: experts.sh prints a table,
# with straight beside straight, which says how much is chance.
# GTOPO is the program, EXPERTS is bench/experts; root, for network namespaces.
#
# A rank is a process with a card of its own in a namespace of its own; a switch
# joins all, and MBITS (100) go into and out of each card.  Ranks of a host find
# each other's memory.  BYTES (4 MiB) are a rank's for all, MATRICES (9) how
# many are drawn for each of SKEWS; "host" is where all ranks of one host get
# most, and none could help.  Each goes TURNS (3) times; the quickest counts.
set -euo pipefail
gtopo=${GTOPO:?the program}
experts=${EXPERTS:?bench/experts}
mbits=${MBITS:-100}
bytes=${BYTES:-4194304}
matrices=${MATRICES:-9}
turns=${TURNS:-3}
dir=$(mktemp -d)
net=gtx$$
port=7400
export GTOPO_SECRET="a secret for measurements only" MASTER_ADDR=10.78.0.1
clean() {
	(cd /run/netns && ls -d "$net"-*) 2>/dev/null |
		while read -r ns; do
			ip netns pids "$ns" | xargs -r kill -KILL
			ip netns delete "$ns"
		done
	rm -rf "$dir"
}
trap clean EXIT

# limit NAMESPACE DEVICE
limit() {
	tc -n "$1" qdisc add dev "$2" root tbf rate "${mbits}mbit" \
		burst 32kb latency 200ms
}

# cards NUMBER: as many ranks' namespaces below one switch.
cards() {
	local i
	ip netns add "$net-switch"
	ip -n "$net-switch" link add hub type bridge
	ip -n "$net-switch" link set hub up
	for ((i = 0; i < $1; i++)); do
		ip netns add "$net-$i"
		ip link add card netns "$net-$i" type veth \
			peer name "p$i" netns "$net-switch"
		ip -n "$net-switch" link set "p$i" master hub up
		ip -n "$net-$i" link set lo up
		ip -n "$net-$i" link set card up
		ip -n "$net-$i" address add "10.78.0.$((i + 1))/24" dev card
		limit "$net-$i" card
		limit "$net-switch" "p$i"
	done
}

# job HOSTS EACH SKEW
job() {
	local i n=$(($1 * $2)) pids=()
	port=$((port + 1))
	for ((i = n - 1; i >= 0; i--)); do
		GTOPO_HOSTID=host$((i / $2)) RANK=$i WORLD_SIZE=$n \
			MASTER_PORT=$port ip netns exec "$net-$i" "$experts" \
			"$dir/plan.json" "$3" "$bytes" "$matrices" "$turns" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i"
	done
}

cards 8
echo "# $mbits Mbit/s into and out of each card, $bytes bytes a rank," \
	"$matrices matrices, the least of $turns turns"
for shape in ${SHAPES:-2x4 4x2}; do
	hosts=${shape%x*} each=${shape#*x}
	"$gtopo" synth -o "$dir/node.xml" \
		"$each switch: gpu(model=h200 nvswitch=18) nic(speed=1)"
	cat >"$dir/cluster.xml" <<-END
		<cluster version="1">
		<node file="$dir/node.xml" count="$hosts"/>
		<fabric><level/></fabric>
		</cluster>
	END
	"$gtopo" search --coll alltoall -q -o "$dir/plan.json" \
		"$dir/cluster.xml"
	echo "# $hosts hosts of $each ranks: skew, straight ms, planned ms," \
		"straight / planned: median, least, most;" \
		"straight / straight: median, least, most"
	for skew in ${SKEWS:-0 0.4 0.8 1.2 1.5 host}; do
		job "$hosts" "$each" "${skew/host/host$each}"
	done
done
