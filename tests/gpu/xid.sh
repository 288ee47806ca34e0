# What the driver finds wrong with a GPU is an Xid: after each part of run.sh
# nothing new may be in the kernel's log, or, where that is closed, in what the
# program `xid` hears from NVML.  Where neither can be had, that is skipped.
xid_program=$(find_file xid "$root/tests/gpu")

xid_log() {
	dmesg 2>/dev/null | grep 'NVRM: Xid' | sort
}

# Sets xid_from, log, NVML or nothing.
xid_begin() {
	local tries
	xid_from=
	: >"$work/xids"
	if dmesg >/dev/null 2>&1; then
		xid_from=log
		xid_log >"$work/xids"
		return
	fi
	[ -x "$xid_program" ] || return 0
	: >"$work/heard" # of the one before, which says that it watches
	"$xid_program" >"$work/heard" 2>>"$log" &
	xid_pid=$!
	for tries in {1..50}; do
		grep -q '^# watching' "$work/heard" && xid_from=NVML && break
		kill -0 "$xid_pid" 2>/dev/null || break
		sleep 0.1
	done
}

xid_end() {
	[ -z "${xid_pid:-}" ] || kill "$xid_pid" 2>/dev/null
	xid_pid=
}

# What has come since the last look.
xid_new() {
	case $xid_from in
	log) xid_log ;;
	NVML)
		sleep 1.1 # it looks once a second
		grep -v '^#' "$work/heard" | sort
		;;
	esac >"$work/xids.now"
	comm -13 "$work/xids" "$work/xids.now"
	mv "$work/xids.now" "$work/xids"
}

xid_look() { # PART
	local new
	if [ -z "$xid_from" ]; then
		result skip "no Xid: $1" "neither the kernel's log nor NVML tells"
		return
	fi
	new=$(xid_new)
	if [ -z "$new" ]; then
		result pass "no Xid: $1 ($xid_from)"
	else
		printf '%s\n' "$new" | head -n 5 | sed 's/^/# /'
		result fail "no Xid: $1 ($xid_from)"
	fi
}

part() { # FUNCTION
	"$1"
	xid_look "$1"
}
