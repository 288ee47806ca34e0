#!/bin/bash
# All-reduce between processes of this host, beside Open MPI's and Gloo's in the
# same run: over shared memory and over TCP, and the start of many processes.
#
# JSON on standard output: first the machine, then a row a size, link and plan
# (a ring, and what `gtopo search` chooses by itself): times in microseconds,
# and ratios = their time / ours, the median of rounds taken in turn (more than
# 1: gtopo is faster).  Open MPI needs mpirun and mpicc; Gloo, which always goes
# over TCP, libgloo-dev, or the folder in GLOO that it was installed into.
# Without, they are null.
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

# ours LINK SIZE ITERATIONS PLAN
ours() {
	"$gtopo" run --plan "$dir/$4" --device host --procs 2 --link "$1" \
		--iface lo --coll allreduce -b "$2" -e "$2" -n "$3" \
		-w "$(($3 / 5 + 1))" --json |
		jq -r '.rows[0].time_us'
}

theirs() {
	local how="self,vader"
	[ "$1" = tcp ] && how="self,tcp"
	mpirun --oversubscribe --bind-to none -n 2 --mca pml ob1 \
		--mca btl_tcp_if_include lo \
		--mca btl "$how" "$dir/mpi" "$2" "$3" 2>/dev/null |
		cut -d' ' -f2
}

gloo=
where=()
[ -z "${GLOO:-}" ] || where=(-I "$GLOO/include" -L "$GLOO/lib")
if [ -n "${GLOO:-}" ] || echo '#include <gloo/context.h>' |
	"${CXX:-g++}" -fsyntax-only -x c++ - 2>/dev/null; then
	"${CXX:-g++}" -O2 -std=c++17 "${where[@]}" -o "$dir/gloo" \
		"$src/bench/gloo-allreduce.cc" -lgloo -lpthread
	gloo=yes
fi

# glooes SIZE ITERATIONS
glooes() {
	rm -rf "$dir/store"
	mkdir "$dir/store"
	"$dir/gloo" "$dir/store" "$1" "$2" | sed -n 's/^[0-9]* //p'
}

median() {
	sort -g | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'
}

"$gtopo" synth "2 gpu" 2>/dev/null >"$dir/two.xml"
for plan in ring auto; do
	"$gtopo" search --algo $plan --coll allreduce "$dir/two.xml" \
		>"$dir/$plan" 2>/dev/null
done

# column N: the median of a column of $dir/rounds, or null.
column() {
	cut -d' ' -f"$1" "$dir/rounds" | grep -v null | median | grep . ||
		echo null
}

# ratio N: column N / ours, or null.
ratio() {
	awk -v n="$1" '$n != "null" { printf "%.3g\n", $n / $1 }' "$dir/rounds" | median |
		grep . || echo null
}

# row LINK BYTES PLAN: of the columns of $dir/rounds, ours and theirs.
row() {
	printf '{"command": "all-reduce of 2 processes", "link": "%s", ' "$1"
	printf '"bytes": %d, "plan": "%s", "time_us": %s, ' "$2" "$3" \
		"$(column 1)"
	printf '"openmpi_us": %s, "openmpi_ratio": %s, ' "$(column 2)" \
		"$(ratio 2)"
	printf '"gloo_us": %s, "gloo_ratio": %s}\n' "$(column 3)" \
		"$(ratio 3)"
}

# rounds LINK SIZE ITERATIONS PLAN
rounds() {
	local theirs=null gloos=null
	for ((i = 0; i < rounds; i++)); do
		[ -z "$mpi" ] || theirs=$(theirs "$1" "$2" "$3") || continue
		[ -z "$gloo" ] || gloos=$(glooes "$2" "$3") || continue
		echo "$(ours "$@") ${theirs:-null} ${gloos:-null}"
	done
}

# Who ran where; of the load at the beginning, since others' ranks that poll
# are worth nothing while a processor is taken from them.
machine() {
	local cpu mpis=null gloos=null
	cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -1)
	[ -z "$mpi" ] || mpis=\"$(mpirun --version | sed -n '1s/.* //p')\"
	[ -z "$gloo" ] || gloos=\"${GLOO:+built }$([ -n "${GLOO:-}" ] ||
		dpkg-query -W -f '${Version}' libgloo-dev 2>/dev/null || :)\"
	printf '{"cpu": "%s", "cpus": %d, "kernel": "%s", "load": %s, ' \
		"$cpu" "$(nproc)" "$(uname -r | cut -d- -f1)" \
		"$(cut -d' ' -f1 /proc/loadavg)"
	printf '"gtopo": "%s", "openmpi": %s, "gloo": %s, "rounds": %d}\n' \
		"${GTOPO_COMMIT:-$("$gtopo" --version | head -1)}" \
		"$mpis" "$gloos" "$rounds"
}

machine >"$dir/rows"
for link in shm tcp; do
	for one in $sizes; do
		for plan in ring auto; do
			rounds $link "${one%:*}" "${one#*:}" $plan \
				>"$dir/rounds"
			row $link "${one%:*}" $plan
		done
	done
done >>"$dir/rows"

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
