/*
 * Messages between ranks: finds blocks for those that start together, launches
 * one kernel for them, and says which of them failed.
 */
#include "exec/cuda/requests.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exec/cuda/device/ipc_memory.h"
#include "exec/cuda/device/state.h"
#include "exec/cuda/p2p/captures.h"
#include "exec/cuda/p2p/p2p.h"
#include "kernels/sendrecv.h"
#include "plan/ir/plan.h"

enum {
	GT_SENDRECV_BLOCKS = 128, /* 32 make little difference */
	/*
	 * Through the host's memory: 64 MiB take 1428 us with 32, 1374 with 64,
	 * and 1718 with 128.
	 */
	GT_SENDRECV_HOST_BLOCKS = 64,
};

/*
 * Messages go directly only within a process whose GPUs reach each other: other
 * buffers are out of reach.
 */
static uint32_t gt_sendrecv_kind(const struct gt_engine *engine)
{
	return (engine->stages_in_host ? GT_MSG_IN_HOST
		: engine->group.world  ? 0
				       : GT_MSG_DIRECT) |
	       (engine->has_128b_stores ? GT_MSG_LL128_OK : 0);
}

static uint64_t gt_sendrecv_bytes(const struct gt_engine *engine)
{
	return engine->plan->nranks *
	       gt_pair_buffer_pitch(gt_sendrecv_kind(engine));
}

/* Only a rank itself looks at its counters: they are on its GPU. */
static cudaError_t gt_sendrecv_count(struct gt_cuda_rank *me)
{
	size_t bytes = sizeof(*me->message_counts);
	cudaError_t rc = cudaSetDevice(me->device);

	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&me->message_counts, bytes);
	if (rc == cudaSuccess)
		rc = cudaMemsetAsync(me->message_counts, 0, bytes, me->own);
	return rc == cudaSuccess ? cudaStreamSynchronize(me->own) : rc;
}

void gt_cuda_sendrecv_release(struct gt_engine *engine)
{
	for (uint32_t r = engine->group.first; r < engine->group.end; r++) {
		cudaSetDevice(engine->ranks[r].device);
		cudaFree(engine->ranks[r].message_counts);
	}
}

int gt_cuda_sendrecv_setup(struct gt_engine *engine, struct gt_err *err)
{
	uint64_t bytes[GT_P2P_RANKS];
	cudaError_t done = cudaSuccess;
	int rc;

	if (engine->regions[GT_CUDA_SENDRECV].at)
		return GT_OK;
	if (!engine->all_peers_reachable || engine->plan->nranks > GT_P2P_RANKS)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "send and receive on GPUs need at most %d "
				  "ranks, on one host or in reach of each "
				  "other's memory",
				  GT_P2P_RANKS);
	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		bytes[r] = gt_sendrecv_bytes(engine);
	rc = gt_cuda_region_new(engine, GT_CUDA_SENDRECV, bytes, err);
	for (uint32_t r = engine->group.first; !rc && r < engine->group.end;
	     r++) {
		done = gt_sendrecv_count(&engine->ranks[r]);
		if (done == cudaSuccess)
			done = (cudaError_t)gt_sendrecv_prepare();
		if (done != cudaSuccess)
			rc = gt_cuda_fail(engine, r, (int)done,
					  "load the kernels", err);
	}
	return rc;
}

/* Some messages of a rank that start together. */
struct gt_messages {
	uint32_t rank, n;
	const struct gt_message *list;
};

/*
 * Find the first message, from the i-th on, that the rank sends itself, or that
 * it receives.
 */
static uint32_t gt_own_next(const struct gt_messages *all, uint32_t i,
			    int sends)
{
	while (i < all->n &&
	       (all->list[i].peer != all->rank || !all->list[i].bytes ||
		all->list[i].sends != sends))
		i++;
	return i;
}

/* Has each message to the rank itself its other end among these? */
static int gt_own_are_pairs(const struct gt_messages *all)
{
	uint32_t from = gt_own_next(all, 0, 1), to = gt_own_next(all, 0, 0);

	while (from < all->n && to < all->n) {
		if (all->list[from].bytes != all->list[to].bytes ||
		    all->list[from].dtype != all->list[to].dtype)
			return 0;
		from = gt_own_next(all, from + 1, 1);
		to = gt_own_next(all, to + 1, 0);
	}
	return from == to;
}

static cudaError_t gt_own_copy(const struct gt_messages *all, void *stream)
{
	uint32_t from = gt_own_next(all, 0, 1), to = gt_own_next(all, 0, 0);
	cudaError_t rc = cudaSuccess;

	while (rc == cudaSuccess && from < all->n) {
		const struct gt_message *m = &all->list[from];

		if (m->buffer != all->list[to].buffer)
			rc = cudaMemcpyAsync(all->list[to].buffer, m->buffer,
					     m->bytes, cudaMemcpyDefault,
					     stream);
		from = gt_own_next(all, from + 1, 1);
		to = gt_own_next(all, to + 1, 0);
	}
	return rc;
}

