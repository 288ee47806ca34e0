#!/bin/bash
# The cost model against what was measured: ways.sh fit|compare GTOPO RACE...
#                                           ways.sh lost GTOPO TUNED...
#
# fit: the parameters of the protocols of meshes, from the rows of each race
# that went so: bench/fit, beside the program GTOPO, where only what such rows
# can tell is left open (below).  An all-to-all of more than two ranks is left
# out: its program has rounds, which flows on GPUs have not.
# compare: at each size the way that a plan of `gtopo search` takes, its price
# over the best time that was measured, and a star where that was another way.
#
# lost: what is lost at each size by a plan of `gtopo search` against the best of
# all ways that `gtopo tune` measured; a way that was not measured is left out.
#
# Races are files of bench/vs-nccl, tuned plans of `gtopo tune --coll all`, on the
# machine of share/xml/h200-vm-4.xml.  Needs jq.
set -eu
what=$1 gtopo=$2
shift 2
src=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Rows of the engine in streams: coll bytes time_us algo protocol
rows() { # RACE
	jq -r '.rows[] | select(.graph == false and .dtype == "float" and
		.bytes >= 1024) | [.coll, .bytes, .gtopo.time_us, .gtopo.algo,
		.gtopo.protocol] | @tsv' "$1"
}

ranks() { # RACE
	jq '[.rows[].ranks] | max' "$1"
}

search() { # RANKS OPTIONS...
	local last=$(($1 - 1))
	shift
	"$gtopo" search --gpus "$(seq -s, 0 $last)" "$@" \
		"$src/share/xml/h200-vm-4.xml"
}

# A plan whose rows go by the protocol, one shot to the largest size that did.
plan_of() { # PROTOCOL ROWS
	jq --arg protocol "$1" --rawfile rows "$2" '
	($rows | split("\n") | map(select(. != "") | split("\t"))) as $rows |
	.select[-1] as $row | del(.proof) | .select = [
		($rows | map(.[0]) | unique)[] as $coll |
		($rows | map(select(.[0] == $coll))) as $mine |
		($mine | map(select(.[3] == "one-shot") | .[1] | tonumber) |
			max) as $one |
		($mine | any(.[3] == "two-shot")) as $two |
		($row + {coll: $coll, protocol: $protocol}) as $row |
		(select($one or ($two | not)) | $row + {algo: "one-shot",
			max_bytes: (if $two then $one else null end)}),
		(select($two) | $row + {algo: "two-shot", max_bytes: null})
	] | if any(.select[]; .coll == "allreduce") then . else
		.select += [$row + {max_bytes: null, coll: "allreduce",
			protocol: $protocol}] end'
}

# What rows of a protocol cannot tell.
kept() { # PROTOCOL
	case $1 in
	ll | ll128) echo hop,rate,local ;;
	direct) echo hop,worker,local ;;
	ce) echo worker,local,hop ;;
	esac
}

fit_race() { # RACE
	local n protocol
	n=$(ranks "$1")
	search "$n" --algo mesh >"$work/mesh"
	for protocol in ll ll128 direct ce; do
		rows "$1" | awk -F'\t' -v p=$protocol -v n="$n" '$5 == p &&
			($1 != "alltoall" || n == 2)' >"$work/rows"
		plan_of $protocol "$work/rows" <"$work/mesh" >"$work/plan"
		jq -R -s --argjson n "$n" '{rows: [split("\n")[] |
			select(. != "") | split("\t") | {ranks: $n, coll: .[0],
			bytes: (.[1] | tonumber), time_us: (.[2] | tonumber)}]}' \
			<"$work/rows" >"$work/report"
		"$(dirname "$gtopo")/bench/fit" -k "$(kept $protocol)" \
			"$work/plan" "$work/report" |
			jq -r --arg n "$n" '.rows as $rows | .residual as $off |
			.protocols | to_entries[] | "\($n) ranks, \(.key): " +
			"base \(.value.base_us) hop \(.value.hop_us.NVL) " +
			"rate \(.value.rate) worker \(.value.worker_gbs) " +
			"local \(.value.local_gbs); \($rows) rows, " +
			"mean deviation \($off)"'
	done
}

compare_race() { # RACE
	local n coll
	n=$(ranks "$1")
	rows "$1" >"$work/rows"
	for coll in allreduce allgather reducescatter broadcast reduce; do
		search "$n" --coll $coll >"$work/plan"
		"$gtopo" predict -b 1K -e 1G -f 4 --json "$work/plan" |
			jq -r '.rows[] | [.coll, .bytes, .time_us, .algo,
			.protocol] | @tsv'
	done >"$work/said"
	awk -F'\t' -v n="$n" '
	NR == FNR { time[$1, $2] = $3; way[$1, $2] = $4 " " $5; next }
	($1, $2) in time {
		printf "%d %-13s %10d %9.2f %5.2f %s %s", n, $1, $2, $3,
			$3 / time[$1, $2], $4, $5
		if (way[$1, $2] != $4 " " $5)
			printf " * %s %.2f", way[$1, $2], time[$1, $2]
		print ""
	}' "$work/rows" "$work/said"
}

lost_race() { # TUNED
	local n coll
	n=$(jq '.ranks | length' "$1")
	for coll in allreduce allgather reducescatter broadcast reduce; do
		search "$n" --coll $coll >"$work/plan"
		jq -r --argjson n "$n" --arg coll $coll --slurpfile plan \
			"$work/plan" '
		def way: "\(.algo) \(.protocol)" + if .detour_permille
			then "+\(.detour_permille)" else "" end;
		[.measurements[] | select((.coll // "allreduce") == $coll) |
			way as $way |
			[.bytes, .time_us] | transpose[] |
			{bytes: .[0], time: .[1], way: $way}] |
		group_by(.bytes)[] | . as $all | .[0].bytes as $bytes |
		first($plan[0].select[] | select(.max_bytes == null or
			.max_bytes >= $bytes)) |
		way as $way |
		($all | min_by(.time)) as $best |
		$all[] | select(.way == $way) |
		[$n, $coll, $bytes, .time, .time / $best.time, $way,
			if $best.way == $way then "" else
			"* \($best.way) \($best.time)" end] | @tsv' "$1"
	done
}

for race; do
	"${what}_race" "$race"
done | tee "$work/all"
[ "$what" != fit ] || exit 0
echo "# the same way: $(grep -cv '\*' "$work/all") of $(wc -l <"$work/all")"
awk '{ print ($5 > 1 ? $5 - 1 : 1 - $5) }' "$work/all" | sort -n | awk '
	{ off[NR] = $1 }
	{ sum += $1 }
	END { printf "# off the best: median %.1f %%, mean %.1f %%, " \
		"worst %.0f %%\n", 100 * off[int((NR + 1) / 2)],
		100 * sum / NR, 100 * off[NR] }'
