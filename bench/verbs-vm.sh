#!/bin/bash
# bench/verbs.sh between two soft-RoCE devices of a machine in qemu, for hosts
# without RDMA devices: the machine of tests/vm/rdma.  GTOPO is the program;
# GTOPO_BENCH_* are as there.  Its line on standard output, or null where the
# machine cannot be had.
#
#   GTOPO=PROGRAM bench/verbs-vm.sh
set -euo pipefail
src=$(dirname "$(readlink -f "$0")")/..

without() {
	echo "verbs-vm.sh: $*" >&2
	echo null
	exit 0
}

for name in qemu-system-x86_64 busybox cpio ib_write_bw; do
	command -v "$name" >/dev/null || without "there is no $name"
done
cache=${GTOPO_VM_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/gtopo-vm-tests}
why=$(bash "$src/tests/vm/setup.sh" "$cache") || without "$why"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
	echo "export GTOPO=$(readlink -f "${GTOPO:?the program}")"
	echo "export GTOPO_SRC=$(readlink -f "$src")"
	export -p | grep ' GTOPO_BENCH_' || true
} >"$work/environment"
cat >"$work/test" <<'END'
. "$GTOPO_SRC/tests/vm/rdma/devices.sh"
ulimit -l unlimited
exec bash "$GTOPO_SRC/bench/verbs.sh" rxe0 rxe1 10.1.0.2
END
args=$(bash "$src/tests/vm/rdma/machine.sh" | tr '\n' ' ' | sed 's/ ,/,/g')
# shellcheck disable=SC2086
bash "$src/tests/vm/boot.sh" "$cache" "$work" $args
