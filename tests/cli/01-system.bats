# What the system refuses: memory, descriptors, room on the disk.
load common

setup() {
	xml=$GTOPO_SRC/share/xml
	failing=$PWD/tests/cli/libfailing_malloc.so
	cd "$BATS_TEST_TMPDIR"
}

# The allocation's number is the loop's, so that a failure can be repeated.
fail_at() { # NUMBER ARGUMENT...
	local number=$1
	shift
	FAIL_AT=$number LD_PRELOAD=$failing run_split "$GTOPO" "$@"
}

# every STEPS ARGUMENT...: one allocation after the other fails, at the
# beginning, then STEPS more up to the last; the answer is the usual one, or
# status 3 with words and nothing else.
every() {
	local steps=$1 usual code total number
	shift
	FAIL_COUNT=$PWD/count fail_at 0 "$@"
	usual=$out
	code=$status
	[ "$code" -lt 2 ]
	total=$(<count)
	[ "$total" -gt 0 ]
	for number in {1..5} $(seq 6 $((total / steps + 1)) "$total"); do
		rm -f made.json
		fail_at "$number" "$@"
		if [ "$status" -eq 3 ] && [ -n "$err" ] && [ -z "$out" ] &&
			[ ! -e made.json ]; then
			continue
		fi
		if [ "$status" -ne "$code" ] || [ "$out" != "$usual" ]; then
			echo "allocation $number of $total: $status $err"
			return 1
		fi
	done
}

need_failing_malloc() {
	[ -e "$failing" ] || skip "no $failing"
	! nm -D "$GTOPO" | grep -q __asan_init ||
		skip "the sanitizer has its own malloc"
}

@test "out of memory in search is status 3, also in C++ and GMP" {
	need_failing_malloc
	every 15 search --algo ring "$xml/dgx-1v.xml"
	every 15 search --algo forest "$xml/dgx-1v.xml"
	every 10 search -q --algo hier "$xml/dgx-superpod-h100.xml"
	every 10 search --algo ring -o made.json "$xml/dgx-1v.xml"
	run_split "$GTOPO" search --algo ring -o made.json "$xml/dgx-1v.xml"
	want 0 ""
	[ "$(ls -A | grep -vc '^\.out$\|^\.err$')" -eq 2 ]
}

# The check of the plan is among the last things.
@test "out of memory while a plan is checked says nothing of the plan" {
	local number total
	need_failing_malloc
	FAIL_COUNT=$PWD/count fail_at 0 search --algo ring "$xml/dgx-1v.xml"
	total=$(<count)
	for ((number = total - 20; number <= total; number++)); do
		fail_at "$number" search --algo ring "$xml/dgx-1v.xml"
		[ "$status" -eq 0 ] || want 3 "gtopo search: out of memory"
	done
}

@test "out of memory elsewhere is status 3" {
	need_failing_malloc
	"$GTOPO" search --algo ring "$xml/dgx-1v.xml" >plan
	every 15 lint "$xml/dgx-1v.xml"
	every 15 pick -n 3 "$xml/dgx-1v.xml"
	every 15 pick -n 5 --nodes 2 "$xml/workstation-4gpu.xml"
	cat >job.json <<-END
		{"schema": "gtopo.job/1", "axes": [{"name": "tp", "size": 8}],
		 "communication": [{"name": "a", "collective": "allgather",
		  "over": ["tp"], "bytes": 8}]}
	END
	every 15 search --explain --job job.json --nodes 2 \
		"$xml/workstation-4gpu.xml"
	every 20 verify plan
	every 8 steps plan
	every 8 compare plan plan
	every 8 export --to k8s-labels "$xml/gb200-nvl72.xml"
	every 15 show "$xml/dgx-1v.xml"
	every 15 paths "$xml/dgx-1v.xml"
	every 10 diff "$xml/dgx-1v.xml" "$xml/dgx-2.xml"
	# What a run prints are times; it says a little before it can fail.
	export FAIL_OWN=1
	for number in {1..60..7}; do
		fail_at "$number" run --plan plan --device host -b 1K -e 1K
		[ "$status" -eq 0 ] || [[ "$status $err" == "3 gtopo"* ]]
	done
	every 20 detect
}

@test "nothing of Fortran allocates before main" {
	! nm "$GTOPO" 2>/dev/null | grep -q _gfortran
}

@test "closed standard descriptors are nobody else's" {
	"$GTOPO" search -q -o plan "$xml/dgx-1v.xml" >&-
	run_split "$GTOPO" run --plan plan --device host --procs 2 -e 1K <&-
	want 0 ""
	for command in "show $xml/dgx-1v.xml" \
		"run --plan plan --device host --procs 2 -e 1K"; do
		code=0
		# shellcheck disable=SC2086
		"$GTOPO" $command <&- >&- 2>err || code=$?
		[ $code -eq 3 ]
		grep -q 'standard output: cannot write: Bad file descriptor' err
	done
	"$GTOPO" run --plan plan --device host --procs 2 -e 1K 2>&- |
		grep -q 'Out of bounds values : 0 OK'
	run_split "$GTOPO" show - <&-
	want 3 "gtopo show: standard input: cannot read: Bad file descriptor"
}

@test "too few descriptors are named" {
	"$GTOPO" search --algo ring -o plan "$xml/dgx-1v.xml"
	for limit in 8 12 18; do
		# shellcheck disable=SC2016
		run_split bash -c 'ulimit -n "$1"; exec "$0" run --plan plan \
			--device host --procs 3 -e 1K' "$GTOPO" $limit
		want 3 "gtopo run: a process of this job needs about 19 open files, and 'ulimit -n' allows $limit"
	done
}

@test "-o keeps the mode of a file, and writes where a link leads" {
	touch old
	chmod 640 old
	ln -s old link
	ln -s new dead
	for name in old link dead "$(printf 'x%.0s' {1..255})"; do
		(umask 077 && "$GTOPO" search --algo ring -o "$name" \
			"$xml/dgx-1v.xml")
		grep -q gtopo.plan "$name"
	done
	[ -L link ]
	[ -L dead ]
	[ "$(stat -c %a old)" = 640 ]
	[ "$(stat -c %a new)" = 600 ]
	# There are these five, and what run_split leaves.
	[ "$(ls -A | grep -vc '^\.out$\|^\.err$')" -eq 5 ]
}

@test "a file that may not grow, or a kill, leaves the old one and nothing else" {
	echo old >old
	# shellcheck disable=SC2016
	run_split bash -c '(ulimit -f 0; exec "$0" search --algo ring -o old \
		"$1" 2>&1) | cat' "$GTOPO" "$xml/dgx-1v.xml"
	want 0 ""
	[ "$out" = "gtopo search: old: cannot write: File too large" ]
	[ "$(<old)" = old ]
	[ "$(ls -A | grep -vc '^\.out$\|^\.err$')" -eq 1 ]
}
