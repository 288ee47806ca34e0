/*
 * The rows of links: what each hop loads each link with, and which links
 * another one always overrules.
 */
#include "search/problem/link_rows.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/fabric.h"

enum { GT_UNIT_MAX = 1024, GT_CHARGE_MAX = 4 };

/* Does the route exist, with no dead link on it? */
static int gt_ring_open(const struct gt_fabric *f,
			const struct gt_fabric_route *route)
{
	for (uint32_t k = 0; k < route->nlinks; k++)
		if (f->links[route->links[k]].gbs.num <= 0)
			return 0;
	return route->nlinks > 0 && !(f->relays && route->relayed);
}

/*
 * Collect all that a ring may go over, by stride: hops between ranks, and hops
 * out to ports, across and in again.
 */
static int gt_ring_routes(const struct gt_fabric *f, struct gt_arena *arena,
			  struct gt_link_rows *rows,
			  struct gt_fabric_route **out)
{
	size_t m = rows->stride, n = f->nranks;
	const struct gt_external_ports *external = f->external;
	uint32_t nports = external ? external->nports : 0;
	struct gt_fabric_route *routes =
		gt_arena_array(arena, m * m, sizeof(*routes));

	if (!routes)
		return 0;
	for (size_t i = 0; i < n; i++) {
		memcpy(routes + i * m, f->routes + i * n, n * sizeof(*routes));
		for (size_t p = 0; p < nports; p++) {
			routes[i * m + n + p] = external->out[i * nports + p];
			routes[(n + nports + p) * m + i] =
				external->in[i * nports + p];
		}
	}
	for (size_t p = 0; p < nports; p++)
		memcpy(routes + (n + p) * m + n + nports,
		       external->across + p * nports, nports * sizeof(*routes));
	*out = routes;
	return 1;
}

/* A hop across from port to port need not load anything. */
static void gt_ring_join(const struct gt_fabric *f,
			 const struct gt_fabric_route *routes,
			 struct gt_link_rows *rows)
{
	size_t m = rows->stride, n = f->nranks;
	uint32_t nports = f->external ? f->external->nports : 0;

	for (size_t i = 0; i < m * m; i++)
		rows->joined[i] = (unsigned char)gt_ring_open(f, &routes[i]);
	for (size_t p = 0; p < nports; p++)
		for (size_t q = 0; q < nports; q++) {
			size_t at = (n + p) * m + n + nports + q;

			rows->joined[at] =
				f->external->joined[p * nports + q] &&
				(rows->joined[at] || !routes[at].nlinks);
		}
}

