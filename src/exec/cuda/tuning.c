/*
 * Chooses the algorithm and protocol of a request, and how many blocks and
 * threads carry it, from measurements on H200.
 */
#include "exec/cuda/requests.h"

#include "base/err.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/fifos.h"
#include "exec/cuda/p2p/detour.h"
#include "exec/cuda/p2p/p2p.h"
#include "plan/ir/plan.h"

/*
 * Measured on 4 and 2 H200 behind NVSwitch, in graphs.  Packets: 4 warps a
 * block are faster than 8 up to 1 MiB (all-reduce of 16 KiB: 3.5 against 3.8
 * us), above it every warp counts.  Direct: 16 blocks save 0.5 us at the
 * barriers below 1 MiB, all of them are 1 to 9 % faster from 16 MiB on.
 * Copy engines: 4 pieces hide the reduction, more cost 3 us a copy (1 GiB:
 * 4177, 4213, 4274 us with 4, 8, 16), 32 blocks reduce as fast as they copy.
 */
enum {
	GT_CHOICE_THREADS = 128,
	GT_CHOICE_FEW_BLOCKS = 16,
	GT_CHOICE_FEW_BYTES = 512 << 10, /* of a block */
	GT_CHOICE_BLOCKS = 64,
	GT_CHOICE_MANY_BYTES = 16 << 20, /* of all blocks: all processors */
	GT_CHOICE_CE_BLOCKS = 32,
	GT_CHOICE_CE_PIECES = 4,
	/*
	 * A block of more bytes goes by LL128, which is faster than LL from
	 * here on.
	 */
	GT_CHOICE_LL_BYTES = 32 << 10,
	/*
	 * Two shots send (n - 1) * 2 / n of the bytes instead of n - 1, and
	 * cost another trip, in which so many bytes leave a GPU.
	 */
	GT_CHOICE_TRIP_BYTES = 576 << 10,
	/*
	 * A block of more bytes that is not reduced goes directly, as packets
	 * cost a copy.
	 */
	GT_CHOICE_PACKET_BYTES = 2 << 20,
	/*
	 * That many bytes leave a GPU as packets of each block, where blocks
	 * are limited: with the fences of direct stores a block carries more.
	 */
	GT_CHOICE_PACKET_EACH_BYTES = 128 << 10,
	/*
	 * Where all bytes pass one GPU, so many of them go in one shot and so
	 * many in two, and more by a ring.  4 GPUs broadcast 256 KiB at once in
	 * 5.1 us, in two shots in 5.4; 512 KiB in 7.7 and 5.8; 4 MiB in two
	 * shots in 18.3, by a ring in 21.6; 16 MiB in 60.6 and 57.4. They
	 * reduce 512 KiB in 7.3 and 7.6, 1 MiB in two shots in 9.4, by a ring
	 * in 10.5, 4 MiB in 23.5 and 21.8.
	 */
	GT_CHOICE_BROADCAST_ONE_BYTES = 256 << 10,
	GT_CHOICE_BROADCAST_TWO_BYTES = 8 << 20,
	GT_CHOICE_REDUCE_ONE_BYTES = 512 << 10,
	GT_CHOICE_REDUCE_TWO_BYTES = 2 << 20,
	/*
	 * In an all-reduce of more bytes LL128's flags cost more than fences.
	 * 4 GPUs: 4 MiB in 24.5 us, through scratch in 25.9; 8 MiB in 45.6 and
	 * 43; 16 MiB in 87 and 78.5.  2 GPUs: 8 MiB in 31.9 and 31.
	 */
	GT_CHOICE_LL128_BYTES = 6 << 20,
	/*
	 * With more than 2 GPUs and more bytes a ring is faster, in which all
	 * send to another at any time: 32 MiB in 155 us, through scratch in
	 * 153, 64 MiB in 288 and 295.
	 */
	GT_CHOICE_SCRATCH_BYTES = 48 << 20,
	/*
	 * Copy engines take over from so many bytes of an all-reduce on, or of
	 * all blocks together if nothing is reduced.
	 */
	GT_CHOICE_CE_BYTES = 192 << 20,
	GT_CHOICE_CE_BLOCK_BYTES = 96 << 20,
	/*
	 * Beside a program copy engines, which need no multiprocessor, take
	 * over as soon as what they move lasts as long as their start; packets
	 * are counted as what leaves a GPU (K56).
	 */
	GT_CHOICE_OVERLAP_PACKET_BYTES = 2 << 20,
	GT_CHOICE_OVERLAP_CE_BYTES = 1 << 20,     /* of all blocks */
	GT_CHOICE_OVERLAP_CE_SUM_BYTES = 8 << 20, /* of what is added up */
};

