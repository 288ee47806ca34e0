/*
 * The pricer as the ring search sees it: for rings that stay inside the machine
 * or for rings that leave it.
 */
#include "search/ring/pricing.h"

#include <stdlib.h>

#include "search/ring/pricing_closed.h"
#include "search/ring/pricing_external.h"

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
