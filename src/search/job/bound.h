/*
 * What the traffic of a job takes at least: on ranks that have their places,
 * and wherever they are put.
 *
 * Of a group of n ranks whose buffer has S bytes, k of which are in a domain (a
 * GPU, a node, the nodes below a switch), at least so much enters the domain on
 * average over all domains, whatever the schedule, as long as switches do not
 * compute:
 *
 *     all-gather, reduce-scatter   (n - k) / n * S
 *     all-reduce                   2 (n - k) / n * S
 *     all-to-all                   k (n - k) / n * S
 *     send and receive             S
 *
 * and nothing where k is 0 or n.  (A group in m domains needs m - 1 messages
 * an element to combine and as many to spread: Harary and Schwenk 1974.)  A
 * phase takes no less than all that enters domains of a size over what they
 * take in together.
 *
 * Wherever ranks are put: all of these are concave in k, so moving a rank's
 * like along an axis (compression, as in Bollobas and Leader, "Edge-isoperi-
 * metric inequalities in the grid", 1991) never adds to what enters a node.  So
 * the best node is a down-set of the product of the axes: with each rank it has
 * those whose coordinates are none larger.  There are few of these, and all are
 * tried.  As each phase takes the greater of what enters GPUs and nodes, phases
 * are weighted (Lagrange), which gives a bound for any weights.
 */
#ifndef GT_SEARCH_JOB_BOUND_H
#define GT_SEARCH_JOB_BOUND_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_site;
struct gt_traffic;
struct gt_workload;

/* The bytes that enter k ranks of a group in a step, of all its uses. */
double gt_traffic_enters(const struct gt_traffic *traffic, uint32_t k);

/*
 * The seconds that each phase takes at least where rank r has place[r], into
 * phase_s[]; the sum of them.
 */
double gt_job_bound_placed(const struct gt_workload *workload,
			   const struct gt_site *site, const uint32_t *place,
			   double *phase_s);

/*
 * The seconds that a step's communication takes at least, wherever ranks are.
 * *joint becomes 0 when too many sets of ranks would have to be tried, so that
 * only GPUs were looked at.  GT_ESYS when memory ran out.
 */
int gt_job_bound_any(const struct gt_workload *workload,
		     const struct gt_site *site, struct gt_arena *arena,
		     double *seconds, int *joint, struct gt_err *err);

#endif
