/*
 * The parameters of the cost model (plan/cost/cost.h), one set for each
 * protocol, and what they are unless a file says otherwise.
 */
#ifndef GT_PLAN_COST_PARAMS_H
#define GT_PLAN_COST_PARAMS_H

#include "plan/ir/plan.h"

/*
 * The slowest kind of link on a hop's route decides its latency, unless bytes
 * wait in the host's memory on the way.
 */
enum gt_cost_hop {
	GT_COST_HOP_NVL, /* and C2C, between CPU and GPU */
	GT_COST_HOP_PCI,
	GT_COST_HOP_SYS,
	GT_COST_HOP_NET,
	/* Through the host's memory, whatever the links. */
	GT_COST_HOP_HOST,
	GT_NCOSTHOPS
};

/* The parameters of one protocol. */
struct gt_cost_params {
	double base_us;
	double hop_us[GT_NCOSTHOPS];
	double host_base_us; /* base_us where all goes by the host's memory */
	double rate;         /* the part of a link's bytes that is data */
	double host_rate;    /* the same on the way through the host's memory */
	double host_one_way_rate; /* ... where nothing comes the other way */
	double worker_gbs;        /* what one worker moves */
	double local_gbs;         /* what a rank's memory serves */
};

/*
 * The defaults, and what they were fitted to.
 *
 * simple: bench/fit on the races of 4 and of 2 H200 behind NVSwitch that were
 * run with rings alone (bench/results/fitted/h200x4-d9c4d09.json: 6.1, 3.8 us,
 * 0.99, 33 and 3253 GB/s, mean deviation 3.2%; h200x2-d9c4d09.json: 6.5, 3.9,
 * 0.99, 34, 4545, 2.1%).  local_gbs is what the HBM3e of the H200 served in
 * copies, read and written: 3912 GB/s.
 *
 * ll, ll128, direct, ce: bench/ways.sh fit on the races of all schedules, with
 * 4 and with 2 H200 (bench/results/fitted/h200x4-2e4df23.json and
 * fitted/h200x2-87185c4.json), mean deviations 3.3 and 2.2, 5.9 and 5.3, 2.5
 * and 3.4, 1.1 and 1.8%.  A race has only the schedules that won, so what those
 * cannot tell is set beforehand: in ll half of the bytes are flags; in ll128
 * 15/16 are data, of 0.95 as for simple.  For their hops, a trip more costs
 * what 576 KiB cost (exec/cuda/tuning.c).  base_us, 2.1 and 1.8 for the one,
 * 1.8 and 1.5 for the other, are taken to be the same, as the launch is.
 * Workers of ll and direct, and the memory for direct, which stores in place,
 * do not limit.  local_gbs of ll128, whose packets are unpacked from mailboxes,
 * is from the sizes at which it lost, 8 MiB a block and more
 * (bench/results/fitted/h200x2-64b62b1.tuned.json).  hop_us of ce is a stage of
 * copies.  A rate above 1 is of what NCCL counts on, 20.6 GB/s a link, as the
 * plan does.
 *
 * Through the host's memory (HOST, host_*): what bench/staged.py fits to races
 * on streams of 2 H200 with peer access off, of whose PCIe NCCL's tables have
 * 48 GB/s (bench/results/h200x2-7382734.no-peers.txt and h200x2-a57abc6c.*).
 * Of simple those rates only, with 0.64 as all-reduces do better than the
 * others: base and hop are from sizes that went by packets there, rings between
 * two processes in the host's memory (--link shm), 19.7 us at 1 KiB.  base_us
 * of ll is the launch, as elsewhere.  hop_us of ce is a meeting of all ranks
 * (plan/cost/copies.h).  ll128 and direct do not go so.
 *
 * Hops other than NVL have the latencies of NCCL's tuner for rings
 * (src/graph/tuning.cc), LL, LL128 and Simple: PCI 1.0, 2.5, 5.7; network 2.7,
 * 4.0, 14 us, but never below NVL's.
 */
struct gt_cost_params gt_cost_default(enum gt_protocol protocol);

/* The kind's name: "NVL", "PCI", "SYS", "NET" or "HOST". */
const char *gt_cost_hop_name(enum gt_cost_hop hop);

#endif