/*
 * For GPUs that do not reach each other, whose bytes all go out to the host's
 * memory and in again: so many bytes leave a GPU as packets, counted without
 * their flags, more where there are no FIFOs; and so many go through FIFOs: of
 * a block around a ring, if the plan has one, or of what only moves all that
 * leaves a GPU.  Where these meet on two H200 with peer access off is in K51,
 * K52 and K57 of docs/measurements; all-to-all of 16 MiB for one takes 310 us
 * through FIFOs and 326 by copies, of 64 MiB 1124 and 888.
 */
static const struct gt_staged_limits {
	uint64_t packet_bytes, fifo_bytes, packet_only_bytes;
} gt_staged_limits[GT_NCOLLS] = {
	[GT_COLL_ALLREDUCE] = {384 << 10, 24 << 20, 0},
	[GT_COLL_ALLGATHER] = {512 << 10, 6 << 20, 0},
	[GT_COLL_REDUCESCATTER] = {384 << 10, 8 << 20, 0},
	[GT_COLL_BROADCAST] = {512 << 10, 128 << 20, 0},
	[GT_COLL_REDUCE] = {384 << 10, 128 << 20, 0},
	[GT_COLL_ALLTOALL] = {288 << 10, 9 << 20, 768 << 10},
	[GT_COLL_SENDRECV] = {320 << 10, 8 << 20, 768 << 10},
	[GT_COLL_GATHER] = {448 << 10, 128 << 20, 2 << 20},
	[GT_COLL_SCATTER] = {320 << 10, 128 << 20, 2 << 20},
};

enum {
	/* Two shots save more than so many bytes, or one is taken. */
	GT_STAGED_TRIP_BYTES = 64 << 10,
	GT_STAGED_BLOCKS = 16, /* that add up beside the copies, of each lane */
	GT_STAGED_LANES = 2,
};

static uint64_t gt_choice_packet_chunk(const struct gt_algo_choice *choice)
{
	return choice->protocol == GT_PROTOCOL_LL128 ? GT_LL128_CHUNK_DATA
						     : GT_LL_CHUNK_DATA;
}

static int gt_choice_is_packets(const struct gt_algo_choice *choice)
{
	return choice->protocol == GT_PROTOCOL_LL ||
	       choice->protocol == GT_PROTOCOL_LL128;
}

/* How many bytes has a block by this algorithm? */
static uint64_t gt_choice_block_bytes(const struct gt_engine *engine,
				      const struct gt_exec_request *req,
				      enum gt_algo algo)
{
	return gt_cuda_p2p_of(engine, req, algo, 0).count *
	       gt_dtype_bytes(req->dtype);
}

/* How many bytes have all blocks together, in one shot? */
static uint64_t gt_choice_all_bytes(const struct gt_engine *engine,
				    const struct gt_exec_request *req)
{
	uint64_t bytes = gt_choice_block_bytes(engine, req, GT_ALGO_ONE_SHOT);

	return gt_coll_has_blocks(req->coll) ? bytes * engine->plan->nranks
					     : bytes;
}

static uint32_t gt_choice_parts(uint64_t work, uint64_t most)
{
	return (uint32_t)((work + most - 1) / most);
}

/*
 * Take a warp for every chunk, or rounds that are the same for all warps: with
 * few blocks these have more threads, and their warps more rounds.
 */
