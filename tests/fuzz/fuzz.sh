#!/bin/bash
# tests/fuzz/fuzz.sh [SECONDS [TARGET...]]: builds with clang, libFuzzer, ASan
# and UBSan in build/fuzz and runs each target for SECONDS (60).
#
# A target NAME is tests/fuzz/fuzz_NAME.c, with NAME.dict if there is one.  It
# starts from the cases of that kind; what it learns stays in
# build/fuzz/corpus/NAME, what it finds in build/fuzz/found/NAME.
set -euo pipefail
cd "$(dirname "$0")/../.."
top=$PWD
seconds=${1:-60}
shift $(($# > 0))
[ $# -gt 0 ] || set -- $(ls tests/fuzz/fuzz_*.c | sed 's|.*/fuzz_||; s|\.c$||')

seeds() { # NAME
	case $1 in
	topo_xml) echo tests/cases/topo/*/*/input.xml share/xml/*.xml ;;
	cluster) echo tests/fuzz/cluster.seed ;;
	import) echo tests/cases/msccl*/*/*.{xml,json} ;;
	nccl) echo tests/cases/nccl/*.log share/xml/{dgx-1v,pcie-8gpu,mi300x}.xml ;;
	plan_json) echo tests/cases/plan/*/*/plan.json ;;
	esac
}

mkdir -p build/fuzz
cd build/fuzz
[ -f Makefile ] || "$top/configure" -q CC=clang CFLAGS='-g -O1' --without-cuda \
	--enable-sanitize=fuzzer-no-link,address,undefined
for name; do
	make -s -j"$(nproc)" "tests/fuzz/fuzz_$name"
	mkdir -p "corpus/$name" "found/$name" "seeds/$name"
	n=0
	for seed in $(cd "$top" && seeds "$name"); do
		n=$((n + 1))
		cp "$top/$seed" "seeds/$name/$n"
	done
	cp "$top/share/xml/dgx-1v.xml" . # what clusters are made of
	dict=$top/tests/fuzz/$name.dict
	"tests/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 \
		-rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 \
		-verbosity=0 -artifact_prefix="found/$name/" \
		$([ -f "$dict" ] && echo "-dict=$dict") \
		"corpus/$name" "seeds/$name"
	echo "fuzz_$name: nothing found in $seconds s"
done