/*
 * Note messages that the rank sends itself and has yet to receive.  Nobody here
 * knows how often a graph is launched, and when: from then on some may always
 * be left.
 */
static void gt_own_count(struct gt_cuda_rank *me, const struct gt_messages *all,
			 void *stream)
{
	unsigned long long capture;
	int64_t more = 0;

	for (uint32_t i = 0; i < all->n; i++)
		if (all->list[i].peer == all->rank && all->list[i].bytes)
			more += all->list[i].sends ? 1 : -1;
	if (more &&
	    (gt_cuda_capture_find(stream, &capture) != cudaSuccess || capture))
		me->own_in_graphs = 1;
	else
		me->own_messages += more;
}

/*
 * What a rank sends itself need not leave its GPU, as it would where pair
 * buffers lie in the host's memory.  It is copied if it is received here and no
 * message before it is left, which would come first.  *kept: it was.
 */
static cudaError_t gt_own_keep(struct gt_engine *engine,
			       const struct gt_messages *all, void *stream,
			       int *kept)
{
	struct gt_cuda_rank *me = &engine->ranks[all->rank];
	cudaError_t rc = cudaSuccess;

	*kept = engine->stages_in_host && !me->own_messages &&
		!me->own_in_graphs && gt_own_are_pairs(all);
	if (*kept) {
		rc = cudaSetDevice(me->device);
		return rc == cudaSuccess ? gt_own_copy(all, stream) : rc;
	}
	gt_own_count(me, all, stream);
	return rc;
}

/*
 * List what the kernel needs to know of each message that is not empty, nor was
 * kept.
 */
static uint32_t gt_sendrecv_list(uint32_t kind, const struct gt_messages *all,
				 int kept, struct gt_kernel_message *list)
{
	uint32_t first[2][GT_MSG_PROTOCOLS][GT_P2P_RANKS] = {0};
	uint32_t have = 0;
	uint64_t at = 0;

	for (uint32_t i = 0; i < all->n; i++) {
		const struct gt_message *m = &all->list[i];
		enum gt_msg_protocol choice =
			gt_msg_protocol_of(m->bytes, kind);
		uint32_t *next = &first[m->sends][choice][m->peer];

		if (!m->bytes || (kept && m->peer == all->rank))
			continue;
		list[have] = (struct gt_kernel_message){.buffer = m->buffer,
							.bytes = m->bytes,
							.peer = m->peer,
							.sends = m->sends,
							.dtype = m->dtype,
							.first = *next,
							.at = (uint32_t)at};
		*next += (uint32_t)gt_msg_numbers(m->bytes, kind);
		at += gt_msg_work_kib(&list[have++], kind);
	}
	return have;
}

/*
 * Say how many blocks there is work for.  In the host's memory a block has
 * pieces that go and pieces that come: it stores the ones while it waits for
 * the others.
 */
static uint32_t gt_sendrecv_shares(const struct gt_kernel_message *list,
				   uint32_t n, uint32_t kind)
{
	uint64_t shares[2] = {0}, more;

	for (uint32_t i = 0; i < n; i++) {
		int apart = kind & GT_MSG_IN_HOST &&
			    gt_msg_protocol_of(list[i].bytes, kind) ==
				    GT_MSG_PIPELINED;

		more = gt_msg_shares(&list[i], kind);
		if (!apart || list[i].sends)
			shares[1] += more;
		if (!apart || !list[i].sends)
			shares[0] += more;
	}
	more = shares[0] > shares[1] ? shares[0] : shares[1];
	return more < GT_SENDRECV_BLOCKS ? (uint32_t)more : GT_SENDRECV_BLOCKS;
}

/* Say how many blocks a launch has; *quota is each one's part of the work. */
static uint32_t gt_sendrecv_blocks(const struct gt_engine *engine,
				   const struct gt_kernel_message *list,
				   uint32_t n, uint32_t *quota)
{
	uint32_t kind = gt_sendrecv_kind(engine);
	uint32_t blocks = gt_cuda_blocks_allowed(
		engine, engine->stages_in_host ? GT_SENDRECV_HOST_BLOCKS
					       : GT_SENDRECV_BLOCKS);
	uint32_t shares = gt_sendrecv_shares(list, n, kind);
	uint64_t work;

	if (shares < blocks)
		blocks = shares;
	work = list[n - 1].at + gt_msg_work_kib(&list[n - 1], kind);
	*quota = (uint32_t)((work + blocks - 1) / blocks);
	return blocks;
}