static void gt_choice_size_packets(const struct gt_engine *engine,
				   const struct gt_exec_request *req,
				   struct gt_algo_choice *choice)
{
	uint32_t few = GT_CHOICE_THREADS / 32, warps, each;
	uint32_t most = gt_cuda_packet_blocks(engine, choice->max_blocks);
	uint64_t bytes = gt_choice_block_bytes(engine, req, choice->algo);
	uint32_t chunks =
		gt_choice_parts(bytes, gt_choice_packet_chunk(choice));

	if (!chunks)
		chunks = 1;
	warps = gt_choice_parts(
		chunks, gt_choice_parts(chunks, most * GT_PACKET_WARPS));
	each = gt_choice_parts(warps, most);
	if (each < few)
		each = warps < few ? warps : few;
	if (!choice->threads)
		choice->threads = each * 32;
	if (!choice->blocks)
		choice->blocks = gt_choice_parts(warps * 32, choice->threads);
}

static void gt_choice_size_direct(const struct gt_engine *engine,
				  const struct gt_exec_request *req,
				  struct gt_algo_choice *choice)
{
	uint64_t bytes = gt_choice_block_bytes(engine, req, GT_ALGO_ONE_SHOT);
	uint64_t all = gt_choice_all_bytes(engine, req);
	uint32_t most = gt_cuda_detour_leaves(choice, choice->max_blocks);

	if (!choice->threads)
		choice->threads = GT_DIRECT_THREADS;
	if (!choice->blocks)
		choice->blocks =
			gt_choice_is_scratch_reduce(choice, req->coll) ? most
			: bytes < GT_CHOICE_FEW_BYTES ? GT_CHOICE_FEW_BLOCKS
			: all < GT_CHOICE_MANY_BYTES && engine->plan->nranks > 2
				? GT_CHOICE_BLOCKS
				: most;
}

/* Size the kernels that work beside the copies, and the pieces. */
static void gt_choice_size_ce(const struct gt_engine *engine,
			      struct gt_algo_choice *choice)
{
	if (!choice->threads)
		choice->threads = GT_DIRECT_THREADS;
	/* Lanes may add up at the same time, and copies wait for no blocks. */
	if (engine->stages_in_host && !choice->blocks)
		choice->blocks =
			choice->max_blocks < GT_STAGED_BLOCKS * GT_STAGED_LANES
				? choice->max_blocks / GT_STAGED_LANES
				: GT_STAGED_BLOCKS;
	/* Apart nothing runs beside that would want the other processors. */
	if (!choice->blocks)
		choice->blocks = choice->waits_apart ? engine->processors
						     : GT_CHOICE_CE_BLOCKS;
	if (!choice->pieces)
		choice->pieces = choice->waits_apart ? 1 : GT_CHOICE_CE_PIECES;
	if (choice->pieces > GT_CUDA_CE_PIECES)
		choice->pieces = GT_CUDA_CE_PIECES;
}

/*
 * How many bytes of packets leave a GPU, or come to the one root of a reduce,
 * which blocks wait for meanwhile?
 */
static uint64_t gt_choice_leaving_bytes(const struct gt_engine *engine,
					const struct gt_exec_request *req,
					const struct gt_algo_choice *choice)
{
	uint64_t others = engine->plan->nranks - 1;
	uint64_t bytes = gt_choice_block_bytes(engine, req, choice->algo);

	if (req->coll == GT_COLL_SENDRECV || req->coll == GT_COLL_GATHER)
		return bytes;
	return choice->algo == GT_ALGO_TWO_SHOT &&
			       req->coll == GT_COLL_ALLREDUCE
		       ? 2 * bytes * others
		       : bytes * others;
}

/* Are there blocks enough for packets to be as fast as other means? */
static int gt_choice_packets_pay(const struct gt_engine *engine,
				 const struct gt_exec_request *req,
				 const struct gt_algo_choice *choice)
{
	uint32_t most = gt_cuda_blocks_allowed(engine, 0);

	return most == engine->processors ||
	       gt_choice_leaving_bytes(engine, req, choice) <=
		       (uint64_t)most * GT_CHOICE_PACKET_EACH_BYTES;
}

