/*
 * From the times that the interpreter's blocks noted of each slice to steps of
 * a trace.
 */
#include "exec/trace/marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exec/trace/trace.h"

/* The steps of all blocks, before they are put in order of time. */
struct gt_marking {
	const struct gt_trace_launch *launch;
	struct gt_trace *trace;
	struct gt_marked {
		struct gt_trace_step step;
		const struct gt_program *program;
		const struct gt_step *what;
		int64_t free_ns; /* the block's slice before was posted */
		int64_t posted_ns;
	} * all;
	uint64_t n;
};

/* The place in its program that a block has come to. */
struct gt_marked_block {
	const struct gt_program *program;
	const struct gt_layout *layout;
	const struct gt_layout_span *spans; /* by pair; NULL: all are alike */
	const struct gt_kernel_mark *marks;
	uint32_t worker;
	uint32_t slice;
	int64_t moved_ns, posted_ns; /* of the slice before */
};

/* Has the operand no bytes, or bytes that stay in the rank's own memory? */
static int gt_operand_stays(const struct gt_operand *operand)
{
	return operand->buf == GT_BUF_INPUT || operand->buf == GT_BUF_OUTPUT ||
	       operand->buf == GT_BUF_SCRATCH;
}

static void gt_marked_peers(const struct gt_marked_block *at,
			    const struct gt_step *step,
			    struct gt_trace_step *to)
{
	for (uint32_t i = step->nsrc + (uint32_t)step->ndst; i-- > 0;) {
		const struct gt_operand *operand = gt_step_operand(step, i);

		if (gt_operand_stays(operand))
			continue;
		if (i < step->nsrc)
			to->from = at->program->conns[operand->conn].peer;
		else
			to->to = at->program->conns[operand->conn].peer;
	}
}

static int64_t gt_later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Take the block's next slice, which is of this step and loop. */
static void gt_mark_take(struct gt_marking *marking, struct gt_marked_block *at,
			 const struct gt_step *step, uint32_t loop)
{
	const struct gt_trace_launch *launch = marking->launch;
	const struct gt_kernel_mark *mark = &at->marks[at->slice++];
	struct gt_marked *to = &marking->all[marking->n];
	struct gt_layout layout =
		gt_layout_of_pair(at->layout, at->spans, step->pair);
	int64_t ready, since;

	if (at->slice > launch->nmarks || !mark->at_ns[3]) {
		marking->trace->ranks[launch->rank].ndropped++;
		return;
	}
	since = (int64_t)mark->at_ns[0] - launch->ahead_ns;
	ready = (int64_t)mark->at_ns[1] - launch->ahead_ns;
	*to = (struct gt_marked){
		.step = {.since_ns = at->moved_ns ? at->moved_ns : since,
			 .begin_ns = gt_later(ready, at->moved_ns),
			 .end_ns = (int64_t)mark->at_ns[2] - launch->ahead_ns,
			 .bytes = gt_layout_slice(&layout, step->chunk,
						  at->worker, loop)
					  .count *
				  launch->elem_bytes,
			 .channel = at->program->channel,
			 .lane = at->program->lane,
			 .worker = at->worker,
			 .loop = loop,
			 .step = step->id,
			 .op = step->op,
			 .from = GT_TRACE_NONE,
			 .to = GT_TRACE_NONE},
		.program = at->program,
		.what = step,
		.free_ns = at->posted_ns,
		.posted_ns = (int64_t)mark->at_ns[3] - launch->ahead_ns};
	gt_marked_peers(at, step, &to->step);
	to->step.post_ns = to->posted_ns - to->step.end_ns;
	at->moved_ns = to->step.end_ns;
	at->posted_ns = to->posted_ns;
	marking->n++;
}

/*
 * Take the block's slices in its order: turns, in a turn the steps, in a step
 * the turn's loops (kernels/interp/interp.cu).
 */
static void gt_mark_block(struct gt_marking *marking,
			  struct gt_marked_block *at)
{
	uint32_t turn = marking->launch->turn, loops = at->layout->loops;
	const struct gt_step *steps = at->program->steps;

