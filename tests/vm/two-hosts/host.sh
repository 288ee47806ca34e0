# host.sh FOLDER WORK, in run.sh: two machines at once, and what befalls the
# second one from outside.
in_use() {
	grep -qi ":$(printf %04x "$1") " /proc/net/udp
}

WIRE=$((20000 + RANDOM % 10000))
while in_use $WIRE || in_use $((WIRE + 1)); do
	WIRE=$((WIRE + 2))
done
export WIRE
for number in 0 1; do
	boots "$1" "$2/$number" $number >"$2/said.$number" 2>&1 &
	machines[number]=$!
done

# Until that is there, or the first machine is not.
awaited() {
	until [ -e "$1" ]; do
		kill -0 ${machines[0]} 2>/dev/null || return 1
		sleep 0.2
	done
}

if awaited "$2/1/pause"; then
	kill -STOP "$(<"$2/1/pid")"
	awaited "$2/0/named"
	kill -CONT "$(<"$2/1/pid")"
fi
if awaited "$2/1/kill"; then
	kill -KILL "$(<"$2/1/pid")"
fi
wait
# The second one's end is no news.
cat "$2/said.0"
for number in 0 1; do
	echo "guest $number"
	cat "$2/$number/result.txt"
done >"$2/result.txt"