/*
 * Do packets of this algorithm fit in the LL buffers, and pay?  Sets *choice to
 * LL or LL128 by their size.
 */
static int gt_choice_packets_fit(const struct gt_engine *engine,
				 const struct gt_exec_request *req,
				 enum gt_algo algo,
				 struct gt_algo_choice *choice)
{
	uint64_t bytes = gt_choice_block_bytes(engine, req, algo);

	*choice = (struct gt_algo_choice){
		.algo = (uint8_t)algo,
		.protocol =
			bytes <= GT_CHOICE_LL_BYTES || !engine->has_128b_stores
				? GT_PROTOCOL_LL
				: GT_PROTOCOL_LL128};
	return gt_cuda_p2p_fits(engine, req, choice) &&
	       gt_choice_packets_pay(engine, req, choice);
}

/* Say why a request cannot go through the host's memory; NULL: it can. */
static const char *gt_choice_staged_fault(const struct gt_engine *engine,
					  const struct gt_exec_request *req,
					  const struct gt_algo_choice *choice)
{
	uint32_t most = gt_cuda_blocks_allowed(engine, choice->max_blocks);

	if (gt_choice_is_packets(choice))
		return NULL;
	if (choice->protocol != GT_PROTOCOL_CE)
		return "GPUs do not reach each other's buffers";
	if (gt_coll_reduces(req->coll) && most < GT_STAGED_LANES)
		return "two lanes add up, with a block each at least";
	return gt_cuda_staged_fault(engine);
}

static const char *gt_choice_fault(const struct gt_engine *engine,
				   const struct gt_exec_request *req,
				   const struct gt_algo_choice *choice)
{
	int two = choice->algo == GT_ALGO_TWO_SHOT;

	if (choice->algo != GT_ALGO_ONE_SHOT && !two)
		return "only meshes go without FIFOs";
	if (gt_plan_blocks_differ(engine->plan, req->coll))
		return "blocks are not all alike, as the plan's demand says";
	if (engine->plan->nranks > GT_P2P_RANKS)
		return "too many ranks";
	if (!engine->all_peers_reachable)
		return "not all GPUs reach each other's memory";
	if (two && req->coll != GT_COLL_ALLREDUCE &&
	    !(gt_choice_has_one_root(req->coll) &&
	      gt_choice_is_packets(choice)))
		return "there is nothing to do in two";
	if (choice->protocol == GT_PROTOCOL_LL128 && !engine->has_128b_stores)
		return "128 bytes arrive whole over NVLink only";
	if (choice->protocol != GT_PROTOCOL_SIMPLE && engine->stages_in_host)
		return gt_choice_staged_fault(engine, req, choice);
	if (gt_choice_is_packets(choice))
		return gt_cuda_p2p_fits(engine, req, choice)
			       ? NULL
			       : "too large for mailboxes";
	if (choice->protocol == GT_PROTOCOL_SIMPLE)
		return "GPUs have no FIFOs for meshes";
	if (req->coll == GT_COLL_ALLREDUCE && !two)
		return "a rank's sum would replace what others read";
	return choice->protocol == GT_PROTOCOL_CE
		       ? gt_cuda_ce_fault(engine, req->coll)
		       : NULL;
}

/*
 * Is an element added up in the order of ranks and rounded once, if that has to
 * be?  Every means between GPUs that reach each other does so; through FIFOs
 * only an invariant plan is known to.
 */
static int gt_choice_keeps_order(const struct gt_engine *engine,
				 const struct gt_exec_request *req,
				 const struct gt_algo_choice *choice)
{
	return choice->protocol != GT_PROTOCOL_SIMPLE ||
	       engine->plan->invariant || !engine->config.invariant ||
	       !gt_coll_reduces(req->coll);
}

/*
 * Go through FIFOs, as the plan's row says, if GPUs can do so and it keeps the
 * order.
 */
