#!/bin/bash
# One call after the other fails, of the system, for memory, of NVML and of
# libibverbs (both simulated), in every command: the answer is the usual one, or
# status 3 with words; nobody crashes, hangs or is left, and nothing is left in
# /dev/shm or TMPDIR.  Prints TAP, and as comments a table of
# calls by commands: how many there are, tried, status 3, and the usual answer.
# A command that none of its calls has made end with status 3 was not tested, and
# fails.
#
# GTOPO_NTH is how many numbers of each call and command are tried, the first
# ones and then at equal steps; 0: all; 2 where it is not set.  GTOPO_NTH_ONLY is
# an expression for the commands that are tried.
set -uo pipefail
most=${GTOPO_NTH:-2}
: "${GTOPO:?the program}"
src=$(cd "${GTOPO_SRC:-$(dirname "$0")/..}" && pwd)
built=$(dirname "$GTOPO")/tests
failing=$built/cli/libfailing_calls.so
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
xml=$src/share/xml
cases=$src/tests/cases
cp "$xml/dgx-1v.xml" machine.xml
cp machine.xml other.xml
sed "/nvlink/d; s/\"x rwa\"/\"x ---\"/; s/\"rwa x\"/\"--- x\"/" \
	"$xml/rtx3090-2gpu.xml" >bridge.xml
bash "$src/tests/detect/mkroot.sh" "$cases/detect/dgx-2socket/machine.sh" root
export GTOPO_FAKE_NVML=$cases/detect/dgx-2socket/nvml
cat >job.json <<END
{"schema": "gtopo.job/1", "axes": [{"name": "tp", "size": 8}],
 "communication": [{"name": "a", "collective": "allgather", "over": ["tp"],
  "bytes": 8}]}
END
"$GTOPO" search -q --algo ring --coll allreduce -o plan machine.xml
"$GTOPO" run --plan plan --device host -e 4K -n 1 -w 0 --json >report

run="run --plan $dir/plan --device host -e 4K -n 1 -w 0 --timeout 10s"
commands=(
	"detect -o made"
	"detect --root root --nvml $built/detect/libnvidia-ml.so.1 -o made"
	"detect --root root --gather made"
	"health --root root"
	"show machine.xml"
	"show $xml/dgx-superpod-h100.xml"
	"paths machine.xml"
	"paths --p2p 0-1 machine.xml"
	"paths $xml/rtx4090-8gpu.xml"
	"page -o made machine.xml"
	"page --plan plan -o made machine.xml"
	"diff machine.xml $xml/dgx-2.xml"
	"lint machine.xml"
	"lint --fix -o made $cases/lint/busid-in-capitals/input.xml"
	"nccl machine.xml"
	"nccl $cases/nccl/h100-4-ranks.log"
	"fuse -o made --rails machine.xml other.xml"
	"synth -o made 8xH100"
	"pick -n 3 machine.xml"
	"pick -n 5 --nodes 2 $xml/workstation-4gpu.xml"
	"search -q --algo ring -o made machine.xml"
	"search -q --algo forest -o made machine.xml"
	"search -q --coll alltoall -o made $xml/pcie-8gpu.xml"
	"search -q -o made $xml/workstation-4gpu.xml"
	"search -q --explain --algo ring $xml/workstation-4gpu.xml"
	"search -q --explain --algo ring bridge.xml"
	"search -q --algo ring --p2p 0-1 -o made $xml/workstation-4gpu.xml"
	"search -q -o made $xml/2x-dgx-a100.xml"
	"search -q --coll alltoall -o made $xml/2x-dgx-a100.xml"
	"search -q --algo ring -o made $xml/2x-dgx-a100.xml"
	"search -q --job job.json --nodes 2 $xml/workstation-4gpu.xml"
	"verify plan"
	"verify $cases/plan/good/cluster3x3-tree-allreduce/plan.json"
	"verify $cases/plan/good/uneven6-allreduce/plan.json"
	"steps plan"
	"predict plan"
	"predict --topology machine.xml --p2p 0-1 plan"
	"compare plan plan"
	"compare report report"
	"export --to dot plan"
	"export --to msccl plan"
	"export --to mscclpp $cases/plan/good/ring4/plan.json"
	"export --to nccl-graph plan"
	"export --to k8s-labels $xml/gb200-nvl72.xml"
	"export --to slurm-topology $xml/dgx-superpod-h100.xml"
	"import -o made --topology $xml/workstation-4gpu.xml $cases/msccl/good/all-pairs4-scratch.xml"
	"import -o made --topology $xml/rtx3090-2gpu.xml $cases/mscclpp/good/exchange2-put.json"
	"tune --device host -e 1K -o made plan"
	"exec -- true"
	"help search"
	"version"
	"$run"
	"$run --trace made"
	"$run --procs 3"
	"$run --procs 3 --link tcp --iface lo"
	"$run --procs 3 --link verbs"
	"run --plan $dir/plan --device host -e 4K --timeout 10s --procs 3 --soak 200ms --keep-going"
)

