#!/bin/bash
# Time, memory and value of the search on clusters whose nodes are not alike,
# as a table on standard output: one row a cluster and collective.
#
# Nodes are DGX H100 of share/xml: some have lost a card, some have every other
# rail, some have lost two or four GPUs (made here), and the last leaf of a fat
# tree has fewer nodes.  GTOPO_BENCH_NODES
# names the sizes, in nodes, and GTOPO_BENCH_SORTS the clusters.
set -euo pipefail
gtopo=${GTOPO:?the program}
src=${GTOPO_SRC:?the sources}
meter=${METER:?bench/meter}
nodes=${GTOPO_BENCH_NODES:-8 16 32 64 128}
sorts=${GTOPO_BENCH_SORTS:-card-lost half-rails gpus-8-6-4 short-leaf}
TIMEFORMAT=%U
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
all=0,3-6,9-11

# A node without its last N GPUs: without N FILE.
without() {
	awk -v left=$((8 - $1)) '
	/<pci .*class="0x0302/ { hold = 1; text = "" }
	!hold { print; next }
	{ text = text $0 "\n" }
	/<gpu dev=/ { split($0, part, "\""); dev = part[2] + 0 }
	/<\/pci>/ { hold = 0; if (dev < left) printf "%s", text }
	' "$src/share/xml/dgx-h100.xml" >"$2"
}

# One line of a cluster's file: node KIND FILE NETS COUNT.
node() {
	printf '<node file="%s" kind="%s" nets="%s" count="%d"/>\n' "$2" "$1" \
		"$3" "$4"
}

# The cluster of N nodes and sort SORT.
cluster() {
	local n=$1 h100=$src/share/xml/dgx-h100.xml fabric='<level rail="each"/><level/>'
	printf '<cluster version="1" name="%s">\n' "$2"
	case $2 in
	card-lost)
		node whole "$h100" $all $((n - n / 8))
		node sick "$h100" 0,3,-,5,6,9-11 $((n / 8))
		;;
	half-rails)
		node whole "$h100" $all $((n / 2))
		node half "$h100" 0,-,4,-,6,-,10,- $((n - n / 2))
		;;
	gpus-8-6-4)
		node eight "$h100" $all $((n - n / 4 * 2))
		node six "$dir/6.xml" $all $((n / 4))
		node four "$dir/4.xml" $all $((n / 4))
		;;
	short-leaf)
		node whole "$h100" $all $n
		fabric="<level nodes=\"$((n / 3 + 1))\" oversubscription=\"2\"/><level/>"
		;;
	esac
	printf '<fabric>%s</fabric></cluster>\n' "$fabric"
}

field() {
	sed -n "s/^ *\"$1\": \"\\{0,1\\}\\([^\",}]*\\).*/\\1/p" "$dir/plan" |
		head -n 1
}

without 2 "$dir/6.xml"
without 4 "$dir/4.xml"
printf '%-11s %5s %-13s %9s %8s %8s %8s %9s %9s\n' cluster ranks collective \
	"GB/s" reached seconds "CPU s" "peak MB" "plan MB"
for n in $nodes; do
	for sort in $sorts; do
		cluster "$n" $sort >"$dir/c.xml"
		for coll in allgather reducescatter allreduce broadcast; do
			cpu=$({ time "$meter" "$gtopo" search -q --coll $coll \
				-o "$dir/plan" "$dir/c.xml" \
				>"$dir/meter"; } 2>&1)
			read -r _ ns kib <"$dir/meter"
			awk -v sort=$sort -v coll=$coll -v ns="$ns" -v cpu="$cpu" -v kib="$kib" \
				-v ranks="$(grep -c '"rank":' "$dir/plan")" \
				-v value="$(field value)" -v bound="$(field bound)" \
				-v busbw="$(field busbw_gbs)" \
				-v bytes="$(wc -c <"$dir/plan")" '
			function number(text, part) {
				split(text "/1", part, "/")
				return part[1] / part[2]
			}
			BEGIN {
				printf "%-11s %5d %-13s %9.2f %7.2f%% %8.2f %8.2f %9.0f %9.1f\n",
					sort, ranks, coll, busbw,
					100 * number(value) / number(bound), ns / 1e9, cpu,
					kib / 1024, bytes / 1e6 }'
		done
	done
done
