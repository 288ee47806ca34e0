#!/bin/bash
# All-reduce of two processes over RDMA beside perftest's ib_write_bw, both ways
# at once, between the same two devices of this host, in turn.
#
#   GTOPO=PROGRAM bench/verbs.sh DEVICE DEVICE ADDRESS-OF-SECOND [GID-INDEX]
#
# JSON on standard output: 1e9 bytes/s, both directions added up, and ratio =
# gtopo's / ib_write_bw's, the median of rounds.  Of two ranks each sends as
# many bytes as the buffer has.
set -euo pipefail
gtopo=${GTOPO:?the program}
first=${1:?a device} second=${2:?another device} address=${3:?its address}
gid=${4:-1}
rounds=${GTOPO_BENCH_RUNS:-5}
bytes=${GTOPO_BENCH_BYTES:-$((4 << 20))}
count=${GTOPO_BENCH_COUNT:-200}
iters=$((count * 131072 / bytes + 1))
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export GTOPO_SECRET="a secret for measurements only" WORLD_SIZE=2 \
	MASTER_ADDR=127.0.0.1
port=18600
"$gtopo" synth "2 gpu" 2>/dev/null | "$gtopo" search --algo ring \
	--coll allreduce - >"$dir/plan" 2>/dev/null

# As large as a slice; MiB/s both ways.
theirs() {
	local what=(ib_write_bw -b -F -x "$gid" -s 131072 -n "$count" -p $port)
	"${what[@]}" -d "$second" >/dev/null 2>&1 &
	sleep 2
	"${what[@]}" -d "$first" "$address" 2>/dev/null |
		awk '$1 == 131072 { print $4 * 1048576 / 1e9 }'
	wait $!
}

ours() {
	local rank
	for rank in 1 0; do
		device=$first
		[ $rank -eq 0 ] || device=$second
		RANK=$rank MASTER_PORT=$port GTOPO_IB_HCA=$device \
			GTOPO_IB_GID_INDEX=$gid "$gtopo" run --link verbs \
			--plan "$dir/plan" --device host --coll allreduce \
			-b "$bytes" -e "$bytes" -n "$iters" -w 1 --json \
			>"$dir/out.$rank" &
	done
	wait
	sed -n 's/.*"inplace": false.*"time_us": \([0-9.e+]*\).*/\1/p' \
		"$dir/out.0" | awk -v n="$bytes" '{ print 2 * n / $1 / 1e3 }'
}

median() {
	sort -g | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'
}

for ((i = 0; i < rounds; i++)); do
	port=$((port + 1))
	echo "$(ours) $(theirs)"
done >"$dir/rounds"
printf '{"command": "all-reduce of 2 processes", "link": "verbs", '
printf '"bytes": %d, "gbs": %s, "ib_write_bw_gbs": %s, "ratio": %s}\n' \
	"$bytes" "$(cut -d' ' -f1 "$dir/rounds" | median)" \
	"$(cut -d' ' -f2 "$dir/rounds" | median)" \
	"$(awk '{ print $1 / $2 }' "$dir/rounds" | median)"
