#!/usr/bin/env bats
# gtopo exec: the environment of the program that it becomes.
load common

@test "the command has gtopo's libnccl.so.2, and its own status" {
	lib=$(dirname "$GTOPO")/libnccl.so.2
	[ -f "$lib" ]
	# A sanitizer's library has to come before all others.
	nm -D "$lib" | grep -qE ' __(a|t|ub)san_' && skip "sanitizers are in it"
	run_split gtopo exec -- sh -c 'echo "$LD_PRELOAD $VLLM_NCCL_SO_PATH"; exit 5'
	[ "$status" -eq 5 ]
	[ "$out" = "$(realpath "$lib") $(realpath "$lib")" ]
	[ -z "$err" ]
	run_split gtopo exec -- sh -c 'grep -c libnccl.so.2 /proc/self/maps'
	[ "$status" -eq 0 ]
}

@test "a library that the user loads first stays" {
	nm -D "$(dirname "$GTOPO")/libnccl.so.2" |
		grep -qE ' __(a|t|ub)san_' && skip "sanitizers are in it"
	LD_PRELOAD=libm.so.6 run_split gtopo exec -- sh -c 'echo "$LD_PRELOAD"'
	[[ $out == *libnccl.so.2:libm.so.6 ]]
}

@test "the command may open as many files as before" {
	nm -D "$(dirname "$GTOPO")/libnccl.so.2" |
		grep -qE ' __(a|t|ub)san_' && skip "sanitizers are in it"
	(($(ulimit -Hn) > 77)) || skip "no more files may be open"
	ulimit -Sn 77
	run_split gtopo exec -- sh -c 'ulimit -Sn; ulimit -Hn'
	[ "$out" = "77"$'\n'"$(ulimit -Hn)" ]
}

@test "a library that the loader cannot be told of is refused" {
	for dir in "a blank" "a:colon"; do
		mkdir "$BATS_TEST_TMPDIR/$dir"
		cp "$GTOPO" "$(dirname "$GTOPO")/libnccl.so.2" \
			"$BATS_TEST_TMPDIR/$dir"
		run_split "$BATS_TEST_TMPDIR/$dir/gtopo" exec true
		[ "$status" -eq 3 ]
		[[ $err == *"$dir/libnccl.so.2: LD_PRELOAD can name no file"* ]]
	done
}

@test "what cannot be run is said" {
	nm -D "$(dirname "$GTOPO")/libnccl.so.2" |
		grep -qE ' __(a|t|ub)san_' && skip "sanitizers are in it"
	run_split gtopo exec -- /none/such
	want 2 "gtopo exec: /none/such: cannot run it: No such file or directory"
	run_split gtopo exec
	[ "$status" -eq 2 ]
	cp "$GTOPO" "$BATS_TEST_TMPDIR/gtopo"
	run_split "$BATS_TEST_TMPDIR/gtopo" exec true
	[ "$status" -eq 0 ] || [[ $err == *"there is none, nor is one beside gtopo" ]]
}
