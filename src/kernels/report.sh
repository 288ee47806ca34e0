#!/bin/bash
# ptxas -v on standard input, demangled, to a table: one line a kernel.
awk '
function number(before,    text) {
	text = $0
	if (!match(text, "[0-9]+ " before))
		return 0
	return substr(text, RSTART, RLENGTH) + 0
}
BEGIN {
	printf "%-52s %9s %8s %6s %7s\n", "kernel", "registers", \
		"shared B", "stack", "spilt B"
}
/fatal|error/ {
	print >"/dev/stderr"
	failed = 1
}
/Compiling entry function/ {
	split($0, part, "\047")
	name = part[2]
	gsub(/_args|void |\(.*/, "", name)
}
/bytes stack frame/ {
	stack = number("bytes stack")
	spilt = number("bytes spill stores") + number("bytes spill loads")
}
/Used [0-9]+ registers/ {
	printf "%-52s %9d %8d %6d %7d\n", name, number("registers"), \
		number("bytes smem"), stack, spilt
}
END { exit failed }'