# once CALL NUMBER WORD...: $code, and what it wrote in out and err.
once() {
	local call=$1 number=$2 preload=$failing
	shift 2
	[[ "$*" != *"--link verbs"* ]] ||
		preload="$failing $built/verbs/libsoftverbs.so"
	code=0
	rm -f made count*
	timeout -k 5 60 env FAIL_CALL="$call" FAIL_AT="$number" \
		FAIL_COUNT="$dir/count" LD_PRELOAD="$preload" "$GTOPO" "$@" \
		>out 2>err </dev/null || code=$?
}

# Is the answer the usual one?  Times, and how many operations there were, are
# not compared.
is_usual() {
	[ "$code" -eq "$usual_code" ] || return 1
	case $1 in
	# What cannot be read of the kernel is left out.
	detect | health)
		[ ! -e made ] || tar tf made >/dev/null 2>&1 ||
			"$GTOPO" show made >/dev/null 2>&1
		;;
	run | tune) ! grep -q '[1-9][0-9]* FAILED\|[1-9][0-9]* elements wrong' out ;;
	*) cmp -s <(cat out made 2>/dev/null) usual ;;
	esac
}

is_there() {
	pgrep -f -- "--plan $dir/plan" >/dev/null
}

# What was wrong with the last one, or nothing.
fault() { # COMMAND
	local left
	left=$(find tmp -mindepth 1; find /dev/shm -iname '*gtopo*'
		ls | grep -vxE "$files")
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

# One call of the command in $words after the other fails.
each_call() { # CALL TOTAL
	local tried=0 refused=0 same=0 at why
	for at in $(numbers "$2"); do
		once "$1" "$at" "${words[@]}"
		why=$(fault "${words[0]}")
		[ -z "$why" ] || bad="$bad$1 $at of $2: $why"$'\n'
		tried=$((tried + 1))
		[ "$code" -ne 3 ] || refused=$((refused + 1))
		[ "$code" -ne "$usual_code" ] || same=$((same + 1))
	done
	nrefused=$((nrefused + refused))
	echo "# $1: $2 calls, $tried tried, $refused status 3, $same the usual status: $command"
}

files=$(ls | tr '\n' '|')'usual|out|err|count|count.nvml|made|calls'
number=0
for command in "${commands[@]}"; do
	[[ "$command" =~ ${GTOPO_NTH_ONLY:-.} ]] || continue
	number=$((number + 1))
	if [[ "$command" == *"--link verbs"* ]] &&
		[ ! -e "$built/verbs/libsoftverbs.so" ]; then
		echo "ok $number - $command # skip no simulated RDMA devices"
		continue
	fi
	read -ra words <<<"$command"
	bad=
	once "" 0 "${words[@]}"
	usual_code=$code
	[ "$code" -lt 2 ] || bad="status $code: $(head -c 300 err)"$'\n'
	cat out made >usual 2>/dev/null
	cat count count.nvml 2>/dev/null | grep -v ' 0$' >calls
	nrefused=0
	while read -r call total; do
		each_call "$call" "$total"
	done <calls
	[ "$nrefused" -gt 0 ] || bad="${bad}no call that failed has shown"$'\n'
	if [ -z "$bad" ]; then
		echo "ok $number - $command"
	else
		sed 's/^/# /' <<<"${bad%$'\n'}"
		echo "not ok $number - $command"
	fi
done
if [ "$number" -eq 0 ]; then
	number=1
	echo "not ok 1 - a command is tried: none has '${GTOPO_NTH_ONLY:-.}'"
fi
echo "1..$number"
