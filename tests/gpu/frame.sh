# What the parts of run.sh share: where the programs are, what a check is, and
# how results are counted.
root=$(dirname "${GTOPO:-$here/gtopo}")
full=${1:+yes}
out=${1:-$(mktemp -d)} || exit 99
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 99
work=$(mktemp -d) || exit 99
trap '! declare -F xid_end >/dev/null || xid_end
rm -rf "$work"; [ -n "$full" ] || rm -rf "$out"' EXIT
limit=${GTOPO_GPU_SECONDS:-$([ -n "$full" ] && echo 520 || echo 240)}
log=$out/log.txt
export NCCL_NVLS_ENABLE=0

find_file() { # NAME FOLDER...
	local name=$1 folder
	shift
	for folder in "$here" "$@"; do
		[ -f "$folder/$name" ] && echo "$folder/$name" && return
	done
}

gtopo=${GTOPO:-$(find_file gtopo "$here/../..")}
matrix=$(find_file matrix "$root/tests/gpu")
library=$(find_file library "$root/tests/gpu")
face=$(find_file face "$root/tests/gpu")
race=$(find_file vs-nccl "$root/bench")
dgx=$(find_file dgx-h100.xml "${GTOPO_SRC:-$here/../..}/share/xml")
v100=$(find_file dgx-1v.xml "${GTOPO_SRC:-$here/../..}/share/xml")
commit=${GTOPO_COMMIT:-$(git -C "$here" rev-parse --short HEAD 2>/dev/null)}
commit=${commit:-unknown}
for program in "$gtopo" "$matrix" "$library" "$race"; do
	[ -x "$program" ] && continue
	echo "gtopo, matrix, library or vs-nccl not built"
	exit 77
done
"$matrix" small 2 30 >"$work/probe" 2>&1
[ $? -ne 77 ] || { cat "$work/probe"; exit 77; }

gpus=$(nvidia-smi -L | grep -c '^GPU')
machine=$(nvidia-smi -L | sed -n '1s/.*: NVIDIA \([^ ]*\).*/\1/p' | tr A-Z a-z)
: "${GTOPO_NCCL=$(ldconfig -p | awk '/libnccl.so.2 /{print $NF; exit}')}"
if [ -z "$GTOPO_NCCL" ]; then
	GTOPO_NCCL=$(find /usr /opt -name libnccl.so.2 2>/dev/null | head -n 1)
fi
export GTOPO_NCCL

words= prefix= tests=0 passed=0 failed=0 skipped=0
say() {
	echo "$1" | tee -a "$out/checks.txt"
}
result() { # pass|fail|skip NAME [WHY]
	tests=$((tests + 1))
	case $1 in
	pass) passed=$((passed + 1)); say "ok $tests - $2" ;;
	fail) failed=$((failed + 1)); say "not ok $tests - $2" ;;
	skip) skipped=$((skipped + 1)); say "ok $tests - $2 # skip $3" ;;
	esac
}

left_out() { # NAME
	[ -z "${GTOPO_GPU_WITHOUT:-}" ] ||
		! grep -qE -- "$GTOPO_GPU_WITHOUT" <<<"$1" || return 0
	[ -n "${GTOPO_GPU_ONLY:-}" ] &&
		! grep -qE -- "^detect$|^search |$GTOPO_GPU_ONLY" <<<"$1"
}

# check SECONDS NAME STATUS COMMAND...: the status and, if $words is set, the
# words it must print.  Before the name comes $prefix.
check() {
	local seconds=$1 name=$prefix$2 want=$3 begin=$SECONDS status
	shift 3
	if left_out "$name"; then
		result skip "$name" "left out"
		words=
		return
	fi
	if [ $((SECONDS + seconds)) -gt "$limit" ]; then
		result skip "$name" "no time left"
		words=
		return
	fi
	echo "\$ $*" >>"$log"
	case $(type -t "$1") in
	function) "$@" ;; # ends by itself
	*) timeout -k 5 "$seconds" "$@" ;;
	esac >"$work/out" 2>&1
	status=$?
	{ head -c 200000 "$work/out"; echo "[$status]"; } >>"$log"
	name="$name ($((SECONDS - begin)) s)"
	if [ "$status" -eq "$want" ] &&
		{ [ -z "$words" ] || grep -qE -- "$words" "$work/out"; }; then
		result pass "$name"
	else
		tail -n 3 "$work/out" | cut -c 1-300 | sed 's/^/# /'
		result fail "$name"
	fi
	words=
}

finish() {
	say "1..$tests"
	say "# $passed passed, $failed failed, $skipped skipped in $SECONDS s"
	[ "$failed" -eq 0 ]
	exit
}

plan_of() { # RANKS: a ring over the first GPUs
	"$gtopo" search --algo ring --gpus "$(seq -s, 0 $(($1 - 1)))" \
		"$out/machine.xml" >"$work/plan$1.json"
}

auto_of() { # RANKS: all that the search finds
	"$gtopo" search --gpus "$(seq -s, 0 $(($1 - 1)))" \
		-o "$work/auto$1.json" "$out/machine.xml"
}
