#!/bin/bash
# One system call after the other fails, in every command of a list: the answer
# is the usual one, or status 3 with words; nobody crashes, hangs or is left, and
# nothing is left in /dev/shm or TMPDIR.  Prints TAP, and as comments a table of
# calls by commands: how many there are, tried, status 3, and the usual answer.
#
# GTOPO_NTH is how many numbers of each call and command are tried, the first
# ones and then at equal steps; 0: all; 3 where it is not set, which takes a
# minute and a half.
set -uo pipefail
most=${GTOPO_NTH:-3}
: "${GTOPO:?the program}"
src=$(cd "${GTOPO_SRC:-$(dirname "$0")/..}" && pwd)
failing=$(dirname "$GTOPO")/tests/cli/libfailing_calls.so
if [ ! -e "$failing" ] || nm -D "$GTOPO" | grep -q __asan_init; then
	echo "1..0 # skip no $failing, or a sanitizer in its way"
	exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/tmp"
export TMPDIR=$dir/tmp GTOPO_SECRET="a secret for tests only"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT \
	PMIX_RANK OMPI_COMM_WORLD_RANK SLURM_STEP_ID
cd "$dir" || exit 3
cp "$src/share/xml/dgx-1v.xml" machine.xml
"$GTOPO" search -q --algo ring --coll allreduce -o plan machine.xml

calls="fopen fwrite fflush rename open read write mmap ftruncate memfd_create socket bind listen connect
	accept send recv fork pthread_create"
run="run --plan $dir/plan --device host -e 4K -n 1 -w 0 --timeout 10s"
commands=(
	"show machine.xml"
	"search -q --algo ring -o made machine.xml"
	"verify plan"
	"predict plan"
	"export --to dot plan"
	"page -o made machine.xml"
	"$run"
	"$run --procs 3"
	"$run --procs 3 --link tcp --iface lo"
	"run --plan $dir/plan --device host -e 4K --timeout 10s --procs 3 --soak 200ms --keep-going"
)

# once CALL NUMBER WORD...: $code, and what it wrote in out and err.
once() {
	local call=$1 number=$2
	shift 2
	code=0
	rm -f made
	timeout -k 5 60 env FAIL_CALL="$call" FAIL_AT="$number" \
		FAIL_COUNT="$dir/count" LD_PRELOAD="$failing" "$GTOPO" "$@" \
		>out 2>err </dev/null || code=$?
}

# Is the answer the usual one?  Times, and how many operations there were, are
# not compared.
is_usual() {
	[ "$code" -eq 0 ] || return 1
	case $1 in
	run) ! grep -q '[1-9][0-9]* FAILED\|[1-9][0-9]* elements wrong' out ;;
	*) cmp -s <(cat out made 2>/dev/null) usual ;;
	esac
}

is_there() {
	pgrep -f -- "--plan $dir/plan" >/dev/null
}

# What was wrong with the last one, or nothing.
fault() {
	local left
	left=$(find tmp -mindepth 1; find /dev/shm -iname '*gtopo*'
		ls | grep -vxE 'tmp|machine.xml|plan|usual|out|err|count|made')
	if [ -n "$left" ]; then
		echo "left behind: $left"
	elif is_there && sleep 2 && is_there; then
		echo "a process is left"
	elif [ "$code" -eq 3 ] && [ -s err ]; then
		[ ! -e made ] || echo "a file was made"
	elif ! is_usual "$1"; then
		echo "status $code: $(head -c 300 err)"
	fi
}

# numbers TOTAL: which are tried.
numbers() {
	if [ "$most" -eq 0 ] || [ "$1" -le "$most" ]; then
		seq "$1"
	else
		{ seq $((most / 2))
		seq $((most / 2 + 1)) $((($1 + most / 2) / (most - most / 2))) \
			"$1"; } | sort -nu
	fi
}

number=0
for command in "${commands[@]}"; do
	read -ra words <<<"$command"
	bad=
	for call in $calls; do
		once "$call" 0 "${words[@]}"
		cat out made >usual 2>/dev/null
		total=$(cat count 2>/dev/null || echo 0)
		tried=0 refused=0 usual=0
		for at in $(numbers "$total"); do
			once "$call" "$at" "${words[@]}"
			why=$(fault "${words[0]}")
			[ -z "$why" ] || bad="$bad$call $at of $total: $why"$'\n'
			tried=$((tried + 1))
			[ "$code" -ne 3 ] || refused=$((refused + 1))
			[ "$code" -ne 0 ] || usual=$((usual + 1))
		done
		[ "$total" -eq 0 ] ||
			echo "# $call: $total calls, $tried tried, $refused status 3, $usual the usual answer: $command"
	done
	number=$((number + 1))
	if [ -z "$bad" ]; then
		echo "ok $number - $command"
	else
		sed 's/^/# /' <<<"${bad%$'\n'}"
		echo "not ok $number - $command"
	fi
done
echo "1..$number"
