/*
 * A plan's proof in words: what was found, what a bound is about, and how far a
 * value is below it.  Every command that tells of a proof words it with these.
 */
#ifndef GT_CLI_COMMON_PROOF_TEXT_H
#define GT_CLI_COMMON_PROOF_TEXT_H

#include <stdint.h>

struct gt_buf;
struct gt_plan;
struct gt_plan_proof;

enum { GT_PROOF_SUBJECT_MAX = 48 };

/* Name what the plan is made of: "rings", "flows" or "trees". */
const char *gt_proof_text_found(const struct gt_plan *plan);

/*
 * Name what the bound is about, with its verb: "rings reach", "3 rings or fewer
 * reach", "schedules reach"; of a cluster's plan "schedule reaches".
 */
const char *gt_proof_text_subject(const struct gt_plan *plan,
				  char text[GT_PROOF_SUBJECT_MAX]);

/* Add "3 rings or fewer". */
void gt_proof_text_rings(uint32_t n, struct gt_buf *out);

/* Return by how many percent the bound is above the value. */
double gt_proof_text_gap(double value, double bound);

/* A value and its bound in GB/s, which the next function words. */
struct gt_proof_text {
	const char *subject; /* as of gt_proof_text_subject() */
	const char *unit;    /* "GB/s", "GB/s a pair" */
	double value, bound;
	int optimal;
};

/* Add "proved: no rings reach more", or more than what, without a line end. */
void gt_proof_text_proved(const struct gt_proof_text *text, struct gt_buf *out);

/* Add "no schedule at all reaches more than 24 GB/s (50% more)". */
void gt_proof_text_any(const struct gt_plan_proof *proof, struct gt_buf *out);

/*
 * Add " but for 1, 3", the numbers of equal rings of which the proof's prices
 * do not show that they reach no more; nothing when there are none.
 */
void gt_proof_text_open(const struct gt_plan_proof *proof, struct gt_buf *out);

#endif
