# What the scripts share that print TAP (tests/driver.sh counts their lines):
#
#     . "${GTOPO_SRC:-.}/tests/tap.sh"
#
# before any cd.  $tmp is an empty folder, which is removed at the end.  A script
# ends with tap_end, or with a plan of its own.
n=0
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT

verdict() { # NAME FINDINGS: good when there are none
	n=$((n + 1))
	if [ -z "${2:-}" ]; then
		echo "ok $n - $1"
	else
		printf '%s\n' "$2" | sed 's/^/# /'
		echo "not ok $n - $1"
	fi
}

# A command ends with that status and says such words; all of it is $tmp/out.
ends() { # NAME STATUS WORDS COMMAND...
	local name=$1 want=$2 words=$3 status
	shift 3
	"$@" >"$tmp/out" 2>&1
	status=$?
	verdict "$name" "$([ "$status" -eq "$want" ] &&
		grep -qE -- "$words" "$tmp/out" ||
		{ echo "status $status:"; cat "$tmp/out"; })"
}

skipped() { # NAME WHY
	n=$((n + 1))
	echo "ok $n - $1 # skip $2"
}

tap_end() {
	echo "1..$n"
}
