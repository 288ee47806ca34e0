#!/bin/bash
# Time of the ring search on each topology at hand, as JSON on standard output.
#
# One row a file: what was found, and the median and the longest wall time of
# several runs of the whole command.  The files are those of
# GTOPO_TEST_TOPOLOGIES if that is set, else those of share/xml; files that
# the search refuses have no row.
set -euo pipefail
gtopo=${GTOPO:?the program}
src=${GTOPO_SRC:?the sources}
meter=${METER:?bench/meter}
runs=${GTOPO_BENCH_RUNS:-7}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The plan's own words for a number: field NAME.
field() {
	sed -n "s/.*\"$1\": \"\\{0,1\\}\\([^\",}]*\\).*/\\1/p" "$dir/plan" |
		head -n 1
}

for file in "${GTOPO_TEST_TOPOLOGIES:-$src/share/xml}"/*.xml; do
	"$gtopo" search -q -o "$dir/plan" "$file" 2>/dev/null || continue
	for ((i = 0; i < runs; i++)); do
		"$meter" "$gtopo" search -q -o "$dir/plan" "$file"
	done | sort -k2,2n | awk -v file="${file##*/}" \
		-v gpus="$(grep -c '"rank":' "$dir/plan")" \
		-v channels="$(grep -c '"share":' "$dir/plan")" \
		-v value="$(field value)" -v optimal="$(field optimal)" '
	{ ns[NR] = $2; if ($3 > rss) rss = $3 }
	END {
		printf "{\"topology\": \"%s\", \"gpus\": %d, ", file, gpus
		printf "\"channels\": %d, \"value\": \"%s\", ", channels, value
		printf "\"optimal\": %s, ", optimal
		printf "\"median_ms\": %.2f, ", ns[int((NR + 1) / 2)] / 1e6
		printf "\"max_ms\": %.2f, ", ns[NR] / 1e6
		printf "\"peak_rss_kib\": %d}\n", rss
	}' >>"$dir/rows"
done

printf '{"schema": "gtopo.bench-search/1",\n "rows": [\n  '
sed '$!s/$/,/; 2,$s/^/  /' "$dir/rows"
printf ' ]}\n'
