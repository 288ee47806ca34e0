#!/bin/bash
# Sums of up to 64 CPU ranks are no farther from exact ones than those of the
# models of NCCL's kernels: bench/errors, one line a type.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
"$(dirname "${GTOPO:?the program}")/bench/errors" 4096 >"$tmp/table" 2>&1
status=$?
for type in half bf16 float fp8_e4m3 fp8_e5m2; do
	worse=$(awk -v type=$type '$1 == type { n++ }
		$1 == type && $NF > 1.05
		END { if (n != 66) print n " lines, not 66" }' "$tmp/table")
	verdict "sums of $type are no worse than NCCL's model" "$worse"
done
[ "$status" -eq 0 ] && said= || said="status $status: $(tail -n 3 "$tmp/table")"
verdict "bench/errors says so" "$said"
tap_end
