/*
 * From the times that kernels of peer-to-peer collectives and copies noted to
 * steps of a trace.
 */
#include "exec/trace/p2p.h"

#include "exec/trace/trace.h"

enum { GT_TRACE_COPIES, GT_TRACE_KERNELS }; /* lanes */

/* A block of a kernel. */
struct gt_p2p_block {
	const struct gt_trace_p2p *p2p;
	struct gt_trace *trace;
	uint32_t kernel, block;
};

static const struct gt_kernel_mark *gt_p2p_marks(const struct gt_p2p_block *at,
						 uint32_t stage)
{
	uint64_t block = (uint64_t)at->kernel * at->p2p->nblocks + at->block;

	return &at->p2p->marks[(block * GT_P2P_STAGES + stage) * GT_P2P_RANKS];
}

/* When was a mark of a block made?  0: it was not. */
static int64_t gt_p2p_ns(const struct gt_p2p_block *at, uint32_t stage,
			 uint32_t rank, uint32_t what)
{
	uint64_t ns = gt_p2p_marks(at, stage)[rank].at_ns[what];

	return ns ? (int64_t)ns - at->p2p->ahead_ns : 0;
}

/* The peer that was last to be ready, and when it was. */
static uint32_t gt_p2p_last(const struct gt_p2p_block *at, uint32_t stage,
			    int64_t *ready_ns)
{
	uint32_t last = GT_TRACE_NONE;

	for (uint32_t r = 0; r < at->p2p->nranks; r++) {
		int64_t ns = gt_p2p_ns(at, stage, r, GT_MARK_READY);

		if (r == at->p2p->rank || ns <= *ready_ns)
			continue;
		*ready_ns = ns;
		last = r;
	}
	return last;
}

/*
 * Add what the kernel moves to its links; each block has an equal share of it.
 */
static void gt_p2p_moved(const struct gt_p2p_block *at,
			 const struct gt_trace_step *step)
{
	const struct gt_trace_p2p *p2p = at->p2p;
	struct gt_trace_step part = *step;

	for (uint32_t i = 0; i < p2p->nmoved; i++) {
		const struct gt_trace_transfer *moved = &p2p->moved[i];

		part.bytes = moved->bytes * (at->block + 1) / p2p->nblocks -
			     moved->bytes * at->block / p2p->nblocks;
		part.begin_ns = moved->beside ? part.end_ns : step->begin_ns;
		gt_trace_add_sent(at->trace, moved->from, moved->to, &part);
	}
}

static void gt_p2p_stage(const struct gt_p2p_block *at, uint32_t stage,
			 int64_t *since_ns)
{
	uint32_t me = at->p2p->rank;
	struct gt_p2p_block heard = *at;
	int64_t own = gt_p2p_ns(at, stage, me, GT_MARK_SINCE);
	struct gt_trace_step step = {
		.since_ns = own ? own : *since_ns,
		.end_ns = gt_p2p_ns(at, stage, me, GT_MARK_DONE),
		.lane = GT_TRACE_KERNELS + at->kernel,
		.worker = at->block,
		.step = stage,
		.op = GT_OP_GENERIC,
		.to = GT_TRACE_NONE};

	if (!step.since_ns || !step.end_ns)
		return;
	/* Only the watching kernel knows when packets came. */
	if (at->p2p->watched) {
		heard.kernel = at->p2p->nkernels - 1;
		heard.block = 0;
	}
	step.begin_ns = step.since_ns;
	step.from = gt_p2p_last(&heard, stage, &step.begin_ns);
	if (step.begin_ns > step.end_ns)
		step.begin_ns = step.end_ns;
	*since_ns = step.end_ns;
	gt_trace_add(at->trace, me, &step);
	if (!at->kernel && !stage)
		gt_p2p_moved(at, &step);
}

static struct gt_trace_link *gt_p2p_link(const struct gt_trace_p2p *p2p,
					 struct gt_trace *trace, uint32_t i)
{
	return &trace->ranks[p2p->moved[i].from].links[p2p->moved[i].to];
}

/*
 * Add a kernel's blocks, which work side by side: the times of its links are
 * means over them.
 */
