/* The record of a run's steps, and what each link and wait add up to. */
#include "exec/trace/trace.h"

#include <stdlib.h>

#include "base/err.h"

enum { GT_TRACE_MOST = 1 << 22 }; /* steps a rank: 256 MiB */

int gt_trace_new(uint32_t nranks, struct gt_trace **out, struct gt_err *err)
{
	struct gt_trace *trace = calloc(1, sizeof(*trace));
	int bad;

	if (!trace)
		return gt_err_nomem(err);
	trace->ranks = calloc(nranks, sizeof(*trace->ranks));
	trace->nranks = trace->ranks ? nranks : 0;
	bad = !trace->ranks;
	for (uint32_t r = 0; r < trace->nranks; r++) {
		struct gt_trace_rank *rank = &trace->ranks[r];

		rank->links = calloc(nranks, sizeof(*rank->links));
		rank->waits_ns = calloc(nranks, sizeof(*rank->waits_ns));
		bad |= !rank->links || !rank->waits_ns;
	}
	if (bad) {
		gt_trace_free(trace);
		return gt_err_nomem(err);
	}
	*out = trace;
	return GT_OK;
}

void gt_trace_free(struct gt_trace *trace)
{
	if (!trace)
		return;
	for (uint32_t r = 0; r < trace->nranks; r++) {
		free(trace->ranks[r].steps);
		free(trace->ranks[r].links);
		free(trace->ranks[r].waits_ns);
	}
	free(trace->ranks);
	free(trace);
}

static int gt_trace_grow(struct gt_trace_rank *rank)
{
	uint64_t size = rank->size ? 2 * rank->size : 1024;
	struct gt_trace_step *steps;

	if (size > GT_TRACE_MOST)
		return 0;
	steps = realloc(rank->steps, size * sizeof(*steps));
	if (!steps)
		return 0;
	rank->steps = steps;
	rank->size = size;
	return 1;
}

void gt_trace_append(struct gt_trace_rank *rank,
		     const struct gt_trace_step *step)
{
	if (rank->nsteps == rank->size && !gt_trace_grow(rank))
		rank->ndropped++;
	else
		rank->steps[rank->nsteps++] = *step;
}

void gt_trace_add(struct gt_trace *trace, uint32_t rank,
		  const struct gt_trace_step *step)
{
	struct gt_trace_rank *me = &trace->ranks[rank];

	if (step->from != GT_TRACE_NONE)
		me->waits_ns[step->from] += step->begin_ns - step->since_ns;
	gt_trace_append(me, step);
}

void gt_trace_add_sent(struct gt_trace *trace, uint32_t rank, uint32_t to,
		       const struct gt_trace_step *step)
{
	struct gt_trace_link *link = &trace->ranks[rank].links[to];

	link->bytes += step->bytes;
	link->busy_ns += step->end_ns - step->begin_ns;
}

double gt_trace_gbs(const struct gt_trace_link *link)
{
	return link->busy_ns > 0 ? (double)link->bytes / (double)link->busy_ns
				 : 0;
}

int gt_trace_slowest(const struct gt_trace *trace, uint32_t *from, uint32_t *to)
{
	const struct gt_trace_link *link, *worst = NULL;

	for (uint32_t r = 0; r < trace->nranks; r++)
		for (uint32_t p = 0; p < trace->nranks; p++) {
			link = &trace->ranks[r].links[p];
			if (!link->bytes || link->busy_ns <= 0 ||
			    (worst &&
			     gt_trace_gbs(link) >= gt_trace_gbs(worst)))
				continue;
			worst = link;
			*from = r;
			*to = p;
		}
	return !!worst;
}
