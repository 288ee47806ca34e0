#!/bin/bash
# How long `gtopo pick` takes on the machines of a folder, as a table on standard
# output: one row a machine, of the slowest choice of 2, 4 and 6 of its GPUs.
# Of a machine with 2 GPUs both are taken.
#
# GTOPO_TEST_TOPOLOGIES names the folder, as for the tests.  Each choice is made
# GTOPO_BENCH_TIMES times, and the fastest counts; processor seconds are those of
# that run.  Machines that gtopo cannot read are named at the end.
set -euo pipefail
gtopo=${GTOPO:?the program}
meter=${METER:?bench/meter}
folder=${GTOPO_TEST_TOPOLOGIES:?a folder of topologies}
times=${GTOPO_BENCH_TIMES:-3}
TIMEFORMAT=%U
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# The fastest run of a choice of N GPUs: "N ms cpu_ms MB picked".
choose() {
	local file=$1 n=$2 best="" i cpu ns kib
	for ((i = 0; i < times; i++)); do
		cpu=$({ time "$meter" "$gtopo" pick -q -n "$n" --to cuda \
			-o "$dir/picked" "$file" >"$dir/meter"; } 2>&1)
		read -r _ ns kib <"$dir/meter"
		best=$(printf '%s\n%s %s %s\n' "$best" "$ns" "$cpu" "$kib" |
			grep . | sort -n | head -n 1)
	done
	awk -v n="$n" '{ printf "%d %.1f %.0f %.0f\n", n, $1 / 1e6,
		1000 * $2, $3 / 1024 }' <<<"$best"
}

printf '%-44s %4s %4s %8s %7s %5s\n' machine GPUs of ms "CPU ms" MB
failed=()
for file in "$folder"/*.xml; do
	gpus=$("$gtopo" show --json "$file" 2>/dev/null |
		grep -c '"kind": "GPU"' || true)
	if [ "$gpus" -lt 2 ]; then
		failed+=("${file##*/}")
		continue
	fi
	rows=
	for n in 2 4 6; do
		[ "$n" -lt "$gpus" ] && rows+=$(choose "$file" "$n")$'\n'
	done
	[ -n "$rows" ] || rows=$(choose "$file" "$gpus")
	sort -k 2 -rn <<<"$rows" | head -n 1 |
		while read -r n ms cpu mb; do
			printf '%-44s %4d %4d %8s %7s %5s\n' \
				"${file##*/}" "$gpus" "$n" "$ms" "$cpu" "$mb"
		done
done
[ ${#failed[@]} -eq 0 ] || echo "left out: ${failed[*]}"