/* The least common denominator of all charges; 0 when it is too large. */
static uint32_t gt_ring_unit(const struct gt_fabric *f,
			     const struct gt_fabric_route *routes, size_t n)
{
	struct gt_rat step;
	int64_t unit = 1;

	for (size_t i = 0; i < n; i++) {
		const struct gt_fabric_route *route = &routes[i];

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

static void gt_link_row_fill(const struct gt_fabric *f,
			     const struct gt_fabric_route *routes, size_t nn,
			     uint32_t unit, uint32_t *loads)
{
	for (size_t i = 0; i < nn; i++) {
		const struct gt_fabric_route *route = &routes[i];

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

/* Does row b always bind before row a, which only these hops load? */
static int gt_link_row_over(const struct gt_link_row *a,
			    const struct gt_link_row *b, const uint32_t *hops,
			    uint32_t nhops)
{
	struct gt_rat ratio;

	if (!b->load[hops[0]] || !gt_rat_div(a->gbs, b->gbs, &ratio))
		return 0;
	for (uint32_t k = 0; k < nhops; k++)
		if ((__int128)a->load[hops[k]] * ratio.den >
		    (__int128)b->load[hops[k]] * ratio.num)
			return 0;
	return 1;
}

/* Rows before `kept` and after i are still there; `hops` has room for all. */
static int gt_link_row_needed(const struct gt_link_rows *rows, uint32_t i,
			      uint32_t kept, uint32_t *hops)
{
	uint32_t nn = rows->stride * rows->stride, nhops = 0;
	const struct gt_link_row *all = rows->rows;

	for (uint32_t k = 0; k < nn; k++)
		if (all[i].load[k])
			hops[nhops++] = k;
	if (!nhops)
		return 0;
	for (uint32_t j = 0; j < kept; j++)
		if (gt_link_row_over(&all[i], &all[j], hops, nhops))
			return 0;
	for (uint32_t j = i + 1; j < rows->nrows; j++)
		if (gt_link_row_over(&all[i], &all[j], hops, nhops))
			return 0;
	return 1;
}

static int gt_link_rows_reduce(struct gt_link_rows *rows,
			       struct gt_arena *arena)
{
	size_t nn = (size_t)rows->stride * rows->stride;
	uint32_t *hops = gt_arena_array(arena, nn, sizeof(*hops)), kept = 0;

	for (uint32_t i = 0; hops && i < rows->nrows; i++)
		if (gt_link_row_needed(rows, i, kept, hops))
			rows->rows[kept++] = rows->rows[i];
	rows->nrows = kept;
	return hops != NULL;
}

static int gt_link_rows_room(const struct gt_fabric *fabric,
			     struct gt_arena *arena, struct gt_link_rows *rows)
{
	size_t m;

	rows->n = rows->nranks = rows->stride = fabric->nranks;
	if (fabric->external) {
		rows->n += 2;
		rows->stride += 2 * fabric->external->nports;
	}
	m = rows->stride;
	rows->nrows = fabric->nlinks;
	rows->nwidths = 1;
	rows->rows = gt_arena_array(arena, rows->nrows, sizeof(*rows->rows));
	rows->joined = gt_arena_alloc(arena, m * m);
	return rows->rows && rows->joined;
}

int gt_link_rows_index(struct gt_link_rows *rows, struct gt_arena *arena)
{
	size_t nn = (size_t)rows->stride * rows->stride;
	uint32_t count = 0;

	for (uint32_t r = 0; r < rows->nrows; r++)
		for (size_t i = 0; i < nn; i++)
			count += rows->rows[r].load[i] > 0;
	rows->first = gt_arena_array(arena, nn + 1, sizeof(*rows->first));
	rows->uses = gt_arena_array(arena, count, sizeof(*rows->uses));
	if (!rows->first || !rows->uses)
		return 0;
	count = 0;
	for (size_t i = 0; i < nn; i++) {
		for (uint32_t r = 0; r < rows->nrows; r++) {
			uint32_t load = rows->rows[r].load[i];

			if (load)
				rows->uses[count++] =
					(struct gt_link_load){r, load};
		}
		rows->first[i + 1] = count;
	}
	return 1;
}

int gt_link_rows_new(const struct gt_fabric *fabric, struct gt_arena *arena,
		     struct gt_link_rows **out, struct gt_err *err)
{
	struct gt_link_rows *rows = gt_arena_alloc(arena, sizeof(*rows));
	struct gt_fabric_route *routes;
	uint32_t *loads;
	size_t nn;

	if (!rows || !gt_link_rows_room(fabric, arena, rows) ||
	    !gt_ring_routes(fabric, arena, rows, &routes))
		return gt_err_nomem(err);
	nn = (size_t)rows->stride * rows->stride;
	loads = gt_arena_array(arena, fabric->nlinks * nn, sizeof(*loads));
	if (!loads)
		return gt_err_nomem(err);
	rows->unit = gt_ring_unit(fabric, routes, nn);
	if (!rows->unit)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a route's charge is out of range");
	gt_link_row_fill(fabric, routes, nn, rows->unit, loads);
	gt_ring_join(fabric, routes, rows);
	for (uint32_t i = 0; i < rows->nrows; i++) {
		rows->rows[i].link = i;
		rows->rows[i].gbs = fabric->links[i].gbs;
		rows->rows[i].load = loads + i * nn;
	}
	if (!gt_link_rows_reduce(rows, arena) ||
	    !gt_link_rows_index(rows, arena))
		return gt_err_nomem(err);
	*out = rows;
	return GT_OK;
}

static void gt_ring_load(const struct gt_link_rows *rows, size_t hop,
			 uint32_t *loads)
{
	for (uint32_t k = rows->first[hop]; k < rows->first[hop + 1]; k++)
		loads[rows->uses[k].row] += rows->uses[k].load;
}

/*
 * The narrowest hop's width, from gt_link_rows.width; nwidths where nothing
 * narrows it.
 */
static uint32_t gt_ring_narrowest(const struct gt_link_rows *rows,
				  const uint32_t *order)
{
	uint32_t n = rows->n, width = rows->nwidths;
	size_t legs[2];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t nlegs = gt_ring_legs(
			rows, order[i], order[i + 1 < n ? i + 1 : 0], legs);

		while (nlegs--)
			if (rows->width[legs[nlegs]] < width)
				width = rows->width[legs[nlegs]];
	}
	return width;
}

void gt_ring_loads(const struct gt_link_rows *rows, const uint32_t *order,
		   uint32_t *loads)
{
	uint32_t n = rows->n;
	size_t legs[2];

	memset(loads, 0, rows->nrows * sizeof(*loads));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t nlegs = gt_ring_legs(
			rows, order[i], order[i + 1 < n ? i + 1 : 0], legs);

		while (nlegs--)
			gt_ring_load(rows, legs[nlegs], loads);
	}
	if (rows->max_channels)
		loads[rows->nrows - 1] =
			rows->count[gt_ring_narrowest(rows, order)];
}

void gt_ring_weights(const struct gt_link_rows *rows, const int64_t *prices,
		     int64_t *weights)
{
	size_t nn = (size_t)rows->stride * rows->stride;

	for (size_t i = 0; i < nn; i++) {
		weights[i] = 0;
		for (uint32_t k = rows->first[i]; k < rows->first[i + 1]; k++)
			weights[i] +=
				prices[rows->uses[k].row] * rows->uses[k].load;
	}
}

/* The rank by which a hop costs less than directly, of several the first. */
static uint32_t gt_ring_cheapest_via(const struct gt_link_rows *rows,
				     const int64_t *weights, uint32_t from,
				     uint32_t to, int64_t *least)
{
	size_t m = rows->stride;
	uint32_t best = UINT32_MAX;

	*least = weights[from * m + to];
	for (uint32_t via = 0; rows->relays && via < rows->n; via++) {
		int64_t sum = weights[from * m + via] + weights[via * m + to];

		if (via == from || via == to || sum >= *least)
			continue;
		*least = sum;
		best = via;
	}
	return best;
}

void gt_ring_close(const struct gt_link_rows *rows, const int64_t *weights,
		   int64_t *closed)
{
	uint32_t m = rows->stride;

	if (!rows->relays) {
		memcpy(closed, weights, (size_t)m * m * sizeof(*closed));
		return;
	}
	for (uint32_t i = 0; i < m * m; i++)
		gt_ring_cheapest_via(rows, weights, i / m, i % m, &closed[i]);
}

void gt_ring_relay(const struct gt_link_rows *rows, const int64_t *weights,
		   uint32_t *order)
{
	uint32_t n = rows->n;
	int64_t least;

	for (uint32_t i = 0; rows->relays && i < n; i++) {
		uint32_t next = gt_ring_place(order[i + 1 < n ? i + 1 : 0]);
		uint32_t via = gt_ring_cheapest_via(rows, weights, order[i],
						    next, &least);

		order[i] += (via + 1) << GT_RING_VIA_SHIFT;
	}
}

void gt_link_rows_reverse_ring(const struct gt_link_rows *rows, uint32_t *order)
{
	uint32_t n = rows->nranks, nports = (rows->stride - n) / 2, t;

	for (uint32_t i = 0; i < rows->n; i++)
		order[i] = gt_ring_place(order[i]);
	/*
	 * With external ports the last rank becomes the first, and out becomes
	 * in.
	 */
	for (uint32_t i = rows->n == n, j = n - 1; i < j; i++, j--) {
		t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
	if (rows->n == n)
		return;
	t = order[n];
	order[n] = order[n + 1] - nports;
	order[n + 1] = t + nports;
}
