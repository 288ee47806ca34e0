# gtopo pick: which GPUs to take, in each format, and what it refuses.

load common

setup() {
	xml=$GTOPO_SRC/share/xml
	cd "$BATS_TEST_TMPDIR" || return
}

# numbers FILE OPTION...: the GPUs that are picked, "0,3".
numbers() {
	local file=$1
	shift
	gtopo pick --to cuda "$@" "$xml/$file.xml" | sed 's/.*=//'
}

@test "two GPUs with two NVLinks between them" {
	run_split gtopo pick -n 2 "$xml/dgx-1v.xml"
	want 0 ""
	diff - <(echo "$out") <<-END
		2 GPUs, the best of 28 choices
		proved    no all-reduce over them exceeds 40 GB/s busbw
		by number the first 2 reach at most 20 GB/s
		network   24 GB/s to the nearest ports

		GPU     bus id         NUMA  nearest ports
		GPU0    0000:06:00.0   0     NET0
		GPU3    0000:0b:00.0   0     NET1
	END
	run_split gtopo pick -v -n 2 "$xml/dgx-1v.xml"
	[[ $err == "gtopo pick: "?*" of 28 choices bounded exactly" ]]
}

@test "a search reaches what is proved, and no relay is outside" {
	# GPU0 and GPU5 have no NVLink; GPU1 and GPU4 relay, but are not there.
	run_split gtopo pick -n 2 --among 0,5 "$xml/dgx-1v.xml"
	[[ $out == *" exceeds 6 GB/s busbw"* ]]
	for gpus in 0,3 0,5 2,6 0,1,2,3 0,2,3,4,6,7 0,1,5,6; do
		rest=$(seq 0 7 | grep -vxFf <(tr , '\n' <<<"$gpus") |
			paste -sd ,)
		gtopo pick -n "$(tr , '\n' <<<"$gpus" | wc -l)" \
			--among "$gpus" --to json "$xml/dgx-1v.xml" >one
		gtopo search --gpus "$gpus" --exclude-device "$rest" \
			-o plan.json "$xml/dgx-1v.xml"
		gtopo verify plan.json |
			grep -Eq "^value +$(sed -n 's/.*"bw_gbs": \(.*\),/\1/p' \
				one | head -n 1) GB/s busbw"
	done
}

@test "GPUs and ports that are taken" {
	[ "$(numbers dgx-1v -n 2 --taken 0)" = 1,2 ]
	[ "$(numbers dgx-1v -n 2 --taken GPU0,0000:07:00.0)" = 4,7 ]
	[ "$(numbers dgx-h100 -n 4 --taken "")" = 0,1,2,3 ]
	[ "$(numbers dgx-h100 -n 4 --taken 0-1)" = 4,5,6,7 ]
	[ "$(numbers dgx-h100 -n 2 --among GPU4-6 --taken 5)" = 4,6 ]
	# Without its port GPU0 sends over the other ones.
	[ "$(numbers dgx-h100 -n 1)" = 0 ]
	[ "$(numbers dgx-h100 -n 1 --taken mlx5_0)" = 1 ]
	# A card's bus id is all its ports', here mlx5_0.
	[ "$(numbers dgx-h100 -n 1 --taken 18:00.0)" = 1 ]
}

@test "equal bandwidth: the ports decide, then NUMA nodes, then numbers" {
	# Two GPUs share a port of each switch.
	[ "$(numbers dgx-1v -n 1)" = 0 ]
	[ "$(numbers dgx-2 -n 2)" = 0,2 ]
	[ "$(numbers dgx-2 -n 4)" = 0,2,4,6 ]
	# A port for each: on one NUMA node.
	[ "$(numbers dgx-h100 -n 4 --among 0,4-7)" = 4,5,6,7 ]
	[ "$(numbers mi300x -n 4)" = 0,1,2,3 ]
}

