# What command line tests share; `load common` at the top of a .bats file.
#
# $GTOPO is the program, $GTOPO_SRC the sources, $BATS_TEST_TMPDIR a fresh
# folder.  `run` merges the streams; run_split keeps them apart.

: "${GTOPO:=$BATS_TEST_DIRNAME/../../build/gtopo}"
: "${GTOPO_SRC:=$BATS_TEST_DIRNAME/../..}"

gtopo() {
	"$GTOPO" "$@"
}

# Sets status, out (standard output) and err (standard error).
run_split() {
	local dir=$BATS_TEST_TMPDIR
	status=0
	"$@" >"$dir/.out" 2>"$dir/.err" || status=$?
	out=$(<"$dir/.out")
	err=$(<"$dir/.err")
}

# want STATUS TEXT: the last run_split ended so, and said exactly this.
want() {
	if [ "$status" -ne "$1" ] || [ "$err" != "$2" ]; then
		printf 'status %s, wanted %s\n' "$status" "$1"
		printf 'said   %s\nwanted %s\n' "$err" "$2"
		return 1
	fi
}

# until_true COMMAND...: at most 30 s; processes may have to wait for a processor.
until_true() {
	local tries
	for ((tries = 0; tries < 300; tries++)); do
		"$@" && return
		sleep 0.1
	done
	return 1
}

# works PROCESSES: $leader has so many ($children), and all have met: each has
# threads for its ranks.  A short job may be over before other programs that
# look for that have started, on a busy machine.
works() {
	local one threads list=/proc/$leader/task/$leader/children
	children=()
	if [ -e "$list" ]; then
		read -ra children <"$list" || true # no line ends in it
	else
		mapfile -t children < <(pgrep -P "$leader")
	fi
	[ ${#children[@]} -eq "$1" ] || return
	for one in "${children[@]}"; do
		threads=(/proc/"$one"/task/*)
		[ ${#threads[@]} -gt 2 ] || return
	done
}

need_topologies() {
	[ -n "${GTOPO_TEST_TOPOLOGIES:-}" ] ||
		skip "GTOPO_TEST_TOPOLOGIES is unset"
}

# follows SCHEMA FILE...: are the files as the schema of share/schema says?
follows() {
	local schema=$1
	shift
	python3 -c 'import jsonschema' 2>/dev/null || skip "no python3-jsonschema"
	python3 "$GTOPO_SRC/tests/plan/validate.py" \
		"$GTOPO_SRC/share/schema/$schema.schema.json" "$@"
}
