#!/bin/bash
# Everything that needs GPUs: run.sh [RESULTS]
#
# With the folder RESULTS all of it, the race with NCCL too, for
# GTOPO_GPU_SECONDS (520) at most; what does not fit is skipped.  Without, the
# short part, for `make check`.  Needs only the programs gtopo, matrix, library
# and vs-nccl, beside this file or in the build tree of $GTOPO, for one check the
# file dgx-h100.xml and for RDMA libsoftverbs.so.  The race's files are
# RESULTS/MACHINE-COMMIT.json, COMMIT from GTOPO_COMMIT.  With
# GTOPO_GPU_WITHOUT, checks whose names match this regular expression are
# skipped; with GTOPO_GPU_ONLY, those whose names do not, but for those that make
# files for others: so it can be run in parts.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "${GTOPO:-$here/gtopo}")
full=${1:+yes}
out=${1:-$(mktemp -d)} || exit 99
mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 99
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"; [ -n "$full" ] || rm -rf "$out"' EXIT
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
race=$(find_file vs-nccl "$root/bench")
dgx=$(find_file dgx-h100.xml "${GTOPO_SRC:-$here/../..}/share/xml")
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

words= tests=0 passed=0 failed=0 skipped=0
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
# words it must print.
check() {
	local seconds=$1 name=$2 want=$3 begin=$SECONDS status
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

# What NCCL says of its rings with the given topology file, or none.
rings() {
	env ${1:+"NCCL_TOPO_FILE=$1"} NCCL_DEBUG=INFO \
		NCCL_DEBUG_SUBSYS=INIT,GRAPH timeout -k 5 50 "$race" \
		-b 1024 -e 1024 -r 1 -m stream -t 40 \
		"$work/plan$gpus.json" 2>&1 |
		grep -oE 'Channel [0-9]+/[0-9]+ :( [0-9]+)+$' | sort
}

same_rings() {
	local with without
	with=$(rings "$out/machine.xml")
	without=$(rings "")
	[ -n "$with" ] && [ "$with" = "$without" ] && uniq -c <<<"$with"
}

plan_of() { # RANKS: a ring over the first GPUs
	"$gtopo" search --algo ring --gpus "$(seq -s, 0 $(($1 - 1)))" \
		"$out/machine.xml" >"$work/plan$1.json"
}

auto_of() { # RANKS: all that the search finds
	"$gtopo" search --gpus "$(seq -s, 0 $(($1 - 1)))" \
		-o "$work/auto$1.json" "$out/machine.xml"
}

# What the tuned plan predicts beside what it takes, and beside the engine's own
# best way: of each collective and of all rows from 64 KiB on the median of
# |predicted / measured - 1|, the worst, and the median of tuned / best.
predicted_of() { # RANKS LARGEST
	local n=$1 plan=$out/${machine}x$1-$commit.tuned.json coll file
	local table=$out/${machine}x$1-$commit.tuned.txt
	local run=(timeout 30 "$gtopo" run --device cuda --plan "$plan" -e "$2"
		-f 4)

	for coll in allreduce allgather reducescatter broadcast reduce \
		alltoall gather scatter sendrecv; do
		"$gtopo" predict -e "$2" -f 4 --coll "$coll" "$plan" \
			>"$work/predicted" &&
			"${run[@]}" --coll "$coll" >"$work/measured" &&
			"${run[@]}" --coll "$coll" --best >"$work/best" ||
			return
		for file in predicted measured best; do
			awk '!/^#/ && NF {print $1, $6, $9, $10}' \
				"$work/$file" | sort >"$work/$file.rows"
		done
		join "$work/predicted.rows" "$work/measured.rows" |
			join - "$work/best.rows" | sort -n |
			awk -v c="$coll" '{print c, $1, $2, $3, $4, $5, $8}'
	done >"$work/rows"
	awk '
	function sorted(list, n, i, k, x) {
		for (i = 2; i <= n; i++)
			for (k = i; k > 1 && list[k] < list[k - 1]; k--) {
				x = list[k]; list[k] = list[k - 1]
				list[k - 1] = x
			}
	}
	function say(name, n) {
		sorted(off, n)
		sorted(ratio, n)
		printf "%-14s %3d rows: median %5.1f %%, worst %5.1f %%;" \
			" tuned / best: median %.3f, worst %.3f\n", name, n,
			100 * off[int((n + 1) / 2)], 100 * off[n],
			ratio[int((n + 1) / 2)], ratio[n]
	}
	BEGIN {
		printf "%-14s %11s %10s %10s %10s  %s\n", "#", "bytes",
			"predicted", "measured", "best", "way"
	}
	{
		printf "%-14s %11d %10.2f %10.2f %10.2f  %s %s\n", $1, $2, $3,
			$6, $7, $4, $5
		if ($2 < 65536)
			next
		off[++n] = $3 > $6 ? $3 / $6 - 1 : 1 - $3 / $6
		ratio[n] = $6 / $7
	}
	END {
		say("# all", n)
	}' "$work/rows" >"$table"
	tail -n 1 "$table"
	! grep -q -e nan -e inf "$table"
}

race_of() { # RANKS SECONDS
	local file=$out/${machine}x$1-$commit.json
	"$race" -b 1024 -e 4294967296 -r 11 -t "$2" -C "$commit" \
		"$work/plan$1.json" >"$file" &&
		[ "$(tail -n 1 "$file")" = "]}" ] &&
		! grep -q '"wrong": [1-9]' "$file" && grep -q '"ratio' "$file"
}

# The same job by hand: process R of 2.
process() { # RANK GPUS PLAN OPTION...
	local rank=$1 gpus=$2 plan=$3
	shift 3
	RANK=$rank WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29617 \
		GTOPO_SECRET="no secret, a test" CUDA_VISIBLE_DEVICES=$gpus \
		exec timeout -k 5 35 "${run[@]}" "$plan" "$@"
}

torchrun() { # RANKS
	local rank status=0
	export WORLD_SIZE=$1 LOCAL_WORLD_SIZE=$1 MASTER_ADDR=127.0.0.1 \
		MASTER_PORT=29621 GTOPO_SECRET="no secret, a test"
	for rank in $(seq $(($1 - 1)) -1 1); do
		RANK=$rank LOCAL_RANK=$rank timeout -k 5 35 "${run[@]}" \
			"$work/auto$1.json" -b 64K -e 16M -f 16 -n 2 -w 1 &
	done
	RANK=0 LOCAL_RANK=0 timeout -k 5 35 "${run[@]}" \
		"$work/auto$1.json" -b 64K -e 16M -f 16 -n 2 -w 1 || status=$?
	wait
	unset WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT GTOPO_SECRET
	return $status
}

by_hand() { # PLAN OPTION...: each sees its own GPU only
	(process 1 1 "$@") &
	(process 0 0 "$@") && wait $!
}

# Files, and so what processes share, have 32 MiB at most: no detours, which is
# said once.
poor() { # PLAN OPTION...
	(
		trap '' XFSZ
		ulimit -f 32768
		timeout -k 5 40 "${run[@]}" "$@" >"$work/poor" 2>&1
	) && cat "$work/poor" &&
		[ "$(grep -c 'take no detour .*GTOPO_DETOUR=0' "$work/poor")" \
			-eq 1 ]
}

# Ends well when the one that is left says who is gone, and all is freed.
killed() { # PLAN OPTION...
	local other first before
	before=$(ls /dev/shm)
	(process 0 0,1 "$@") >"$work/first" 2>&1 &
	first=$!
	(process 1 0,1 "$@") &
	other=$!
	sleep 4
	pkill -9 -P "$other"
	wait "$first"
	[ $? -eq 3 ] && grep 'process 1 .*ended' "$work/first" &&
		[ "$(ls /dev/shm)" = "$before" ] && sleep 1 &&
		! nvidia-smi --query-compute-apps=pid,name --format=csv |
		grep gtopo
}

# Four processes that take themselves for hosts: the culprit is named, not who
# waits for one that waits.
far_stall() {
	local rank pids=()
	for rank in 1 2 3 0; do
		RANK=$rank WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 \
			MASTER_PORT=29619 GTOPO_SECRET="no secret, a test" \
			GTOPO_HOSTID=h$rank timeout -k 5 25 "$gtopo" run \
			--device cuda --map share --plan "$work/plan4.json" \
			-b 1M -e 1M --inject stall:2:2 --timeout 3s &
		pids+=($!)
	done
	wait "${pids[3]}"
	rank=$?
	wait
	return "$rank"
}

# One process for all GPUs against one for each: both times and their ratio for
# each size, the least of 3 rounds.
processes() { # RANKS
	local way round procs
	for way in "" "--best" "--best --graph"; do
		for round in 1 2 3; do
			for procs in 1 "$1"; do
				timeout 20 "${run[@]}" "$work/plan$1.json" \
					--procs "$procs" -f 4 -e 1G -n 20 \
					--coll allreduce $way |
					awk -v p=$procs '$3 == "float" {
						print $1, p, $6
					}' || return
			done
		done | awk -v way="$way" -v procs="$1" '
			!(($1, $2) in least) || $3 < least[$1, $2] {
				least[$1, $2] = $3
				size[$1]
			}
			END {
				print "# all-reduce " way ": bytes, us in one" \
					" process, us in " procs ", ratio"
				for (s in size)
					printf "%d %.2f %.2f %.3f\n", s,
						least[s, 1], least[s, procs],
						least[s, procs] / least[s, 1]
			}' | sort -n
	done | tee "$out/processes.txt"
	[ "$(grep -c '^[0-9]' "$out/processes.txt")" -ge 30 ]
}

