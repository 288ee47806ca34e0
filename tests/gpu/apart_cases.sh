#!/bin/bash
# apart.sh without GPUs: `gtopo run` is on a SIMULATED run-time of CUDA
# (simcudart.c), where nobody stalls, which is played; what computes (matrix,
# library) and compute-sanitizer only say how they were called.
set -u
src=$(cd "${GTOPO_SRC:-.}" && pwd)
. "$src/tests/tap.sh"
root=$(dirname "${GTOPO:-$PWD/gtopo}")
b=$tmp/bundle
mkdir "$b" "$tmp/bin"
cp "$src"/tests/gpu/*.sh "$src"/share/xml/dgx-{h100,1v}.xml "$b"
PATH=$tmp/bin:$PATH
unset GTOPO GTOPO_SRC
export TMPDIR=$tmp

program() { # FILE: of what comes in
	{ echo '#!/bin/bash'; cat; } >"$1"
	chmod +x "$1"
}
program "$tmp/bin/nvidia-smi" <<-'P'
	echo "GPU 0: NVIDIA H200 (UUID: GPU-0)"
	echo "GPU 1: NVIDIA H200 (UUID: GPU-1)"
P
program "$tmp/bin/compute-sanitizer" <<-'P'
	echo "sanitizer $*"
P
for name in matrix library vs-nccl; do
	program "$b/$name" <<-'P'
		echo "${0##*/} $* GTOPO_P2P=${GTOPO_P2P:-}"
		[[ " ${FAILS:-} " != *" $1 "* ]]
	P
done
program "$b/gtopo" <<-P
	[ "\$1" != detect ] || exec cp "$b/dgx-h100.xml" "\$3"
	[[ "\$*" != *--inject* ]] || { echo "rank 1 stopped"; exit 3; }
	exec "$root/tests/gpu/simcuda" "\$@"
P

# Names of checks, without their times.
names() {
	sed -n 's/^ok [0-9]* - //p' "$tmp/r/checks.txt" | grep -v '^no Xid' |
		sed 's/ ([0-9]* s)$//'
}

ends "what it does is told" 2 'APART_MATRIX=60' bash "$b/apart.sh"
ends "all of it, in order" 0 ' passed, 0 failed, ' \
	env GTOPO_GPU_WITHOUT='killed|, random| random operations of' \
	bash "$b/apart.sh" "$tmp/r"
names >"$tmp/names"
{
	off="no peer access"
	all="all types, operators, counts on"
	echo "search for 2, 4 and 8 ranks"
	printf '%s\n' "$off: $all 2" "$off: stopped ranks of 2 are named" \
		"$off: 1, 2, 3, 8 and 16 blocks on 2"
	for pairs in 0-3 0-2,0-3,1-2,1-3; do
		printf '%s\n' "$off of $pairs" "$off of $pairs, --procs 2" \
			"$off of $pairs, --procs 4" \
			"$off of $pairs, random operations # skip left out"
	done
	stalls="$off: a stalled rank of N
$off: a stalled process of N
$off: too little memory for N"
	echo "${stalls//N/2}"
	echo "$off: a killed process ends the other # skip left out"
	echo "$off: a million random operations"
	echo "$off: random operations of 2 processes # skip left out"
	printf '%s\n' "$off: memcheck, libgtopo" "$off: memcheck" "$off: racecheck"
	for ranks in 4 8; do
		printf '%s\n' "$off: $all $ranks" \
			"$off: $ranks ranks, the best way, in graphs" \
			"$off: $ranks processes, all collectives" \
			"$off: $ranks processes, random operations # skip left out" \
			"${stalls//N/$ranks}"
	done
	printf "$off, libgtopo: %s\n" check graph groups pairs fault pairs-fault
	printf "$off, libgtopo in 2 processes: %s\n" check graph groups pairs
} >"$tmp/want"
verdict "every step has its checks" "$(diff "$tmp/want" "$tmp/names")"

said() { # NAME WORDS: it was called so
	verdict "$1" "$(grep -qE -- "$2" "$tmp/r/log.txt" ||
		grep -E '^(matrix|library|sanitizer) ' "$tmp/r/log.txt")"
}
said "the matrix has no access" '^matrix check 2 55 GTOPO_P2P=off$'
said "nor has libgtopo" '^library stress [^ ]*/plan2.json 115 GTOPO_P2P=off$'
said "nor have 8 ranks" '^matrix check 8 70 GTOPO_P2P=off$'
said "races are looked for" '^sanitizer --tool racecheck .*matrix small 2 40$'

only() { # STEPS, as a regular expression
	export GTOPO_GPU_ONLY=$1 GTOPO_GPU_WITHOUT=
}
only 'counts on|a million'
ends "seconds of a step are set" 0 ' 0 failed' \
	env APART_MATRIX=20 APART_RANKS=30 bash "$b/apart.sh" "$tmp/r"
said "so those of two ranks" '^matrix check 2 15 '
said "and those of four" '^matrix check 4 25 '
ends "a step that fails" 1 \
	'^not ok [0-9]* - no peer access: all types, operators, counts on 2 ' \
	env FAILS=check bash "$b/apart.sh" "$tmp/r"
ends "what does not fit is told" 0 \
	'a million random operations # skip no time left' \
	env GTOPO_GPU_SECONDS=100 bash "$b/apart.sh" "$tmp/r"
only 'stopped ranks'
ends "a part of machine.sh" 1 '^staged: status 1, ' \
	env FAILS=fault bash "$b/machine.sh" "$tmp/r" staged
ends "where there is no GPU" 77 'no GPU here' \
	env FAILS=small bash -c "printf '#!/bin/sh\necho no GPU here; exit 77\n' \
		>$b/matrix; bash $b/apart.sh $tmp/r"
tap_end
