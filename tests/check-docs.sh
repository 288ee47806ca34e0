#!/bin/bash
# Help and man pages agree, and what the documents show runs.
#
# In EXAMPLES of a man page and in README.md a line that starts with "$ " is
# run, in a folder that holds the reference machines of share/xml; "# " marks
# what needs other hardware or files and is not run.  What the developers'
# documents name (files, functions, pages, rows of measurements) exists.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
cd "${GTOPO_SRC:-.}" || exit 99
man=$PWD/man
python=$PWD/python
# By name, too, wherever the build folder is.
export GTOPO_XML=$PWD/share/xml
gtopo=${GTOPO:-$PWD/build/gtopo}

commands=$("$gtopo" help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p')

page_of() {
	if [ -f "$man/gtopo-$1.1" ]; then
		echo "$man/gtopo-$1.1"
	else
		echo "$man/gtopo.1"
	fi
}

# A page as plain text, lines as long as they like.
render() {
	groff -man -t -Tutf8 -P-cbou -rLL=1000n -rHY=0 "$1" |
		sed 's/‐/-/g; s/−/-/g'
}

# The lines of section $2 of page $1, without indentation.
section() {
	render "$1" | awk -v want="$2" '
		/^[A-Z]/ { inside = ($0 == want); next }
		inside { sub(/^ +/, ""); print }'
}

usage_of() {
	"$gtopo" help "$1" | sed -n 's/^usage: //; 1,/^$/p' |
		tr -s ' \n' ' ' | sed 's/ $//'
}

long_options() {
	grep -oE -- '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,' | sort -u
}

check_synopsis() {
	local want
	want=$(usage_of "$1")
	section "$(page_of "$1")" SYNOPSIS | tr -s ' ' | grep -Fxq -- "$want" ||
		echo "$(page_of "$1"): SYNOPSIS is not: $want"
}

check_options() {
	local page
	page=$(page_of "$1")
	comm -3 <("$gtopo" help "$1" | grep '^  ' | long_options) \
		<(section "$page" OPTIONS | grep '^-' | long_options) |
		sed "s|^\t\(.*\)|$page: \1 is not in help|; t
		     s|^|$page: lacks |"
}

check_warnings() {
	groff -man -t -Tutf8 -ww -z "$1" 2>&1
}

examples() {
	section "$1" EXAMPLES | sed -n 's/^\$ //p'
}

# The commands of a document, each followed by what it is said to print.
shown_examples() { # FILE
	awk '
	/^```/ { inside = !inside; plain = $0 == "```"; next }
	inside && plain' "$1"
}

# What the tutorial does in Python, on the library of the build folder.
tutorial_python() {
	local dir
	dir=$(mktemp -d) || exit 99
	cp share/xml/*.xml "$dir"
	sed -n '/^```python/,/^```$/p' docs/tutorial.md | grep -v '^```' \
		>"$dir/shown.py"
	(cd "$dir" && LD_LIBRARY_PATH=$(dirname "$gtopo") \
		PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$python \
		timeout 60 python3 shown.py) >"$tmp/python" 2>&1 ||
		cat "$tmp/python"
	grep -q "optimal=True" "$tmp/python" || echo "says no verdict"
	rm -rf "$dir"
}

# Prints each shown line that its command does not print.  "..." stands for
# lines left out; what `gtopo run` measured differs from run to run.
check_shown() {
	local dir line out= cmd=
	dir=$(mktemp -d) || exit 99
	cp share/xml/*.xml "$dir"
	while IFS= read -r line; do
		case $line in
		'$ '*)
			cmd=${line#'$ '}
			out=$(cd "$dir" && PATH=$(dirname "$gtopo"):$PATH \
				bash -o pipefail -c "$cmd" </dev/null 2>&1) ||
				echo "fails: $cmd"
			;;
		... | '') ;;
		*)
			[[ $cmd == *'gtopo run'* ]] ||
				grep -Fxq -- "$line" <<<"$out" ||
				echo "'$cmd' does not print: $line"
			;;
		esac
	done
	rm -rf "$dir"
}

# Runs each line of standard input; prints those that fail.
run_lines() {
	local dir line
	dir=$(mktemp -d) || exit 99
	cp share/xml/*.xml "$dir" 2>/dev/null
	while read -r line; do
		(cd "$dir" && PATH=$(dirname "$gtopo"):$PATH \
			timeout 60 bash -o pipefail -c "$line" \
			>.out 2>&1 </dev/null) || {
			echo "fails: $line"
			tail -n 3 "$dir/.out"
		}
	done
	rm -rf "$dir"
}

documents="DESIGN.md HACKING.md README.md docs/tutorial.md $(echo docs/design/*.md)"

# Files of the tree that documents name, or programs made of them; "frob" and
# "<name>" stand for any.
check_paths() {
	grep -oE '`(src|tests|bench|share|man|docs|include|build-aux|m4)/[^` ]*' \
		$documents | tr -d '`' | grep -vE 'frob|[<*{]|NAME|TYPE' |
		while IFS=: read -r file path; do
			[ -e "$path" ] || [ -e "$path.c" ] ||
				grep -qs -- "/${path##*/}" "${path%/*}/local.mk" \
					tests/local.mk ||
				echo "$file: no $path"
		done
}

# Identifiers of the code that documents name.
check_identifiers() {
	grep -owE 'gt_[a-z0-9_]*[a-z0-9]|GT_[A-Z0-9_]*[A-Z0-9]' \
		$documents docs/pictures/*.py | sort -u | while IFS=: read -r file name; do
			case $name in *frob* | *FROB*) continue ;; esac
			grep -rqw -- "$name" src tests/unit m4 || echo "$file: no $name"
		done
}

# Links from a document lead to files.
check_links() {
	grep -oE '\]\([^)#]*' $documents docs/measurements/*.md | sed 's/\](//' |
		while IFS=: read -r file path; do
			case $path in http*) continue ;; esac
			[ -e "$(dirname "$file")/$path" ] ||
				echo "$file: no $path"
		done
}

# The tree of folders in HACKING.md is that of src.
check_folders() {
	local tree
	tree=$(sed -n '/^## Where things are/,/^## Tests/p' HACKING.md)
	find src -mindepth 1 -type d | while read -r folder; do
		grep -q "\b${folder##*/}/" <<<"$tree" ||
			echo "HACKING.md: no $folder"
	done
}

