/*
 * Why NCCL's channels are no faster: what it would choose if a rule of its
 * search did not hold.
 */
#ifndef GT_TOPO_NCCL_REASON_H
#define GT_TOPO_NCCL_REASON_H

#include <stdint.h>

struct gt_err;
struct gt_nccl_system;

/* The rules that can be lifted, one bit each. */
enum gt_nccl_rule {
	GT_NCCL_RULE_KIND,   /* kinds of routes in turn */
	GT_NCCL_RULE_ENOUGH, /* NVLinks or PCI filled is enough */
	GT_NCCL_RULE_GRID,   /* the grid of speeds */
	GT_NCCL_RULE_AMD,    /* channels alike between processors by AMD */
	GT_NCCL_RULE_TRIES,  /* the number of tries */
	GT_NCCL_NRULES
};

enum { GT_NCCL_ALL_RULES = (1 << GT_NCCL_NRULES) - 1 };

/*
 * What rings carry together without a rule alone, and without all of them, in
 * kB/s; 0 of what was not looked at in time.
 */
struct gt_nccl_reasons {
	int64_t without_kbs[GT_NCCL_NRULES];
	int64_t without_all_kbs;
};

/* Find them until a time of gt_clock_ns(); 0: however long it takes. */
int gt_nccl_reasons(const struct gt_nccl_system *system, int64_t deadline_ns,
		    struct gt_nccl_reasons *reasons, struct gt_err *err);

/* Returns a word for programs, "kind", "enough", "grid", "amd" or "tries". */
const char *gt_nccl_rule_name(enum gt_nccl_rule rule);

/* Returns the rule as a sentence without a full stop. */
const char *gt_nccl_rule_words(enum gt_nccl_rule rule);

#endif
