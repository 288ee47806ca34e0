#!/bin/bash
# What happens to a job when something in it fails: docs/faults.md, as measured
# on this machine, on standard output.  GTOPO is the program; root for network
# namespaces.  Every job has a time limit of 4 s.  RUNS is how many have a
# process killed at random, 100 where it is not set.
set -uo pipefail
gtopo=${GTOPO:?the program}
dir=$(mktemp -d)
plan=$dir/plan
port=7200
export GTOPO_SECRET="a secret for measurements only"
spaces=
clean() {
	for ns in $spaces; do
		ip netns delete "$ns" 2>/dev/null
	done
	rm -rf "$dir"
}
trap clean EXIT
"$gtopo" synth "6 gpu" 2>/dev/null | "$gtopo" search --algo ring \
	--coll allreduce - >"$plan" 2>/dev/null

now() {
	date +%s%N
}

# start RANK HOST ARGUMENT...: a process of three in the background.
start() {
	local rank=$1 where=$2 host=()
	shift 2
	# shellcheck disable=SC2016
	[ -z "$where" ] || host=(ip netns exec "$where" unshare --uts
		sh -c 'hostname "$0"; exec "$@"' "$where")
	RANK=$rank WORLD_SIZE=3 MASTER_PORT=$port MASTER_ADDR=$master \
		GTOPO_HOSTID=$where "${host[@]}" "$gtopo" run --plan "$plan" \
		--device host --timeout 4s --coll allreduce -b 1M -e 1M \
		-n 10000000 "$@" \
		>/dev/null 2>"$dir/said.$rank" &
	pids[rank]=$!
}

# job HOSTS ARGUMENT...: three of them; $begin is when the fault happens.
job() {
	local hosts=($1)
	shift
	port=$((port + 1))
	pids=()
	for rank in 2 1 0; do
		start $rank "${hosts[rank]:-}" "$@"
	done
	sleep 1.5
	begin=$(now)
}

# procs: three with a parent, which is the only one that is waited for.
procs() {
	"$gtopo" run --plan "$plan" --device host --timeout 4s --procs 3 \
		--coll allreduce -b 1M -e 1M -n 10000000 \
		>/dev/null 2>"$dir/said.0" &
	pids=($!)
	sleep 1.5
	mapfile -t children < <(pgrep -P "${pids[0]}")
	begin=$(now)
}

# What was said, each with those who said it.
words() {
	local rank
	for rank in "${!pids[@]}"; do
		sed "s/^gtopo run: //; s/ (\([^)]*, \)\?pid [0-9]*)//g
			s/'sha256:\(....\)[0-9a-f]*'/'sha256:\1...'/g
			s/^/$rank\t/" "$dir/said.$rank"
	done | awk -F '\t' '!($2 in who) { order[n++] = $2 }
		{ who[$2] = who[$2] (who[$2] == "" ? "" : ", ") $1 }
		END { for (i = 0; i < n; i++)
			printf "%s%s: `%s`", i ? "; " : "", who[order[i]],
				order[i] }'
}

# row FAULT: wait for all but $stopped; seconds since $begin, what was said.
row() {
	local status=() code left
	for pid in "${pids[@]}"; do
		if [ "$pid" = "${stopped:-}" ]; then
			status+=(stopped)
			continue
		fi
		code=0
		wait "$pid" 2>/dev/null || code=$?
		status+=("$code")
	done
	printf '| %s | %.1f s | %s | %s |\n' "$1" \
		"$((($(now) - begin) / 100000000))e-1" "${status[*]}" \
		"$(words)"
	[ -z "${stopped:-}" ] || kill -KILL "$stopped"
	stopped=
	sleep 0.1
	left=$(pgrep -cf "$plan"; ls /dev/shm | grep -c gtopo)
	[ "$(tr -d '0\n' <<<"$left")" = "" ] || echo "left behind: $left" >&2
}

# What is left of a job's processes: they, their sockets, shared memory.
traces() { # PID...
	pgrep -f "$plan"
	ss -Htuxap 2>/dev/null | grep -E "$(printf 'pid=%s,|' "$@" | sed 's/|$//')"
	ls /dev/shm | grep gtopo
}

