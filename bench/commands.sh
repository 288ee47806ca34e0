#!/bin/bash
# Time and peak memory of each command, as JSON on standard output.
#
# One row a command: the median and the longest wall time of several runs, the
# largest resident size, the exit status, and the size of the input.  The
# input is the largest topology at hand that the command takes: of
# GTOPO_TEST_TOPOLOGIES if that is set, of share/xml otherwise.
set -euo pipefail
gtopo=${GTOPO:?the program}
src=${GTOPO_SRC:?the sources}
meter=${METER:?bench/meter}
runs=${GTOPO_BENCH_RUNS:-7}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# row NAME INPUT ARGUMENT...: measures gtopo, or $program, with these arguments.
row() {
	local name=$1 input=$2 i
	shift 2
	for ((i = 0; i < runs; i++)); do
		"$meter" "${program:-$gtopo}" "$@"
	done | sort -k2,2n | awk -v name="$name" -v input="${input##*/}" \
		-v bytes="$(stat -c %s "$input" 2>/dev/null || echo 0)" '
	{
		ns[NR] = $2
		if ($3 > rss) rss = $3
		if ($1 > status) status = $1
	}
	END {
		printf "{\"command\": \"%s\", \"input\": \"%s\", ", name, input
		printf "\"input_bytes\": %d, \"status\": %d, ", bytes, status
		printf "\"runs\": %d, ", NR
		printf "\"median_ms\": %.2f, ", ns[int((NR + 1) / 2)] / 1e6
		printf "\"max_ms\": %.2f, ", ns[NR] / 1e6
		printf "\"peak_rss_kib\": %d}\n", rss
	}' >>"$dir/rows"
}

# The largest topologies first.
topologies() {
	find "${GTOPO_TEST_TOPOLOGIES:-$src/share/xml}" -maxdepth 1 \
		-name '*.xml' -size +0 -printf '%s %p\n' | sort -rn |
		cut -d' ' -f2-
}

# The largest that a command accepts.
largest_for() {
	local file
	while read -r file; do
		if "$gtopo" "$@" -o "$dir/product" "$file" 2>/dev/null; then
			echo "$file"
			return
		fi
	done < <(topologies)
}

# The median of a row.
median_ms() { # NAME
	sed -n "s/^{\"command\": \"$1\".*\"median_ms\": \([0-9.]*\).*/\1/p" \
		"$dir/rows"
}

# What others need to tell about as much: hwloc's tree, and NVIDIA's table of
# who is how far from whom.  ratio: their time / ours.
against() {
	local lstopo smi
	lstopo=$(command -v lstopo-no-graphics || command -v lstopo) || return 0
	program=$lstopo row lstopo "" --of xml
	smi=$(command -v nvidia-smi || true)
	[ -z "$smi" ] || program=$smi row nvidia-smi "" topo -m
	awk -v ours="$(median_ms detect)" -v tree="$(median_ms lstopo)" \
		-v table="$(median_ms nvidia-smi)" 'BEGIN {
		printf "{\"command\": \"detect against lstopo%s\", ",
			(table == "" ? "" : " and nvidia-smi")
		printf "\"ratio\": %.2f}\n", (tree + table) / ours
	}' >>"$dir/rows"
}

row detect "" detect
against
paths_file=$(largest_for paths)
row paths "$paths_file" paths "$paths_file"
row show "$paths_file" show "$paths_file"
search_file=$(largest_for search --algo ring)
row search "$search_file" search --algo ring "$search_file"
plan=$dir/plan.json
"$gtopo" search --algo ring -o "$plan" "$search_file"
row verify "$plan" verify "$plan"
row run "$plan" run --device host -b 1M -e 1M -n 5 --plan "$plan"

# 200 servers against one another, every twentieth with a fault.
if command -v python3 >/dev/null; then
	machine=$src/share/xml/dgx-h100.xml
	mkdir "$dir/faulty"
	python3 "$src/tests/diff/mutate.py" "$machine" "$dir/faulty" 10 x8
	mkdir "$dir/fleet"
	python3 "$src/tests/diff/mutate.py" "$machine" "$dir/fleet" 200
	for ((i = 1; i <= 10; i++)); do
		cp "$dir/faulty/$i.xml" "$dir/fleet/$((20 * i)).xml"
	done
	row diff-200 "$machine" diff "$dir"/fleet/*.xml
fi

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
printf '{"schema": "gtopo.bench-commands/1", '
printf '"version": "%s", ' "$("$gtopo" version | cut -d' ' -f2)"
printf '"cpu": "%s", "cpus": %d,\n "rows": [\n' "$cpu" "$(nproc)"
sed '$!s/$/,/; s/^/    /' "$dir/rows"
printf ' ]}\n'
