# Side by side with NCCL, and what takes minutes.
# What NCCL says of its rings with the given topology file, or none.
rings() {
	env ${1:+"NCCL_TOPO_FILE=$1"} NCCL_DEBUG=INFO \
		NCCL_DEBUG_SUBSYS=INIT,GRAPH timeout -k 5 50 "$race" \
		-b 1024 -e 1024 -r 1 -m stream -t 40 \
		"$work/plan$gpus.json" 2>&1 |
		grep -oE 'Channel [0-9]+/[0-9]+ :( [0-9]+)+$' | sort
}

same_rings() {
	local with without
	with=$(rings "$out/machine.xml")
	without=$(rings "")
	[ -n "$with" ] && [ "$with" = "$without" ] && uniq -c <<<"$with"
}

# The orders of rings that gtopo nccl tells, each once and from GPU 0 on.
orders() {
	sed -n '/^rings/,/^[^ r]/{/ x /p}' | awk '{
		n = NF - 2
		for (i = 0; i < n; i++)
			if ($(3 + i) == 0)
				first = i
		for (i = 0; i < n; i++)
			printf "%s%s", $(3 + (first + i) % n), i + 1 < n ? " " : "\n"
	}' | sort -u
}

# NCCL logs the rings that gtopo nccl says it chooses on this machine.
same_choice() {
	local logged chosen
	NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH timeout -k 5 50 "$race" \
		-b 1024 -e 1024 -r 1 -m stream -t 40 \
		"$work/plan$gpus.json" >"$work/nccl.log" 2>&1
	logged=$("$gtopo" nccl "$work/nccl.log" | orders)
	chosen=$("$gtopo" nccl "$out/machine.xml" | orders)
	echo "logged: $logged; chosen: $chosen"
	[ -n "$logged" ] && [ "$logged" = "$chosen" ]
}

# NCCL's ways against each other, and the table that they make.
race_forced() {
	"$race" -F -b 1024 -e 1048576 -f 32 -r 3 -m stream -c allreduce -t 50 \
		"$work/plan$gpus.json" >"$work/forced.json" &&
		grep -q '"ring/simple/4": ' "$work/forced.json" &&
		grep -q '"tree/simple/4": ' "$work/forced.json" &&
		"$gtopo" export --to nccl-tuner "$work/forced.json"
}

race_of() { # RANKS SECONDS
	local file=$out/${machine}x$1-$commit.json
	"$race" -b 1024 -e 4294967296 -r 11 -t "$2" -C "$commit" \
		"$work/plan$1.json" >"$file" &&
		[ "$(tail -n 1 "$file")" = "]}" ] &&
		! grep -q '"wrong": [1-9]' "$file" && grep -q '"ratio' "$file"
}

# Two processes that take themselves for hosts, half of the GPUs each.
race_tcp() { # RANKS SECONDS
	local file=$out/${machine}x$1-tcp-$commit.json
	"$race" -n 2 -l tcp -m stream -b 1048576 -e 67108864 -f 8 -r 7 -t "$2" \
		-c allreduce -C "$commit" "$work/plan$1.json" >"$file" &&
		[ "$(tail -n 1 "$file")" = "]}" ] &&
		! grep -q '"wrong": [1-9]' "$file" && grep -q '"ratio' "$file"
}

# The race, random operations, compute-sanitizer.
long_checks() {
	if [ -n "$GTOPO_NCCL" ]; then
		check 100 "NCCL's rings are the same with our file" 0 same_rings
		check 60 "NCCL chooses what gtopo nccl says" 0 same_choice
		check 70 "NCCL's ways against each other" 0 race_forced
		check 230 "race with NCCL on $gpus" 0 race_of "$gpus" 215
		[ "$gpus" -eq 2 ] ||
			check 140 "race with NCCL on 2" 0 race_of 2 125
		for n in $(printf '%s\n' 2 "$((gpus / 2 * 2))" | sort -nu); do
			[ -f "$work/plan$n.json" ] &&
				check 60 "race with NCCL over sockets, $n GPUs" \
					0 race_tcp "$n" 50
		done
	else
		result skip "race with NCCL" "no libnccl.so.2"
	fi
	check 60 "libgtopo: a million random operations" 0 \
		"$library" stress "$all" 55
	check 60 "more elements than 31 bits count" 0 "$matrix" large "$gpus" \
		55
	check 90 "100000 random operations" 0 "$matrix" stress "$gpus" 85
	check 250 "100000 sums of $gpus, bit by bit" 0 "$matrix" bits \
		"$gpus" 240
	sanitized "$all" 40
}

# Bytes that are nobody's, and races in a block's own memory.
sanitized() { # PLAN SECONDS
	local sanitizer tool
	sanitizer=$(command -v compute-sanitizer ||
		ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
	for tool in memcheck racecheck; do
		if [ -z "$sanitizer" ]; then
			result skip "$prefix$tool" "no compute-sanitizer"
			continue
		fi
		[ "$tool" != memcheck ] ||
			check "$2" "$tool, libgtopo" 0 "$sanitizer" \
				--tool "$tool" --report-api-errors no \
				--error-exitcode 9 \
				"$library" threads "$1" $(($2 - 5))
		check "$2" "$tool" 0 "$sanitizer" --tool "$tool" \
			--error-exitcode 9 "$matrix" small 2 $(($2 - 5))
	done
}
