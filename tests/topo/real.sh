#!/bin/bash
# Every real topology file: `gtopo paths` shows it, or says in one line why
# not, and never crashes or hangs; so does the JSON.
set -u
gtopo=${GTOPO:-$PWD/gtopo}
dir=${GTOPO_TEST_TOPOLOGIES:-}
if [ -z "$dir" ]; then
	echo "1..0 # GTOPO_TEST_TOPOLOGIES is unset"
	exit 0
fi

n=0
for file in "$dir"/*.xml "$dir"/quirks/*.xml; do
	n=$((n + 1))
	for option in "" --json; do
		said=$(timeout 20 "$gtopo" paths -q $option "$file" 2>&1 >/dev/null)
		status=$?
		case $status,$said in
		0,) ;;
		2,*$'\n'*) echo "# $said"; status=several ;;
		2,"gtopo paths: $file:"*) status=0 ;;
		*) echo "# $said"; status=${status/#0/talk} ;;
		esac
		[ "$status" = 0 ] || break
	done
	name=${file#"$dir"/}
	if [ "$status" = 0 ]; then
		echo "ok $n - $name${said:+: ${said#*"$name":}}"
	else
		echo "not ok $n - $name ($status)"
	fi
done
echo "1..$n"
