/*
 * A schedule where no switch joins GPUs: what fills links least evenly is moved
 * pair by pair, from the dearest of its ways to the cheapest one.  A link costs
 * what the sum over all links of (how full it is) to the power of `power` grows
 * by with a byte; these costs are prices, too, and what all pairs pay at least
 * over what all links could earn bounds every schedule.
 *
 * Nothing but additions, products and quotients decides, so that ranks on
 * different hosts find the same schedule.
 */
#include "search/rails/meshed.h"

#include <math.h>
#include <string.h>

#include "base/rat.h"
#include "search/problem/fabric.h"
#include "search/rails/rails.h"

enum {
	/* How often all moves together may look at a link's price. */
	LOOKS = 60000,
	/* Powers from which, and to which, links cost. */
	LEAST_POWER = 4,
	MOST_POWER = 128,
	SWEEPS = 3, /* of all pairs for each power but the last */
	CORRECTIONS = 2,
};

/* So little over the bound is as good as the bound. */
static const double enough = 1.003;

struct planner {
	const struct gt_rails *m;
	const struct gt_meshed *ways;
	const uint64_t *bytes;
	struct gt_rails_schedule *s;
	double flow[GT_MESHED_MAX_WAYS];   /* bytes by a way */
	double load[GT_MESHED_MAX_LINKS];  /* bytes of a link */
	double price[GT_MESHED_MAX_LINKS]; /* of a byte on it */
	double mean[GT_MESHED_MAX_LINKS];
	double ns; /* what prices count times by: the fullest link's, lately */
	uint32_t power, looks;
};

/* ---- prices ------------------------------------------------------------- */

/* x to the power of p - 1, where p is a power of two. */
static double raise(double x, uint32_t p)
{
	double y = 1;

	for (; p > 1; p /= 2) {
		y *= x;
		x *= x;
	}
	return y;
}

static void set_price(struct planner *p, uint32_t row)
{
	double full = p->load[row] / (p->m->gbs[row] * p->ns);

	p->price[row] = raise(full, p->power) / p->m->gbs[row];
}

static double fullest_ns(const struct planner *p)
{
	double most = 0;

	for (uint32_t i = 0; i < p->m->nrows; i++)
		if (p->load[i] > most * p->m->gbs[i])
			most = p->load[i] / p->m->gbs[i];
	return most;
}

static void set_prices(struct planner *p)
{
	p->ns = fullest_ns(p);
	for (uint32_t i = 0; i < p->m->nrows; i++)
		set_price(p, i);
}

static double cost_of(struct planner *p, uint32_t way)
{
	const struct gt_meshed_way *w = &p->ways->ways[way];
	const struct gt_meshed_load *loads = &p->ways->loads[w->first];
	double sum = 0;

	p->looks += w->n;
	for (uint32_t i = 0; i < w->n; i++)
		sum += p->price[loads[i].row] * loads[i].bytes;
	return sum;
}

/* ---- the bound ---------------------------------------------------------- */

/* What a byte costs from rank to rank, by any number of others. */
static void find_distances(const struct planner *p, const double *price,
			   double *far)
{
	const struct gt_fabric *f = p->m->fabric;
	uint32_t n = p->m->n;

	for (uint32_t i = 0; i < n * n; i++) {
		const struct gt_fabric_route *route = &f->routes[i];
		double charge = gt_rat_double(route->charge);

		far[i] = i / n == i % n ? 0 : route->nlinks ? 0 : INFINITY;
		for (uint32_t h = 0; h < route->nlinks; h++)
			far[i] += price[route->links[h]] *
				  (f->links[route->links[h]].charged ? charge
								     : 1);
	}
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j < n; j++)
				if (far[i * n + k] + far[k * n + j] <
				    far[i * n + j])
					far[i * n + j] =
						far[i * n + k] + far[k * n + j];
}

