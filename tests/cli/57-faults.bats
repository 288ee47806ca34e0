# What the other processes of a job do when one fails.
load common
load processes

# A long run in the background; $leader is the one that speaks.  Its first
# line says that all processes have met.  The limit is far above what a busy
# machine keeps a process waiting.
long_run() {
	rm -f "$plan.out" "$plan.err"
	"$GTOPO" run --plan "$plan" --device host --procs 4 -b 1M -e 1M \
		-n 1000000 --timeout "$@" >"$plan.out" 2>"$plan.err" 3>&- &
	leader=$!
	until_true test -s "$plan.out"
	mapfile -t children < <(pgrep -P $leader)
	[ ${#children[@]} -eq 4 ]
}

# ended STATUS SECONDS: all are gone so soon, and said what is in $plan.err.
ended() {
	local code=0 begin=$SECONDS
	wait $leader || code=$?
	[ "$code" -eq "$1" ]
	[ $((SECONDS - begin)) -le "$2" ]
	until_true gone
}

@test "a killed process ends the others, by name" {
	ring_plan
	for link in shm tcp; do
		long_run 40s --link $link --iface lo
		kill -KILL "${children[2]}"
		ended 3 20
		grep -q "process 2 (.*) ended without a word" "$plan.err"
		grep -q "ended by a signal: process 2 (pid ${children[2]}, signal 9)" \
			"$plan.err"
	done
}

@test "when process 0 is killed the next one speaks" {
	ring_plan
	long_run 40s
	kill -KILL "${children[0]}"
	ended 3 20
	grep -q "process 0 (.*) ended without a word" "$plan.err"
	grep -q "ended by a signal: process 0 (pid ${children[0]}, signal 9)$" \
		"$plan.err"
	[ "$(wc -l <"$plan.err")" -eq 2 ]
}

@test "when all but one are killed at once, somebody says so" {
	ring_plan
	long_run 40s
	# Stopped, none of them can end for another's end.
	kill -STOP "${children[@]:0:3}"
	kill -KILL "${children[@]:0:3}"
	ended 3 20
	grep -q "ended by a signal: process 0 (pid .*, signal 9), process 1 (pid .*, signal 9), process 2 (pid .*, signal 9)$" \
		"$plan.err"
}

@test "without a parent the processes that are left say that process 0 is gone" {
	ring_plan
	export WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=$(free_port)
	pids=()
	for rank in {0..3}; do
		RANK=$rank "$GTOPO" run --plan "$plan" --device host \
			-b 1M -e 1M -n 1000000 --timeout 40s \
			>"$plan.out.$rank" 2>"$plan.err.$rank" 3>&- &
		pids+=($!)
	done
	until_true test -s "$plan.out.0"
	kill -KILL "${pids[0]}" "${pids[1]}"
	for rank in 2 3; do
		code=0
		wait "${pids[rank]}" || code=$?
		[ $code -eq 3 ]
		grep -q "process 0 (.*) ended without a word" "$plan.err.$rank"
	done
}

@test "a stopped process is named within the time limit" {
	ring_plan
	long_run 8s
	begin=$SECONDS
	kill -STOP "${children[1]}"
	until_true test -s "$plan.err"
	# Three quarters of the limit; a busy machine counts a little more.
	[ $((SECONDS - begin)) -ge 5 ]
	grep -qE "process 1 \(.*\) is silent for [6-9]\.[0-9] s" "$plan.err"
	# It cannot end itself.
	ended 3 40
	grep -q "killed, 10.0 s after the first failure: process 1 (pid ${children[1]})$" \
		"$plan.err"
}

@test "an interrupt as early as may be ends all of them" {
	ring_plan
	for turn in {00..29}; do
		# The signal may come before the shell has made the files.
		: >"$plan.err"
		"$GTOPO" run --plan "$plan" --device host --procs 3 -b 64K \
			-e 64K -n 10000000 --timeout 40s >"$plan.out" \
			2>"$plan.err" 3>&- &
		leader=$!
		sleep "0.0$turn"
		kill -TERM $leader
		until_true gone
		if wait $leader; then return 1; fi
		[ "$(wc -l <"$plan.err")" -le 1 ]
	done
}

@test "a second signal kills who does not heed the first" {
	ring_plan
	long_run 40s
	kill -STOP "${children[3]}"
	kill -TERM $leader
	# Two signals that are not taken yet are one; this one is passed on.
	until_true grep -q interrupted "$plan.err"
	kill -TERM $leader
	ended 3 20
	grep -q "killed at the second signal: .*process 3 (pid ${children[3]})$" \
		"$plan.err"
}

four_children() {
	[ "$(pgrep -cP $leader)" -eq 4 ]
}

@test "a process that is slow, but gets on, is waited for" {
	ring_plan
	# It takes longer than the limit, all in all.
	"$GTOPO" run --plan "$plan" --device host --procs 4 -e 256K \
		--soak 8s --timeout 6s >"$plan.out" 2>"$plan.err" 3>&- &
	leader=$!
	until_true four_children
	slow=$(pgrep -P $leader | sed -n 2p)
	while kill -STOP "$slow" 2>/dev/null; do
		sleep 0.3
		kill -CONT "$slow" || true
		sleep 0.02
	done
	wait $leader
	grep -q '^[1-9][0-9]* operations in .* s, 0 elements wrong$' \
		"$plan.out"
}

@test "a rank that stalls is named by its own process" {
	ring_plan
	run_split host --procs 4 -b 1K -e 1K --inject stall:5:3 --timeout 8s
	[ "$status" -eq 3 ]
	[[ "$err" =~ 'rank 5 ('.*') made no progress for '[0-9]+\.[0-9]' s at channel ' ]]
}

@test "an interrupt ends all of them" {
	ring_plan
	long_run 40s
	kill -TERM $leader
	ended 3 20
	grep -q interrupted "$plan.err"
}

@test "an interrupt ends a process that waits for the others" {
	ring_plan
	port=$(free_port)
	RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port "$GTOPO" \
		run --plan "$plan" --device host --timeout 60s 2>"$plan.err" \
		3>&- &
	leader=$!
	until_true bash -c ": <>/dev/tcp/127.0.0.1/$port" 2>/dev/null
	kill -TERM $leader
	ended 3 60
	grep -q "process 0: interrupted$" "$plan.err"
}

@test "no memory to share is told, and nothing is left" {
	ring_plan
	# shellcheck disable=SC2016
	run_split bash -c 'ulimit -f 1; trap "" XFSZ
		"$0" run --plan "$1" --device host --procs 2 -b 64K -e 64K
		' "$GTOPO" "$plan"
	[ "$status" -eq 3 ]
	[[ "$err" == *"cannot get '"*"' bytes of shared memory: File too large" ]]
	[ -z "$(ours)" ]
}

@test "100 runs with a random kill leave nothing behind" {
	ring_plan
	# One that is killed before it has come is awaited for all of the limit.
	for turn in $(seq 100); do
		"$GTOPO" run --plan "$plan" --device host --procs 3 -b 64K \
			-e 64K -n 1000000 --timeout 4s >/dev/null 2>&1 3>&- &
		leader=$!
		sleep 0.0$((turn % 10))
		victim=$(pgrep -P $leader | shuf -n 1)
		kill -KILL "${victim:-$leader}"
		wait $leader && return 1
	done
	until_true gone
	[ -z "$(ours)" ]
}