static int gt_choice_fifos(const struct gt_engine *engine,
			   const struct gt_exec_request *req,
			   struct gt_algo_choice *choice)
{
	const struct gt_plan_select *row = gt_cuda_row_of(engine, req);

	*choice =
		(struct gt_algo_choice){.algo = row ? row->algo : GT_ALGO_RING};
	return gt_choice_keeps_order(engine, req, choice) &&
	       gt_cuda_row_check(engine, req, NULL);
}

static int gt_choice_ring(const struct gt_engine *engine,
			  const struct gt_exec_request *req,
			  struct gt_algo_choice *choice)
{
	return gt_choice_fifos(engine, req, choice) &&
	       choice->algo == GT_ALGO_RING;
}

/* Go around a ring, or as each pair's own block where bytes only move. */
static int gt_choice_through_host(const struct gt_engine *engine,
				  const struct gt_exec_request *req,
				  struct gt_algo_choice *choice)
{
	if (!gt_coll_only_moves(req->coll))
		return gt_choice_ring(engine, req, choice);
	return gt_choice_fifos(engine, req, choice) &&
	       (choice->algo == GT_ALGO_FLOW ||
		choice->algo == GT_ALGO_ONE_SHOT);
}

static void gt_choice_allreduce(const struct gt_engine *engine,
				const struct gt_exec_request *req,
				struct gt_algo_choice *choice)
{
	uint64_t bytes = gt_choice_block_bytes(engine, req, GT_ALGO_ONE_SHOT);
	uint32_t n = engine->plan->nranks;

	/*
	 * One shot sends (n - 1) * (1 - 2 / n) more bytes than two, and saves a
	 * trip.
	 */
	if (bytes * (n - 1) * (n - 2) / n <= GT_CHOICE_TRIP_BYTES &&
	    gt_choice_packets_fit(engine, req, GT_ALGO_ONE_SHOT, choice))
		return;
	if (bytes <= GT_CHOICE_LL128_BYTES &&
	    gt_choice_packets_fit(engine, req, GT_ALGO_TWO_SHOT, choice))
		return;
	if (bytes < GT_CHOICE_CE_BYTES && bytes > GT_CHOICE_SCRATCH_BYTES &&
	    n > 2 && gt_choice_ring(engine, req, choice))
		return;
	*choice = (struct gt_algo_choice){
		.algo = GT_ALGO_TWO_SHOT,
		.protocol = bytes < GT_CHOICE_CE_BYTES || n < 2
				    ? GT_PROTOCOL_DIRECT
				    : GT_PROTOCOL_CE};
}

/*
 * Choose for what passes one GPU: others send it on, but large buffers go
 * around a ring.
 */
static int gt_choice_one_root(const struct gt_engine *engine,
			      const struct gt_exec_request *req,
			      struct gt_algo_choice *choice)
{
	uint64_t bytes = gt_choice_block_bytes(engine, req, GT_ALGO_ONE_SHOT);
	int casts = req->coll == GT_COLL_BROADCAST;
	uint64_t one = casts ? GT_CHOICE_BROADCAST_ONE_BYTES
			     : GT_CHOICE_REDUCE_ONE_BYTES;
	uint64_t two = casts ? GT_CHOICE_BROADCAST_TWO_BYTES
			     : GT_CHOICE_REDUCE_TWO_BYTES;

	if (bytes <= one)
		return 0;
	if (bytes <= two &&
	    gt_choice_packets_fit(engine, req, GT_ALGO_TWO_SHOT, choice))
		return 1;
	return gt_choice_fifos(engine, req, choice);
}

static int gt_choice_try(const struct gt_engine *engine,
			 const struct gt_exec_request *req, enum gt_algo algo,
			 enum gt_protocol protocol,
			 struct gt_algo_choice *choice)
{
	*choice = (struct gt_algo_choice){.algo = (uint8_t)algo,
					  .protocol = (uint8_t)protocol};
	return !gt_choice_fault(engine, req, choice);
}

