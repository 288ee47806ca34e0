#!/bin/bash
# Time of the search on each topology at hand, as JSON on standard output.
#
# One row a file: what was found, and the median and the longest wall time of
# several runs of the whole command.  The files are those of
# GTOPO_TEST_TOPOLOGIES if that is set, else those of share/xml; files that
# the search refuses have no row.  Then clusters of DGX H100, up to 100,000
# GPUs, with the size of the plan and how long it takes to verify and to predict
# it; then clusters whose nodes or switches are not all alike.
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

# Runs a command several times: median and longest ms, peak KiB.
timed() {
	for ((i = 0; i < runs; i++)); do
		"$meter" "$@"
	done | sort -k2,2n | awk '
	{ ns[NR] = $2; if ($3 > rss) rss = $3 }
	END { printf "%.2f %.2f %d\n", ns[int((NR + 1) / 2)] / 1e6, ns[NR] / 1e6, rss }'
}

for nodes in 2 16 128 1024 12500; do
	for coll in allgather allreduce; do
		read -r median max rss < <(timed "$gtopo" search -q \
			--nodes $nodes --coll $coll -o "$dir/plan" \
			"$src/share/xml/dgx-h100.xml")
		read -r verify _ verify_rss < <(timed "$gtopo" verify -q \
			-o /dev/null "$dir/plan")
		read -r predict _ predict_rss < <(timed "$gtopo" predict -q \
			-o /dev/null "$dir/plan")
		printf '{"topology": "%s", "nodes": %d, "gpus": %d, ' \
			dgx-h100.xml $nodes $((nodes * 8))
		printf '"coll": "%s", "value": "%s", "optimal": %s, ' \
			$coll "$(field value)" "$(field optimal)"
		printf '"median_ms": %s, "max_ms": %s, "peak_rss_kib": %s, ' \
			"$median" "$max" "$rss"
		printf '"plan_bytes": %d, "verify_median_ms": %s, ' \
			"$(wc -c <"$dir/plan")" "$verify"
		printf '"verify_peak_rss_kib": %s, ' "$verify_rss"
		printf '"predict_median_ms": %s, ' "$predict"
		printf '"predict_peak_rss_kib": %s}\n' "$predict_rss"
	done
done >>"$dir/rows"

# Clusters whose nodes or switches are not all alike.
for file in "$src"/tests/cases/cluster/uneven/*.xml; do
	read -r median max rss < <(timed "$gtopo" search -q --coll allgather \
		-o "$dir/plan" "$file")
	printf '{"topology": "%s", "coll": "allgather", "value": "%s", ' \
		"${file##*/}" "$(field value)"
	printf '"optimal": %s, "median_ms": %s, "max_ms": %s, ' \
		"$(field optimal)" "$median" "$max"
	printf '"peak_rss_kib": %s}\n' "$rss"
done >>"$dir/rows"

printf '{"schema": "gtopo.bench-search/1",\n "rows": [\n  '
sed '$!s/$/,/; 2,$s/^/  /' "$dir/rows"
printf ' ]}\n'
