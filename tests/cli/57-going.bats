# A job goes on without the processes that are gone: gtopo run --keep-going.
load common
load processes

# A soak of 8 ranks in the background, with the processes that it has.  Its time
# is far above what a busy machine takes to look for them and to kill some.
soak() { # SECONDS PROCESSES ARGUMENT...
	local time=$1 procs=$2
	shift 2
	rm -f "$plan.out" "$plan.err"
	"$GTOPO" run --plan "$plan" --device host --procs "$procs" -e 64K \
		--soak "${time}s" --keep-going "$@" >"$plan.out" \
		2>"$plan.err" 3>&- &
	leader=$!
	until_true works "$procs"
}

said() { # TIMES: so often it went on
	[ "$(grep -c 'right again [0-9.]* s after it was noticed$' \
		"$plan.out")" -eq "$1" ]
}

# ended: with success, the right results, and nothing left.
ended() {
	local code=0
	wait $leader || code=$?
	cat "$plan.out" "$plan.err"
	[ $code -eq 0 ]
	[ ! -s "$plan.err" ]
	grep -q '^[1-9][0-9]* operations in .* s, 0 elements wrong$' \
		"$plan.out"
	until_true gone
	[ -z "$(ours)" ]
}

@test "whichever processes are killed, the others go on, and say without whom" {
	ring_plan
	for link in "shm" "tcp --iface lo"; do
		# shellcheck disable=SC2086
		soak 12 8 --timeout 60s --link $link
		kill -KILL "${children[3]}"
		until_true said 1
		kill -KILL "${children[0]}"
		until_true said 2
		kill -KILL "${children[7]}" "${children[6]}" "${children[1]}"
		ended
		head -n 1 "$plan.out" | grep -qE "^process 3 \(.*, pid ${children[3]}\) with rank 3 is gone; 7 of 8 ranks go on with rings found on its machine, .* busbw .*, proved: no rings over its routes and relays reach more; right again"
		grep -q "^process 0 (.*, pid ${children[0]}) with rank 0 is gone; 6 of 7 ranks go on" \
			"$plan.out"
		tail -n 2 "$plan.out" | grep -q "gone; 3 of [456] ranks go on"
	done
}

@test "processes with several ranks, not equally many" {
	ring_plan
	for victim in 0 1 2; do
		soak 5 3 --timeout 60s
		kill -KILL "${children[victim]}"
		ended
		grep -qE "^process $victim \(.*\) with ranks ([0-9])-[0-9] is gone; [56] of 8 ranks go on" \
			"$plan.out"
	done
	# One of two is alone.
	soak 5 2 --timeout 60s
	kill -KILL "${children[0]}"
	ended
	grep -q "with ranks 0-3 is gone; 4 of 8 ranks go on" "$plan.out"
}

@test "without the machine's file the plan itself is enough" {
	for algo in ring forest auto; do
		cp "$GTOPO_SRC/share/xml/pcie-8gpu.xml" \
			"$BATS_TEST_TMPDIR/here.xml"
		gtopo search --algo $algo --coll allreduce \
			"$BATS_TEST_TMPDIR/here.xml" >"$plan"
		rm "$BATS_TEST_TMPDIR/here.xml"
		soak 5 4 --timeout 60s
		kill -KILL "${children[1]}"
		ended
		grep -q "ranks 2-3 is gone; 6 of 8 ranks go on with rings of what is left of the plan, proved to be right; " \
			"$plan.out"
	done
}

@test "a process that stands still is left behind, and ends" {
	ring_plan
	soak 14 4 --timeout 6s
	kill -STOP "${children[2]}"
	until_true said 1
	kill -CONT "${children[2]}"
	ended_but_one
	grep -q "with ranks 4-5 is gone; 6 of 8 ranks go on" "$plan.out"
}

# As ended(), but one process has something to say against it.
ended_but_one() {
	local code=0
	wait $leader || code=$?
	cat "$plan.out" "$plan.err"
	[ $code -eq 0 ]
	[ "$(wc -l <"$plan.err")" -le 1 ]
	grep -q ' operations in .* s, 0 elements wrong$' "$plan.out"
	until_true gone
}

@test "of 32 processes 27 are killed and one is stopped at once: four go on" {
	local one victims=()
	ring_plan 4x-dgx-h100
	soak 10 32 --timeout 12s
	for one in "${!children[@]}"; do
		case $one in
		3 | 5 | 12 | 20 | 31) ;;
		*) victims+=("${children[one]}") ;;
		esac
	done
	[ ${#victims[@]} -eq 27 ]
	kill -STOP "${children[5]}"
	kill -KILL "${victims[@]}"
	# They wait for the one that can be reached and does not come, and for
	# no more than three times the limit in all.
	until_true said 1
	kill -KILL "${children[5]}"
	ended
	grep -q "^process 0 (.*, pid ${children[0]}) with rank 0, process 1 .*, process 2 .*, process 4 (.*) with rank 4 and 24 more are gone; 4 of 32 ranks go on with " \
		"$plan.out"
}

@test "an interrupt ends all, and nobody goes on without the others" {
	ring_plan
	soak 60 4 --timeout 40s
	kill -TERM $leader
	code=0
	wait $leader || code=$?
	[ $code -eq 3 ]
	until_true gone
	! grep -q 'go on' "$plan.out"
}

@test "a rank that stalls is nobody who is gone" {
	ring_plan
	run_split gtopo run --plan "$plan" --device host --procs 4 -e 64K \
		--soak 30s --keep-going --link tcp --iface lo \
		--inject stall:5:3 --timeout 4s
	[ "$status" -eq 3 ]
	[[ "$err" == *"rank 5 ("*") made no progress for "* ]]
}

@test "what --keep-going is not for" {
	ring_plan
	run_split host --procs 2 --keep-going
	want 2 "gtopo run: --keep-going is for --soak TIME: rows of a sweep are all of the same ranks"
}

@test "15 runs with a random kill go on, and leave nothing behind" {
	ring_plan
	for turn in $(seq 15); do
		soak 5 4 --timeout 30s
		sleep 0.$((turn % 7))
		kill -KILL "${children[turn % 4]}"
		code=0
		wait $leader || code=$?
		cat "$plan.out" "$plan.err"
		[ $code -eq 0 ]
		grep -q ' operations in .* s, 0 elements wrong$' "$plan.out"
	done
	until_true gone
	[ -z "$(ours)" ]
}
