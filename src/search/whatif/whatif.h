/*
 * The analysis of what limits a plan and what would raise it: links that the
 * plan fills are doubled, one sort after the other and all together, GPUs get
 * peer access and bridges, and the search solves the problem again.  Nothing
 * here is printed; the command words the result.
 *
 * A result owns all that it points to and may outlive the machine, the request
 * and the plan.
 */
#ifndef GT_SEARCH_WHATIF_WHATIF_H
#define GT_SEARCH_WHATIF_WHATIF_H

#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/program.h"

struct gt_arena;
struct gt_err;
struct gt_cluster_request;
struct gt_plan;
struct gt_search_request;
struct gt_topo;

/* A gain below this is no news: the change is left out of the result. */
#define GT_WHATIF_MIN_GAIN 1.0005

/* Links that the plan fills, each counted once for both directions. */
struct gt_whatif_full {
	const char *name;     /* its two devices, or, of several, their kinds */
	struct gt_rat gbs;    /* of one link, one way */
	uint32_t n;           /* links of this sort in a node */
	uint32_t nmembers;    /* how many of them are named; 0: too many */
	const char **members; /* "GPU0–NVSwitch" */
};

/* Switches of a cluster whose uplinks the plan fills. */
struct gt_whatif_level {
	uint32_t nodes;    /* below one switch */
	int by_rail;       /* is there one switch for each rail? */
	struct gt_rat gbs; /* of the uplink, each way */
};

/* More of something, and what it brings. */
struct gt_whatif_change {
	const char *name; /* "a second link CPU0–CPU1" */
	const char *link; /* "CPU0–CPU1" if the change is about one, or NULL */
	double gain;      /* the value with it, over the value without it */
	uint64_t order;   /* comes first among equal gains if it is smaller */
	int is_told;      /* it is in the result whatever it brings */
};

/* Between whom a cluster's all-reduce has to exchange elements. */
enum gt_whatif_part {
	GT_WHATIF_PART_GPU,
	GT_WHATIF_PART_NODE,
	GT_WHATIF_PART_SWITCH, /* all nodes below one switch */
};

/* The value of a cluster's plan of templates, and why nothing reaches more. */
struct gt_whatif_cluster {
	uint32_t nnodes, ngpus; /* of each node */
	double value;           /* bytes of the result over the time, GB/s */
	int has_bound, optimal;
	double bound; /* likewise */
	/*
   * All-reduce: the bound's parts, and what one of them has; 0 parts:
   * the bound is a cut, where `inside` GPUs of a node are cut off from
   * `rest` others, and with them, if beyond is set, some of other nodes.
   */
	uint64_t nparts;
	enum gt_whatif_part part;
	double part_gbs;
	int beyond;
	uint32_t inside;
	uint64_t rest;
	double cut_gbs;
	/* Sorts of links that the bound leaves out: no route takes them. */
	uint32_t nunused;
	const char **unused;
	/* Levels of switches whose uplinks are full. */
	uint32_t nlevels;
	struct gt_whatif_level *levels;
};

struct gt_whatif {
	struct gt_arena *arena;
	/* Which nodes are unlike others, in lines, the planner's; or NULL. */
	const char *unlike;
	int homogenized; /* this is about what all nodes have */
	int cannot_try;  /* nothing was searched again */
	enum gt_coll coll;
	/* What gains are relative to: bytes of the result over the time. */
	double value_gbs;
	struct gt_whatif_cluster *cluster; /* NULL: of one machine */
	uint32_t nfull;
	struct gt_whatif_full *full;
	/* The changes stand in order of gain, the largest first. */
	uint32_t nchanges;
	struct gt_whatif_change *changes;
	double all_gain; /* of all changes at once; 0: it was not tried */
	/* What NVSwitches that reduce allow (in_switch.h), as busbw; 0: none */
	struct gt_rat in_switch_gbs;
};

/* A plan that a search found on one machine, or on a cluster as one. */
struct gt_whatif_machine {
	struct gt_topo *topo; /* edited meanwhile, left as it was; or NULL */
	/* request->flat, in place of the topology, is edited likewise. */
	const struct gt_search_request *request;
	const char *algo; /* NULL: nothing is searched again */
	const struct gt_plan *plan;
};

/* *whatif is the caller's.  A plan without proof has neither links nor gains.
 */
int gt_whatif_of_machine(const struct gt_whatif_machine *machine,
			 struct gt_whatif **whatif, struct gt_err *err);

/*
 * Analyse a cluster's plan of templates, or its flow; *whatif is the caller's.
 */
int gt_whatif_of_cluster(const struct gt_cluster_request *request,
			 struct gt_whatif **whatif, struct gt_err *err);

/* NULL is allowed. */
void gt_whatif_free(struct gt_whatif *whatif);

#endif