static cudaError_t gt_sendrecv_launch(const struct gt_engine *engine,
				      uint32_t rank, void *stream,
				      const struct gt_kernel_message *list,
				      uint32_t n)
{
	struct gt_sendrecv_args args = {.guard = gt_cuda_guard_of(engine, rank),
					.me = rank,
					.kind = gt_sendrecv_kind(engine),
					.n = n};
	const struct gt_kernel_grid grid = {
		.blocks = gt_sendrecv_blocks(engine, list, n, &args.quota),
		.overlaps = gt_cuda_may_overlap(
			engine, gt_cuda_blocks_allowed(engine, 0)),
		.stream = stream};
	cudaError_t rc = cudaSetDevice(engine->ranks[rank].device);

	for (uint32_t r = 0; r < engine->plan->nranks; r++)
		args.pair_buffers[r] =
			gt_cuda_region_at(engine, GT_CUDA_SENDRECV, rank, r);
	args.counts = engine->ranks[rank].message_counts;
	return rc == cudaSuccess
		       ? (cudaError_t)gt_sendrecv_run(&grid, &args, list)
		       : rc;
}

int gt_cuda_sendrecv(struct gt_engine *engine, uint32_t rank, void *stream,
		     const struct gt_message *messages, uint32_t n,
		     struct gt_err *err)
{
	struct gt_kernel_message *list = calloc(n, sizeof(*list));
	const struct gt_messages all = {rank, n, messages};
	cudaError_t done = cudaSuccess;
	int rc = list ? gt_cuda_sendrecv_setup(engine, err) : gt_err_nomem(err);
	int kept;

	if (rc)
		goto out;
	done = gt_own_keep(engine, &all, stream, &kept);
	n = gt_sendrecv_list(gt_sendrecv_kind(engine), &all, kept, list);
	if (done != cudaSuccess)
		n = 0;
	if (n > gt_sendrecv_most())
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"rank %u starts %u messages together, GPUs "
				"take %u",
				rank, n, gt_sendrecv_most());
	else if (n)
		done = gt_sendrecv_launch(engine, rank, stream, list, n);
	if (done != cudaSuccess)
		rc = gt_cuda_fail(engine, rank, (int)done, "launch messages",
				  err);
out:
	free(list);
	return rc;
}

/* Find a report of any of a rank's blocks that waits. */
static const struct gt_kernel_report *gt_sendrecv_report(
	const struct gt_engine *engine, uint32_t rank)
{
	const struct gt_kernel_report *all =
		&engine->reports[(size_t)rank * engine->nblocks];

	for (uint32_t b = 0; b < engine->nblocks; b++)
		if (all[b].state)
			return &all[b];
	return NULL;
}

static int gt_report_is_message(const struct gt_kernel_report *report)
{
	return report && (report->step == GT_SENDRECV_SENDS ||
			  report->step == GT_SENDRECV_RECEIVES);
}

static int gt_sendrecv_mismatch(const struct gt_engine *engine, uint32_t rank,
				const struct gt_kernel_report *report,
				struct gt_err *err)
{
	(void)engine;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "rank %u sends %llu bytes, rank %u receives "
			  "something else from it",
			  report->peer, (unsigned long long)report->slice,
			  rank);
}

static const char *gt_sendrecv_verb(const struct gt_kernel_report *report)
{
	return report->step == GT_SENDRECV_SENDS      ? "to send to"
	       : report->step == GT_SENDRECV_RECEIVES ? "to receive from"
						      : "in a collective for";
}

/*
 * Go from the first rank that waits in a message to the one at the end of the
 * chain, which waits for nobody.
 */
static int gt_sendrecv_chain(const struct gt_engine *engine, uint32_t first,
			     struct gt_err *err)
{
	const struct gt_kernel_report *report, *last = NULL;
	uint32_t at = first, hops = 0;

	for (; hops <= engine->plan->nranks; hops++) {
		report = gt_sendrecv_report(engine, at);
		if (!report)
			break;
		last = report;
		first = at;
		at = report->peer;
	}
	if (hops > engine->plan->nranks)
		return gt_err_set(err, GT_ESYS, NULL,
				  "ranks wait for one another: rank %u waited "
				  "%.1f s %s rank %u, which waits as well",
				  first,
				  (double)engine->config.timeout_ns / 1e9,
				  gt_sendrecv_verb(last), at);
	return gt_err_set(err, GT_ESYS, NULL,
			  "rank %u (%s) stopped or did not call: rank %u "
			  "waited %.1f s %s it",
			  at, engine->plan->ranks[at].device, first,
			  (double)engine->config.timeout_ns / 1e9,
			  gt_sendrecv_verb(last));
}

int gt_cuda_sendrecv_diagnose(const struct gt_engine *engine,
			      struct gt_err *err)
{
	uint32_t n = engine->plan->nranks, waits = n;
	const struct gt_kernel_report *report;

	for (uint32_t r = 0; r < n; r++)
		for (uint32_t b = 0; b < engine->nblocks; b++) {
			report = &engine->reports[(size_t)r * engine->nblocks +
						  b];
			if (!report->state || !gt_report_is_message(report))
				continue;
			if (report->state == GT_KERNEL_MISMATCH)
				return gt_sendrecv_mismatch(engine, r, report,
							    err);
			if (waits == n)
				waits = r;
		}
	return waits < n ? gt_sendrecv_chain(engine, waits, err) : GT_OK;
}