/* Go as packets, in one shot or two, if no more bytes leave a GPU. */
static int gt_choice_few_packets(const struct gt_engine *engine,
				 const struct gt_exec_request *req,
				 uint64_t most, struct gt_algo_choice *choice)
{
	uint64_t bytes = gt_choice_block_bytes(engine, req, GT_ALGO_ONE_SHOT);
	uint32_t n = engine->plan->nranks;
	/* One shot sends everything to everybody, two shots twice a part. */
	uint64_t one = bytes * (n - 1);

	*choice = (struct gt_algo_choice){.algo = GT_ALGO_ONE_SHOT,
					  .protocol = GT_PROTOCOL_LL};
	if (req->coll == GT_COLL_ALLREDUCE &&
	    one - one * 2 / n > GT_STAGED_TRIP_BYTES) {
		choice->algo = GT_ALGO_TWO_SHOT;
		one = one * 2 / n;
	}
	return one <= most && gt_cuda_p2p_fits(engine, req, choice);
}

/* How many bytes of FIFOs' limit has a request? */
static uint64_t gt_choice_fifo_bytes(const struct gt_engine *engine,
				     const struct gt_exec_request *req)
{
	uint64_t bytes = gt_choice_block_bytes(engine, req, GT_ALGO_ONE_SHOT);

	return gt_coll_only_moves(req->coll) && req->coll != GT_COLL_SENDRECV
		       ? bytes * (engine->plan->nranks - 1)
		       : bytes;
}

/*
 * Choose for GPUs that do not reach each other: packets, FIFOs in between, and
 * copy engines for the rest; packets in parts where nothing else can.
 */
static void gt_choice_staged(const struct gt_engine *engine,
			     const struct gt_exec_request *req,
			     struct gt_algo_choice *choice)
{
	struct gt_staged_limits most = gt_staged_limits[req->coll];
	enum gt_algo two = req->coll == GT_COLL_ALLREDUCE ? GT_ALGO_TWO_SHOT
							  : GT_ALGO_ONE_SHOT;

	if (gt_choice_few_packets(engine, req, most.packet_bytes, choice))
		return;
	if (gt_choice_fifo_bytes(engine, req) <= most.fifo_bytes &&
	    gt_choice_through_host(engine, req, choice))
		return;
	if (gt_choice_few_packets(engine, req, most.packet_only_bytes, choice))
		return;
	if (!gt_choice_try(engine, req, two, GT_PROTOCOL_CE, choice))
		gt_choice_try(engine, req, two, GT_PROTOCOL_LL, choice);
}

/*
 * Choose what is known to be the fastest.  P2p serves every collective; a ring
 * is better where bytes are many and p2p would send them several times.
 */
static void gt_choice_fastest(const struct gt_engine *engine,
			      const struct gt_exec_request *req,
			      struct gt_algo_choice *choice)
{
	uint64_t bytes = gt_choice_block_bytes(engine, req, GT_ALGO_ONE_SHOT);
	uint32_t n = engine->plan->nranks;
	int crowded = gt_choice_has_one_root(req->coll) && n > 2;
	int reduces = req->coll == GT_COLL_REDUCESCATTER ||
		      req->coll == GT_COLL_REDUCE;

	if (!engine->all_peers_reachable) {
		gt_choice_fifos(engine, req, choice);
		return;
	}
	if (engine->stages_in_host) {
		gt_choice_staged(engine, req, choice);
		return;
	}
	if (req->coll == GT_COLL_ALLREDUCE) {
		gt_choice_allreduce(engine, req, choice);
		return;
	}
	if (crowded && gt_choice_one_root(engine, req, choice))
		return;
	if ((reduces || bytes <= GT_CHOICE_PACKET_BYTES) &&
	    gt_choice_packets_fit(engine, req, GT_ALGO_ONE_SHOT, choice))
		return;
	/*
	 * 2 GPUs take 109 us for 64 MiB and 395 for 256 MiB, by a ring 387.
	 * With copy engines nothing would hide the last reduction.
	 */
	if (req->coll == GT_COLL_REDUCESCATTER &&
	    (n > 2 || bytes * n > GT_CHOICE_CE_BLOCK_BYTES) &&
	    gt_choice_fifos(engine, req, choice))
		return;
	*choice = (struct gt_algo_choice){.algo = GT_ALGO_ONE_SHOT,
					  .protocol = GT_PROTOCOL_DIRECT};
	if (!reduces && bytes * n >= GT_CHOICE_CE_BLOCK_BYTES)
		choice->protocol = GT_PROTOCOL_CE;
	if (gt_choice_fault(engine, req, choice))
		gt_choice_fifos(engine, req, choice);
}