# Two to four processes, over each link in turn; at any time one of them, or
# the one that has started them, is killed.  Which runs leave something behind?
random_kills() { # RUNS
	local turn links=("shm" "tcp --iface lo") pids leader victim dirty=0
	local begin most=0 took
	for ((turn = 0; turn < $1; turn++)); do
		"$gtopo" run --plan "$plan" --device host --timeout 4s \
			--procs $((2 + turn / 2 % 3)) \
			--link ${links[turn % 2]} --coll allreduce -b 1M -e 1M \
			-n 10000000 >/dev/null 2>&1 &
		leader=$!
		sleep "0.$(shuf -i 0-50 -n 1)"
		pids=($leader $(pgrep -P $leader))
		victim=${pids[RANDOM % ${#pids[@]}]}
		begin=$(now)
		kill -KILL "$victim"
		wait $leader 2>/dev/null && dirty=$((dirty + 1)) && continue
		while pgrep -f "$plan" >/dev/null &&
			[ $((($(now) - begin) / 1000000)) -lt 6000 ]; do
			sleep 0.01
		done
		took=$((($(now) - begin) / 1000000))
		[ $took -le $most ] || most=$took
		[ -z "$(traces "${pids[@]}")" ] || dirty=$((dirty + 1))
	done
	cat <<END

Of two to four processes, over shared memory and TCP, any one or the one that
has started them was killed at a random time, $1 times. Of these runs $dirty
left a process, a socket or shared memory behind; the last process had ended at
most $most ms after the kill.
END
}

cat <<END
# When something fails

Three processes in an all-reduce without end, with \`--timeout 4s\`; after a
while one thing goes wrong. How long until the last process has ended, with
which status each (137: it was killed), and what was said, by which process.
Nothing is left in /dev/shm, no process, no socket. Written by \`bench/faults.sh\`.

| Fault | Ended in | Status | Said |
|---|---|---|---|
END

master=127.0.0.1
for link in shm tcp; do
	job "" --link $link --iface lo
	kill -KILL "${pids[2]}"
	row "kill -9 of process 2, $link"
done
job ""
kill -KILL "${pids[0]}"
row "kill -9 of process 0"
job ""
kill -STOP "${pids[1]}"
stopped=${pids[1]}
row "SIGSTOP of process 1"
procs
kill -STOP "${children[1]}"
row "SIGSTOP of process 1 of --procs 3 (status: of the parent)"
job "" -n 1000 --link tcp --iface lo
slow=${pids[1]}
(while kill -STOP "$slow" && sleep 0.4; do
	kill -CONT "$slow" && sleep 0.1
done) 2>/dev/null &
row "process 1 runs a fifth of the time only"
job "" --inject stall:3:50
row "rank 3 of process 1 stalls (begun with the job)"
job ""
kill -TERM "${pids[1]}"
row "SIGTERM of process 1"

pids=()
port=$((port + 1))
begin=$(now)
start 0 ""
start 1 ""
"$gtopo" search --algo ring --coll allgather \
	<("$gtopo" synth "6 gpu" 2>/dev/null) >"$dir/other" 2>/dev/null
plan=$dir/other start 2 ""
row "process 2 comes with another plan"
port=$((port + 1))
begin=$(now)
pids=()
start 0 ""
start 1 ""
row "process 2 never comes"
python3 -c "import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.1', $((port + 1)))); s.listen()
time.sleep(30)" &
held=$!
sleep 0.5
begin=$(now)
sleep() { :; }
job ""
unset -f sleep
row "the port is in use"
kill $held
port=$((port + 1))
begin=$(now)
pids=()
(ulimit -f 1; trap '' XFSZ
	exec env GTOPO_SECRET="$GTOPO_SECRET" "$gtopo" run --plan "$plan" \
		--device host --procs 3 -b 1M -e 1M --timeout 4s \
		>/dev/null 2>"$dir/said.0") &
pids=($!)
row "no room for shared memory (status: of the parent)"

# Three hosts on one switch.
for one in a b c; do
	spaces="$spaces gtf$one"
	ip netns add gtf$one || exit 77
done
spaces="$spaces gtfs"
ip netns add gtfs
ip -n gtfs link add br0 type bridge
ip -n gtfs link set br0 up
number=0
for one in a b c; do
	number=$((number + 1))
	ip link add e0 netns gtf$one type veth peer name v$one netns gtfs
	ip -n gtfs link set v$one master br0 up
	ip -n gtf$one link set lo up
	ip -n gtf$one address add 10.78.0.$number/24 dev e0
	ip -n gtf$one link set e0 up
done
master=10.78.0.1
hosts="gtfa gtfb gtfc"
job "$hosts"
ip -n gtfs link set vc down
row "the cable of host 2 is cut"
ip -n gtfs link set vc up
job "$hosts"
ip -n gtfs link set va down
row "the cable of host 0 is cut"
ip -n gtfs link set va up
job "$hosts"
for one in b c; do
	ip netns exec gtfs bridge link set dev v$one isolated on
done
row "hosts 1 and 2 reach host 0, but not each other"
random_kills "${RUNS:-100}"
cat <<'END'

## On GPUs, beside NCCL

`tests/gpu/faults.sh` lets one of two ranks on two GPUs be killed, stopped, end,
call another count or nothing more, and tells what the other one hears of it
from NCCL, from gtopo's `libnccl.so.2` and in `gtopo run`, how long after, and
how its process ends; and how long 4 ranks on the GPUs take to go on without one
of their processes: `bench/results/h200x2-4aa29a2d.faults.md`, of NCCL 2.28.9.
NCCL says nothing within 15 s of any of five faults; through `libnccl.so.2`
who is killed or ends is named after 1 and 21 ms, a wrong count after 1.0 s, and
who is stopped or calls nothing more is not, as that may go on; `gtopo run` names
the first after 0.87 s, until its GPUs are given back, and the others when its
time limit has passed. Four processes on two GPUs are right again 0.32 to 0.38 s
after one was killed, two 0.6 to 0.7 s.
END
