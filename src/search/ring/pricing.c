/*
 * The pricer as the ring search sees it: for rings that stay inside the machine
 * or for rings that leave it.
 */
#include "search/ring/pricing.h"

#include <stdlib.h>
#include <string.h>

#include "search/problem/fabric.h"
#include "search/ring/pricing_closed.h"

/*
 * Pricing of rings that leave the machine (struct gt_external_ports): the world
 * outside is one more place of a ring, which is reached and left by the ports
 * that are cheapest; for each group of ports by itself, since only within one a
 * way in goes with every way out.
 *
 * Place 0 of the inner pricer is the world, i + 1 is rank i.
 */
struct gt_external_pricer {
	uint32_t n;
	const struct gt_external_ports *external;
	struct gt_closed_pricer *inner;
	int64_t *weights;   /* the inner pricer's */
	uint32_t *out, *in; /* rank -> the cheapest port of the group */
	uint32_t *places;   /* an order of the inner pricer */
	uint32_t nrings;
	int64_t *costs;   /* of the last run */
	uint32_t *orders; /* [ring * (n + 2)] */
};

static void gt_external_pricer_free(struct gt_external_pricer *p)
{
	if (!p)
		return;
	gt_closed_pricer_free(p->inner);
	free(p->weights);
	free(p->out);
	free(p->in);
	free(p->places);
	free(p->costs);
	free(p->orders);
	free(p);
}

static struct gt_external_pricer *gt_external_pricer_new(
	uint32_t n, const struct gt_external_ports *external, int quick)
{
	struct gt_external_pricer *p = calloc(1, sizeof(*p));
	size_t m = n + 1, size;

	if (!p)
		return NULL;
	p->n = n;
	p->external = external;
	p->inner = gt_closed_pricer_new(n + 1, quick);
	size = p->inner ? gt_closed_pricer_nrings(p->inner)
			: 0; /* always so many */
	size *= external->ngroups;
	p->weights = malloc(m * m * sizeof(*p->weights));
	p->out = malloc(n * sizeof(*p->out));
	p->in = malloc(n * sizeof(*p->in));
	p->places = malloc(m * sizeof(*p->places));
	p->costs = malloc((size + 1) * sizeof(*p->costs));
	p->orders = malloc((size + 1) * (m + 1) * sizeof(*p->orders));
	if (p->inner && p->weights && p->out && p->in && p->places &&
	    p->costs && p->orders)
		return p;
	gt_external_pricer_free(p);
	return NULL;
}

static int64_t gt_external_sum(int64_t a, int64_t b)
{
	return a + b < GT_PRICER_NO_HOP ? a + b : GT_PRICER_NO_HOP;
}

/*
 * A rank's cheapest ways out and in.  What it costs to get across depends on
 * the way in alone, if on any: so it is counted there.
 */
static void gt_external_cheapest(struct gt_external_pricer *p,
				 const int64_t *weights, uint32_t group,
				 uint32_t rank)
{
	uint32_t n = p->n, nports = p->external->nports;
	size_t stride = n + 2 * (size_t)nports;
	int64_t *to = &p->weights[(size_t)(rank + 1) * (n + 1)];
	int64_t *from = &p->weights[rank + 1], out, in;

	*to = *from = GT_PRICER_NO_HOP;
	p->out[rank] = p->in[rank] = 0;
	for (uint32_t i = 0; i < nports; i++) {
		if (p->external->group[i] != group)
			continue;
		out = weights[rank * stride + n + i];
		in = gt_external_sum(
			weights[(n + nports + i) * stride + rank],
			weights[(n + i) * stride + n + nports + i]);
		if (out < *to) {
			*to = out;
			p->out[rank] = i;
		}
		if (in < *from) {
			*from = in;
			p->in[rank] = i;
		}
	}
}

