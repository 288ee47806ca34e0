# All values and bounds of one machine are in one unit, nccl-tests' busbw, so
# that what one shape proves of any schedule no other shape's plan exceeds.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
}

# judge MACHINE COLL ALGO: a line "ALGO VALUE BOUND" of verify's JSON; the bound
# is what holds for any schedule.  Shapes that do not do the collective have none.
judge() {
	gtopo search -q --algo "$3" --coll "$2" --budget 2s -o plan "$1" \
		2>says || {
		grep -q "cannot do" says
		return
	}
	gtopo verify --json plan >verdict.json
	jq -r --arg algo "$3" '[$algo, .busbw_gbs,
		(if .any_bound then .any_bound.busbw_gbs
		 elif .class == "any" then .bound.busbw_gbs
		 else 1e99 end)] | join(" ")' verdict.json
	[ "$3" = auto ] || return 0
	gtopo verify plan >words
	# Each line about a rate names the unit.
	! grep -E '^(value|bound|any bound) ' words | grep -v ' GB/s busbw'
	[ "$(grep -c ' GB/s busbw (.* algbw)' words)" -eq 1 ]
}

@test "every machine and collective: no value exceeds what another proves" {
	for machine in "$xml"/*.xml; do
		grep -q '^<system ' "$machine" || continue
		[ "$(grep -c '<gpu ' "$machine")" -gt 1 ] || continue
		# What differs between machines differs without sanitizers too.
		case ${GTOPO_TEST_BRIEF:+brief}-$machine in
		brief-*/dgx-1v.xml | brief-*/mi250x.xml | -*) ;;
		*) continue ;;
		esac
		for coll in allreduce allgather reducescatter broadcast reduce \
			alltoall gather scatter sendrecv; do
			for algo in auto ring forest mesh flow; do
				judge "$machine" "$coll" "$algo"
			done >lines
			[ "$(wc -l <lines)" -ge 3 ]
			awk -v what="$machine $coll" '
				!n++ || $3 < bound { bound = $3; by = $1 }
				n == 1 || $2 > value { value = $2; of = $1 }
				END {
					if (value <= bound * (1 + 2e-6)) exit
					print what ": " of " reaches " value \
						", " by " bounds " bound
					exit 1
				}' lines
		done
	done
}

@test "a plan that goes to a file is told of on a terminal" {
	script -qec true /dev/null >/dev/null 2>&1 || skip "no terminal to be had"
	run script -qec "$GTOPO search --algo ring -o plan $xml/dgx-h100.xml" \
		/dev/null
	[ "${output%$'\r'}" = "ring, 1 channel, 370.8 GB/s busbw, proven best \
over its routes -> plan" ]
	run script -qec "$GTOPO search -q -o plan $xml/dgx-h100.xml" /dev/null
	[ "$output" = "" ]
	run_split gtopo search -o plan "$xml/dgx-h100.xml"
	want 0 ""
}

@test "what -v, --explain, verify and the plan say of a mesh is one number" {
	gtopo search -v --algo mesh --explain -o plan "$xml/dgx-h100.xml" \
		>words 2>notes
	grep -q '8 GPUs: a mesh of 370.8 GB/s busbw (211.9 algbw) in 1 channel$' \
		notes
	grep -q '8 GPUs: 370.8 GB/s busbw (211.9 algbw) in 1 channel$' words
	grep -q '"busbw_gbs": 370.8,' plan
	gtopo verify plan |
		grep -qx 'value     370.8 GB/s busbw (211.9 algbw)'
	gtopo verify -v plan 2>&1 |
		grep -q 'channel 0: mesh, share 1, 370.8 GB/s busbw$'
	gtopo export --to dot plan | grep -q 'label="allreduce: 370.8 GB/s busbw"'
	gtopo show --dot --plan plan "$xml/dgx-h100.xml" |
		grep -qF 'channel 0\nmesh\n370.8 GB/s'
}