@test "for Slurm, and as JSON" {
	run_split gtopo pick -n 4 --to slurm --taken 1 "$xml/dgx-h100.xml"
	want 0 ""
	[ "$out" = "--gpu-bind=map_gpu:4,5,6,7" ]
	for file in $(grep -l '^<system ' "$xml"/*.xml); do
		[ "$(grep -c '<gpu ' "$file")" -gt 1 ] || continue
		gtopo pick -n 2 --to json -o "$(basename "$file").json" "$file"
	done
	follows pick-1 *.json
	command -v jq >/dev/null || skip "no jq"
	[ "$(jq -r '.schema, .gbs, .bw_gbs, .first_gbs, .choices,
		(.gpus[] | .dev, .numa, .ports[].name)' dgx-1v.xml.json |
		paste -sd ' ')" = \
		"gtopo.pick/1 40 40 20 28 0 0 mlx5_0 3 0 mlx5_1" ]
}

@test "16 GPUs: few choices need an exact bound" {
	run_split gtopo pick -v -n 8 "$xml/dgx-2.xml"
	[ "$status" -eq 0 ]
	bounded=${err#gtopo pick: }
	bounded=${bounded%% of 12870 choices bounded exactly}
	[ "$bounded" -lt 100 ]
}

@test "what it refuses" {
	run_split gtopo pick "$xml/dgx-1v.xml"
	want 2 "gtopo pick: -n is missing"
	run_split gtopo pick -n 9 "$xml/dgx-1v.xml"
	want 1 "gtopo pick: $xml/dgx-1v.xml: has 8 GPUs to choose from, not 9"
	run_split gtopo pick -n 2 --taken 1-7 "$xml/dgx-1v.xml"
	want 1 "gtopo pick: $xml/dgx-1v.xml: has 1 GPU to choose from, not 2"
	run_split gtopo pick -n 2 --taken GPU9 "$xml/dgx-1v.xml"
	want 2 "gtopo pick: --taken: 'GPU9' is no GPU or port of this machine; \
write 0-3, GPU0,GPU2 or bus ids, which gtopo paths shows"
	run_split gtopo pick -n 2 --among mlx5_0 "$xml/dgx-1v.xml"
	want 2 "gtopo pick: --among: 'mlx5_0' is no GPU of this machine; write \
0-3, GPU0,GPU2 or bus ids, which gtopo paths shows"
	gtopo synth "1 numa: 2 switch: 14 gpu" >many.xml
	run_split gtopo pick -n 14 many.xml
	want 2 "gtopo pick: many.xml: there are too many choices of 14 of 28 \
GPUs; name fewer with --among"
	run_split gtopo pick -n 2 --among 0-13 many.xml
	want 0 ""
}

@test "GPUs of several nodes, on as few as are as good" {
	run_split gtopo pick -n 9 "$xml/2x-dgx-h100.xml"
	want 0 ""
	diff - <(echo "$out") <<-END
		9 GPUs on 2 nodes, the best of 4 choices
		proved    no all-reduce over their nearest ports exceeds 341.333 GB/s busbw
		by number the first 9 reach at most 85.3333 GB/s

		node                 GPUs
		dgx-h100-0           0,1,2,3,4
		dgx-h100-1           0,1,2,3
	END
	run_split gtopo pick -n 2 --nodes 2 "$xml/dgx-1v.xml"
	[[ $out == *"2 GPUs on 1 node"*"node-0 "*" 0,3" ]]
	# Taken GPUs send it to another node, all of a name's or some.
	run_split gtopo pick -q -n 16 --taken dgx001,dgx002:0-3 \
		"$xml/dgx-superpod-h100.xml"
	want 0 ""
	[[ $out == *dgx003*dgx004* && $out != *dgx001* && $out != *dgx002* ]]
	run_split gtopo pick -n 2 --among dgx-h100-1:GPU4,dgx-h100-1:6-7 \
		"$xml/2x-dgx-h100.xml"
	[[ $out == *"dgx-h100-1 "*" 4,6" ]]
}

@test "several nodes in the formats of those who start jobs" {
	gtopo pick -n 16 --to slurm "$xml/2x-dgx-h100.xml" | diff - <(echo \
		--nodelist=dgx-h100-0,dgx-h100-1 \
		--gpu-bind=map_gpu:0,1,2,3,4,5,6,7)
	run_split gtopo pick -n 9 --to slurm "$xml/2x-dgx-h100.xml"
	want 2 "gtopo pick: nodes have different GPUs, which --gpu-bind cannot \
say; take --to json"
	gtopo pick -n 9 --to cuda "$xml/2x-dgx-h100.xml" | diff - <(
		echo "dgx-h100-0 CUDA_DEVICE_ORDER=PCI_BUS_ID" \
			"CUDA_VISIBLE_DEVICES=0,1,2,3,4"
		echo "dgx-h100-1 CUDA_DEVICE_ORDER=PCI_BUS_ID" \
			"CUDA_VISIBLE_DEVICES=0,1,2,3")
	gtopo pick -n 9 --to json "$xml/2x-dgx-h100.xml" | python3 -c '
import json, sys
made = json.load(sys.stdin)
assert made["schema"] == "gtopo.pick/1" and made["complete"]
assert made["gbs"] == "1024/3" and made["first_gbs"] == "256/3"
assert [len(node["gpus"]) for node in made["nodes"]] == [5, 4]
assert made["nodes"][1]["gpus"][0]["bus_id"] == "0000:1b:00.0"'
}

@test "what it refuses of several nodes" {
	run_split gtopo pick -n 17 "$xml/2x-dgx-h100.xml"
	want 1 "gtopo pick: $xml/2x-dgx-h100.xml: has 16 GPUs to choose from, \
not 17"
	run_split gtopo pick -n 2 --taken node-7 "$xml/2x-dgx-h100.xml"
	want 2 "gtopo pick: --taken: 'node-7' is no node of this cluster, or no \
GPU of it; write dgx-h100-0 or dgx-h100-0:0-3, as gtopo show names nodes"
	run_split gtopo pick -n 2 --taken dgx-h100-0:9 "$xml/2x-dgx-h100.xml"
	[ "$status" -eq 2 ]
	run_split gtopo pick -n 2 --nodes 2 "$xml/2x-dgx-h100.xml"
	want 2 "gtopo pick: a cluster file has its own number of nodes; leave \
out --nodes"
	run_split gtopo pick -n 64 "$xml/dgx-superpod-h100.xml"
	want 0 "gtopo pick: there are more choices than were compared; --among \
makes them fewer"
}
