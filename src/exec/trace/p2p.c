#include "exec/trace/p2p.h"

#include "exec/trace/trace.h"

enum { GT_TRACE_COPIES, GT_TRACE_KERNELS }; /* lanes */

/* A block of a kernel. */
struct gt_p2p_block {
	const struct gt_trace_p2p *flow;
	struct gt_trace *trace;
	uint32_t kernel, block;
};

static const struct gt_kernel_mark *gt_flow_marks(const struct gt_p2p_block *at,
						  uint32_t stage)
{
	uint64_t block = (uint64_t)at->kernel * at->flow->nblocks + at->block;

	return &at->flow->marks[(block * GT_P2P_STAGES + stage) * GT_P2P_RANKS];
}

/* 0: it never was. */
static int64_t gt_flow_ns(const struct gt_p2p_block *at, uint32_t stage,
			  uint32_t rank, uint32_t what)
{
	uint64_t ns = gt_flow_marks(at, stage)[rank].at_ns[what];

	return ns ? (int64_t)ns - at->flow->ahead_ns : 0;
}

/* The peer that was last to be ready, and when. */
static uint32_t gt_flow_last(const struct gt_p2p_block *at, uint32_t stage,
			     int64_t *ready_ns)
{
	uint32_t last = GT_TRACE_NONE;

	for (uint32_t r = 0; r < at->flow->nranks; r++) {
		int64_t ns = gt_flow_ns(at, stage, r, GT_MARK_READY);

		if (r == at->flow->rank || ns <= *ready_ns)
			continue;
		*ready_ns = ns;
		last = r;
	}
	return last;
}

/* All blocks have their share of what the kernel moves. */
static void gt_flow_moved(const struct gt_p2p_block *at,
			  const struct gt_trace_step *step)
{
	const struct gt_trace_p2p *flow = at->flow;
	struct gt_trace_step part = *step;

	for (uint32_t i = 0; i < flow->nmoved; i++) {
		const struct gt_trace_transfer *moved = &flow->moved[i];

		part.bytes = moved->bytes * (at->block + 1) / flow->nblocks -
			     moved->bytes * at->block / flow->nblocks;
		part.begin_ns = moved->beside ? part.end_ns : step->begin_ns;
		gt_trace_add_sent(at->trace, moved->from, moved->to, &part);
	}
}

static void gt_flow_stage(const struct gt_p2p_block *at, uint32_t stage,
			  int64_t *since_ns)
{
	uint32_t me = at->flow->rank;
	struct gt_p2p_block heard = *at;
	int64_t own = gt_flow_ns(at, stage, me, GT_MARK_SINCE);
	struct gt_trace_step step = {
		.since_ns = own ? own : *since_ns,
		.end_ns = gt_flow_ns(at, stage, me, GT_MARK_DONE),
		.lane = GT_TRACE_KERNELS + at->kernel,
		.worker = at->block,
		.step = stage,
		.op = GT_OP_GENERIC,
		.to = GT_TRACE_NONE};

	if (!step.since_ns || !step.end_ns)
		return;
	/* Of packets, the watcher knows when they came. */
	if (at->flow->watched) {
		heard.kernel = at->flow->nkernels - 1;
		heard.block = 0;
	}
	step.begin_ns = step.since_ns;
	step.from = gt_flow_last(&heard, stage, &step.begin_ns);
	if (step.begin_ns > step.end_ns)
		step.begin_ns = step.end_ns;
	*since_ns = step.end_ns;
	gt_trace_add(at->trace, me, &step);
	if (!at->kernel && !stage)
		gt_flow_moved(at, &step);
}

static struct gt_trace_link *gt_flow_link(const struct gt_trace_p2p *flow,
					  struct gt_trace *trace, uint32_t i)
{
	return &trace->ranks[flow->moved[i].from].links[flow->moved[i].to];
}

