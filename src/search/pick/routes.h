/*
 * What the GPUs of a choice can use of their machine: the links of their
 * routes, and how much of each.
 *
 * A choice is a set of GPUs, one bit for each in order of the query.  One
 * struct serves one thread.
 */
#ifndef GT_SEARCH_PICK_ROUTES_H
#define GT_SEARCH_PICK_ROUTES_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_err;
struct gt_path;
struct gt_paths;
struct gt_pick_query;

/* A link that routes cross, with what it carries of them. */
struct gt_pick_link {
	uint32_t from, to;
	/* [1]: if all that crosses it is charged (topo/graph/path.h) */
	struct gt_rat gbs[2];
	int64_t scaled[2]; /* the same times `scale`, rounded up */
};

/* The ports nearest to a GPU, and the routes to them. */
struct gt_pick_near {
	uint32_t n;
	uint32_t *ports;
	const struct gt_path **paths;
};

struct gt_pick_routes {
	const struct gt_pick_query *query;
	struct gt_paths *paths; /* which relay through no GPU */
	uint32_t nlinks;
	struct gt_pick_link *links; /* as in the topology */
	int64_t scale;
	/*
	 * [from * ngpus + to]: the GPUs that relay for the pair, more than
	 * three times as wide as its own route
	 */
	uint64_t *relays;
	struct gt_pick_near *near; /* by GPU */
	/* The links of the choice that was asked for last. */
	uint32_t nused;
	uint32_t *used;
	unsigned char *use; /* by link; enum gt_pick_use */
};

enum gt_pick_use {
	GT_PICK_UNUSED,
	GT_PICK_CHARGED, /* all routes over it are charged */
	GT_PICK_PLAIN,
};

/* Release also after failure. */
int gt_pick_routes_init(struct gt_pick_routes *routes,
			const struct gt_pick_query *query,
			struct gt_arena *arena, struct gt_err *err);
void gt_pick_routes_release(struct gt_pick_routes *routes);

/* Set `used` and `use` to the links of the routes within a choice. */
void gt_pick_routes_use(struct gt_pick_routes *routes, uint64_t choice);

/* Add the links between the GPUs of a choice and the ports near them. */
void gt_pick_routes_add_ports(struct gt_pick_routes *routes, uint64_t choice);

/* What the used link number `link` carries: exactly, and scaled. */
static inline struct gt_rat gt_pick_link_gbs(const struct gt_pick_routes *r,
					     uint32_t link)
{
	return r->links[link].gbs[r->use[link] == GT_PICK_CHARGED];
}

static inline int64_t gt_pick_link_scaled(const struct gt_pick_routes *r,
					  uint32_t link)
{
	return r->links[link].scaled[r->use[link] == GT_PICK_CHARGED];
}

#endif
