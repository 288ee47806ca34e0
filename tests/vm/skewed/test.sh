#!/bin/bash
# In the guest: all-to-alls of experts between hosts whose cards carry 4 Mbit/s
# each way, which the emulated processors can fill, planned in the call beside
# straight; every byte is checked.  Hosts are network namespaces.  At skew 1.2
# planned is at least 1.3 times as quick as straight for some matrix of a few,
# the quickest of two turns of each: with other work on the processors a
# schedule of several hops is late more often than one of one.  Straight beside
# straight is never that far apart.
set -u
modprobe -a veth bridge sch_tbf
export EXPERTS=${GTOPO%/*}/bench/experts MBITS=4 BYTES=1048576 MATRICES=3 \
	TURNS=2 SHAPES=2x4 SKEWS=1.2
bash "$GTOPO_SRC/bench/experts.sh" >said || {
	cat said
	exit 1
}
while read -r skew straight planned median least most rest; do
	case $skew in
	"#"*) ;;
	*) if [ "${most/./}" -ge 130 ]; then
		echo "skew $skew: planned is quicker"
	else
		echo "skew $skew: $straight ms, planned $planned," \
			"$median $least $most; $rest"
	fi ;;
	esac
done <said >result.txt