# Groups as one, one by one and by NCCL, where it is found.
groups_of() {
	timeout -k 5 55 "$library" race "$all" 50 2>&1 |
		tee "$out/${machine}x$gpus-$commit.groups.txt"
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

# Two processes that take themselves for hosts, half of the GPUs each.
race_tcp() { # RANKS SECONDS
	local file=$out/${machine}x$1-tcp-$commit.json
	"$race" -n 2 -l tcp -m stream -b 1048576 -e 67108864 -f 8 -r 7 -t "$2" \
		-c allreduce -C "$commit" "$work/plan$1.json" >"$file" &&
		[ "$(tail -n 1 "$file")" = "]}" ] &&
		! grep -q '"wrong": [1-9]' "$file" && grep -q '"ratio' "$file"
}

finish() {
	say "1..$tests"
	say "# $passed passed, $failed failed, $skipped skipped in $SECONDS s"
	[ "$failed" -eq 0 ]
	exit
}

# Algorithms from elsewhere: thread blocks that wait for each other, scratch.
imported_steps() {
	local plan=$work/plan4.json format way
	for format in msccl mscclpp; do
		"$gtopo" export --to "$format" -o "$work/algo.$format" "$plan" &&
			"$gtopo" import --topology "$dgx" --gpus 0,1,2,3 \
				-o "$work/steps.json" "$work/algo.$format"
		for way in "" --graph "--procs 2"; do
			words='values : 0 OK'
			check 40 "a ring of 4 from $format${way:+ $way}" 0 \
				"$gtopo" run --device cuda --map share --plan \
				"$work/steps.json" -b 40 -e 4M -f 32 -n 2 -w 0 \
				$way
		done
	done
}

# Each way's times of every block: FILE is a trace of a run OPTION...
traced() { # FILE OPTION...
	local file=$1
	shift
	"${run[@]}" "$all" --coll allreduce -n 1 -w 1 --trace "$file" "$@" &&
		grep -q '"steps_dropped": 0' "$file" &&
		grep -q '"slowest_link": {"from"' "$file" &&
		grep -q '"cat": "move"' "$file" &&
		! grep -qE '"(dur|ts)": -' "$file" &&
		tail -c 3 "$file" | grep -q '}}'
}

# Ranks that share GPUs, several in a process, not equally many.
shared_processes() {
	local n way
	"$gtopo" search --algo ring --gpus 0,1,2,3 "$dgx" >"$work/plan4.json"
	check 60 "libgtopo: groups of 4 on one GPU" 0 env CUDA_VISIBLE_DEVICES=0 \
		"$library" groups "$work/plan4.json" 55
	for n in 2 3; do
		for way in "" --best "--link tcp" "--link shm"; do
			words='values : 0 OK'
			check 40 "4 ranks of $n processes${way:+ $way}" 0 \
				"$gtopo" run --device cuda --map share --plan \
				"$work/plan4.json" --procs $n -e 1M -f 32 \
				-n 2 -w 0 $way
		done
	done
	# Roots have two children, three, seven.
	for n in 3 4 8; do
		"$gtopo" search --algo forest --gpus "$(seq -s, 0 $((n - 1)))" \
			"$dgx" >"$work/trees$n.json"
		for way in "" --graph "--procs 2" "--procs 2 --link tcp"; do
			words='values : 0 OK'
			check 40 "trees of $n ranks${way:+ $way}" 0 "$gtopo" \
				run --device cuda --map share --plan \
				"$work/trees$n.json" --coll allreduce -e 16M \
				-f 16 -n 2 -w 0 $way
		done
	done
	imported_steps
	words='rank 2 .* stopped: it neither'
	check 40 "a stalled rank among hosts" 3 far_stall
}

# One GPU: what ranks that share it can show, which is everything but times.
shared() {
	local n share
	export CUDA_DEVICE_MAX_CONNECTIONS=32
	check 30 "detect" 0 "$gtopo" detect -o "$out/machine.xml"
	for n in 2 4; do
		check 60 "all types, operators, counts on $n" 0 \
			"$matrix" check "$n" 55
		check 60 "stopped ranks of $n are named" 0 "$matrix" fault "$n" 55
		[ -n "$dgx" ] || continue
		"$gtopo" search --algo ring --gpus "$(seq -s, 0 $((n - 1)))" \
			"$dgx" >"$work/plan$n.json"
		share=("$gtopo" run --device cuda --map share
			--plan "$work/plan$n.json")
		words='values : 0 OK'
		check 60 "1K to 16M on $n" 0 "${share[@]}" -e 16M -f 4 -n 2 -w 1
		words='values : 0 OK'
		check 60 "the best way on $n, in graphs" 0 "${share[@]}" -e 16M \
			-f 4 -n 2 -w 1 --graph --best
		words='stopped'
		check 30 "a stalled rank of $n" 3 "${share[@]}" -b 1M -e 1M \
			--inject stall:1 --timeout 1s
	done
	[ -z "$dgx" ] || shared_processes
	words='the plan is for 2 GPUs'
	[ -z "$dgx" ] || check 20 "2 ranks on 1 GPU" 2 "$gtopo" run \
		--device cuda --map index --plan "$work/plan2.json" -e 1K
	[ -z "$full" ] ||
		check 90 "100000 random operations" 0 "$matrix" stress 2 85
	finish
}

: >"$log"
: >"$out/checks.txt"
say "# $(nvidia-smi -L | head -n 1 | sed 's/ (UUID.*//'), $gpus GPUs, $commit"
[ "$gpus" -gt 1 ] || shared
check 30 "detect" 0 "$gtopo" detect -o "$out/machine.xml"
check 30 "detect --measure in 20 s" 0 \
	timeout 20 "$gtopo" detect --measure -o "$out/measured.xml"
check 30 "health, as measured" 0 \
	"$gtopo" health --measure --expect "$out/measured.xml"
words='is not measured: CUDA does not show it'
check 30 "health, a hidden GPU" 1 env CUDA_VISIBLE_DEVICES=0 \
	"$gtopo" health --measure --expect "$out/measured.xml"
for n in $(printf '%s\n' 2 "$gpus" | sort -nu); do
	check 20 "search for $n" 0 plan_of "$n"
	check 60 "all types, operators, counts on $n" 0 "$matrix" check "$n" 55
	check 60 "stopped ranks of $n are named" 0 "$matrix" fault "$n" 55
done
# Each of 2 processes has one of 2 ranks, on a host of its own if $hosts is set,
# with an RDMA device, which is simulated, if it is "verbs".
library_apart() { # PART [PLAN]
	local rank pids=() status=0
	export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29517 \
		GTOPO_SECRET="not so secret: a test"
	for rank in 0 1; do
		[ -z "$hosts" ] || export GTOPO_HOSTID=h$rank
		[ "$hosts" != verbs ] || export GTOPO_IB_HCA=soft0 \
			LD_PRELOAD="$soft" CUDA_VISIBLE_DEVICES=$rank
		RANK=$rank timeout -k 5 55 "$library" "$1" \
			"${2:-$work/plan2.json}" 50 &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid" || status=$?
	done
	unset WORLD_SIZE MASTER_ADDR MASTER_PORT GTOPO_SECRET GTOPO_HOSTID
	[ "$hosts" != verbs ] ||
		unset GTOPO_IB_HCA LD_PRELOAD CUDA_VISIBLE_DEVICES
	return $status
}

all=$work/plan$gpus.json
hosts=
for part in check graph groups pairs register pieces; do
	check 60 "libgtopo in 2 processes: $part" 0 library_apart "$part"
	[ "$part" != register ] || grep '^# all' "$work/out"
done
export GTOPO_CUDA_IPC=0
check 60 "libgtopo in 2 processes, memory as files" 0 library_apart check
unset GTOPO_CUDA_IPC
check 20 "search everything for 2 hosts" 0 auto_of 2
hosts=yes
for part in check graph; do
	check 60 "libgtopo on 2 hosts: $part" 0 \
		library_apart "$part" "$work/auto2.json"
done
soft=$(find_file libsoftverbs.so "$root/tests/verbs")
hosts=verbs
"$gtopo" synth "1 gpu 1 nic" 2>>"$log" |
	"$gtopo" search --nodes 2 - >"$work/rails.json" 2>>"$log"
# A kernel that is loaded when it is first needed waits for those that run, and
# they for the simulated card, which moves bytes by the driver: load all at once.
export CUDA_MODULE_LOADING=EAGER
for level in LOC SYS; do
	for part in check graph; do
		[ -n "$soft" ] || continue
		export GTOPO_NET_GDR_LEVEL=$level
		check 60 "libgtopo on 2 hosts, verbs, GPUDirect $level: $part" \
			0 library_apart "$part" "$work/rails.json"
	done
done
unset CUDA_MODULE_LOADING GTOPO_NET_GDR_LEVEL
hosts=
check 30 "libgtopo in 2 processes: messages that do not match" 0 \
	library_apart pairs-apart
for part in check graph groups threads overlap fault pairs pairs-fault pieces; do
	check 60 "libgtopo: $part" 0 "$library" "$part" "$all" 55
done
run=("$gtopo" run --device cuda --plan)
[ -n "$full" ] || largest=64M
[ -z "$full" ] || check 60 "groups of all-reduces against NCCL's" 0 groups_of
for n in $(printf '%s\n' 2 "$gpus" | sort -nu); do
	words='Out of bounds values : 0 OK'
	check 70 "1K to ${largest:=4G} on $n" 0 "${run[@]}" \
		"$work/plan$n.json" -b 1K -e "$largest" -f 4 -n 5 -w 1
done

for n in $(printf '%s\n' 2 "$gpus" | sort -nu); do
	largest_tuned=$([ -n "$full" ] && echo 1G || echo 1M)
	check 20 "search everything for $n" 0 auto_of "$n"
	check 60 "tune all collectives of $n in 60 s" 0 "$gtopo" tune \
		--plan "$work/auto$n.json" --coll all -e "$largest_tuned" \
		-o "$out/${machine}x$n-$commit.tuned.json"
	words='[1-9][0-9]* rows: median'
	check 60 "predictions of the tuned plan of $n" 0 \
		predicted_of "$n" "$largest_tuned"
	grep '^# all' "$work/out" || true
done

words='the plan is for 8 GPUs'
if [ -n "$dgx" ] && [ "$gpus" -lt 8 ]; then
	"$gtopo" search --algo ring "$dgx" >"$work/plan8.json"
	check 20 "8 ranks on $gpus GPUs" 2 "${run[@]}" "$work/plan8.json" -e 1K
fi
words='hidden by CUDA_VISIBLE_DEVICES|GPUs, here are'
check 20 "a hidden GPU" 2 env CUDA_VISIBLE_DEVICES=0 "${run[@]}" "$all" -e 1K
words='values : 0 OK'
check 20 "GPUs in another order" 0 \
	env CUDA_VISIBLE_DEVICES="$(seq -s, $((gpus - 1)) -1 0)" \
	"${run[@]}" "$all" -e 1K
words='no GPU .00ff:'
sed 's/0000:/00ff:/g' "$all" >"$work/other.json"
check 20 "a plan for other bus ids" 2 "${run[@]}" "$work/other.json" -e 1K
words='values : 0 OK'
check 30 "--strict on the plan's machine" 0 "${run[@]}" "$all" -e 1K --strict
sed 's/"digest": "sha256:..../"digest": "sha256:0000/' "$work/other.json" \
	>"$work/equal.json"
words='values : 0 OK'
check 30 "--map index on an equal machine" 0 "${run[@]}" "$work/equal.json" \
	-e 1K --map index --strict
words='is for an equal machine'
check 30 "--strict on an equal machine" 2 "${run[@]}" "$work/equal.json" \
	-e 1K --strict
sed 's/digest": "sha256:..../digest": "sha256:0000/g' "$all" >"$work/far.json"
words='is for another machine'
check 30 "a warning on another machine" 0 "${run[@]}" "$work/far.json" -e 1K
words='values : 0 OK'
check 30 "CUDA graphs" 0 "${run[@]}" "$all" -f 8 --graph
words='values : 0 OK'
check 60 "the best way, in graphs" 0 "${run[@]}" "$all" -f 8 -e "$largest" \
	-n 5 -w 1 --graph --best
for way in "-b 1M -e 1M" "--best -b 4K -e 4K" "--best -b 1M -e 1M" \
	"--best -b 64M -e 64M --graph" "--best -b 512M -e 512M" \
	"--procs 2 -b 1M -e 1M" "--procs 2 --best -b 64K -e 64K"; do
	words='the slowest link: rank'
	check 40 "a trace of a run $way" 0 traced "$work/trace.json" $way
done
words='out of memory'
check 30 "out of memory" 3 "${run[@]}" "$all" -b 400G -e 400G
words='rank 1 .* stopped'
check 30 "a stalled rank ends the run" 3 "${run[@]}" "$all" -b 1M -e 1M \
	--inject stall:1 --timeout 1s
words='values : 0 OK'
check 30 "CPU ranks beside GPUs" 0 "$gtopo" run --device host --plan "$all" \
	-e 64K -n 1 -w 0

# Several processes, a GPU each: by CUDA IPC, then as hosts joined by a link.
two=("${run[@]}" "$work/plan2.json" --procs 2)
words='values : 0 OK'
check 40 "2 processes, all types and operators" 0 "${two[@]}" -b 48K -e 48K \
	--dtype all --op all -n 2 -w 0
words='values : 0 OK'
check 40 "2 processes, the best way" 0 "${two[@]}" --best -b 1K \
	-e "$largest" -f 16 -n 3 -w 1
words='values : 0 OK'
check 40 "2 processes, in graphs" 0 "${two[@]}" --best --graph -f 8
# A part of it through the host's memory.
auto_of 2 >>"$log" 2>&1
for way in "" "--graph" "--procs 2"; do
	words='values : 0 OK'
	check 40 "detours${way:+, $way}" 0 "${run[@]}" "$work/auto2.json" \
		--best -b 1G -e 1G -n 2 -w 1 $way
done
words='values : 0 OK'
check 40 "no detours" 0 env GTOPO_DETOUR=0 "${two[@]}" --best -b 1G -e 1G \
	-n 2 -w 1
for way in "" "--graph" "--procs 2"; do
	words='values : 0 OK'
	check 40 "no memory for detours${way:+, $way}" 0 poor \
		"$work/auto2.json" --best -b 512M -e 1G --coll broadcast -n 2 \
		-w 1 $way
done
words='values : 0 OK'
check 40 "2 processes that see a GPU each" 0 by_hand "$work/plan2.json" -f 8
words='values : 0 OK'
check 40 "2 processes, memory as files" 0 env GTOPO_CUDA_IPC=0 "${two[@]}" \
	--best -e 64M -f 32 -n 3 -w 1
for link in tcp shm; do
	words='values : 0 OK'
	check 40 "2 processes over $link" 0 "${two[@]}" --link $link -b 1K \
		-e 64M -f 64 -n 3 -w 1
done
# Over RDMA, by devices that are simulated (tests/verbs/soft.h): FIFOs in the
# host's memory, then in the GPUs', with reads behind writes that come late.
over_verbs() { # VARIABLE=VALUE... -- OPTION...
	local set=()
	while [ "$1" != -- ]; do set+=("$1"); shift; done
	shift
	timeout -k 5 35 env LD_PRELOAD="$soft" "${set[@]}" "${two[@]}" \
		--link verbs -v "$@"
}
direct=GTOPO_NET_GDR_LEVEL=SYS
if [ -n "$soft" ]; then
	words='values : 0 OK'
	check 40 "2 processes over verbs" 0 over_verbs -- -b 1K -e 64M -f 64 \
		-n 3 -w 1
	words='through host memory: soft0 and rank 0.* are SYS to each other'
	check 20 "2 processes over verbs, too far for GPUDirect" 0 \
		over_verbs GTOPO_NET_GDR_LEVEL=PXB -- -e 1K
	words='values : 0 OK'
	check 40 "GPUDirect" 0 over_verbs "$direct" -- -b 1K -e 64M -f 64 -n 3 \
		-w 1
	words='from and to GPUs. memory'
	check 40 "GPUDirect, all types and operators" 0 over_verbs "$direct" -- \
		-b 48K -e 48K --dtype all --op all -n 2 -w 0
	words='values : 0 OK'
	check 40 "GPUDirect, late but flushed" 0 over_verbs "$direct" \
		GTOPO_SOFT_VERBS=late GTOPO_NET_FORCE_FLUSH=1 -- -b 64K \
		-e 16M -f 16 -n 2 -w 1
	words='values : [1-9][0-9]* FAILED'
	check 20 "GPUDirect, late and not flushed, is wrong" 1 over_verbs \
		"$direct" GTOPO_SOFT_VERBS=late -- -b 1M -e 1M -n 2 -w 1 \
		--coll allreduce
	words='through host memory: soft0 cannot register memory'
	check 20 "GPUDirect refused" 0 over_verbs "$direct" \
		GTOPO_SOFT_VERBS=no-dmabuf -- -b 1M -e 1M
	words='from and to GPUs. memory'
	check 20 "GPUDirect without a dma-buf" 0 over_verbs "$direct" \
		GTOPO_SOFT_VERBS=no-dmabuf,peermem -- -b 1M -e 1M
	words='rank 1 .* stopped'
	check 20 "a stalled rank under GPUDirect" 3 over_verbs "$direct" -- \
		-b 1M -e 1M --inject stall:1 --timeout 2s
else
	result skip "2 processes over verbs, GPUDirect" "no libsoftverbs.so"
fi
# As launchers start them, each process seeing all GPUs.
for n in $(printf '%s\n' 2 "$gpus" | sort -nu); do
	[ -f "$work/auto$n.json" ] || auto_of "$n" >>"$log" 2>&1
	words='values : 0 OK'
	check 40 "$n processes with torchrun's variables" 0 torchrun "$n"
	if ! command -v mpirun >/dev/null; then
		result skip "all collectives under mpirun -n $n" "no mpirun"
		continue
	fi
	words='values : 0 OK'
	check 40 "all collectives under mpirun -n $n" 0 mpirun \
		--allow-run-as-root --oversubscribe -n "$n" "${run[@]}" \
		"$work/auto$n.json" -b 64K -e 16M -f 16 -n 2 -w 1
done
words='rank 1 .* stopped'
check 30 "a stalled rank of another process" 3 "${two[@]}" -b 1M -e 1M \
	--inject stall:1 --timeout 2s
words='rank 1 .* stopped'
check 30 "a stalled rank of another host" 3 "${two[@]}" -b 1M -e 1M \
	--inject stall:1 --timeout 2s --link tcp
for link in "" "--link tcp"; do
	check 40 "a killed process ends the other${link:+, over tcp}" 0 killed \
		"$work/plan2.json" -b 1M -e 1M -n 50000 --timeout 5s $link
done
[ -z "$dgx" ] || shared_processes
check 70 "1 process against $gpus" 0 processes "$gpus"

if [ -n "$full" ]; then
	if [ -n "$GTOPO_NCCL" ]; then
		check 100 "NCCL's rings are the same with our file" 0 same_rings
		check 230 "race with NCCL on $gpus" 0 race_of "$gpus" 215
		[ "$gpus" -eq 2 ] ||
			check 140 "race with NCCL on 2" 0 race_of 2 125
		for n in $(printf '%s\n' 2 "$((gpus / 2 * 2))" | sort -nu); do
			[ -f "$work/plan$n.json" ] &&
				check 60 "race with NCCL over sockets, $n GPUs" \
					0 race_tcp "$n" 50
		done
	else
		result skip "race with NCCL" "no libnccl.so.2"
	fi
	check 60 "libgtopo: a million random operations" 0 \
		"$library" stress "$all" 55
	check 60 "more elements than 31 bits count" 0 "$matrix" large "$gpus" \
		55
	check 90 "100000 random operations" 0 "$matrix" stress "$gpus" 85
	sanitizer=$(command -v compute-sanitizer ||
		ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
	for tool in memcheck racecheck; do
		if [ -n "$sanitizer" ]; then
			[ "$tool" != memcheck ] ||
				check 40 "$tool, libgtopo" 0 "$sanitizer" \
					--tool "$tool" --report-api-errors no \
					--error-exitcode 9 \
					"$library" threads "$all" 35
			check 40 "$tool" 0 "$sanitizer" --tool "$tool" \
				--error-exitcode 9 "$matrix" small 2 35
		else
			result skip "$tool" "no compute-sanitizer"
		fi
	done
fi
finish
