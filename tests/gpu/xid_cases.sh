#!/bin/bash
# xid.sh notices what the driver says of GPUs, in the kernel's log and from
# NVML, both simulated, and skips where neither can be asked.
set -u
src=$(cd "${GTOPO_SRC:-.}" && pwd)
. "$src/tests/tap.sh"
root=$(dirname "${GTOPO:-$PWD/gtopo}")
here=$src/tests/gpu
work=$tmp log=$tmp/log
mkdir "$tmp/bin"
PATH=$tmp/bin:$PATH
export LD_LIBRARY_PATH=$root/tests/detect GTOPO_FAKE_NVML=$tmp/nvml
gpu='gpu busid=0000:1b:00.0 id=0x233010de sm=90 mbps=26562'
trap 'xid_end; rm -rf "$tmp"' EXIT

find_file() {
	[ ! -f "$2/$1" ] || echo "$2/$1"
}
result() { # pass|fail|skip NAME
	echo "$1 $2"
}
# shellcheck source=tests/gpu/xid.sh
. "$here/xid.sh"

kernel() { # STATUS WORDS: what dmesg is
	printf '#!/bin/sh\nprintf "%%s\\n" "%s"\nexit %s\n' "$2" "$1" \
		>"$tmp/bin/dmesg"
	chmod +x "$tmp/bin/dmesg"
}

is() { # NAME WANTED SAID
	verdict "$1" "$([ "$2" = "$3" ] || echo "'$3' is not '$2'")"
}

old="[1.0] NVRM: Xid (PCI:0000:1b:00): 13, pid=1"
kernel 0 "$old"
xid_begin
is "an Xid from before" "pass no Xid: a (log)" "$(xid_look a)"
kernel 0 "$old
[2.0] NVRM: Xid (PCI:0000:1b:00): 79, pid=2"
is "an Xid in the kernel's log" "# [2.0] NVRM: Xid (PCI:0000:1b:00): 79, pid=2
fail no Xid: b (log)" "$(xid_look b)"
is "it is said once" "pass no Xid: c (log)" "$(xid_look c)"

kernel 1 ""
echo "$gpu" >"$tmp/nvml"
xid_begin
is "NVML has nothing to tell" "pass no Xid: d (NVML)" "$(xid_look d)"
xid_end
printf '%s\n' "$gpu" "$gpu xid=79" >"$tmp/nvml"
xid_begin
is "an Xid that NVML tells of" "# Xid 79: GPU 1
fail no Xid: e (NVML)" "$(xid_look e)"
is "that is said once, too" "pass no Xid: f (NVML)" "$(xid_look f)"
xid_end
echo "$gpu events=3" >"$tmp/nvml"
xid_begin
is "NVML that knows no events" "skip no Xid: g" "$(xid_look g)"
xid_program=
xid_begin
is "nothing to ask" "skip no Xid: h" "$(xid_look h)"
tap_end
