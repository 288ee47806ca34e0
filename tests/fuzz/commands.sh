#!/bin/bash
# Commands on topologies and plans that are nearly right: a share of what
# commands.py can make.  Found ones are cases of the commands' own tests.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
src=${GTOPO_SRC:-.}
gtopo=${GTOPO:-$PWD/gtopo}

if ! command -v python3 >/dev/null; then
	echo "1..0 # no python3"
	exit 0
fi

# A sanitizer sees in fewer cases what a plain build needs more for.
cases=${GTOPO_TEST_BRIEF:+50}
said=$(ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 \
	python3 "$src/tests/fuzz/commands.py" -n "${cases:-150}" \
	"$gtopo" "$src" 2>&1)
status=$?
printf '%s\n' "$said" | tail -n 1 | sed 's/^/# /'
[ $status -eq 0 ] && said=
verdict "whole commands on files that are nearly right" "$said"
tap_end
