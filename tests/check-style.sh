#!/bin/sh
# Length of functions and files, clang-format 14, blanks at line ends.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
cd "${GTOPO_SRC:-.}" || exit 99

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

# The .c files that do not say first what they are.
unopened() {
	find src -name '*.c' | sort | while read -r file; do
		case $(head -c 2 "$file") in
		'/*') ;;
		*) echo "$file: does not open with a comment" ;;
		esac
	done
}

# Comments that only the lines around them explain.
fragments() {
	grep -rnE '^[[:space:]]*/?\*+ (The same([ ,.:;]|$)|Likewise|As above|Ditto)' \
		src include --include='*.[ch]' --include='*.cu' --include='*.cuh'
}

# Files that repeat the name of their folder, but for the folder's main one.
repeats() {
	find src -mindepth 2 -type f | sort | while read -r file; do
		folder=$(basename "$(dirname "$file")")
		case $(basename "$file") in
		"$folder"_*) echo "$file: repeats the folder's name" ;;
		esac
	done
}

# Lines over 80 columns, of which clang-format leaves comments alone.  A
# character of several bytes is counted as its first one.
wide() {
	find src include tests bench examples -name '*.[ch]' -o -name '*.cu' \
		-o -name '*.cuh' | sort | while read -r file; do
		expand "$file" | LC_ALL=C tr -d '\200-\277' |
			awk -v file="$file" 'length($0) > 80 {
				print file ":" NR ": " length($0) " columns" }'
	done
}

# Folders of src without a page that says what comes in and what goes out.
unread() {
	find src -mindepth 1 -type d | sort | while read -r folder; do
		[ -f "$folder/README.md" ] || echo "$folder: no README.md"
	done
}

blanks() {
	find . \( -name .git -o -name b -o -name 'build*' -o -name autom4te.cache \) \
		-prune -o -type f \( -name '*.[ch1357]' -o -name '*.cu*' \
		-o -name '*.md' -o -name '*.sh' -o -name '*.bats' \
		-o -name '*.mk' -o -name '*.am' -o -name '*.ac' \
		-o -name '*.m4' -o -name '*.def' \) ! -name aclocal.m4 -print |
	xargs grep -nE '[[:space:]]+$'
}

if [ -n "$ctags" ]; then
	verdict "no function over 80 lines" \
		"$(sources | lengths | awk '$1 > 80')"
	verdict "nine functions of ten within 40 lines" "$(p90)"
else
	skipped "no function over 80 lines" "no universal-ctags"
	skipped "nine functions of ten" "no universal-ctags"
fi
verdict "no file over 700 lines, no .cu over 300" "$(long_files)"
if command -v clang-format-14 >/dev/null; then
	verdict "clang-format changes nothing" "$(format)"
else
	skipped "clang-format changes nothing" "no clang-format-14"
fi
verdict "no line over 80 columns" "$(wide)"
verdict "no blanks at line ends" "$(blanks)"
verdict "every .c opens with what it is" "$(unopened)"
verdict "comments stand for themselves" "$(fragments)"
verdict "no file repeats its folder" "$(repeats)"
verdict "every folder has a README" "$(unread)"
tap_end