static void raise_bound(struct planner *p, const double *price)
{
	double far[GT_MESHED_MAX_RANKS * GT_MESHED_MAX_RANKS];
	double paid = 0, earned = 0;
	uint32_t n = p->m->n;

	find_distances(p, price, far);
	for (uint32_t i = 0; i < n * n; i++)
		if (i / n != i % n)
			paid += (double)p->bytes[i] * far[i];
	for (uint32_t i = 0; i < p->m->nrows; i++)
		earned += price[i] * p->m->gbs[i];
	if (paid > p->s->bound_ns * earned)
		p->s->bound_ns = paid / earned;
}

/* All bytes of a rank have to come over the links around it. */
static void find_bound(struct planner *p)
{
	uint32_t n = p->m->n;

	p->s->bound_ns = 0;
	for (uint32_t i = 0; i < n; i++) {
		double out = 0, in = 0;

		for (uint32_t k = 0; k < n; k++)
			if (k != i) {
				out += (double)p->bytes[i * n + k];
				in += (double)p->bytes[k * n + i];
			}
		out /= p->ways->out_gbs[i];
		in /= p->ways->in_gbs[i];
		if (out > p->s->bound_ns)
			p->s->bound_ns = out;
		if (in > p->s->bound_ns)
			p->s->bound_ns = in;
	}
}

/*
 * Prices of several sweeps together: one sweep's are those of links that were
 * relieved too much in the one before.
 */
static void add_mean(struct planner *p)
{
	double earned = 0;

	for (uint32_t i = 0; i < p->m->nrows; i++)
		earned += p->price[i] * p->m->gbs[i];
	for (uint32_t i = 0; i < p->m->nrows; i++)
		p->mean[i] += p->price[i] / earned;
}

/* ---- moves -------------------------------------------------------------- */

static void add_load(struct planner *p, uint32_t way, double bytes)
{
	const struct gt_meshed_way *w = &p->ways->ways[way];
	const struct gt_meshed_load *loads = &p->ways->loads[w->first];

	p->flow[way] += bytes;
	p->looks += w->n;
	for (uint32_t i = 0; i < w->n; i++) {
		p->load[loads[i].row] += bytes * loads[i].bytes;
		if (p->load[loads[i].row] < 0)
			p->load[loads[i].row] = 0;
		set_price(p, loads[i].row);
	}
}

/* How fast a way's cost grows with its bytes. */
static double slope_of(struct planner *p, uint32_t way)
{
	const struct gt_meshed_way *w = &p->ways->ways[way];
	const struct gt_meshed_load *loads = &p->ways->loads[w->first];
	double sum = 0;

	p->looks += w->n;
	for (uint32_t i = 0; i < w->n; i++)
		if (p->load[loads[i].row] > 0)
			sum += p->price[loads[i].row] * (p->power - 1) /
			       p->load[loads[i].row] * loads[i].bytes *
			       loads[i].bytes;
	return sum;
}

/* Move bytes until both ways cost about as much. */
static void move(struct planner *p, uint32_t from, uint32_t to, double gain)
{
	double slope = slope_of(p, from) + slope_of(p, to);
	double bytes = slope > 0 ? gain / slope : INFINITY;

	if (bytes > p->flow[from])
		bytes = p->flow[from];
	add_load(p, from, -bytes);
	add_load(p, to, bytes);
	for (int i = 0; i < CORRECTIONS; i++) {
		double left = cost_of(p, from) - cost_of(p, to);
		double back = bytes * -left / (gain - left);

		if (left >= 0)
			break;
		add_load(p, to, -back);
		add_load(p, from, back);
		bytes -= back;
	}
}

static void move_pair(struct planner *p, uint32_t pair)
{
	uint32_t first = p->ways->pair[pair], end = p->ways->pair[pair + 1];
	uint32_t dearest = end, cheapest = end;
	double most = 0, least = INFINITY;

	if (!p->bytes[pair] || end - first < 2)
		return;
	for (uint32_t w = first; w < end; w++) {
		double cost = cost_of(p, w);

		if (cost < least) {
			least = cost;
			cheapest = w;
		}
		if (p->flow[w] > 0 && cost >= most) {
			most = cost;
			dearest = w;
		}
	}
	if (least < most * (1 - 1e-9))
		move(p, dearest, cheapest, most - least);
}

