/*
 * One node's links and the uplinks of switches as rows of a linear program,
 * with what they carry.
 */
#include "search/cluster/quotient_rows.h"

#include "base/arena.h"
#include "base/err.h"
#include "search/cluster/quotient.h"
#include "search/problem/fabric.h"

/* Loads are whole numbers of parts of at most this size of a true load. */
enum { GT_QUOTIENT_UNIT_MAX = 1024 };

uint32_t gt_quotient_uplink_row(const struct gt_quotient *q, uint32_t level,
				uint32_t rail, int in)
{
	return q->fabric->nlinks + 2 * (level * q->cluster.nrails + rail) +
	       (uint32_t)in;
}

static int refine_unit(const struct gt_fabric_route *routes, size_t n,
		       uint32_t *unit)
{
	struct gt_rat step;

	for (size_t i = 0; i < n; i++) {
		if (!routes[i].nlinks)
			continue;
		if (!gt_rat_make(routes[i].charge.den, *unit, &step) ||
		    step.num * *unit > GT_QUOTIENT_UNIT_MAX ||
		    routes[i].charge.num > 4 * routes[i].charge.den)
			return 0;
		*unit *= (uint32_t)step.num;
	}
	return 1;
}

/* The rate of the link that leads back, of one as wide if there are several. */
static struct gt_rat opposite_rate(const struct gt_fabric *f, uint32_t link)
{
	const struct gt_fabric_link *l = &f->links[link];
	struct gt_rat back = GT_RAT(0, 1);

	for (uint32_t i = 0; i < f->nlinks; i++) {
		const struct gt_fabric_link *other = &f->links[i];

		if (other->from != l->to || other->to != l->from ||
		    !other->charged != !l->charged)
			continue;
		if (!back.num || !gt_rat_cmp(other->gbs, l->gbs))
			back = other->gbs;
	}
	return back;
}

static void limit_to_both_directions(const struct gt_fabric *f,
				     struct gt_quotient_rows *rows)
{
	for (uint32_t i = 0; i < f->nlinks; i++) {
		struct gt_rat back = opposite_rate(f, i);

		if (gt_rat_cmp(back, rows->gbs[i]) < 0)
			rows->gbs[i] = back;
	}
}

int gt_quotient_rows_init(const struct gt_quotient *q, enum gt_coll coll,
			  struct gt_arena *arena, struct gt_quotient_rows *rows,
			  struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = &q->cluster;
	size_t n = q->fabric->nranks;

	rows->unit = 1;
	rows->n = gt_quotient_uplink_row(q, cluster->nlevels - 1, 0, 0);
	rows->gbs = gt_arena_array(arena, rows->n, sizeof(*rows->gbs));
	if (!rows->gbs)
		return gt_err_nomem(err);
	if (!refine_unit(q->fabric->routes, n * n, &rows->unit) ||
	    !refine_unit(q->out, n * cluster->nports, &rows->unit) ||
	    !refine_unit(q->in, n * cluster->nports, &rows->unit))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a route's charge is out of range");
	for (uint32_t i = 0; i < q->fabric->nlinks; i++)
		rows->gbs[i] = q->fabric->links[i].gbs;
	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++)
		for (uint32_t i = 0; i < 2 * cluster->nrails; i++)
			rows->gbs[gt_quotient_uplink_row(q, l, 0, 0) + i] =
				cluster->levels[l].gbs;
	if (coll != GT_COLL_ALLGATHER)
		limit_to_both_directions(q->fabric, rows);
	return GT_OK;
}

void gt_quotient_rows_first_prices(const struct gt_quotient_rows *rows,
				   double *prices)
{
	for (uint32_t r = 0; r < rows->n; r++) {
		double gbs = gt_rat_double(rows->gbs[r]);

		prices[r] = gbs > 0 ? 1 / gbs : 0;
	}
}