/*
 * Choose what the plan's row says: rings and trees go through FIFOs, and what
 * cannot be done so goes by the next best means that can.  Nobody has to relay
 * a flow's blocks where all GPUs reach each other, but by the host's memory.
 */
static void gt_choice_planned(const struct gt_engine *engine,
			      const struct gt_exec_request *req,
			      struct gt_algo_choice *choice)
{
	const struct gt_plan_select *row = gt_cuda_row_of(engine, req);
	enum gt_algo two = req->coll == GT_COLL_ALLREDUCE ? GT_ALGO_TWO_SHOT
							  : GT_ALGO_ONE_SHOT;

	/* The rings that there are then none of say what is missing. */
	*choice = (struct gt_algo_choice){.algo = GT_ALGO_RING};
	if (!row)
		return;
	if ((row->algo != GT_ALGO_FLOW || !engine->all_peers_reachable ||
	     engine->stages_in_host) &&
	    gt_choice_fifos(engine, req, choice))
		return;
	*choice = (struct gt_algo_choice){.algo = row->algo};
	/* A row that keeps no order says nothing of what is fast. */
	if (!gt_choice_keeps_order(engine, req, choice) &&
	    engine->all_peers_reachable && row->algo != GT_ALGO_ONE_SHOT &&
	    row->algo != GT_ALGO_TWO_SHOT) {
		gt_choice_fastest(engine, req, choice);
		return;
	}
	/* Someone else's algorithm is run as it is, or not at all. */
	if (row->algo == GT_ALGO_STEPS)
		return;
	if (!gt_choice_try(engine, req, row->algo, row->protocol, choice) &&
	    !gt_choice_try(engine, req, row->algo, GT_PROTOCOL_LL128, choice) &&
	    !gt_choice_try(engine, req, two, GT_PROTOCOL_LL128, choice) &&
	    !gt_choice_try(engine, req, two, GT_PROTOCOL_LL, choice) &&
	    !gt_choice_try(engine, req, two, GT_PROTOCOL_DIRECT, choice))
		*choice = (struct gt_algo_choice){.algo = GT_ALGO_RING};
	/* Packets carry anything through the host, but not fast. */
	if (engine->stages_in_host && gt_choice_is_packets(choice) &&
	    !gt_cuda_p2p_fits(engine, req, choice))
		gt_choice_staged(engine, req, choice);
}

/*
 * Choose what adds least to a program's kernels.  A matrix product takes all
 * multiprocessors until it ends; what cannot run beside it waits for that end,
 * on each GPU at another time.  So nothing but barriers of one warp waits for
 * other ranks, sums have one kernel, and what only moves has none.
 */
static void gt_choice_overlap(const struct gt_engine *engine,
			      const struct gt_exec_request *req,
			      struct gt_algo_choice *choice)
{
	uint64_t all = gt_choice_all_bytes(engine, req);
	int reduces = gt_coll_reduces(req->coll);