static void gt_p2p_kernel(const struct gt_trace_p2p *p2p, uint32_t kernel,
			  struct gt_trace *trace)
{
	struct gt_trace_rank *me = &trace->ranks[p2p->rank];
	int64_t waits[GT_P2P_RANKS], busy[GT_TRACE_TRANSFERS_MAX];
	uint32_t n = 0;

	for (uint32_t r = 0; r < p2p->nranks; r++)
		waits[r] = me->waits_ns[r];
	for (uint32_t i = 0; i < p2p->nmoved; i++)
		busy[i] = gt_p2p_link(p2p, trace, i)->busy_ns;
	for (uint32_t b = 0; b < p2p->nblocks; b++) {
		struct gt_p2p_block at = {p2p, trace, kernel, b};
		int64_t since_ns = 0;

		for (uint32_t s = 0; s < GT_P2P_STAGES; s++)
			gt_p2p_stage(&at, s, &since_ns);
		n += since_ns != 0;
	}
	for (uint32_t r = 0; n && r < p2p->nranks; r++)
		me->waits_ns[r] = waits[r] + (me->waits_ns[r] - waits[r]) / n;
	for (uint32_t i = 0; n && i < p2p->nmoved; i++) {
		struct gt_trace_link *link = gt_p2p_link(p2p, trace, i);

		link->busy_ns = busy[i] + (link->busy_ns - busy[i]) / n;
	}
}

static int64_t gt_p2p_begin(const struct gt_trace_p2p *p2p,
			    struct gt_trace *trace)
{
	int64_t begin = 0;

	for (uint32_t b = 0; b < p2p->nblocks; b++) {
		struct gt_p2p_block at = {p2p, trace, 0, b};
		int64_t ns = gt_p2p_ns(&at, 0, p2p->rank, GT_MARK_SINCE);

		if (ns && (!begin || ns < begin))
			begin = ns;
	}
	return begin;
}

/*
 * Add when each part's first packet came, counted from the kernel's begin;
 * meanwhile its blocks waited.
 */
static void gt_p2p_watched(const struct gt_trace_p2p *p2p,
			   struct gt_trace *trace)
{
	struct gt_p2p_block at = {p2p, trace, p2p->nkernels - 1, 0};
	int64_t begin = gt_p2p_begin(p2p, trace);

	for (uint32_t r = 0; begin && r < p2p->nranks; r++) {
		struct gt_trace_step step = {.lane = GT_TRACE_KERNELS +
						     at.kernel,
					     .worker = r,
					     .op = GT_OP_NOP,
					     .since_ns = begin,
					     .from = r,
					     .to = GT_TRACE_NONE};

		for (step.step = 0; step.step < GT_P2P_STAGES; step.step++) {
			int64_t ns =
				gt_p2p_ns(&at, step.step, r, GT_MARK_READY);

			if (!ns || r == p2p->rank)
				continue;
			step.begin_ns = ns > step.since_ns ? ns : step.since_ns;
			step.end_ns = step.begin_ns;
			gt_trace_append(&trace->ranks[p2p->rank], &step);
			step.since_ns = step.end_ns;
		}
	}
}

void gt_trace_add_p2p(const struct gt_trace_p2p *p2p, struct gt_trace *trace)
{
	for (uint32_t i = 0; i < p2p->ncopies; i++) {
		const struct gt_trace_transfer *copy = &p2p->copies[i];
		struct gt_trace_step step = {.since_ns = copy->begin_ns,
					     .begin_ns = copy->begin_ns,
					     .end_ns = copy->end_ns,
					     .bytes = copy->bytes,
					     .loop = i,
					     .op = GT_OP_SEND,
					     .from = GT_TRACE_NONE,
					     .to = copy->to};

		gt_trace_add(trace, p2p->rank, &step);
		gt_trace_add_sent(trace, copy->from, copy->to, &step);
	}
	for (uint32_t k = 0; k < p2p->nkernels - !!p2p->watched; k++)
		gt_p2p_kernel(p2p, k, trace);
	if (p2p->watched)
		gt_p2p_watched(p2p, trace);
}
