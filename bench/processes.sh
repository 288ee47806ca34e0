#!/bin/bash
# All-reduce between processes of this host, beside Open MPI's in the same run:
# over shared memory and over TCP, and the start of many processes.
#
# JSON on standard output, one row a size: times of both in microseconds, and
# ratio = Open MPI's time / ours, the median of rounds taken in turn (more than
# 1: gtopo is faster).  Without mpirun and mpicc, gtopo's times alone.
set -euo pipefail
gtopo=${GTOPO:?the program}
src=${GTOPO_SRC:?the sources}
rounds=${GTOPO_BENCH_RUNS:-7}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
sizes="4096:2000 1048576:200 67108864:5"

mpi=
if command -v mpirun mpicc >/dev/null; then
	mpicc -O2 -o "$dir/mpi" "$src/bench/mpi-allreduce.c" && mpi=yes
fi

# ours LINK SIZE ITERATIONS
ours() {
	"$gtopo" run --plan "$dir/plan" --device host --procs 2 --link "$1" \
		--iface lo --coll allreduce -b "$2" -e "$2" -n "$3" \
		-w "$(($3 / 5 + 1))" --json |
		jq -r '.rows[0].time_us'
}

theirs() {
	local how="self,vader"
	[ "$1" = tcp ] && how="self,tcp"
	mpirun --oversubscribe --bind-to none -n 2 --mca pml ob1 \
		--mca btl "$how" "$dir/mpi" "$2" "$3" 2>/dev/null |
		cut -d' ' -f2
}

median() {
	sort -g | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'
}

"$gtopo" synth "2 gpu" 2>/dev/null >"$dir/two.xml"
"$gtopo" search --algo ring --coll allreduce "$dir/two.xml" >"$dir/plan" \
	2>/dev/null
for link in shm tcp; do
	for one in $sizes; do
		size=${one%:*}
		for ((i = 0; i < rounds; i++)); do
			a=$(ours $link "$size" "${one#*:}")
			b=null
			if [ -n "$mpi" ]; then
				b=$(theirs $link "$size" "${one#*:}") || continue
			fi
			echo "$a $b"
		done >"$dir/rounds"
		printf '{"command": "all-reduce of 2 processes", "link": "%s", ' \
			$link
		printf '"bytes": %d, "time_us": %s, ' "$size" \
			"$(cut -d' ' -f1 "$dir/rounds" | median)"
		if [ -n "$mpi" ]; then
			printf '"openmpi_us": %s, "ratio": %.3f}\n' \
				"$(cut -d' ' -f2 "$dir/rounds" | median)" \
				"$(awk '{ print $2 / $1 }' "$dir/rounds" | median)"
		else
			printf '"openmpi_us": null, "ratio": null}\n'
		fi
	done
done >"$dir/rows"

"$gtopo" synth "2 numa: 4 switch: 8 gpu" 2>/dev/null >"$dir/many.xml"
"$gtopo" search --algo ring --coll allreduce --budget 2s "$dir/many.xml" \
	>"$dir/plan" 2>/dev/null
for ((i = 0; i < rounds; i++)); do
	begin=$(date +%s%N)
	"$gtopo" run --plan "$dir/plan" --device host --procs 64 \
		--coll allreduce -b 64K -e 64K -n 1 -w 0 >/dev/null
	echo $((($(date +%s%N) - begin) / 1000000))
done >"$dir/rounds"
printf '{"command": "start of 64 processes, one all-reduce", "median_ms": %d}\n' \
	"$(median <"$dir/rounds")" >>"$dir/rows"
sed '$!s/$/,/; 1s/^/[/; $s/$/]/' "$dir/rows"
