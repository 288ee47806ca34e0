#!/bin/bash
# slurm.sh: a Slurm of one node for as long as this runs, and gtopo under its
# srun: through PMIx, and by Slurm's own variables.  Prints one line a check
# (TAP); exit status 0, 1, or 77 with the reason when there is no Slurm.
#
# Nothing of it touches the machine's own Slurm: every file and socket lies in
# a temporary folder, every port is free.
set -u
src=$(readlink -f "$(dirname "$0")/../..")
: "${GTOPO:=$src/build/gtopo}"
GTOPO=$(readlink -f "$GTOPO")

lacking() {
	echo "1..0 # skip $*"
	exit 77
}

for tool in slurmctld slurmd srun munged mungekey; do
	command -v $tool >/dev/null || [ -x /usr/sbin/$tool ] ||
		lacking "no $tool (Debian: apt-get install slurmctld slurmd" \
			"slurm-client munge)"
done
[ "$(id -u)" -eq 0 ] || lacking "Slurm's daemons need root"

tmp=$(mktemp -d) || exit 99
chmod 755 "$tmp"
export PATH=$PATH:/usr/sbin SLURM_CONF=$tmp/slurm.conf
pids=()
finish() {
	kill "${pids[@]}" 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	rm -rf "$tmp"
}
trap finish EXIT

mkdir "$tmp/state" "$tmp/spool"
mungekey --create --keyfile="$tmp/munge.key"
munged --foreground --force --key-file="$tmp/munge.key" \
	--socket="$tmp/munge.socket" --pid-file="$tmp/munged.pid" \
	--log-file="$tmp/munged.log" --seed-file="$tmp/munge.seed" \
	>/dev/null 2>&1 &
pids+=($!)
host=$(hostname -s)
# Two in a row, below those that the kernel gives to whoever asks for any.
while port=$((10000 + RANDOM % 20000)); do
	(exec 3<>/dev/tcp/127.0.0.1/$port) 2>/dev/null ||
		(exec 3<>/dev/tcp/127.0.0.1/$((port + 1))) 2>/dev/null || break
done
cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$tmp/munge.socket
CryptoType=crypto/munge
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$tmp/state
SlurmdSpoolDir=$tmp/spool
SlurmctldPidFile=$tmp/slurmctld.pid
SlurmdPidFile=$tmp/slurmd.pid
SlurmctldLogFile=$tmp/slurmctld.log
SlurmdLogFile=$tmp/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
ReturnToService=2
MpiDefault=none
SelectType=select/linear
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE
END
slurmctld -D -f "$SLURM_CONF" >/dev/null 2>&1 &
pids+=($!)
slurmd -D -f "$SLURM_CONF" -N "$host" >/dev/null 2>&1 &
pids+=($!)
for _ in $(seq 600); do
	[ "$(sinfo -h -o %T 2>/dev/null)" = idle ] && break
	sleep 0.1
done
[ "$(sinfo -h -o %T 2>/dev/null)" = idle ] || {
	tail -n 3 "$tmp"/*.log >&2
	lacking "Slurm does not start here"
}

n=0
failed=0
verdict() { # NAME STATUS
	n=$((n + 1))
	if [ "$2" -ne 0 ]; then
		cat "$tmp/out"
		printf 'not '
		failed=1
	fi
	echo "ok $n - $1"
}

# right ARGUMENT...: a job of four tasks, all results right.
right() {
	timeout 60 srun --overcommit -n 4 "$@" "$GTOPO" run \
		--plan "$tmp/plan.json" --device host -b 1 -e 64K -f 256 \
		-n 2 -w 0 >"$tmp/out" 2>&1 &&
		[ "$(grep -c '^# Out of bounds values : 0 OK$' "$tmp/out")" -eq 1 ]
}

"$GTOPO" search --algo ring "$src/share/xml/pcie-8gpu.xml" >"$tmp/plan.json"
right --mpi=pmix
verdict "through PMIx" $?
export GTOPO_SECRET="a secret for tests only"
right --mpi=none
verdict "by Slurm's variables" $?
unset GTOPO_SECRET
timeout 60 srun --mpi=none --overcommit -n 2 "$GTOPO" run \
	--plan "$tmp/plan.json" --device host >"$tmp/out" 2>&1
grep -q 'set GTOPO_SECRET_FILE' "$tmp/out"
verdict "a secret that is missing is asked for" $?
echo "1..$n"
exit $failed
