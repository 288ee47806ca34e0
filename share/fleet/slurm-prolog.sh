#!/bin/sh
# Slurm's Prolog: no job begins on a node whose GPUs, links or ports are not as
# they should be.  In slurm.conf:
#
#     Prolog=/usr/share/gtopo/fleet/slurm-prolog.sh
#
# What fails here drains the node and queues the job anew.  The node is compared
# with /etc/gtopo/expected.xml, if there is one: what 'gtopo detect' wrote on a
# node that is known to be well.  GTOPO, GTOPO_EXPECT and GTOPO_IGNORE name
# another program, another file, and what 'gtopo health --ignore' is to leave out.
set -u
gtopo=${GTOPO:-gtopo}
expect=${GTOPO_EXPECT:-/etc/gtopo/expected.xml}
# The node is looked at, not the part of it that a job is to see.
unset CUDA_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES HIP_VISIBLE_DEVICES

set -- health --color never
[ ! -e "$expect" ] || set -- "$@" --expect "$expect"
[ -z "${GTOPO_IGNORE:-}" ] || set -- "$@" --ignore "$GTOPO_IGNORE"
found=$(timeout 60 "$gtopo" "$@" 2>&1)
status=$?

[ -z "$found" ] || printf '%s\n' "$found" >&2
command -v logger >/dev/null && [ -n "$found" ] &&
	printf '%s\n' "$found" | logger -t gtopo-prolog
# A check that could not be made says nothing of the node.
[ "$status" -ne 1 ]