# K12 and the like are rows of docs/measurements.
check_rows() {
	grep -owE '[KLBM][1-9][0-9]?' docs/design/*.md | sort -u |
		while IFS=: read -r file row; do
			grep -q "^| $row |" docs/measurements/*.md ||
				echo "$file: no row $row"
		done
}

# A picture is what the script beside it draws.
check_pictures() {
	local picture dir
	dir=$(mktemp -d) || exit 99
	mkdir -p "$dir/docs/pictures" "$dir/tests"
	cp docs/pictures/*.py docs/pictures/make.sh "$dir/docs/pictures"
	cp tests/layers.order "$dir/tests"
	sh "$dir/docs/pictures/make.sh" 2>&1
	for picture in docs/pictures/*.svg; do
		cmp -s "$picture" "$dir/$picture" ||
			echo "$picture: docs/pictures/make.sh draws another one"
	done
	rm -rf "$dir"
}

# Variables that the program reads and gtopo(7) does not list; gtopo(1) has ours.
check_variables() {
	local name
	grep -rhoE '"GTOPO_[A-Z0-9_]+"' src --include='*.c' | tr -d '"' |
		sort -u | while read -r name; do
		grep -qw "$name" man/gtopo.1 || echo "gtopo(1) has no $name"
	done
	{
		grep -rhoE '"GTOPO_[A-Z0-9_]+"|getenv\("[A-Z0-9_]+"' src \
			--include='*.c'
		grep -rhoE '"[A-Z]+(_[A-Z]+)+"' src/world/launcher.c \
			src/topo/probe/kfd.c src/topo/probe/host.c
	} | sed 's/.*("//' | tr -d '"' | sort -u | while read -r name; do
		case $name in
		OMPI_COMM_WORLD_*SIZE) name=_${name#OMPI_COMM_WORLD_} ;;
		esac
		grep -qw -- "$name" man/gtopo.7 || echo "gtopo(7) has no $name"
	done
}

# What a function takes, in one line: "int f(int a, char *b);".
one_line_each() {
	tr -s ' \t\n' ' ' | sed 's/; */;\n/g' | sed 's/^ //; s/\* /*/g'
}

