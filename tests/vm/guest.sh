#!/bin/bash
# The guest's first process once the host's / is mounted: sets up what any
# test needs, runs $work/test, leaves its exit status in $work/status, and
# turns the machine off.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
for word in $(</proc/cmdline); do
	case $word in work=*) work=${word#work=} ;;
	cache=*) cache=${word#cache=} ;;
	esac
done
mount -t tmpfs none /run
mkdir -p /dev/shm "$work" /lib/modules
mount -t tmpfs none /dev/shm
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 work "$work"
rm -rf "/lib/modules/$(uname -r)"
ln -s "$cache/lib/modules/$(uname -r)" "/lib/modules/$(uname -r)"
ip link set lo up
(
	. "$work/environment"
	cd "$work" && exec bash "$work/test"
) >"$work/output" 2>&1
echo $? >"$work/status"
sync
cp "$(command -v busybox)" /run/poweroff
exec /run/poweroff -f
