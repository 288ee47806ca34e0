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
gtopo=${GTOPO:-gtopo}
expect=${GTOPO_EXPECT:-/etc/gtopo/expected.xml}
node=${SLURMD_NODENAME:-$(hostname -s)}

set -- health --color never
[ ! -e "$expect" ] || set -- "$@" --expect "$expect"
[ -z "${GTOPO_IGNORE:-}" ] || set -- "$@" --ignore "$GTOPO_IGNORE"
found=$(timeout 50 "$gtopo" "$@" 2>/dev/null)
[ $? -eq 1 ] || exit 0

first=$(echo "$found" | head -n 1 | cut -c 1-200)
more=$(($(echo "$found" | wc -l) - 1))
[ "$more" -eq 0 ] || first="$first (and $more more)"
scontrol update NodeName="$node" State=DRAIN Reason="gtopo: $first"
