#!/bin/bash
# Each rule that NCCL's programs rely on has a case that is run, or says why not;
# and what is refused is told where the library is explained.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
folder=${GTOPO_SRC:-.}/tests/nccl

rules() {
	grep -v '^#' "$folder/rules"
}

malformed() {
	rules | awk -F'\t' 'NF != 3 || $3 !~ /^(none: .+|test_[a-z]+ case_[a-z_]+)$/'
	rules | cut -f1,2 | sort | uniq -d
}

# Cases that are named, and that no program runs.
missing() {
	local program case
	rules | awk -F'\t' '$3 !~ /^none: /{print $3}' | sort -u |
		while read -r program case; do
			grep -qF "cmocka_unit_test($case)" "$folder/$program.c" ||
				echo "$program does not run $case"
		done
}

# Files that are named in the place of a case, and are not there.
lost() {
	rules | grep -o '[a-z]*/[a-z/]*\.[a-z]*' | sort -u |
		while IFS= read -r file; do
			[ -e "${GTOPO_SRC:-.}/$file" ] || echo "no $file"
		done
}

# Programs of cases that are not built.
unbuilt() {
	local program
	rules | grep -o 'test_[a-z]*' | sort -u | while read -r program; do
		grep -qE "%D%/$program( |\$)" "$folder/local.mk" ||
			echo "local.mk has no $program"
	done
}

# What refused.def says that gtopo does not have, and the README does not.
untold() {
	local nccl=${GTOPO_SRC:-.}/src/nccl what
	sed -n 's/.*"\([^"(]*[^"( ]\).*".*/\1/p' "$nccl/refused.def" |
		sort -u | while IFS= read -r what; do
		sed '1,/^Not there yet/{/^Not there yet/!d}' "$nccl/README.md" |
			tr '\n' ' ' | grep -qF "$what" ||
			echo "README.md has not: $what"
	done
}

verdict "a rule is a topic, words and a case" "$(malformed)"
verdict "the cases are run" "$(missing)"
verdict "their programs are built" "$(unbuilt)"
verdict "what stands in for a case is there" "$(lost)"
verdict "the folder's README has what is refused" "$(untold)"
tap_end
