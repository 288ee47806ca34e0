# RDMA, by devices that are simulated (tests/verbs/soft.h).
# Over RDMA, by devices that are simulated (tests/verbs/soft.h): FIFOs in the
# host's memory, then in the GPUs', with reads behind writes that come late.
over_verbs() { # VARIABLE=VALUE... -- OPTION...
	local set=()
	while [ "$1" != -- ]; do set+=("$1"); shift; done
	shift
	timeout -k 5 35 env LD_PRELOAD="$soft" "${set[@]}" "${two[@]}" \
		--link verbs -v "$@"
}

# FIFOs in the host's memory, then in the GPUs', with reads behind writes that
# come late.
verbs_checks() {
	direct=GTOPO_NET_GDR_LEVEL=SYS
	if [ -n "$soft" ]; then
		words='values : 0 OK'
		check 40 "2 processes over verbs" 0 over_verbs -- -b 1K -e 64M -f 64 \
			-n 3 -w 1
		words='through host memory: soft0 and rank 0.* are SYS to each other'
		check 20 "2 processes over verbs, too far for GPUDirect" 0 \
			over_verbs GTOPO_NET_GDR_LEVEL=PXB -- -e 1K
		words='values : 0 OK'
		check 40 "GPUDirect" 0 over_verbs "$direct" -- -b 1K -e 64M -f 64 -n 3 \
			-w 1
		words='from and to GPUs. memory'
		check 40 "GPUDirect, all types and operators" 0 over_verbs "$direct" -- \
			-b 48K -e 48K --dtype all --op all -n 2 -w 0
		words='values : 0 OK'
		check 40 "GPUDirect, late but flushed" 0 over_verbs "$direct" \
			GTOPO_SOFT_VERBS=late GTOPO_NET_FORCE_FLUSH=1 -- -b 64K \
			-e 16M -f 16 -n 2 -w 1
		words='values : [1-9][0-9]* FAILED'
		check 20 "GPUDirect, late and not flushed, is wrong" 1 over_verbs \
			"$direct" GTOPO_SOFT_VERBS=late -- -b 1M -e 1M -n 2 -w 1 \
			--coll allreduce
		words='through host memory: soft0 cannot register memory'
		check 20 "GPUDirect refused" 0 over_verbs "$direct" \
			GTOPO_SOFT_VERBS=no-dmabuf -- -b 1M -e 1M
		words='from and to GPUs. memory'
		check 20 "GPUDirect without a dma-buf" 0 over_verbs "$direct" \
			GTOPO_SOFT_VERBS=no-dmabuf,peermem -- -b 1M -e 1M
		words='rank 1 .* stopped'
		check 20 "a stalled rank under GPUDirect" 3 over_verbs "$direct" -- \
			-b 1M -e 1M --inject stall:1 --timeout 2s
	else
		result skip "2 processes over verbs, GPUDirect" "no libsoftverbs.so"
	fi
}
