#!/bin/bash
# How long it takes until a job that has lost something is right again: a table
# for each fault, as measured on this machine, on standard output.  GTOPO is the
# program; root for network namespaces; RUNS is how often each is tried, 10
# where it is not set.  Eight CPU ranks, one a process, do checked operations of
# up to 64 KiB (gtopo run --soak --keep-going).
set -uo pipefail
gtopo=${GTOPO:?the program}
runs=${RUNS:-10}
dir=$(mktemp -d)
plan=$dir/plan
port=7300
export GTOPO_SECRET="a secret for measurements only"
spaces=
clean() {
	for ns in $spaces; do
		ip netns pids "$ns" 2>/dev/null | xargs -r kill -KILL
		ip netns delete "$ns" 2>/dev/null
	done
	rm -rf "$dir"
}
trap clean EXIT
"$gtopo" synth "8 gpu" 2>/dev/null >"$dir/machine.xml"
"$gtopo" search -q --algo ring --coll allreduce -o "$plan" "$dir/machine.xml"

# Each line with the time at which it came.
stamp() {
	local line
	while IFS= read -r line; do
		printf '%s %s\n' "$EPOCHREALTIME" "$line"
	done
}

# start RANK HOST ARGUMENT...: one of eight processes, in the background.
start() {
	local rank=$1 host=() name=$2
	shift 2
	# shellcheck disable=SC2016
	[ -z "$name" ] || host=(ip netns exec "$name" unshare --uts
		sh -c 'hostname "$0"; exec "$@"' "$name")
	RANK=$rank WORLD_SIZE=8 MASTER_PORT=$port MASTER_ADDR=$master \
		GTOPO_HOSTID=$name "${host[@]}" "$gtopo" run --plan "$plan" \
		--device host -e 64K --soak 60s --keep-going --timeout 4s \
		"$@" > >(stamp >"$dir/out.$rank") 2>"$dir/err.$rank" &
	pids[rank]=$!
}

# job HOSTS ARGUMENT...: all eight; they have worked for a second.
job() {
	local hosts=($1) rank
	shift
	port=$((port + 1))
	pids=()
	for rank in 7 6 5 4 3 2 1 0; do
		start $rank "${hosts[rank]:-}" "$@"
	done
	sleep 2
}

# The line that says it is right again, of whichever process; waits for it.
again() {
	local tries
	for ((tries = 0; tries < 1000; tries++)); do
		grep -h "right again" "$dir"/out.* && return
		sleep 0.01
	done
	return 1
}

# try FAULT...: one run; adds the two times in ms to $all and $noticed.
try() {
	local begin line
	begin=$EPOCHREALTIME
	"$@"
	line=$(again | head -n 1)
	kill -KILL "${pids[@]}" 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	sleep 0.1
	[ -n "$line" ] || return 1
	all+=("$(awk -v a="$begin" '{ print ($1 - a) * 1000 }' <<<"$line")")
	noticed+=("$(grep -o 'right again [0-9.]*' <<<"$line" |
		awk '{ print $3 * 1000 }')")
}

# The median and the largest of some numbers.
middle() {
	printf '%s\n' "$@" | sort -n |
		awk '{ v[NR] = $1 } END { printf "%.0f, %.0f", v[int((NR + 1) / 2)], v[NR] }'
}

# row WORDS HOSTS "ARGUMENTS" FAULT...
row() {
	local words=$1 hosts=$2 args=$3 turn lost=0
	shift 3
	all=()
	noticed=()
	for ((turn = 0; turn < runs; turn++)); do
		# shellcheck disable=SC2086
		job "$hosts" $args
		try "$@" || lost=$((lost + 1))
		heal
	done
	printf '| %s | %s of %s | %s | %s |\n' "$words" "$((runs - lost))" \
		"$runs" "$(middle "${all[@]}")" "$(middle "${noticed[@]}")"
}

heal() { :; }

killed() { # RANK...
	local rank victims=()
	for rank in "$@"; do
		victims+=("${pids[rank]}")
	done
	kill -KILL "${victims[@]}"
}

stopped() { # RANK
	kill -STOP "${pids[$1]}"
}

host_killed() { # HOST
	ip netns pids "$1" | xargs kill -KILL
}

cut() { # PORT
	ip -n gtgs link set "$1" down
}

cat <<END
# Until the next right operation

gtopo $("$gtopo" version | head -n 1 | grep -o '[0-9][0-9.]*'), $(nproc) \
processors, eight CPU ranks of a process each, \`--soak --keep-going --timeout
4s\`; milliseconds, median and largest: from the fault itself, and from when a
process has noticed it. Silence is noticed after three quarters of the limit.
Written by \`bench/going.sh\`.

| Fault | Went on | From the fault | From its notice |
|---|---|---|---|
END

master=127.0.0.1
for link in shm tcp; do
	row "kill -9 of process 0, $link" "" "--link $link --iface lo" killed 0
	row "kill -9 of process 5, $link" "" "--link $link --iface lo" killed 5
done
row "kill -9 of processes 0 to 3" "" "" killed 0 1 2 3
row "SIGSTOP of process 5" "" "" stopped 5

# Three hosts on one switch, with three, three and two of the processes.
for one in a b c; do
	spaces="$spaces gtg$one"
	ip netns add gtg$one || exit 77
done
spaces="$spaces gtgs"
ip netns add gtgs
ip -n gtgs link add br0 type bridge
ip -n gtgs link set br0 up
number=0
for one in a b c; do
	number=$((number + 1))
	ip link add e0 netns gtg$one type veth peer name v$one netns gtgs
	ip -n gtgs link set v$one master br0 up
	ip -n gtg$one link set lo up
	ip -n gtg$one address add 10.79.0.$number/24 dev e0
	ip -n gtg$one link set e0 up
done
master=10.79.0.1
hosts="gtga gtga gtga gtgb gtgb gtgb gtgc gtgc"
heal() {
	for one in a b c; do
		ip -n gtgs link set v$one up
	done
}
row "kill -9 of all of host 0 of three" "$hosts" "--iface e0" host_killed gtga
row "kill -9 of all of host 2" "$hosts" "--iface e0" host_killed gtgc
row "the cable of host 0 is cut" "$hosts" "--iface e0" cut va
row "the cable of host 2 is cut" "$hosts" "--iface e0" cut vc