	if (!engine->all_peers_reachable ||
	    engine->plan->nranks > GT_P2P_RANKS) {
		gt_choice_planned(engine, req, choice);
		return;
	}
	gt_choice_fastest(engine, req, choice);
	if (engine->plan->nranks < 2 || engine->stages_in_host)
		return;
	if (gt_choice_is_packets(choice) &&
	    gt_choice_leaving_bytes(engine, req, choice) <=
		    GT_CHOICE_OVERLAP_PACKET_BYTES)
		return;
	/* Copies would all pass one GPU, again for each rank. */
	if (gt_choice_has_one_root(req->coll) && engine->plan->nranks > 2 &&
	    gt_choice_ring(engine, req, choice))
		return;
	*choice = (struct gt_algo_choice){.algo = req->coll == GT_COLL_ALLREDUCE
							  ? GT_ALGO_TWO_SHOT
							  : GT_ALGO_ONE_SHOT,
					  .protocol = GT_PROTOCOL_DIRECT,
					  .waits_apart = 1};
	if (all >= (reduces ? GT_CHOICE_OVERLAP_CE_SUM_BYTES
			    : GT_CHOICE_OVERLAP_CE_BYTES) &&
	    (req->coll != GT_COLL_REDUCE || gt_cuda_may_send_to_root(engine)))
		choice->protocol = GT_PROTOCOL_CE;
}

int gt_cuda_may_use_fifos(const struct gt_engine *engine, enum gt_coll coll)
{
	if (!engine->all_peers_reachable || engine->plan->nranks > GT_P2P_RANKS)
		return 1;
	/* What is too large for packets may go so, whatever is asked for. */
	if (engine->stages_in_host)
		return 1;
	if (!engine->config.best)
		return !engine->config.overlap ||
		       (engine->plan->nranks > 2 &&
			gt_choice_has_one_root(coll));
	return coll == GT_COLL_REDUCESCATTER ||
	       (engine->plan->nranks > 2 &&
		(coll == GT_COLL_ALLREDUCE || gt_choice_has_one_root(coll)));
}

/* Choose how many blocks and threads carry the request, and pieces. */
static void gt_choice_size(const struct gt_engine *engine,
			   const struct gt_exec_request *req,
			   struct gt_algo_choice *choice)
{
	if (gt_choice_is_packets(choice))
		gt_choice_size_packets(engine, req, choice);
	else if (choice->protocol == GT_PROTOCOL_DIRECT)
		gt_choice_size_direct(engine, req, choice);
	else
		gt_choice_size_ce(engine, choice);
	if (choice->blocks > choice->max_blocks)
		choice->blocks = choice->max_blocks;
}

int gt_cuda_choose_algo(const struct gt_engine *engine,
			const struct gt_exec_request *req,
			struct gt_algo_choice *choice, struct gt_err *err)
{
	const struct gt_plan_select *row =
		engine->config.best || req->choice
			? NULL
			: gt_cuda_row_of(engine, req);
	const char *fault;

	/* Only a plan's channels know blocks that are not all alike. */
	if (req->choice)
		*choice = *req->choice;
	else if (gt_plan_blocks_differ(engine->plan, req->coll))
		gt_choice_fifos(engine, req, choice);
	else if (engine->config.best)
		gt_choice_fastest(engine, req, choice);
	else if (engine->config.overlap)
		gt_choice_overlap(engine, req, choice);
	else
		gt_choice_planned(engine, req, choice);
	/* The limit of a row is for what goes as the row says. */
	if (engine->config.overlap && choice->protocol != GT_PROTOCOL_SIMPLE)
		row = NULL;
	choice->max_blocks = gt_cuda_blocks_allowed(
		engine, row ? row->max_blocks : choice->max_blocks);
	if (gt_cuda_detour_choose(engine, req, row, choice, err))
		return GT_EINPUT;
	if (!gt_choice_keeps_order(engine, req, choice))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%s by %s is not invariant: it adds up from "
				  "rank to rank, and these GPUs do not all "
				  "reach each other's memory, or are too many",
				  gt_coll_name(req->coll),
				  gt_algo_name(choice->algo));
	if (choice->protocol == GT_PROTOCOL_SIMPLE)
		return gt_cuda_row_check(engine, req, err) ? GT_OK : GT_EINPUT;
	fault = gt_choice_fault(engine, req, choice);
	if (fault)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%s cannot be done %s with %s: %s",
				  gt_coll_name(req->coll),
				  gt_algo_name(choice->algo),
				  gt_protocol_name(choice->protocol), fault);
	gt_choice_size(engine, req, choice);
	return GT_OK;
}
