#!/bin/bash
# run.sh [SECONDS]: build each fuzz_*.c with clang's libFuzzer, ASan
# and UBSan, and run it so long (60 s) on the cases' files.  TAP, as the tests.
set -u
cd "${GTOPO_SRC:-$(dirname "$0")/../..}" || exit 99
seconds=${1:-60}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

# Files of at most 16 KB under tests/cases that end in $1, flat in a folder.
corpus() {
	mkdir -p "$tmp/$1"
	find tests/cases share -type f -name "*.$1" -size -16k |
		while read -r file; do
			cp "$file" "$tmp/$1/${file//\//_}"
		done
	echo "$tmp/$1"
}

n=0
for source in tests/fuzz/fuzz_*.c; do
	name=$(basename "$source" .c)
	n=$((n + 1))
	# fuzz_WHAT_KIND.c reads what files of that kind hold.
	kind=${name##*_}
	libs=$(pkg-config --cflags --libs jansson libxml-2.0 hwloc libcrypto)
	if ! command -v clang >/dev/null; then
		echo "ok $n - $name # skip no clang"
		continue
	fi
	files=$(corpus "$kind")
	# shellcheck disable=SC2086
	clang -std=c17 -D_GNU_SOURCE -DGT_DATADIR='""' -g -O1 -Isrc \
		-fsanitize=fuzzer,address,undefined \
		-fno-sanitize-recover=undefined "$source" src/base/*.c \
		src/plan/*.c -o "$tmp/$name" $libs 2>"$tmp/log" &&
		(cd "$tmp" && "./$name" -max_total_time="$seconds" \
			-timeout=10 -max_len=16384 "$files") \
			2>>"$tmp/log" || {
		tail -n 30 "$tmp/log"
		printf 'not '
	}
	echo "ok $n - $name"
done
echo "1..$n"
