/* Puts one rank after another on each GPU that is left. */
#include "search/job/placements.h"

#include "search/job/cuts.h"
#include "search/job/workload.h"

/* What may be done to the coordinates of an axis. */
enum symmetry { NONE, SHIFT, SWAP };

struct maker {
	const struct gt_workload *w;
	uint32_t ngpus;
	enum symmetry symmetry[GT_JOB_MAX_AXES];
	uint32_t place[GT_CUTS_MAX_GPUS];
	gt_placement_take *take;
	void *context;
};

static enum symmetry find_symmetry(const struct gt_workload *w, uint32_t axis)
{
	enum symmetry symmetry = SWAP;

	for (uint32_t e = 0; e < w->ntraffic; e++) {
		const struct gt_traffic *t = &w->traffic[e];

		/* Of listed groups nothing is known. */
		if (!t->axes)
			return NONE;
		if (t->coll != GT_COLL_SENDRECV || !(t->axes >> axis & 1))
			continue;
		if (t->axes != 1u << axis)
			return NONE;
		symmetry = SHIFT;
	}
	return symmetry;
}

/* Is this the one of all renumberings, as far as the rank tells? */
static int is_first(const struct maker *m, uint32_t rank)
{
	const struct gt_workload *w = m->w;
	uint32_t along = w->naxes, naway = 0;

	for (uint32_t i = 0; i < w->naxes; i++) {
		if (!(rank / w->axes[i].stride % w->axes[i].size))
			continue;
		if (m->symmetry[i] == NONE)
			return 1;
		along = i;
		naway++;
	}
	if (naway && m->place[rank] < m->place[0])
		return 0;
	return naway != 1 || m->symmetry[along] != SWAP ||
	       m->place[rank] > m->place[rank - w->axes[along].stride];
}

static int put_rank(struct maker *m, uint32_t rank, uint32_t used)
{
	if (rank == m->w->nranks)
		return m->take(m->context, m->place);
	for (uint32_t gpu = 0; gpu < m->ngpus; gpu++) {
		m->place[rank] = gpu;
		if (!(used >> gpu & 1) && is_first(m, rank) &&
		    put_rank(m, rank + 1, used | 1u << gpu))
			return 1;
	}
	return 0;
}

void gt_placements_each(const struct gt_workload *w, uint32_t ngpus,
			gt_placement_take *take, void *context)
{
	struct maker m = {
		.w = w, .ngpus = ngpus, .take = take, .context = context};

	for (uint32_t i = 0; i < w->naxes; i++)
		m.symmetry[i] = find_symmetry(w, i);
	put_rank(&m, 0, 0);
}
