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
# kernel_log WORK: the end of what the kernels of its machines warned of, or
# from where one of them stumbled.
kernel_log() {
	local log
	for log in "$1"/console "$1"/*/console; do
		[ -f "$log" ] || continue
		echo "# kernel log ${log#"$tmp/"}"
		grep -av 'speed is unknown' "$log" |
			awk '/BUG: |WARNING: |general protection/ { found = 1 }
				{ line[NR] = $0 }
				found && kept < 80 { kept++; print }
				END { for (i = NR - 30; !kept && i <= NR; i++)
					if (i in line) print line[i] }' |
			tr -d '\r' | sed 's/^/# /'
	done
}

# kernel_fault WORK: soft-RoCE (Linux 6.1) lets a queue pair end although packets
# of it are on a card yet.  Whoever frees those, tee as it takes the card away,
# say, is killed in the kernel if there is something else by then where the
# queue pair's socket was.
kernel_fault() {
	cat "$1"/console "$1"/*/console 2>/dev/null |
		grep -aA 60 -E 'BUG: |general protection fault' |
		grep -aoE -m 1 'rxe_skb_tx_dtor\+[0-9a-fx]+'
}

verdict() { # NAME FINDINGS WORK
	local fault=
	n=$((n + 1))
	if [ -n "$2" ]; then
		printf '%s\n' "$2"
		kernel_log "$3"
		fault=$(kernel_fault "$3")
		if [ -z "$fault" ]; then
			printf 'not '
			failed=1
		fi
	fi
	echo "ok $n - $1${fault:+ # skip its kernel failed in $fault}"
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
	verdict "$name: the test runs" "$(machine_runs "$dir" "$tmp/$name")" \
		"$tmp/$name"
	for file in "$dir"/expect.*; do
		found=$tmp/$name/${file##*/expect.}
		verdict "$name: ${file##*/expect.}" "$(same "$file" "$found")" \
			"$tmp/$name"
	done
done
echo "1..$n"
exit $failed
