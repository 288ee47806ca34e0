#!/bin/bash
# Forests, as JSON on standard output: of all subsets of 2 to 8 GPUs of a
# DGX-1 with V100 (NCCL's rates), for each collective how many were searched,
# how many are proved optimal, the channels on average, and the wall time of
# all commands together and of the longest.
set -euo pipefail
gtopo=${GTOPO:?the program}
src=${GTOPO_SRC:?the sources}
meter=${METER:?bench/meter}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Each subset's GPUs, with commas.
subsets() {
	for ((set = 1; set < 256; set++)); do
		list=
		for ((gpu = 0; gpu < 8; gpu++)); do
			((set >> gpu & 1)) && list+=,$gpu
		done
		[ ${#list} -gt 2 ] && echo "${list#,}"
	done
	true
}

for coll in allreduce allgather reducescatter broadcast reduce; do
	: >"$dir/times"
	: >"$dir/proofs"
	for gpus in $(subsets); do
		"$meter" "$gtopo" search -q --algo forest --coll $coll \
			--rates nccl --gpus "$gpus" -o "$dir/plan" \
			"$src/share/xml/dgx-1v.xml" >>"$dir/times"
		grep '"optimal":' "$dir/plan" >>"$dir/proofs"
		grep -c '"share":' "$dir/plan" >>"$dir/channels"
	done
	awk -v coll=$coll -v optimal="$(grep -c true "$dir/proofs")" \
		-v channels="$(awk '{ n += $1 } END { print n / NR }' \
			"$dir/channels")" '
	{ sum += $2; if ($2 > max) max = $2 }
	END {
		printf "{\"subsets_of\": \"dgx-1v\", \"coll\": \"%s\", ", coll
		printf "\"searched\": %d, \"optimal\": %d, ", NR, optimal
		printf "\"channels\": %.2f, \"total_ms\": %.1f, ", channels, \
			sum / 1e6
		printf "\"max_ms\": %.2f}\n", max / 1e6
	}' "$dir/times" >>"$dir/rows"
	rm "$dir/channels"
done

printf '{"schema": "gtopo.bench-forest/1",\n "rows": [\n  '
sed '$!s/$/,/; 2,$s/^/  /' "$dir/rows"
printf ' ]}\n'
