#!/bin/bash
# TAB is pressed in interactive shells: what the line becomes, and what the
# program offers (`gtopo help --complete`), of which the shells' scripts in
# share/completion know nothing themselves.
set -u
. "${GTOPO_SRC:-.}/tests/tap.sh"
src=$(cd "${GTOPO_SRC:-.}" && pwd)
gtopo=${GTOPO:-$PWD/gtopo}
PATH=$(dirname "$gtopo"):$PATH
export GTOPO_XML=$src/share/xml
cd "$tmp" || exit 99
touch only-this.xml

offers() { # LAST WORDS...: what the last word may become is as in LAST
	local want=$1
	shift
	[ "$want" = "$("$gtopo" help --complete -- "$@" | cut -f 1 |
		paste -sd ' ')" ] || echo "not '$want' after '$*'"
}

verdict "commands" "$(offers 'show' sh
	offers 'show synth search steps' help s)"
verdict "options, and nothing behind those that are none" "$(
	offers '--algo' search --algo
	offers '' nothing --a)"
verdict "words of options, in both spellings" "$(
	offers 'shm' run --link s
	offers 'nccl-graph nccl-tuner' export --to n
	offers 'allreduce allgather alltoall' search --coll all
	offers '--algo=ring' search --algo=r)"
verdict "reference machines and files" "$(
	offers 'dgx-h100 :files' health --expect dgx-h
	offers 'dgx-spark dgx-superpod-h100 :files' health --expect dgx-s
	offers 'mi250x mi300x mixed-h100-a100 :files' show mi
	offers ':files' lint -o '')"
verdict "rules and words behind a comma" "$(
	offers 'acs,iommu' lint --ignore acs,io
	offers 'acs,driver acs,driver-version' health --ignore acs,dr)"
verdict "all options of each command are those of its help" "$(
	"$gtopo" help --complete -- '' | cut -f 1 | while read -r cmd; do
		diff <("$gtopo" help "$cmd" | grep '^  ' |
			grep -oE -- '(^|[ ,])--[a-z][a-z0-9-]*' | tr -d ' ,' | sort -u) \
			<("$gtopo" help --complete -- "$cmd" -- | cut -f 1 | sort -u)
	done)"

press() { # SHELL SCRIPT
	local lines=('gtopo sho' 'gtopo run --link s' 'gtopo export --to nccl-g'
		'gtopo search --coll allr' 'gtopo health --expect dgx-h'
		'gtopo show mi3' 'gtopo show onl' 'gtopo search --algo=fo'
		'gtopo search --max')
	diff - <(timeout 120 python3 "$src/tests/completion/press.py" "$1" \
		"$src/share/completion/$2" "${lines[@]}" 2>&1) <<-EOF
		gtopo show
		gtopo run --link shm
		gtopo export --to nccl-graph
		gtopo search --coll allreduce
		gtopo health --expect dgx-h100
		gtopo show mi300x
		gtopo show only-this.xml
		gtopo search --algo=forest
		gtopo search --max-channels
	EOF
}

for pair in bash:gtopo zsh:_gtopo fish:gtopo.fish; do
	shell=${pair%:*}
	if ! command -v "$shell" python3 >/dev/null; then
		skipped "TAB in $shell" "no $shell"
	else
		verdict "TAB in $shell" "$(press "$shell" "${pair#*:}")"
	fi
done
tap_end