# Each function of the header is on one page of section 3, as it is declared,
# and the page is called after it.
check_functions() {
	local page functions
	functions=$(sed '/^#/d; s|/\*.*\*/||; \|/\*|,\|\*/|d' include/gtopo.h |
		one_line_each | sed -n 's/.*GTOPO_API //p' | sort)
	for page in "$man"/gtopo_*.3; do
		section "$page" SYNOPSIS | grep -v '^#' | one_line_each |
			grep '\bgtopo_.*;'
	done | sort >"$tmp/pages"
	comm -3 <(echo "$functions") "$tmp/pages" |
		sed 's/^\t/on a page, not in gtopo.h: /; t
		     s/^/in gtopo.h, on no page: /'
	for page in "$man"/gtopo_*.3; do
		comm -3 <(section "$page" NAME | sed 's/ - .*//; s/, /\n/g' |
			grep . | sort) <(section "$page" SYNOPSIS |
			grep -oE '\bgtopo_[a-z_]*\(' | tr -d '(' | sort) |
			sed "s|^|${page##*/}: NAME and SYNOPSIS differ: |"
		for part in DESCRIPTION "RETURN VALUE" ERRORS EXAMPLES; do
			grep -qE "^\.SH \"?$part\"?\$" "$page" ||
				echo "${page##*/} has no $part"
		done
	done
}

verdict "gtopo(7) lists all environment variables" "$(check_variables)"
if command -v groff >/dev/null; then
	for cmd in $commands; do
		verdict "$cmd: help is the page's synopsis" \
			"$(check_synopsis "$cmd")"
		verdict "$cmd: help and page list the same options" \
			"$(check_options "$cmd")"
	done
	verdict "gtopo.h: each function has a page of section 3" \
		"$(check_functions)"
	for page in "$man"/*.[1357]; do
		verdict "$(basename "$page"): no warnings of groff" \
			"$(check_warnings "$page")"
		[ -z "$(examples "$page")" ] ||
			verdict "$(basename "$page"): examples run" \
				"$(examples "$page" | run_lines)"
	done
else
	skipped "man pages" "no groff"
fi
verdict "README.md: the tour shows what is printed" "$(shown_examples README.md | check_shown)"
verdict "docs/tutorial.md: commands print what is shown" \
	"$(shown_examples docs/tutorial.md | check_shown)"
verdict "documents: files that they name exist" "$(check_paths)"
verdict "documents: identifiers that they name exist" "$(check_identifiers)"
verdict "documents: links lead somewhere" "$(check_links)"
verdict "HACKING.md: all folders of src are listed" "$(check_folders)"
verdict "documents: rows of measurements exist" "$(check_rows)"
if ! command -v python3 >/dev/null; then
	skipped "docs/tutorial.md: Python" "no python3"
elif nm -D "$(dirname "$gtopo")/libgtopo.so" | grep -qE ' __(a|t|ub)san_'; then
	skipped "docs/tutorial.md: Python" "sanitizers are in the library"
else
	verdict "docs/tutorial.md: Python" "$(tutorial_python)"
fi
if command -v python3 >/dev/null; then
	verdict "documents: pictures are what their sources draw" \
		"$(check_pictures)"
else
	skipped "documents: pictures are what their sources draw" "no python3"
fi
verdict "DESIGN.md: at most 250 lines" \
	"$(awk 'END { if (NR > 250) print NR " lines" }' DESIGN.md)"
tap_end