static void begin(struct planner *p)
{
	uint32_t nn = p->m->n * p->m->n;

	memset(p->flow, 0, p->ways->nways * sizeof(*p->flow));
	memset(p->load, 0, p->m->nrows * sizeof(*p->load));
	memset(p->mean, 0, p->m->nrows * sizeof(*p->mean));
	p->ns = 1;
	p->power = LEAST_POWER;
	p->looks = 0;
	for (uint32_t i = 0; i < nn; i++)
		if (i / p->m->n != i % p->m->n && p->bytes[i])
			add_load(p, p->ways->pair[i], (double)p->bytes[i]);
	find_bound(p);
}

static void sweep(struct planner *p)
{
	uint32_t nn = p->m->n * p->m->n;

	set_prices(p);
	for (uint32_t i = 0; i < nn; i++)
		move_pair(p, i);
	set_prices(p);
	raise_bound(p, p->price);
	add_mean(p);
	raise_bound(p, p->mean);
}

/* ---- parts -------------------------------------------------------------- */

/*
 * As many parts for each way as it has of the bytes; what is left of the parts
 * goes where most is missing.
 */
static void share_out(struct planner *p, uint32_t pair)
{
	uint32_t first = p->ways->pair[pair], end = p->ways->pair[pair + 1];
	uint8_t *share = &p->s->share[pair * p->m->nrails];
	uint32_t left = p->s->parts;
	double part = (double)p->bytes[pair] / p->s->parts;

	for (uint32_t w = first; w < end; w++) {
		uint32_t has = (uint32_t)(p->flow[w] / part + 1e-6);

		has = has > left ? left : has;
		share[p->ways->ways[w].relay] = (uint8_t)has;
		left -= has;
	}
	while (left--) {
		uint32_t best = first;
		double most = -INFINITY;

		for (uint32_t w = first; w < end; w++) {
			double missing = p->flow[w] / part -
					 share[p->ways->ways[w].relay];

			if (missing > most) {
				most = missing;
				best = w;
			}
		}
		share[p->ways->ways[best].relay]++;
	}
}

/* Count what parts take of links, in place of bytes. */
static void count_parts(struct planner *p)
{
	uint32_t n = p->m->n;

	memset(p->load, 0, p->m->nrows * sizeof(*p->load));
	for (uint32_t i = 0; i < n * n; i++) {
		double part = (double)p->bytes[i] / p->s->parts;

		for (uint32_t w = p->ways->pair[i]; w < p->ways->pair[i + 1];
		     w++)
			if (p->bytes[i]) {
				p->flow[w] = 0;
				add_load(p, w,
					 part * p->s->share[i * n +
							    p->ways->ways[w]
								    .relay]);
			}
	}
	p->s->ns = fullest_ns(p);
	for (uint32_t i = 0; i < p->m->nrows; i++)
		p->s->full[i] = p->load[i] / p->m->gbs[i] / p->s->bound_ns;
}

/* Share all blocks, by how much goes by each way, or straight. */
static void share_all(struct planner *p, int straight)
{
	uint32_t n = p->m->n;

	p->s->parts = GT_MESHED_PARTS;
	memset(p->s->share, 0, (size_t)n * n * n);
	for (uint32_t i = 0; i < n * n; i++) {
		if (i / n == i % n || !p->bytes[i])
			continue;
		if (straight)
			p->s->share[i * n + i % n] = GT_MESHED_PARTS;
		else
			share_out(p, i);
	}
	count_parts(p);
}

void gt_meshed_plan(const struct gt_rails *m, const uint64_t *bytes,
		    struct gt_rails_schedule *s)
{
	struct planner p = {.m = m, .ways = m->meshed, .bytes = bytes, .s = s};
	double straight_ns;

	begin(&p);
	straight_ns = fullest_ns(&p);
	for (uint32_t i = 1; p.looks < LOOKS; i++) {
		sweep(&p);
		if (p.ns < enough * s->bound_ns)
			break;
		if (i % SWEEPS == 0 && p.power < MOST_POWER)
			p.power *= 2;
	}
	share_all(&p, 0);
	if (s->ns > straight_ns * (1 - 1e-6))
		share_all(&p, 1);
}
