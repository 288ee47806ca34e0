#!/bin/sh
# docs/glossary.md is sorted, and each of its words is defined where it says;
# gtopo(7) explains the words that plans are made of.
set -u
root=${GTOPO_SRC:-.}

# "LINE<tab>WORD<tab>IDENTIFIERS<tab>HEADERS" for each row of the table of $1.
rows() {
	awk -F'|' '
	function trim(s) {
		gsub(/`/, "", s)
		gsub(/,/, " ", s)
		gsub(/^[[:space:]]+|[[:space:]]+$/, "", s)
		return s
	}
	/^\|/ && ++n > 2 {
		if (NF != 7)
			print FNR "\t" trim($2)
		else
			print FNR "\t" trim($2) "\t" trim($5) "\t" trim($6)
	}' "$1"
}

# Prints every row of $1 that is not true of the headers under $2.
check() {
	tab=$(printf '\t')
	rows "$1" | while IFS="$tab" read -r line word names headers; do
		if [ -z "$headers" ]; then
			echo "$line: '$word' is not a row of five cells"
			continue
		fi
		found=
		for header in $headers; do
			if [ -f "$2/$header" ]; then
				found="$found $2/$header"
			else
				echo "$line: '$word': there is no $header"
			fi
		done
		[ -n "$found" ] || continue
		for name in $names; do
			# shellcheck disable=SC2086
			grep -qw -- "$name" $found ||
				echo "$line: '$word': no $name in $headers"
		done
	done
}

# Prints every word of $1 that is not behind the one before it.
check_order() {
	rows "$1" | cut -f2 >"$work/words"
	LC_ALL=C sort -f "$work/words" | uniq | diff "$work/words" - |
		sed -n 's/^< /not sorted, or twice: /p'
}

# Prints the words of a plan's shapes, algorithms and protocols, by the schema
# $1, and those that commands use of them.
plan_words() {
	for key in shape algo protocol; do
		grep "^ *\"$key\": {\"enum\": \[" "$1" |
			sed 's/.*\[//; s/\].*//; s/"//g' | tr ',' '\n'
	done | tr -d ' ' | sort -u
	printf '%s\n' block bound chunk credit detour invariant lane price row \
		share slice slot staged worker
}

# Prints each of the words on standard input that no entry of the page $1 has.
check_page() {
	sed -n '/^\.TP/{n;p;}' "$1" | tr -d '\\",' | tr ' ' '\n' >"$work/entries"
	while read -r word; do
		grep -qx -- "$word" "$work/entries" ||
			echo "'$word' is not explained"
	done
}

verdict() { # NUMBER NAME FINDINGS
	if [ -z "$3" ]; then
		echo "ok $1 - $2"
	else
		echo "$3"
		echo "not ok $1 - $2"
	fi
}

work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT

# A glossary with one mistake of each kind, to see that they are seen.
mkdir "$work/src"
echo 'struct gt_good { int word; };' >"$work/src/good.h"
cat >"$work/glossary.md" <<'EOF'
| word | theirs | what it is | name | header |
|---|---|---|---|---|
| good | - | It is there. | `gt_good` | `good.h` |
| lost | - | Its header is gone. | `gt_good` | `lost.h` |
| none | - | Its name is gone. | `gt_goo` | `good.h` |
| pair | - | One of its headers is gone. | `gt_good` | `good.h`, `lost.h` |
| bare | - | It is not sorted. | `gt_good` | `good.h` |
| torn | - | A cell is missing. | `gt_good` |
EOF

echo "1..6"
many=$(rows "$root/docs/glossary.md" | wc -l)
few=
[ "$many" -ge 40 ] || few="only $many words"
verdict 1 "the glossary has its words" "$few"
verdict 2 "each word is defined in its header" \
	"$(check "$root/docs/glossary.md" "$root/src")"
verdict 3 "the words are sorted" "$(check_order "$root/docs/glossary.md")"
seen=$( (check "$work/glossary.md" "$work/src"
	check_order "$work/glossary.md") | wc -l)
missed=
[ "$seen" -eq 5 ] || missed="$seen of 5 planted mistakes seen"
verdict 4 "planted mistakes are seen" "$missed"
words=$(plan_words "$root/share/schema/plan-1.schema.json")
few=
[ "$(echo "$words" | wc -l)" -ge 25 ] || few="only these: $words"
verdict 5 "gtopo(7) explains the words of plans" \
	"$few$(echo "$words" | check_page "$root/man/gtopo.7")"
missed=
[ "$(printf 'chunk\nflapdoodle\n' | check_page "$root/man/gtopo.7" | wc -l)" \
	-eq 1 ] || missed="a word that is not there is not missed"
verdict 6 "a word that is not explained is seen" "$missed"
