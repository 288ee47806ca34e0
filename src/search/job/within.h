/*
 * What the groups of a phase that stay in one node take at least, by the cuts
 * between its GPUs (search/job/cuts.h): the groups of each set of GPUs alone,
 * over the routes between these, and all of them together.
 *
 * Of a group of n ranks whose buffer has S bytes, k of which are on one side of
 * a cut, at least so much leaves that side:
 *
 *     all-gather        k / n * S
 *     reduce-scatter    (n - k) / n * S
 *     all-reduce        S
 *     all-to-all        k (n - k) / n * S
 *     send and receive  S for each rank whose next one is on the other side
 *
 * Between any two ranks go 2 (n - 1) S of an all-reduce, n S of what is sent
 * and received, and (n - 1) S of the others.  The p parts of a partition take
 * in 2 (p - 1) S together for an all-reduce (search/job/bound.h), and half of
 * that for an all-gather or reduce-scatter.
 */
#ifndef GT_SEARCH_JOB_WITHIN_H
#define GT_SEARCH_JOB_WITHIN_H

#include <stdint.h>

struct gt_site;
struct gt_traffic;
struct gt_workload;

/*
 * The seconds that a phase takes at least for its groups that are all on the
 * node of rank 0, where rank r has place[r]; 0 where nothing is known.
 */
double gt_within_placed(const struct gt_workload *workload,
			const struct gt_site *site, const uint32_t *place,
			uint32_t phase);

/*
 * The seconds that a group takes at least on the GPUs of a node that suit it
 * best; 0 where nothing is known.
 */
double gt_within_least(const struct gt_site *site,
		       const struct gt_traffic *traffic);

#endif
