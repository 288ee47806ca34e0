#include "search/ring_rows.h"

#include "base/arena.h"
#include "base/err.h"
#include "search/fabric.h"

enum { GT_UNIT_MAX = 1024, GT_CHARGE_MAX = 4 };

/* Is there a route, and no dead link on it? */
static int gt_ring_open(const struct gt_fabric *f,
			const struct gt_fabric_route *route)
{
	for (uint32_t k = 0; k < route->nlinks; k++)
		if (f->links[route->links[k]].gbs.num <= 0)
			return 0;
	return route->nlinks > 0;
}

/* The least common denominator of all charges, or 0. */
static uint32_t gt_ring_unit(const struct gt_fabric *f)
{
	struct gt_rat step;
	int64_t unit = 1;

	for (uint32_t i = 0; i < f->nranks * f->nranks; i++) {
		const struct gt_fabric_route *route = &f->routes[i];

		if (!gt_ring_open(f, route))
			continue;
		if (route->charge.num <= 0 ||
		    route->charge.num > GT_CHARGE_MAX * route->charge.den ||
		    !gt_rat_make(route->charge.den, unit, &step))
			return 0;
		unit *= step.num;
		if (unit > GT_UNIT_MAX)
			return 0;
	}
	return (uint32_t)unit;
}

static void gt_ring_row_fill(const struct gt_fabric *f, uint32_t unit,
			     uint32_t *loads)
{
	uint32_t n = f->nranks;
	size_t nn = (size_t)n * n;

	for (size_t i = 0; i < nn; i++) {
		const struct gt_fabric_route *route = &f->routes[i];

		if (!gt_ring_open(f, route))
			continue;
		for (uint32_t k = 0; k < route->nlinks; k++) {
			uint32_t link = route->links[k];
			struct gt_rat load = f->links[link].charged
						     ? route->charge
						     : GT_RAT(1, 1);

			loads[link * nn + i] +=
				(uint32_t)(load.num * (unit / load.den));
		}
	}
}

/* Does row b always bind before row a? */
static int gt_ring_row_over(const struct gt_ring_row *a,
			    const struct gt_ring_row *b, size_t nn)
{
	struct gt_rat ratio;

	if (!gt_rat_div(a->gbs, b->gbs, &ratio))
		return 0;
	for (size_t i = 0; i < nn; i++)
		if ((__int128)a->load[i] * ratio.den >
		    (__int128)b->load[i] * ratio.num)
			return 0;
	return 1;
}

static int gt_ring_row_empty(const struct gt_ring_row *row, size_t nn)
{
	for (size_t i = 0; i < nn; i++)
		if (row->load[i])
			return 0;
	return 1;
}

/* Rows before `kept` and after i are still there. */
static int gt_ring_row_needed(const struct gt_ring_rows *rows, uint32_t i,
			      uint32_t kept)
{
	size_t nn = (size_t)rows->n * rows->n;
	const struct gt_ring_row *all = rows->rows;

	if (gt_ring_row_empty(&all[i], nn))
		return 0;
	for (uint32_t j = 0; j < kept; j++)
		if (gt_ring_row_over(&all[i], &all[j], nn))
			return 0;
	for (uint32_t j = i + 1; j < rows->nrows; j++)
		if (gt_ring_row_over(&all[i], &all[j], nn))
			return 0;
	return 1;
}

static void gt_ring_rows_reduce(struct gt_ring_rows *rows)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < rows->nrows; i++)
		if (gt_ring_row_needed(rows, i, kept))
			rows->rows[kept++] = rows->rows[i];
	rows->nrows = kept;
}

int gt_ring_rows_new(const struct gt_fabric *fabric, struct gt_arena *arena,
		     struct gt_ring_rows **out, struct gt_err *err)
{
	size_t nn = (size_t)fabric->nranks * fabric->nranks;
	struct gt_ring_rows *rows = gt_arena_alloc(arena, sizeof(*rows));
	uint32_t *loads =
		gt_arena_array(arena, fabric->nlinks * nn, sizeof(*loads));

	if (!rows || !loads)
		return gt_err_nomem(err);
	rows->n = fabric->nranks;
	rows->nrows = fabric->nlinks;
	rows->unit = gt_ring_unit(fabric);
	if (!rows->unit)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a route's charge is out of range");
	rows->rows = gt_arena_array(arena, rows->nrows, sizeof(*rows->rows));
	rows->joined = gt_arena_alloc(arena, nn);
	if (!rows->rows || !rows->joined)
		return gt_err_nomem(err);
	gt_ring_row_fill(fabric, rows->unit, loads);
	for (size_t i = 0; i < nn; i++)
		rows->joined[i] =
			(unsigned char)gt_ring_open(fabric, &fabric->routes[i]);
	for (uint32_t i = 0; i < rows->nrows; i++) {
		rows->rows[i].link = i;
		rows->rows[i].gbs = fabric->links[i].gbs;
		rows->rows[i].load = loads + i * nn;
	}
	gt_ring_rows_reduce(rows);
	*out = rows;
	return GT_OK;
}

uint32_t gt_ring_load(const struct gt_ring_rows *rows, uint32_t row,
		      const uint32_t *order)
{
	const uint32_t *load = rows->rows[row].load;
	uint32_t n = rows->n, sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += load[order[i] * n + order[i + 1 < n ? i + 1 : 0]];
	return sum;
}

void gt_ring_weights(const struct gt_ring_rows *rows, const int64_t *prices,
		     int64_t *weights)
{
	size_t nn = (size_t)rows->n * rows->n;

	for (size_t i = 0; i < nn; i++)
		weights[i] = 0;
	for (uint32_t r = 0; r < rows->nrows; r++) {
		if (!prices[r])
			continue;
		for (size_t i = 0; i < nn; i++)
			weights[i] += prices[r] * rows->rows[r].load[i];
	}
}
