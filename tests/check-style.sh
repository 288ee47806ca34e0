#!/bin/sh
# Length of functions and files, clang-format 14, blanks at line ends.
set -u
cd "${GTOPO_SRC:-.}" || exit 99

verdict() { # NUMBER NAME FINDINGS
	if [ -z "$3" ]; then
		echo "ok $1 - $2"
	else
		echo "$3"
		echo "not ok $1 - $2"
	fi
}

sources() {
	find src include examples tests bench -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh'
}

ctags=
for candidate in ctags-universal ctags; do
	$candidate --version 2>/dev/null | grep -q Universal &&
		ctags=$candidate && break
done

# "LINES FILE:LINE NAME" for every function of the files on standard input.
lengths() {
	$ctags -L - --kinds-C=f --kinds-C++=f --map-C++=+.cu --map-C++=+.cuh \
		--fields=ne -f - 2>/dev/null |
	awk -F'\t' '{
		line = end = 0
		for (i = 4; i <= NF; i++) {
			if ($i ~ /^line:/) line = substr($i, 6)
			if ($i ~ /^end:/) end = substr($i, 5)
		}
		if (end) print end - line + 1, $2 ":" line, $1
	}'
}

long_files() {
	sources | while read -r file; do
		case $file in
		*.cu | *.cuh) max=300 ;;
		*) max=700 ;;
		esac
		n=$(wc -l <"$file")
		[ "$n" -le $max ] || echo "$file: $n lines, at most $max"
	done
}

p90() {
	sources | grep '^src/' | lengths | sort -n | awk '
	{ n[NR] = $1 }
	END {
		p = n[int((NR - 1) * 0.9) + 1]
		if (p > 40) print "90th percentile is " p " lines, at most 40"
	}'
}

format() {
	sources | xargs clang-format-14 --dry-run 2>&1 | grep warning:
}

blanks() {
	find . \( -name .git -o -name 'build*' -o -name autom4te.cache \) \
		-prune -o -type f \( -name '*.[ch1357]' -o -name '*.cu*' \
		-o -name '*.md' -o -name '*.sh' -o -name '*.bats' \
		-o -name '*.mk' -o -name '*.am' -o -name '*.ac' \
		-o -name '*.m4' -o -name '*.def' \) ! -name aclocal.m4 -print |
	xargs grep -nE '[[:space:]]+$'
}

echo "1..5"
if [ -n "$ctags" ]; then
	verdict 1 "no function over 80 lines" \
		"$(sources | lengths | awk '$1 > 80')"
	verdict 2 "nine functions of ten within 40 lines" "$(p90)"
else
	echo "ok 1 - no function over 80 lines # skip no universal-ctags"
	echo "ok 2 - nine functions of ten # skip no universal-ctags"
fi
verdict 3 "no file over 700 lines, no .cu over 300" "$(long_files)"
if command -v clang-format-14 >/dev/null; then
	verdict 4 "clang-format changes nothing" "$(format)"
else
	echo "ok 4 - clang-format changes nothing # skip no clang-format-14"
fi
verdict 5 "no blanks at line ends" "$(blanks)"
