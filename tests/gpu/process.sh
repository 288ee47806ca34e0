# One process for all GPUs: sizes, the tuned plan, what a plan is for, traces.
# What the tuned plan predicts beside what it takes, and beside the engine's own
# best way: of each collective and of all rows from 64 KiB on the median of
# |predicted / measured - 1|, the worst, and the median of tuned / best.
predicted_of() { # RANKS LARGEST
	local n=$1 plan=$out/${machine}x$1-$commit.tuned.json coll file
	local table=$out/${machine}x$1-$commit.tuned.txt
	local run=(timeout 30 "$gtopo" run --device cuda --plan "$plan" -e "$2"
		-f 4)

	for coll in allreduce allgather reducescatter broadcast reduce \
		alltoall gather scatter sendrecv; do
		"$gtopo" predict -e "$2" -f 4 --coll "$coll" "$plan" \
			>"$work/predicted" &&
			"${run[@]}" --coll "$coll" >"$work/measured" &&
			"${run[@]}" --coll "$coll" --best >"$work/best" ||
			return
		for file in predicted measured best; do
			awk '!/^#/ && NF {print $1, $6, $9, $10}' \
				"$work/$file" | sort >"$work/$file.rows"
		done
		join "$work/predicted.rows" "$work/measured.rows" |
			join - "$work/best.rows" | sort -n |
			awk -v c="$coll" '{print c, $1, $2, $3, $4, $5, $8}'
	done >"$work/rows"
	awk '
	function sorted(list, n, i, k, x) {
		for (i = 2; i <= n; i++)
			for (k = i; k > 1 && list[k] < list[k - 1]; k--) {
				x = list[k]; list[k] = list[k - 1]
				list[k - 1] = x
			}
	}
	function say(name, n) {
		sorted(off, n)
		sorted(ratio, n)
		printf "%-14s %3d rows: median %5.1f %%, worst %5.1f %%;" \
			" tuned / best: median %.3f, worst %.3f\n", name, n,
			100 * off[int((n + 1) / 2)], 100 * off[n],
			ratio[int((n + 1) / 2)], ratio[n]
	}
	BEGIN {
		printf "%-14s %11s %10s %10s %10s  %s\n", "#", "bytes",
			"predicted", "measured", "best", "way"
	}
	{
		printf "%-14s %11d %10.2f %10.2f %10.2f  %s %s\n", $1, $2, $3,
			$6, $7, $4, $5
		if ($2 < 65536)
			next
		off[++n] = $3 > $6 ? $3 / $6 - 1 : 1 - $3 / $6
		ratio[n] = $6 / $7
	}
	END {
		say("# all", n)
	}' "$work/rows" >"$table"
	tail -n 1 "$table"
	! grep -q -e nan -e inf "$table"
}

# Each way's times of every block: FILE is a trace of a run OPTION...
traced() { # FILE OPTION...
	local file=$1
	shift
	"${run[@]}" "$all" --coll allreduce -n 1 -w 1 --trace "$file" "$@" &&
		grep -q '"steps_dropped": 0' "$file" &&
		grep -q '"slowest_link": {"from"' "$file" &&
		grep -q '"cat": "move"' "$file" &&
		! grep -qE '"(dur|ts)": -' "$file" &&
		tail -c 3 "$file" | grep -q '}}'
}

# Sets run, the command that the other parts add a plan to, and largest.
process_checks() {
	run=("$gtopo" run --device cuda --plan)
	[ -n "$full" ] || largest=64M
	[ -z "$full" ] || check 60 "groups of all-reduces against NCCL's" 0 groups_of
	for n in $(printf '%s\n' 2 "$gpus" | sort -nu); do
		words='Out of bounds values : 0 OK'
		check 70 "1K to ${largest:=4G} on $n" 0 "${run[@]}" \
			"$work/plan$n.json" -b 1K -e "$largest" -f 4 -n 5 -w 1
	done

	for n in $(printf '%s\n' 2 "$gpus" | sort -nu); do
		largest_tuned=$([ -n "$full" ] && echo 1G || echo 1M)
		check 20 "search everything for $n" 0 auto_of "$n"
		check 60 "tune all collectives of $n in 60 s" 0 "$gtopo" tune \
			--plan "$work/auto$n.json" --coll all -e "$largest_tuned" \
			-o "$out/${machine}x$n-$commit.tuned.json"
		words='[1-9][0-9]* rows: median'
		check 60 "predictions of the tuned plan of $n" 0 \
			predicted_of "$n" "$largest_tuned"
		grep '^# all' "$work/out" || true
	done

	words='the plan is for 8 GPUs'
	if [ -n "$dgx" ] && [ "$gpus" -lt 8 ]; then
		"$gtopo" search --algo ring "$dgx" >"$work/plan8.json"
		check 20 "8 ranks on $gpus GPUs" 2 "${run[@]}" "$work/plan8.json" -e 1K
	fi
	words='hidden by CUDA_VISIBLE_DEVICES|GPUs, here are'
	check 20 "a hidden GPU" 2 env CUDA_VISIBLE_DEVICES=0 "${run[@]}" "$all" -e 1K
	words='values : 0 OK'
	check 20 "GPUs in another order" 0 \
		env CUDA_VISIBLE_DEVICES="$(seq -s, $((gpus - 1)) -1 0)" \
		"${run[@]}" "$all" -e 1K
	words='no GPU .00ff:'
	sed 's/0000:/00ff:/g' "$all" >"$work/other.json"
	check 20 "a plan for other bus ids" 2 "${run[@]}" "$work/other.json" -e 1K
	words='values : 0 OK'
	check 30 "--strict on the plan's machine" 0 "${run[@]}" "$all" -e 1K --strict
	sed 's/"digest": "sha256:..../"digest": "sha256:0000/' "$work/other.json" \
		>"$work/equal.json"
	words='values : 0 OK'
	check 30 "--map index on an equal machine" 0 "${run[@]}" "$work/equal.json" \
		-e 1K --map index --strict
	words='is for an equal machine'
	check 30 "--strict on an equal machine" 2 "${run[@]}" "$work/equal.json" \
		-e 1K --strict
	sed 's/digest": "sha256:..../digest": "sha256:0000/g' "$all" >"$work/far.json"
	words='is for another machine'
	check 30 "a warning on another machine" 0 "${run[@]}" "$work/far.json" -e 1K
	words='values : 0 OK'
	check 30 "CUDA graphs" 0 "${run[@]}" "$all" -f 8 --graph
	words='values : 0 OK'
	check 60 "the best way, in graphs" 0 "${run[@]}" "$all" -f 8 -e "$largest" \
		-n 5 -w 1 --graph --best
	for way in "-b 1M -e 1M" "--best -b 4K -e 4K" "--best -b 1M -e 1M" \
		"--best -b 64M -e 64M --graph" "--best -b 512M -e 512M" \
		"--procs 2 -b 1M -e 1M" "--procs 2 --best -b 64K -e 64K"; do
		words='the slowest link: rank'
		check 40 "a trace of a run $way" 0 traced "$work/trace.json" $way
	done
	words='out of memory'
	check 30 "out of memory" 3 "${run[@]}" "$all" -b 400G -e 400G
	words='rank 1 .* stopped'
	check 30 "a stalled rank ends the run" 3 "${run[@]}" "$all" -b 1M -e 1M \
		--inject stall:1 --timeout 1s
	words='values : 0 OK'
	check 30 "CPU ranks beside GPUs" 0 "$gtopo" run --device host --plan "$all" \
		-e 64K -n 1 -w 0
}