/* Times are means over the kernel's blocks, which work side by side. */
static void gt_flow_kernel(const struct gt_trace_p2p *flow, uint32_t kernel,
			   struct gt_trace *trace)
{
	struct gt_trace_rank *me = &trace->ranks[flow->rank];
	int64_t waits[GT_P2P_RANKS], busy[GT_TRACE_TRANSFERS_MAX];
	uint32_t n = 0;

	for (uint32_t r = 0; r < flow->nranks; r++)
		waits[r] = me->waits_ns[r];
	for (uint32_t i = 0; i < flow->nmoved; i++)
		busy[i] = gt_flow_link(flow, trace, i)->busy_ns;
	for (uint32_t b = 0; b < flow->nblocks; b++) {
		struct gt_p2p_block at = {flow, trace, kernel, b};
		int64_t since_ns = 0;

		for (uint32_t s = 0; s < GT_P2P_STAGES; s++)
			gt_flow_stage(&at, s, &since_ns);
		n += since_ns != 0;
	}
	for (uint32_t r = 0; n && r < flow->nranks; r++)
		me->waits_ns[r] = waits[r] + (me->waits_ns[r] - waits[r]) / n;
	for (uint32_t i = 0; n && i < flow->nmoved; i++) {
		struct gt_trace_link *link = gt_flow_link(flow, trace, i);

		link->busy_ns = busy[i] + (link->busy_ns - busy[i]) / n;
	}
}

static int64_t gt_flow_begin(const struct gt_trace_p2p *flow,
			     struct gt_trace *trace)
{
	int64_t begin = 0;

	for (uint32_t b = 0; b < flow->nblocks; b++) {
		struct gt_p2p_block at = {flow, trace, 0, b};
		int64_t ns = gt_flow_ns(&at, 0, flow->rank, GT_MARK_SINCE);

		if (ns && (!begin || ns < begin))
			begin = ns;
	}
	return begin;
}

/* From the kernel's begin to each part's first packet; its blocks waited. */
static void gt_flow_watched(const struct gt_trace_p2p *flow,
			    struct gt_trace *trace)
{
	struct gt_p2p_block at = {flow, trace, flow->nkernels - 1, 0};
	int64_t begin = gt_flow_begin(flow, trace);

	for (uint32_t r = 0; begin && r < flow->nranks; r++) {
		struct gt_trace_step step = {.lane = GT_TRACE_KERNELS +
						     at.kernel,
					     .worker = r,
					     .op = GT_OP_NOP,
					     .since_ns = begin,
					     .from = r,
					     .to = GT_TRACE_NONE};

		for (step.step = 0; step.step < GT_P2P_STAGES; step.step++) {
			int64_t ns =
				gt_flow_ns(&at, step.step, r, GT_MARK_READY);

			if (!ns || r == flow->rank)
				continue;
			step.begin_ns = ns > step.since_ns ? ns : step.since_ns;
			step.end_ns = step.begin_ns;
			gt_trace_append(&trace->ranks[flow->rank], &step);
			step.since_ns = step.end_ns;
		}
	}
}

void gt_trace_add_p2p(const struct gt_trace_p2p *flow, struct gt_trace *trace)
{
	for (uint32_t i = 0; i < flow->ncopies; i++) {
		const struct gt_trace_transfer *copy = &flow->copies[i];
		struct gt_trace_step step = {.since_ns = copy->begin_ns,
					     .begin_ns = copy->begin_ns,
					     .end_ns = copy->end_ns,
					     .bytes = copy->bytes,
					     .loop = i,
					     .op = GT_OP_SEND,
					     .from = GT_TRACE_NONE,
					     .to = copy->to};

		gt_trace_add(trace, flow->rank, &step);
		gt_trace_add_sent(trace, copy->from, copy->to, &step);
	}
	for (uint32_t k = 0; k < flow->nkernels - !!flow->watched; k++)
		gt_flow_kernel(flow, k, trace);
	if (flow->watched)
		gt_flow_watched(flow, trace);
}
