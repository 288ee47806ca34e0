#!/bin/bash
# boot.sh CACHE WORK [QEMU ARGUMENTS]: boot a machine that runs WORK/test with
# WORK writable and everything else of this machine readable.  Prints what the
# test printed and ends with its status; 124 when it took too long.  WORK/pid
# names the process, WORK/console has what its kernel warns of.
#
# Emulated, not virtualised: it works in any container, at a tenth the speed.
# On a busy host the kernel's check of its timer would fail, so it is left out.
set -u
here=$(dirname "$(readlink -f "$0")")
cache=$1
work=$2
shift 2

cp "$here/guest.sh" "$work/guest.sh"
# A kernel that stumbled may never turn the machine off behind the test.
turned_off() {
	until [ -f "$work/status" ]; do
		sleep 1
	done
	sleep 10
	kill -TERM "$(<"$work/pid")"
}

turned_off >/dev/null 2>&1 &
afterwards=$!
timeout "${GTOPO_VM_TIMEOUT:-600}" qemu-system-x86_64 \
	-accel tcg,thread=multi,tb-size=256 -M q35 -cpu max -m 1024 \
	-nodefaults -no-user-config -display none -no-reboot \
	-serial "file:$work/console" -pidfile "$work/pid" \
	-kernel "$cache/vmlinuz" -initrd "$cache/initrd.cpio" \
	-append "console=ttyS0 loglevel=5 panic=-1 no_timer_check mitigations=off \
nokaslr init2=$work/guest.sh work=$work cache=$cache" \
	-fsdev local,id=h,path=/,security_model=none,readonly=on,multidevs=remap \
	-device virtio-9p-pci,fsdev=h,mount_tag=host \
	-fsdev local,id=w,path="$work",security_model=none \
	-device virtio-9p-pci,fsdev=w,mount_tag=work \
	"$@" </dev/null >"$work/qemu" 2>&1
status=$?
kill $afterwards 2>/dev/null
if [ ! -f "$work/status" ]; then
	echo "the machine did not come to an end (qemu: $status)"
	tail -n 5 "$work/qemu" "$work/console" "$work/output" 2>/dev/null
	[ $status -eq 124 ] && exit 124
	exit 3
fi
cat "$work/output"
exit "$(<"$work/status")"
