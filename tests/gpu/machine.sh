#!/bin/bash
# All that a machine with GPUs can show, in parts of 8 minutes at most:
#
#     machine.sh RESULTS [PART...]
#
# What a part says is RESULTS/PART/said.txt, beside its files.  Without a PART
# all of them, in this order:
#
#   checks    everything of run.sh that is not long or a race
#   ranks     4 and 8 ranks on the GPUs that there are
#   self      ways of libgtopo's in turns (bench/vs-self); where BEFORE names
#             another build's libgtopo.so, that too
#   self4     the same with 4 ranks on the GPUs that there are
#   race      gtopo and NCCL in turns (bench/vs-nccl)
#   tune      gtopo tune, of all collectives to 4 GiB, and what it gains
#   no-peers  the race through the host's memory (bench/no-peers.sh)
#   staged    all checks of GPUs without peer access (apart.sh, whose first lines
#             say which seconds can be set)
#   faults    what two ranks say of a fault, on NCCL and on gtopo, and how long a
#             job takes to go on (faults.sh)
#   clients-torch, -cupy, -jax, -tests
#             programs that exist, on NCCL and on gtopo (clients.sh)
#   overlap-PART
#             beside products: each part of bench/overlap.sh
#   long      a million operations, compute-sanitizer
#
# Needs only what `make gpu-bundle` puts into a folder, where this lies.
# Status: 1 when a part failed, 2 for a PART that is none, 77 without a GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || { sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0"; exit 2; }
results=$1
shift
all="checks ranks self self4 race tune no-peers staged faults
	clients-torch clients-cupy clients-jax clients-tests"
for coll in allreduce allgather reducescatter alltoall; do
	all="$all overlap-threads-$coll overlap-procs-$coll"
done
all="$all overlap-fsdp overlap-ddp overlap-procs-fsdp overlap-procs-ddp
	overlap-blocks long"
# shellcheck disable=SC2086
[ $# -gt 0 ] || set -- $all
for part; do
	[[ " ${all//[[:space:]]/ } " != *" $part "* ]] || continue
	echo "machine.sh: no part '$part'" >&2
	exit 2
done

gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
[ "$gpus" -gt 0 ] || { echo "no GPU here"; exit 77; }
mkdir -p "$results" && out=$(cd "$results" && pwd) || exit 2
export NCCL_NVLS_ENABLE=0
work=$(mktemp -d) || exit 3
trap 'rm -rf "$work"' EXIT

# A library that the machine has fits its devices better than the one in lib.
for library in "$here"/lib/*; do
	ldconfig -p | grep -qF "${library##*/} " || ln -s "$library" "$work"
done
export LD_LIBRARY_PATH=$work${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
gtopo=$here/gtopo
race='[Rr]ace|NCCL'
long='^[0-9]+000 |a million|^more elements|^memcheck|^racecheck'
export GTOPO_COMMIT=${GTOPO_COMMIT:-$(cat "$here/commit" 2>/dev/null)}

# A plan of all that the search finds, for so many ranks on these GPUs.
plan_of() { # RANKS
	local machine=$out/machine.xml
	if [ "$1" -gt "$gpus" ]; then
		machine=$here/dgx-h100.xml
	elif [ ! -s "$machine" ]; then
		"$gtopo" detect -o "$machine" || return
	fi
	"$gtopo" search -q --gpus "$(seq -s, 0 $(($1 - 1)))" \
		-o "$out/plan$1.json" "$machine"
}

# run.sh, of which a part is chosen.
checks() { # FOLDER ONLY WITHOUT
	GTOPO_GPU_SECONDS=450 GTOPO_GPU_ONLY=$2 GTOPO_GPU_WITHOUT=$3 \
		bash "$here/run.sh" "$1"
}

# A row for each size: what the others take, and its ratio to the first.
table() { # JSON
	command -v jq >/dev/null || return 0
	jq -r '.rows[] | [.coll, .bytes, (if .graph then "graph" else "stream"
		end), (.ways[] | .time_us, (.ratio // empty))] | @tsv' "$1"
}

in_turns() { # FOLDER RANKS OPTION...
	local folder=$1 ranks=$2 library=$here/libgtopo.so
	shift 2
	plan_of "$ranks" || return
	"$here/vs-self" "$@" -e 1G -t 420 -C "$GTOPO_COMMIT" \
		"$out/plan$ranks.json" "$library:best" "$library" \
		"$library:best+invariant" ${BEFORE:+"$BEFORE:best"} \
		>"$folder/self.json"
	local status=$?
	table "$folder/self.json"
	return $status
}

tune() { # FOLDER
	plan_of "$gpus" &&
		timeout -k 5 420 "$gtopo" tune --coll all -e 4G -f 4 \
			-o "$1/tuned.json" "$out/plan$gpus.json" &&
		"$gtopo" verify "$1/tuned.json"
}

# The parts take this machine for theirs: what they need lies beside them.
do_part() { # PART FOLDER
	case $1 in
	checks) checks "$2" "" "$race|$long|^shared: " ;;
	ranks) checks "$2" "^shared: " "" ;;
	race) checks "$2" "$race" "" ;;
	long) checks "$2" "$long" "" ;;
	self) in_turns "$2" "$gpus" ;;
	self4) in_turns "$2" 4 -S -m graph -c allreduce ;;
	tune) tune "$2" ;;
	staged) bash "$here/apart.sh" "$2" ;;
	no-peers) SECONDS_EACH=140 bash "$here/no-peers.sh" "$here" "$2" ;;
	faults) GTOPO=$gtopo bash "$here/faults.sh" "$2" ;;
	clients-*) GTOPO=$gtopo bash "$here/clients.sh" "$2" "${1#*-}" ;;
	overlap-*) bash "$here/overlap.sh" "$2" "${1#*-}" ;;
	esac
}

failed=0
for part; do
	begin=$SECONDS
	mkdir -p "$out/$part"
	do_part "$part" "$out/$part" >"$out/$part/said.txt" 2>&1
	status=$?
	echo "$part: status $status, $((SECONDS - begin)) s"
	case $status in
	0 | 77) ;;
	*) failed=1; tail -n 5 "$out/$part/said.txt" | sed 's/^/    /' ;;
	esac
done
exit $failed