	for (uint32_t first = 0; first < loops; first += turn)
		for (uint32_t s = 0; s < at->program->nsteps;
		     s += gt_step_nrecords(&steps[s]))
			for (uint32_t loop = first;
			     loop < loops && loop - first < turn; loop++)
				gt_mark_take(marking, at, &steps[s], loop);
}

static int gt_marked_order(const void *a, const void *b)
{
	const struct gt_marked *x = a, *y = b;

	return (x->step.since_ns > y->step.since_ns) -
	       (x->step.since_ns < y->step.since_ns);
}

/*
 * Add a slice to its link, which is busy with it until it is announced; slices
 * overlap.
 */
static void gt_marked_add(const struct gt_marking *marking,
			  const struct gt_marked *marked)
{
	const struct gt_step *step = marked->what;
	uint32_t rank = marking->launch->rank;
	struct gt_trace_step busy = marked->step;

	gt_trace_add(marking->trace, rank, &marked->step);
	busy.begin_ns = gt_later(busy.begin_ns, marked->free_ns);
	busy.end_ns = gt_later(busy.begin_ns, marked->posted_ns);
	for (uint32_t i = 0; i < step->ndst; i++) {
		const struct gt_operand *operand =
			gt_step_operand(step, step->nsrc + i);

		if (operand->buf == GT_BUF_FIFO)
			gt_trace_add_sent(
				marking->trace, rank,
				marked->program->conns[operand->conn].peer,
				&busy);
	}
}

/* Divide times that were added up over the blocks, which work side by side. */
static int gt_marked_mean(const struct gt_trace_launch *launch,
			  struct gt_trace *trace, struct gt_err *err)
{
	struct gt_trace_rank *me = &trace->ranks[launch->rank];
	uint32_t *blocks = calloc(2 * (size_t)trace->nranks, sizeof(*blocks));

	if (!blocks)
		return gt_err_nomem(err);
	for (uint32_t p = 0; p < launch->nprograms; p++) {
		const struct gt_program *program = &launch->programs[p];

		for (uint32_t i = 0; i < program->nconns &&
				     launch->layouts[p / launch->nlanes].loops;
		     i++)
			blocks[2 * program->conns[i].peer +
			       program->conns[i].sends] += launch->nworkers;
	}
	for (uint32_t r = 0; r < trace->nranks; r++) {
		if (blocks[2 * r])
			me->waits_ns[r] /= blocks[2 * r];
		if (blocks[2 * r + 1])
			me->links[r].busy_ns /= blocks[2 * r + 1];
	}
	free(blocks);
	return GT_OK;
}

static const struct gt_layout_span *gt_marked_spans(
	const struct gt_trace_launch *launch, size_t nranks, uint32_t p)
{
	return launch->spans
		       ? launch->spans + p / launch->nlanes * nranks * nranks
		       : NULL;
}

int gt_trace_add_launch(const struct gt_trace_launch *launch,
			struct gt_trace *trace, struct gt_err *err)
{
	uint64_t blocks = (uint64_t)launch->nprograms * launch->nworkers;
	struct gt_marking marking = {.launch = launch, .trace = trace};

	marking.all = calloc(blocks * launch->nmarks, sizeof(*marking.all));
	if (!marking.all)
		return gt_err_nomem(err);
	for (uint64_t b = 0; b < blocks; b++) {
		uint32_t p = (uint32_t)(b / launch->nworkers);
		struct gt_marked_block at = {
			.program = &launch->programs[p],
			.layout = &launch->layouts[p / launch->nlanes],
			.spans = gt_marked_spans(launch, trace->nranks, p),
			.marks = &launch->marks[b * launch->nmarks],
			.worker = (uint32_t)(b % launch->nworkers)};

		gt_mark_block(&marking, &at);
	}
	qsort(marking.all, marking.n, sizeof(*marking.all), gt_marked_order);
	for (uint64_t i = 0; i < marking.n; i++)
		gt_marked_add(&marking, &marking.all[i]);
	free(marking.all);
	return gt_marked_mean(launch, trace, err);
}
