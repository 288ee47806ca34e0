#!/bin/bash
# run.sh [FOLDER...]: boot the machines of tests/vm/*/ and compare what gtopo
# says of them.  Prints one line a check (TAP); exit status 0, 1, or 77 with
# the reason when there is nothing to boot with.
#
# GTOPO is the program, GTOPO_VM_CACHE the folder that keeps kernel and
# initial file system (70 MB are downloaded the first time).
# GTOPO_UPDATE=1 writes the expected files anew.
set -u
here=$(dirname "$(readlink -f "$0")")
src=$(readlink -f "$here/../..")
: "${GTOPO:=$src/build/gtopo}"
GTOPO=$(readlink -f "$GTOPO")
cache=${GTOPO_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gtopo-vm-tests}

lacking() {
	echo "1..0 # skip $*"
	exit 77
}

for tool in qemu-system-x86_64 busybox cpio dpkg modprobe ip rdma; do
	command -v $tool >/dev/null || [ -x /sbin/$tool ] ||
		lacking "no $tool (Debian: apt-get install" \
			"qemu-system-x86 busybox-static cpio kmod iproute2)"
done
why=$(bash "$here/setup.sh" "$cache" 2>&1) || lacking "no kernel: $why"

tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
n=0
failed=0
verdict() { # NAME FINDINGS
	n=$((n + 1))
	if [ -n "$2" ]; then
		printf '%s\n' "$2"
		printf 'not '
		failed=1
	fi
	echo "ok $n - $1"
}

# The processor is whatever qemu's version plays; what the guest takes for a
# container is the host's file system.
comparable() {
	sed -E '/<cpu /s/ (vendor|familyid|modelid|gt_name)="[^"]*"//g
		/<gt_machine /s/ container="[^"]*"//' "$1"
}

same() { # EXPECTED FOUND
	[ -f "$2" ] || {
		echo "${2##*/} was not written"
		return
	}
	[ -z "${GTOPO_UPDATE:-}" ] || comparable "$2" >"$1"
	diff "$1" <(comparable "$2")
}

# boots FOLDER WORK [NUMBER]: a machine of that folder, to its end.
boots() {
	local args status
	mkdir -p "$2"
	cp "$1/test.sh" "$2/test"
	echo "export GTOPO=$GTOPO GTOPO_SRC=$src NUMBER=${3:-0}" \
		>"$2/environment"
	# Lines that start with a comma go on with the last argument.
	args=$(bash "$1/machine.sh" "$2" "${3:-0}" | tr '\n' ' ' |
		sed 's/ ,/,/g')
	# shellcheck disable=SC2086
	bash "$here/boot.sh" "$cache" "$2" $args
	status=$?
	[ $status -eq 0 ] || echo "exit status $status"
}

# A folder has one machine, or a host.sh that boots several.
machine_runs() { # FOLDER WORK
	mkdir -p "$2"
	if [ -f "$1/host.sh" ]; then
		. "$1/host.sh"
	else
		boots "$1" "$2"
	fi
}

[ $# -gt 0 ] || set -- "$here"/*/
for dir; do
	dir=${dir%/}
	name=${dir##*/}
	verdict "$name: the test runs" "$(machine_runs "$dir" "$tmp/$name")"
	for file in "$dir"/expect.*; do
		found=$tmp/$name/${file##*/expect.}
		verdict "$name: ${file##*/expect.}" "$(same "$file" "$found")"
	done
done
echo "1..$n"
exit $failed
