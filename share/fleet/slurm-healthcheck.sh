#!/bin/sh
# Slurm's HealthCheckProgram: drains a node that is not as it should be, with
# what is wrong as the reason.  In slurm.conf:
#
#     HealthCheckProgram=/usr/share/gtopo/fleet/slurm-healthcheck.sh
#     HealthCheckInterval=300
#
# It takes the same variables as slurm-prolog.sh.  A node that is drained for
# this and is well again stays drained: who repaired it resumes it.
set -u
PATH=${PATH:+$PATH:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
# The node is looked at, not the part of it that a job is to see.
unset CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES
gtopo=${GTOPO:-gtopo}
expect=${GTOPO_EXPECT:-/etc/gtopo/expected.xml}
node=${SLURMD_NODENAME:-$(hostname -s)}

set -- health --color never
[ ! -e "$expect" ] || set -- "$@" --expect "$expect"
[ -z "${GTOPO_IGNORE:-}" ] || set -- "$@" --ignore "$GTOPO_IGNORE"
found=$(timeout 50 "$gtopo" "$@" 2>/dev/null)
status=$?
[ "$status" -ne 0 ] || exit 0
# A check that could not be made says nothing of the node.
if [ "$status" -ne 1 ]; then
	! command -v logger >/dev/null ||
		printf 'gtopo health: exit status %s\n' "$status" |
		logger -t gtopo-healthcheck
	exit 0
fi
# Why a node is out of use already is not to be lost.
case $(scontrol show node "$node" 2>/dev/null | grep -o 'State=[^ ]*') in
*DRAIN* | *DOWN*) exit 0 ;;
esac

first=$(printf '%s\n' "$found" | head -n 1 | cut -c 1-200)
more=$(($(printf '%s\n' "$found" | wc -l) - 1))
[ "$more" -eq 0 ] || first="$first (and $more more)"
scontrol update NodeName="$node" State=DRAIN Reason="gtopo: $first"
