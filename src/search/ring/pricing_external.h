/*
 * Pricing of rings that leave the machine (struct gt_external_ports): for
 * search/ring/pricing.c.  The world outside is one more place of a ring, which
 * is reached and left by the ports that are cheapest; for each group of ports
 * by itself, since only within one a way in goes with every way out.
 */
#ifndef GT_SEARCH_RING_PRICING_EXTERNAL_H
#define GT_SEARCH_RING_PRICING_EXTERNAL_H

#include <stdint.h>

struct gt_external_pricer;
struct gt_external_ports;

/*
 * These do what the functions of search/ring/pricing.h do; orders are those of
 * search/problem/link_rows.h.
 */
struct gt_external_pricer *gt_external_pricer_new(
	uint32_t n, const struct gt_external_ports *external, int quick);
void gt_external_pricer_free(struct gt_external_pricer *pricer);
void gt_external_pricer_run(struct gt_external_pricer *pricer,
			    const int64_t *weights);
uint32_t gt_external_pricer_nrings(const struct gt_external_pricer *pricer);
int64_t gt_external_pricer_ring(const struct gt_external_pricer *pricer,
				uint32_t i, uint32_t *order);
int64_t gt_external_pricer_bound(struct gt_external_pricer *pricer,
				 const int64_t *weights);

#endif
