#!/bin/bash
# Every folder of tests/cases/detect: the machine that machine.sh makes (and,
# in nvml, what a simulated NVML says of it; options and env are what their
# names say) is written as in expect.xml,
# allowed by the schema, taken by gtopo and by a reader as strict as NCCL's,
# and nothing is said but what is in stderr.  GTOPO_UPDATE=1 writes expect.xml
# anew.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
cd "${GTOPO_SRC:-.}" || exit 99
build=$(dirname "${GTOPO:=$PWD/build/gtopo}")

xmllint=$(command -v xmllint)
schema_says() { # FILE...
	[ "$xmllint" ] || return 0
	xmllint --noout --relaxng share/schema/gtopo-topology.rng "$@" 2>&1 |
		grep -v ' validates$'
}

check_case() { # FOLDER
	local name=${1##*/} out=$tmp/${1##*/}.xml args=() more=()
	bash tests/detect/mkroot.sh "$1/machine.sh" "$tmp/$name" || return
	if [ -f "$1/nvml" ]; then
		export GTOPO_FAKE_NVML=$PWD/$1/nvml
		args=(--nvml "$build/tests/detect/libnvidia-ml.so.1")
	fi
	[ ! -f "$1/options" ] || read -ra more <"$1/options"
	# shellcheck disable=SC1091
	[ ! -f "$1/env" ] || . "$1/env"
	"$GTOPO" detect --root "$tmp/$name" "${args[@]}" "${more[@]}" -o "$out" \
		2>"$tmp/err" || echo "exit status $?"
	diff "$([ -f "$1/stderr" ] && echo "$1/stderr" || echo /dev/null)" \
		"$tmp/err"
	[ -z "${GTOPO_UPDATE:-}" ] || cp "$out" "$1/expect.xml"
	diff "$1/expect.xml" "$out"
	"$build/tests/detect/nccl_reads" "$out"
	"$GTOPO" paths "$out" 2>&1 >/dev/null |
		grep -v "has no GPU and no network port"
	schema_says "$out"
}

for dir in tests/cases/detect/*/; do
	verdict "${dir#tests/cases/}" "$(check_case "${dir%/}")"
done
"$GTOPO" detect -o "$tmp/here.xml"
verdict "this machine, as NCCL reads" \
	"$("$build/tests/detect/nccl_reads" "$tmp/here.xml")"
verdict "this machine, by the schema" "$(schema_says "$tmp/here.xml")"
verdict "gtopo-topology(5) names each attribute of the schema" "$(
	grep -o "attribute name=\"[a-z0-9_]*" share/schema/gtopo-topology.rng |
		cut -d\" -f2 | sort -u | while read -r name; do
		grep -qE "^\.(B|BR) .*\b$name\b" man/gtopo-topology.5 ||
			echo "$name is missing"
	done)"
sed -n "/^<system/,/^<\/system/p" man/gtopo-topology.5 >"$tmp/man.xml"
verdict "the example of gtopo-topology(5)" "$(schema_says "$tmp/man.xml"
	"$build/tests/detect/nccl_reads" "$tmp/man.xml")"
for file in share/xml/*.xml tests/cases/topo/good/measured-*/input.xml; do
	grep -q "^<cluster " "$file" && continue
	verdict "${file#*/*/}, as NCCL reads" \
		"$("$build/tests/detect/nccl_reads" "$file")"
	verdict "${file#*/*/}, by the schema" "$(schema_says "$file")"
done
if [ -z "$xmllint" ]; then
	n=$((n + 1))
	echo "ok $n - schema # skip no xmllint"
fi
tap_end
