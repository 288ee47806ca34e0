/*
 * The graph of one node in a cluster's plan, or of all links where ranks are
 * listed one by one: its vertices are the names in links' ids, which are
 * "FROM>TO".
 */
#ifndef GT_PLAN_CHECK_LINK_GRAPH_H
#define GT_PLAN_CHECK_LINK_GRAPH_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_plan;

enum { GT_NO_VERTEX = UINT32_MAX };

struct gt_link_graph {
	uint32_t n;
	const char **names;  /* sorted */
	uint32_t *from, *to; /* by link */
	uint32_t *rank;      /* local rank -> vertex, or GT_NO_VERTEX */
	/* In a cluster's plan, GT_NO_VERTEX where there is none: */
	uint32_t *back; /* the link from `to` to `from` */
	uint32_t *port; /* vertex -> port */
};

/*
 * Make the graph of the plan; its memory is the arena's.  GT_ENO when ids or
 * ports are not as they should be.
 */
int gt_link_graph_init(const struct gt_plan *plan, struct gt_arena *arena,
		       struct gt_link_graph *vertices, struct gt_err *err);

/* The vertex of this name, or GT_NO_VERTEX. */
uint32_t gt_link_graph_find(const struct gt_link_graph *vertices,
			    const char *name);

#endif
