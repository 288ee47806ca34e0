#!/usr/bin/env bash
# Is NCCL faster with the table that gtopo makes for its example tuner?
#
#     bench/tuner.sh [-b MIN] [-e MAX] [-n TURNS] [-t SECONDS] [-S] \
#             PLUGIN PLAN VS-NCCL GTOPO OUT
#
# VS-NCCL -F measures NCCL's ways on the GPUs of PLAN, GTOPO makes the table,
# and NCCL runs TURNS times (5) with and without it, in turns, each time as a
# process of its own, since NCCL loads one tuner a process.  PLUGIN is
# libnccl-tuner-example.so, made from plugins/tuner/example of NCCL's sources.
# OUT/tuner.conf is the table, OUT/tuner.txt the figures: the median of the
# turns' times and of their ratios.  -S goes to VS-NCCL: ranks share GPUs.
# Status 1 when NCCL is not faster with it.  Needs python3.
set -eu
trap 'echo "tuner.sh: line $LINENO: status $?" >&2' ERR

min=1024 max=16777216 turns=5 seconds=150 shared=
while getopts b:e:n:t:S option; do
	case $option in
	b) min=$OPTARG ;;
	e) max=$OPTARG ;;
	n) turns=$OPTARG ;;
	t) seconds=$OPTARG ;;
	S) shared=-S ;;
	*) sed -n '2,/^set/{/^#/p;}' "$0" >&2; exit 2 ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 5 ] || { sed -n '2,/^set/{/^#/p;}' "$0" >&2; exit 2; }
plugin=$(realpath "$1") plan=$2 race=$3 gtopo=$4 out=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for coll in allreduce allgather reducescatter; do
	NCCL_TUNER_PLUGIN=none "$race" -F -b "$min" -e "$max" -f 4 -r 5 \
		-m stream -c "$coll" -t "$seconds" $shared "$plan" \
		>"$work/forced-$coll.json"
	"$gtopo" export --to nccl-tuner "$work/forced-$coll.json" \
		>"$work/$coll.conf"
done
grep -h '^#' "$work/allreduce.conf" >"$out/tuner.conf"
grep -hv '^#' "$work"/*.conf >>"$out/tuner.conf"

# turn WITH|WITHOUT N COLL
turn() {
	local tuner=none
	[ "$1" = without ] || tuner=$plugin
	NCCL_TUNER_PLUGIN=$tuner NCCL_TUNER_CONFIG_FILE=$out/tuner.conf \
		"$race" -b "$min" -e "$max" -f 4 -r 5 -m stream -c "$3" \
		-t "$seconds" $shared "$plan" >"$work/$1-$3-$2.json"
}
for coll in allreduce allgather reducescatter; do
	for ((i = 0; i < turns; i++)); do
		if ((i % 2)); then
			turn with $i "$coll" && turn without $i "$coll"
		else
			turn without $i "$coll" && turn with $i "$coll"
		fi
	done
done

python3 - "$work" "$turns" <<'END' | tee "$out/tuner.txt"
import glob, json, statistics, sys

work, turns = sys.argv[1], int(sys.argv[2])

def times(which, coll, turn):
    with open(f"{work}/{which}-{coll}-{turn}.json") as file:
        race = json.load(file)
    return race["machine"], {
        (row["coll"], row["dtype"], row["bytes"]):
            row["nccl"]["variants_us"]["default"]
        for row in race["rows"]}

ratios, told = [], False
for coll in "allreduce", "allgather", "reducescatter":
    plain = [times("without", coll, i) for i in range(turns)]
    tuned = [times("with", coll, i) for i in range(turns)]
    if not told:
        print("machine", json.dumps(plain[0][0]))
        print(f"{'collective':14}{'type':7}{'bytes':>10}"
              f"{'default us':>12}{'with table':>12}{'ratio':>8}")
        told = True
    for key in plain[0][1]:
        pairs = [(p[1][key], t[1][key]) for p, t in zip(plain, tuned)
                 if key in p[1] and key in t[1]]
        ratio = statistics.median(p / t for p, t in pairs)
        ratios.append(ratio)
        print(f"{key[0]:14}{key[1]:7}{key[2]:>10}"
              f"{statistics.median(p for p, _ in pairs):>12.1f}"
              f"{statistics.median(t for _, t in pairs):>12.1f}"
              f"{ratio:>8.2f}")
median = statistics.median(ratios)
print(f"median ratio {median:.3f}, least {min(ratios):.3f}, "
      f"most {max(ratios):.3f}, {len(ratios)} rows, {turns} turns")
sys.exit(0 if median > 1 else 1)
END
exit "${PIPESTATUS[0]}"
