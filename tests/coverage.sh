#!/bin/bash
# Which part of the lines and branches of src tests have reached, by folder and
# in all, as gcov counted in a build with --coverage: coverage.sh BUILD
set -euo pipefail
cd "${1:?a build with --coverage}"
find src -name '*.gcno' | sort | while read -r notes; do
	printf 'object %s\n' "${notes%.gcno}.c"
	gcov -b -n -o "$(dirname "$notes")" "$notes" 2>/dev/null
done | awk '
# What a header adds to each object that includes it is left out.
/^object / { own = $2; sub(/^src\//, "", own); n = split(own, part, "/")
	folder = n > 1 ? part[1] : "."; next }
/^File / { file = $0; gsub(/^File .|.$/, "", file)
	mine = length(file) >= length(own) &&
		substr(file, length(file) - length(own) + 1) == own; next }
# Behind the last file stands what all of an object have together.
/^(Calls executed|No calls)/ { mine = 0 }
mine && match($0, /^(Lines executed|Taken at least once):[0-9.]+% of [0-9]+/) {
	kind = /^Lines/ ? "lines" : "branches"
	split(substr($0, index($0, ":") + 1), word, /% of /)
	all[kind, folder] += word[2]; all[kind, "all"] += word[2]
	hit[kind, folder] += word[1] / 100 * word[2]
	hit[kind, "all"] += word[1] / 100 * word[2]
	if (!seen[folder]++)
		order[++n_folders] = folder
}
function percent(kind, folder) {
	return all[kind, folder] ? \
		100 * hit[kind, folder] / all[kind, folder] : 0
}
function line(folder) {
	printf "%-9s %6d lines %5.1f%%  %6d branches %5.1f%%\n", folder,
		all["lines", folder], percent("lines", folder),
		all["branches", folder], percent("branches", folder)
}
END {
	for (i = 1; i <= n_folders; i++)
		line(order[i])
	line("all")
}'
