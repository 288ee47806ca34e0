# Jobs of several hosts, which are network namespaces of this one.
load common
load processes

# Two hosts: network namespaces with their own addresses and a cable.
two_hosts() {
	[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
	spaces="gt$$a gt$$b"
	ip netns add gt$$a 2>/dev/null ||
		skip "no network namespaces here"
	ip netns add gt$$b
	ip link add v$$a netns gt$$a type veth peer name v$$b netns gt$$b ||
		skip "no veth here"
	for one in a b; do
		ip -n gt$$$one link set v$$$one up
		ip -n gt$$$one link set lo up
	done
	ip -n gt$$a address add 10.77.0.1/24 dev v$$a
	ip -n gt$$b address add 10.77.0.2/24 dev v$$b
}

# on HOST RANK ARGUMENT...: a process of two there.
on() {
	local where=$1 rank=$2
	shift 2
	ip netns exec gt$$"$where" env GTOPO_HOSTID="$where" RANK="$rank" \
		WORLD_SIZE=2 MASTER_ADDR=10.77.0.1 MASTER_PORT=7117 \
		"$GTOPO" run --plan "$plan" --device host "$@"
}

@test "two hosts over a cable, and the cable is cut" {
	two_hosts
	ring_plan
	on b 1 -b 1 -e 1M -f 32 -n 2 -w 1 >/dev/null 3>&- &
	run_split on a 0 -b 1 -e 1M -f 32 -n 2 -w 1
	wait $!
	right
	on b 1 -b 1M -e 1M -n 1000000 --timeout 8s >/dev/null \
		2>"$plan.err" 3>&- &
	other=$!
	: >"$BATS_TEST_TMPDIR/.out"
	(until_true test -s "$BATS_TEST_TMPDIR/.out"
	ip -n gt$$a link set v$$a down) 3>&- &
	begin=$SECONDS
	run_split on a 0 -b 1M -e 1M -n 1000000 --timeout 8s
	[ "$status" -eq 3 ]
	[[ "$err" =~ 'process 1 ('.*') is silent for '[6-9]\.[0-9]' s'$ ]]
	code=0
	wait $other || code=$?
	[ "$code" -eq 3 ]
	grep -q "process 0 (.*) is silent" "$plan.err"
	[ $((SECONDS - begin)) -le 30 ]
}

joined() {
	ip netns exec gt$$b grep -q ' 03004E0A:.... 01 ' /proc/net/tcp
}

# Host b's flows have a class of their own each, both ways, of so many Mbit/s.
limit_flows() { # RATE
	local one port
	command -v tc >/dev/null || skip "no tc (Debian: iproute2)"
	ip netns exec gt$$b sysctl -qw \
		net.ipv4.ip_local_port_range="30000 30031"
	for one in "a dport" "b sport"; do
		tc -n gt$$"${one% *}" qdisc add dev v$$"${one% *}" root \
			handle 1: htb 2>/dev/null || skip "no htb here"
		for port in {30000..30031}; do
			echo "class add dev v$$${one% *} parent 1: classid" \
				"1:$((port - 29000)) htb rate ${1}mbit" \
				"quantum 1514"
			echo "filter add dev v$$${one% *} parent 1: protocol" \
				"ip u32 match ip ${one#* } $port 0xffff" \
				"flowid 1:$((port - 29000))"
		done | tc -n gt$$"${one% *}" -batch - ||
			skip "no u32 filters here"
	done
}

# The ports of b's connections for data.
data_ports() {
	ip netns exec gt$$b ss -Htn state established |
		awk '$4 !~ /:7117$/ { sub(".*:", "", $3); print $3 }'
}

# time_over SOCKETS: of an operation of 2 MiB between the hosts, in us.
time_over() {
	export GTOPO_TCP_SOCKETS=$1
	on b 1 -b 2M -e 2M -n 2 -w 1 --workers 4 >/dev/null 3>&- &
	run_split on a 0 -b 2M -e 2M -n 2 -w 1 --workers 4 --json
	wait $! && [ "$status" -eq 0 ] && jq -e '
		if .wrong == 0 then .rows[0].time_us | floor else empty end' \
		<<<"$out"
}

have_data_ports() { # NUMBER
	[ "$(data_ports | wc -l)" -eq "$1" ]
}

@test "several sockets have several times what a network lets a flow have" {
	two_hosts
	# So little that a busy machine's own delays are little beside it.
	limit_flows 20
	gtopo synth "2 gpu" 2>/dev/null |
		gtopo search --algo ring --coll allreduce - >"$plan"
	local one
	one=$(time_over 1)
	[ "$one" -gt 750000 ]
	# Nearly four times the rate, which other work makes slower, but never
	# quicker: so one of some tries is enough.
	for _ in {1..10}; do
		four=$(time_over 4)
		echo "$one us, over four sockets $four us"
		[ "$one" -le $((four * 3)) ] || break
	done
	[ "$one" -gt $((four * 3)) ]
	# One of four flows gets nothing through: that is the end.
	export GTOPO_TCP_SOCKETS=4
	on b 1 -b 2M -e 2M -n 1000000 --timeout 3s >/dev/null 2>"$plan.err" \
		3>&- &
	other=$!
	(
		until_true have_data_ports 4
		port=$(data_ports | tail -n 1)
		tc -n gt$$b class change dev v$$b \
			classid 1:$((port - 29000)) htb rate 8bit
	) 3>&- &
	begin=$SECONDS
	run_split on a 0 -b 2M -e 2M -n 1000000 --timeout 3s
	wait $other && return 1
	[ "$status" -eq 3 ]
	[ $((SECONDS - begin)) -le 30 ]
	cat "$plan.err"; echo "$err"
	# TCP does not count what its own host holds back, so it may be that
	# the rank's time is over first; and the flow that is cut may have its
	# port together with the one for signs of life.
	named='the connection to process [01] \(.*\) broke'
	named="$named|rank [01] \(.*\) waited for 3\.0 s"
	named="$named|process [01] \(.*\) is silent"
	grep -qE "$named" <<<"$err" || grep -qE "$named" "$plan.err"
}

sent() { # by host b, in bytes
	ip netns exec gt$$b cat /sys/class/net/v$$b/statistics/tx_bytes
}

sent_much() { # BYTES
	[ "$(sent)" -ge "$1" ]
}

@test "a card of a cloud that limits a flow gets more sockets" {
	two_hosts
	ring_plan
	for vendor in 0x15b3 0x1d0f; do
		before=$(sent)
		# shellcheck disable=SC2016
		GTOPO_HOSTID=a RANK=0 WORLD_SIZE=2 MASTER_ADDR=10.77.0.1 \
			MASTER_PORT=7117 ip netns exec gt$$a sh -c '
			mount -t tmpfs none /sys/class/net &&
				mkdir -p "/sys/class/net/$1/device" &&
				echo "$2" >"/sys/class/net/$1/device/vendor" &&
				shift 2 && exec "$@"' sh v$$a $vendor "$GTOPO" \
			run --plan "$plan" --device host --soak 5s -e 64K \
			>/dev/null 3>&- &
		leader=$!
		on b 1 --soak 5s -e 64K >/dev/null 3>&- &
		other=$!
		# All are connected before anything goes over them.
		until_true sent_much $((before + 1000000))
		data_ports | wc -l >>"$plan.n"
		wait $leader
		wait $other
	done
	diff "$plan.n" <(printf '1\n8\n')
	GTOPO_TCP_SOCKETS=17 run_split host --procs 2 --link tcp --iface lo
	[ "$status" -eq 2 ]
	[[ "$err" == *"GTOPO_TCP_SOCKETS '17' is not a number from 1 to 16" ]]
}

# Three hosts on one switch, whose ports are va, vb and vc.
three_hosts() {
	[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
	spaces="gt$$a gt$$b gt$$c gt$$s"
	ip netns add gt$$a 2>/dev/null || skip "no network namespaces here"
	for one in b c s; do
		ip netns add gt$$$one
	done
	ip -n gt$$s link add br0 type bridge 2>/dev/null || skip "no bridge here"
	ip -n gt$$s link set br0 up
	local number=0
	for one in a b c; do
		number=$((number + 1))
		ip link add e0 netns gt$$$one type veth \
			peer name v$one netns gt$$s || skip "no veth here"
		ip -n gt$$s link set v$one master br0 up
		ip -n gt$$$one link set lo up
		ip -n gt$$$one address add 10.78.0.$number/24 dev e0
		ip -n gt$$$one link set e0 up
	done
}

@test "three hosts, of which two do not reach each other" {
	three_hosts
	gtopo synth "3 gpu" 2>/dev/null |
		gtopo search --algo ring --coll allreduce - >"$plan"
	local number=0 others=()
	for one in b c a; do
		number=$(((number + 1) % 3))
		ip netns exec gt$$$one env GTOPO_HOSTID="$one" RANK=$number \
			WORLD_SIZE=3 MASTER_ADDR=10.78.0.1 MASTER_PORT=7118 \
			"$GTOPO" run --plan "$plan" --device host -b 256K \
			-e 256K -n 1000000 --timeout 8s --iface e0 \
			>/dev/null 2>"$plan.err$one" 3>&- &
		others+=($!)
	done
	# b and c have a connection of their own: 10.78.0.3, established.
	until_true joined
	for one in b c; do
		ip netns exec gt$$s bridge link set dev v$one isolated on
	done
	for one in "${others[@]}"; do
		code=0
		wait "$one" || code=$?
		[ "$code" -eq 3 ]
	done
	cat "$plan.erra"
	grep -qE 'process (1|2) .*: the connection to process (1|2) .* broke' \
		"$plan.erra"
}

# pairs PART HOSTS: processes of tests/unit/lib/test_pair, one on each of these
# hosts ("aba": the first and the last on a), in the background; $pids.
pairs() {
	local part=$1 hosts=$2 rank
	pids=()
	rm -f "$plan".out* "$plan".err*
	for ((rank = 0; rank < ${#hosts}; rank++)); do
		ip netns exec gt$$"${hosts:rank:1}" env RANK=$rank \
			GTOPO_HOSTID="${hosts:rank:1}" WORLD_SIZE=${#hosts} \
			MASTER_ADDR=10.78.0.1 MASTER_PORT=7119 \
			"$(dirname "$GTOPO")/tests/unit/lib/test_pair" \
			--launched "$part" >"$plan.out$rank" \
			2>"$plan.err$rank" 3>&- &
		pids+=($!)
	done
}

# pairs_end STATUS: all of them end so.
pairs_end() {
	local one code
	for one in "${pids[@]}"; do
		code=0
		wait "$one" || code=$?
		[ "$code" -eq "$1" ] || tail "$plan".err*
		[ "$code" -eq "$1" ]
	done
}

all_began() {
	[ "$(cat "$plan".out* | wc -l)" -eq ${#pids[@]} ]
}

received() { # HOST: bytes over its cable
	ip netns exec gt$$"$1" cat /sys/class/net/e0/statistics/rx_bytes
}

@test "messages between two hosts, and three, by processes of each" {
	three_hosts
	local before
	for hosts in ab abb abc acba; do
		before=$(received b)
		pairs parts $hosts
		pairs_end 0
		# It was the cable that they took.
		[ $(($(received b) - before)) -ge 4000000 ]
	done
}

nobody_is_left() {
	local one
	for one in a b c; do
		[ -z "$(ip netns pids gt$$$one)" ] || return 1
	done
	[ -z "$(ours)" ]
}

# cut HOST: its cable, while messages between all three are on their way.
cut() {
	local begin
	pairs endless abc
	until_true all_began
	begin=$SECONDS
	ip -n gt$$s link set v"$1" down
	pairs_end 3
	[ $((SECONDS - begin)) -le 60 ]
	nobody_is_left
	ip -n gt$$s link set v"$1" up
	cat "$plan".err*
}

# blamed BY PROCESS RANK: its silence, or what is seen first on a busy machine.
blamed() {
	grep -qE "process $2 \(.*\) (is silent|are silent|broke)|\
waits to (send to|receive from) rank $3 " "$plan.err$1"
}

@test "the cable of a host is cut while messages are on their way" {
	three_hosts
	cut b
	blamed 0 1 1
	blamed 1 "[02]" "[023]"
	blamed 2 1 1
	cut a
	blamed 0 "[12]" "[123]"
	blamed 1 0 0
	blamed 2 0 0
}

# far HOST RANK: a process of four there, which has that host's name.  Nothing
# but silence shows that a cable is cut: there are no links that break.
far() {
	# shellcheck disable=SC2016
	GTOPO_HOSTID=$1 RANK=$2 WORLD_SIZE=4 MASTER_ADDR=10.78.0.1 \
		MASTER_PORT=7120 ip netns exec gt$$"$1" unshare --uts \
		sh -c 'hostname "host$1"; shift; exec "$@"' sh "$1" "$GTOPO" \
		run --plan "$plan" --device host -b 256K -e 256K -n 1000000 \
		--timeout 12s --link null >"$plan.out$2" 2>"$plan.err$2" 3>&- &
	pids[$2]=$!
}

# far_cut HOST: the cable of a job's host; host c has two of its processes.
far_cut() {
	pids=()
	rm -f "$plan".out* "$plan".err*
	far a 0
	far b 1
	far c 2
	far c 3
	until_true test -s "$plan.out0"
	ip -n gt$$s link set v"$1" down
	pairs_end 3
	ip -n gt$$s link set v"$1" up
	sed -Ei 's/, pid [0-9]+//g; s/ [0-9]+\.[0-9] s/ SOME s/' "$plan".err*
	cat "$plan".err*
}

said() { # RANK WORDS
	diff "$plan.err$1" <(echo "gtopo run: $2")
}

@test "each side of a cut names the other, once a host" {
	three_hosts
	gtopo synth "4 gpu" 2>/dev/null |
		gtopo search --algo ring --coll allreduce - >"$plan"
	far_cut c
	said 0 "process 2 (hostc), process 3 (hostc) are silent for SOME s"
	said 2 "process 0 (hosta) is silent for SOME s"
	# Process 1 is told by process 0, and process 3 is not alone.
	[ ! -s "$plan.err1" ]
	[ ! -s "$plan.err3" ]
	far_cut a
	said 0 "process 1 (hostb), process 2 (hostc), process 3 (hostc) are\
 silent for SOME s; is process 0 (hosta) cut off?"
	said 1 "process 0 (hosta) is silent for SOME s"
	said 2 "process 0 (hosta) is silent for SOME s"
	[ ! -s "$plan.err3" ]
}

# going HOST RANK: a process of four there that goes on without others.
going() {
	# shellcheck disable=SC2016
	GTOPO_HOSTID=$1 RANK=$2 WORLD_SIZE=4 MASTER_ADDR=10.78.0.1 \
		MASTER_PORT=7121 ip netns exec gt$$"$1" unshare --uts \
		sh -c 'hostname "host$1"; shift; exec "$@"' sh "$1" "$GTOPO" \
		run --plan "$plan" --device host -e 64K --soak 14s \
		--keep-going --timeout 6s --iface e0 >"$plan.out$2" \
		2>"$plan.err$2" 3>&- &
	pids[$2]=$!
}

# Host c has two of the processes, a and b one each.
all_going() {
	local before
	pids=()
	rm -f "$plan".out* "$plan".err*
	before=$(received c)
	going a 0
	going b 1
	going c 2
	going c 3
	until_true carried c $((before + 200000))
}

carried() { # HOST BYTES: it has received so many, so operations are under way
	[ "$(received "$1")" -ge "$2" ]
}

# went_on STATUS...: of each process.
went_on() {
	local rank=0 code
	for want in "$@"; do
		code=0
		wait "${pids[rank]}" || code=$?
		echo "$rank: $code, $want"
		cat "$plan.out$rank" "$plan.err$rank"
		[ "$code" -eq "$want" ]
		rank=$((rank + 1))
	done
	until_true nobody_is_left
}

@test "a job of three hosts goes on without one of them" {
	three_hosts
	gtopo synth "4 gpu" 2>/dev/null |
		gtopo search --algo ring --coll allreduce - >"$plan"
	# All processes of host c, and then of what was left the first.
	all_going
	ip netns pids gt$$c | xargs kill -KILL
	until_true grep -q "2 of 4 ranks go on" "$plan.out0"
	went_on 0 0 137 137
	grep -qE "^process 2 \(hostc, .*process 3 \(hostc, .* are gone; 2 of 4 ranks" \
		"$plan.out0"
	all_going
	ip netns pids gt$$a | xargs kill -KILL
	went_on 137 0 0 0
	grep -qE "^process 0 \(hosta, .* is gone; 3 of 4 ranks go on" \
		"$plan.out1"
}

@test "of two sides of a cable that is cut at most one goes on" {
	three_hosts
	gtopo synth "4 gpu" 2>/dev/null |
		gtopo search --algo ring --coll allreduce - >"$plan"
	# Host b is alone; the others are three of four.
	all_going
	ip -n gt$$s link set vb down
	went_on 0 3 0 0
	ip -n gt$$s link set vb up
	grep -qE "^process 1 \(hostb, .* is gone; 3 of 4 ranks go on" \
		"$plan.out0"
	grep -q "of 4 processes are left and may be cut off from those that are not heard: process 0" \
		"$plan.err1"
	# Host c has half of them, but not the first.
	all_going
	ip -n gt$$s link set vc down
	went_on 0 0 3 3
	ip -n gt$$s link set vc up
	grep -q "2 of 4 ranks go on" "$plan.out0"
}

@test "experts are exchanged by the cards of those that are asked less" {
	local experts=${GTOPO%/*}/bench/experts
	[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
	ip netns add gt$$n 2>/dev/null || skip "no network namespaces here"
	spaces=gt$$n
	command -v tc >/dev/null || skip "no tc (Debian: iproute2)"
	ip -n gt$$n link add hub type bridge || skip "no bridge here"
	tc -n gt$$n qdisc add dev hub root tbf rate 1mbit burst 32kb \
		latency 1s || skip "no tbf here"
	[ -x "$experts" ] || skip "no bench/experts beside gtopo"
	# Less than a third faster is other work on this machine, once or twice.
	for _ in {1..5}; do
		run_split env GTOPO="$GTOPO" EXPERTS="$experts" SHAPES=2x4 \
			SKEWS=1.2 MATRICES=3 bash "$GTOPO_SRC/bench/experts.sh"
		echo "$out $err"
		[ "$status" -eq 0 ]
		awk '!/^#/ { exit !($4 >= 1.3) }' <<<"$out" && return
	done
	return 1
}
