/*
 * A plan's proof in words: what was found, what a bound is about, and how far a
 * value is below it.  Every command that tells of a proof words it with these,
 * and gives rates as busbw, the unit of nccl-tests in which plans of all shapes
 * compare.
 */
#ifndef GT_CLI_COMMON_PROOF_TEXT_H
#define GT_CLI_COMMON_PROOF_TEXT_H

#include <stdint.h>

struct gt_buf;
struct gt_plan;
struct gt_plan_proof;

enum { GT_PROOF_SUBJECT_MAX = 96, GT_PROOF_RATE_MAX = 64 };

/* Name what the plan is made of: "rings", "flows", "trees" or "a mesh". */
const char *gt_proof_text_found(const struct gt_plan *plan);

/* Writes a rate as "120 GB/s busbw (68.57 algbw)" into text. */
const char *gt_proof_text_rate(double busbw, double algbw,
			       char text[GT_PROOF_RATE_MAX]);

/* Writes the rate that the plan claims, as gt_proof_text_rate() does. */
const char *gt_proof_text_value(const struct gt_plan *plan,
				char text[GT_PROOF_RATE_MAX]);

/*
 * " over its routes" if the bound holds for what takes the plan's routes, one
 * for each pair of ranks, " over its routes and relays" if a rank may be
 * between two others, and "" if it holds for whatever the links can do.  Behind
 * it stands " with what all nodes have" where some have more.
 * That of the proof's own class, or, if `any` is set, that of any schedule.
 */
const char *gt_proof_text_routes(const struct gt_plan *plan, int any);

/*
 * Name what the bound is about, with its verb: "rings over its routes reach",
 * "3 rings or fewer over its routes reach", "schedules reach"; of a cluster's
 * plan "schedule reaches".
 */
const char *gt_proof_text_subject(const struct gt_plan *plan,
				  char text[GT_PROOF_SUBJECT_MAX]);

/* Add "3 rings or fewer". */
void gt_proof_text_rings(uint32_t n, struct gt_buf *out);

/* Return by how many percent the bound is above the value. */
double gt_proof_text_gap(double value, double bound);

/*
 * Is a gap of so many percent only what shares lose by being rounded, so that
 * their sums fit 64 bits?  It is told, since such a plan is not the optimum,
 * but not as something that a better plan would gain.
 */
int gt_proof_text_is_rounding(double gap_percent);

/* A value and its bound as busbw, which the next function words. */
struct gt_proof_text {
	const char *subject; /* as of gt_proof_text_subject() */
	double value, bound;
	int optimal;
};

/* Add "proved: no rings reach more", or more than what, without a line end. */
void gt_proof_text_proved(const struct gt_proof_text *text, struct gt_buf *out);

/*
 * Add "no schedule over its routes reaches more than 24 GB/s busbw (50% more)".
 */
void gt_proof_text_any(const struct gt_plan *plan, struct gt_buf *out);

/*
 * Add " but for 1, 3", the numbers of equal rings of which the proof's prices
 * do not show that they reach no more; nothing when there are none.
 */
void gt_proof_text_open(const struct gt_plan_proof *proof, struct gt_buf *out);

#endif