static void gt_external_run(struct gt_external_pricer *p,
			    const int64_t *weights, uint32_t group)
{
	size_t n = p->n, m = n + 1,
	       stride = n + 2 * (size_t)p->external->nports;

	p->weights[0] = 0;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(&p->weights[(i + 1) * m + 1], &weights[i * stride],
		       n * sizeof(*weights));
		gt_external_cheapest(p, weights, group, i);
	}
	gt_closed_pricer_run(p->inner, p->weights);
}

/* Keep the rings that the inner pricer offers, with the ports of the group. */
static void gt_external_keep(struct gt_external_pricer *p)
{
	uint32_t n = p->n;

	for (uint32_t i = 0; i < gt_closed_pricer_nrings(p->inner); i++) {
		uint32_t *order = &p->orders[(size_t)p->nrings * (n + 2)];

		p->costs[p->nrings++] =
			gt_closed_pricer_ring(p->inner, i, p->places);
		for (uint32_t k = 0; k < n; k++)
			order[k] = p->places[k + 1] - 1;
		order[n] = n + p->out[order[n - 1]];
		order[n + 1] = n + p->external->nports + p->in[order[0]];
	}
}

static void gt_external_pricer_run(struct gt_external_pricer *p,
				   const int64_t *weights)
{
	p->nrings = 0;
	for (uint32_t g = 0; g < p->external->ngroups; g++) {
		gt_external_run(p, weights, g);
		gt_external_keep(p);
	}
}

static uint32_t gt_external_pricer_nrings(const struct gt_external_pricer *p)
{
	return p->nrings;
}

static int64_t gt_external_pricer_ring(const struct gt_external_pricer *p,
				       uint32_t i, uint32_t *order)
{
	size_t len = (size_t)p->n + 2;

	memcpy(order, &p->orders[i * len], len * sizeof(*order));
	return p->costs[i];
}

static int64_t gt_external_pricer_bound(struct gt_external_pricer *p,
					const int64_t *weights)
{
	int64_t best = INT64_MAX, one;

	for (uint32_t g = 0; g < p->external->ngroups; g++) {
		gt_external_run(p, weights, g);
		one = gt_closed_pricer_bound(p->inner, p->weights);
		if (one < best)
			best = one;
	}
	return best;
}

/* One of the two, whichever the fabric asks for. */
struct gt_pricer {
	struct gt_closed_pricer *closed;
	struct gt_external_pricer *external;
};

struct gt_pricer *gt_pricer_new(uint32_t n,
				const struct gt_external_ports *ports,
				int quick)
{
	struct gt_pricer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	if (ports)
		p->external = gt_external_pricer_new(n, ports, quick);
	else
		p->closed = gt_closed_pricer_new(n, quick);
	if (p->closed || p->external)
		return p;
	free(p);
	return NULL;
}

void gt_pricer_free(struct gt_pricer *pricer)
{
	if (!pricer)
		return;
	gt_closed_pricer_free(pricer->closed);
	gt_external_pricer_free(pricer->external);
	free(pricer);
}

void gt_pricer_run(struct gt_pricer *pricer, const int64_t *weights)
{
	if (pricer->external)
		gt_external_pricer_run(pricer->external, weights);
	else
		gt_closed_pricer_run(pricer->closed, weights);
}

uint32_t gt_pricer_nrings(const struct gt_pricer *pricer)
{
	return pricer->external ? gt_external_pricer_nrings(pricer->external)
				: gt_closed_pricer_nrings(pricer->closed);
}

int64_t gt_pricer_ring(const struct gt_pricer *pricer, uint32_t i,
		       uint32_t *order)
{
	return pricer->external
		       ? gt_external_pricer_ring(pricer->external, i, order)
		       : gt_closed_pricer_ring(pricer->closed, i, order);
}

int64_t gt_pricer_bound(const struct gt_pricer *pricer, const int64_t *weights)
{
	return pricer->external
		       ? gt_external_pricer_bound(pricer->external, weights)
		       : gt_closed_pricer_bound(pricer->closed, weights);
}
