#!/bin/bash
# Every folder of tests/cases/plan/good holds a plan that is right: verify
# says what is in expect.  Every folder of bad holds one that is not: verify
# ends with the status and the words in error.  Right plans are allowed by the
# schema.  GTOPO_UPDATE=1 writes expect and error anew.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
cd "${GTOPO_SRC:-.}/tests/cases/plan" || exit 99
gtopo=${GTOPO:-../../../build/gtopo}
schema=../../../share/schema/plan-1.schema.json
update=${GTOPO_UPDATE:-}

good() { # FOLDER
	local says
	says=$(cd "$1" && "$gtopo" verify plan.json 2>&1) ||
		echo "exit status $?"
	[ -z "$update" ] || printf '%s\n' "$says" >"$1/expect"
	diff "$1/expect" - <<<"$says"
	"$gtopo" verify - <"$1/plan.json" 2>&1 | diff "$1/expect" -
}

bad() { # FOLDER
	local says status=0
	says=$(cd "$1" && "$gtopo" verify plan.json 2>&1) || status=$?
	[ -z "$update" ] || printf '%s\n' "$status $says" >"$1/error"
	diff "$1/error" - <<<"$status $says"
	[ "$status" = 1 ] || [ "$status" = 2 ] || echo "exit status $status"
}

for dir in good/*/; do
	verdict "$dir" "$(good "${dir%/}")"
done
for dir in bad/*/; do
	verdict "$dir" "$(bad "${dir%/}")"
done

page=../../../man/gtopo-plan.5
verdict "gtopo-plan(5) names each key of the schema" "$(
	grep -oE '^ *"[a-z_]+": \{' $schema | grep -oE '[a-z_]+' | sort -u |
		grep -vE '^(properties|items|if|then|else|rational)$' |
		grep -vE "^(channel|count|hop|link|measurement|places|program|step|operand)\$" |
		while read -r name; do
			grep -qE "^\.(B|BR|RB) .*\b$name\b" $page ||
				echo "$name is missing"
		done)"
sed -n '/^{/,/^}/p' $page >"$tmp/man.json"
verdict "the example of gtopo-plan(5)" \
	"$("$gtopo" verify "$tmp/man.json" 2>&1 >/dev/null)"

n=$((n + 1))
if python3 -c 'import jsonschema' 2>/dev/null; then
	if python3 ../../plan/validate.py "$schema" good/*/plan.json; then
		echo "ok $n - good plans, by the schema"
	else
		echo "not ok $n - good plans, by the schema"
	fi
else
	echo "ok $n - schema # skip no python3-jsonschema"
fi
tap_end
