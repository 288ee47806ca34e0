#!/bin/bash
# What lint says of every real topology, counted by file, severity and rule, is
# as in tests/cases/lint/real-topologies.expect; GTOPO_UPDATE=1 writes that
# anew.  Each line of it was read: whoever adds one asks whether the owner of
# such a machine would call it a fault.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
expect=$(cd "${GTOPO_SRC:-.}" && pwd)/tests/cases/lint/real-topologies.expect
gtopo=${GTOPO:-$PWD/gtopo}

if [ -z "${GTOPO_TEST_TOPOLOGIES:-}" ]; then
	skipped "real topologies" "GTOPO_TEST_TOPOLOGIES is unset"
	tap_end
	exit
fi

# "FILE SEVERITY RULE COUNT", one a line, of files *.xml and quirks/*.xml.
count() {
	cd "$GTOPO_TEST_TOPOLOGIES" || exit 99
	for file in *.xml quirks/*.xml; do
		timeout 20 "$gtopo" lint --all "$file" </dev/null
		[ $? -le 1 ] || echo "$file:1:1: error: [fails]"
	done | sed -nE 's/^([^:]*):[^ ]* (note|warning|error): .*\[([a-z0-9-]+)\]$/\1 \2 \3/p' |
		LC_ALL=C sort | uniq -c | sed -E 's/^ *([0-9]+) (.*)/\2 \1/'
}

(count) >"$tmp/counted"
[ -z "${GTOPO_UPDATE:-}" ] || cp "$tmp/counted" "$expect"
verdict "what is said of real topologies, by file and rule" \
	"$(diff "$expect" "$tmp/counted")"
tap_end
