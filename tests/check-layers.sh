#!/bin/sh
# Includes and calls go one way: each folder of src may include only what its
# row of layers.order says, sub-folders have an order (folders.order), and no two files call each
# other, however far around (circles.py).
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
top=$(cd "${GTOPO_SRC:-.}" && pwd)
src=$top/src

# Prints every include under $1 that goes the wrong way.
check() {
	(cd "$1" && grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' \
		--include='*.[ch]' --include='*.cu' --include='*.cuh' . |
	awk -v table="$top/tests/layers.order" '
	BEGIN {
		while ((getline row < table) > 0)
			if (row !~ /^#/ && split(row, half, ": ") == 2)
				may[half[1]] = half[2]
	}
	{
		split($0, field, ":")
		file = substr(field[1], 3)
		folder = file
		sub(/\/.*/, "", folder)
		match($0, /"[^"]*"/)
		target = substr($0, RSTART + 1, RLENGTH - 2)
		n = split(may[folder], prefix, " ")
		for (i = 1; i <= n; i++)
			if (index(target, prefix[i]) == 1)
				next
		print "src/" file ":" field[2] ": may not include " target
	}')
}

# Prints every x.c whose first include is not its x.h.
check_first() {
	(cd "$1" && find . -name '*.c' | sort | while read -r file; do
		own=${file#./}
		own=${own%.c}.h
		[ -f "$own" ] || continue
		first=$(sed -n '/^#include/{
			s/^#include *"\(.*\)".*/\1/p
			q
		}' "$file")
		[ "$first" = "$own" ] ||
			echo "src/${file#./}: first include is not $own"
	done)
}

# Circles of files and arrows that run back up below $1.
check_circles() {
	python3 "$top/tests/circles.py" "$1" "$2"
}

# A tree with one mistake of each kind, to see that they are seen.
planted=$tmp
mkdir "$planted/base" "$planted/exec" "$planted/kernels"
echo '#include "topo/graph/topo.h"' >"$planted/base/up.c"
echo '#include "search/search.h"' >"$planted/exec/side.h"
echo '#include "plan/ir/plan.h"' >"$planted/kernels/far.cuh"
echo '#include "plan/ir/program.h"' >"$planted/kernels/good.cuh"
: >"$planted/base/late.h"
printf '#include <stdio.h>\n#include "base/late.h"\n' >"$planted/base/late.c"

mkdir -p "$planted/topo/low" "$planted/topo/high"
echo '#include "topo/high/high.h"' >"$planted/topo/low/low.h"
echo 'int f(void) { return g(); }' >"$planted/topo/high/one.c"
echo 'int g(void) { return f(); }' >"$planted/topo/high/other.c"
echo 'topo: low high' >"$planted/order"

verdict "includes go one way" "$(check "$src")"
verdict "first include is the own header" "$(check_first "$src")"
seen=$( (check "$planted"; check_first "$planted"
	check_circles "$planted" "$planted/order" | grep -v '^ ') | wc -l)
missed=
[ "$seen" -eq 6 ] || missed="$seen of 6 planted mistakes seen"
if ! command -v python3 >/dev/null || ! ctags --version 2>/dev/null |
	grep -q Universal; then
	skipped "no circles" "no python3 or no universal-ctags"
	skipped "planted mistakes are seen" "likewise"
else
	verdict "no circles of files, sub-folders in order" \
		"$(check_circles "$src" "$top/tests/folders.order")"
	verdict "planted mistakes are seen" "$missed"
fi
tap_end
