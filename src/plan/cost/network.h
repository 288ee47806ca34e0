/*
 * The files of the cost model share this: a row's programs as processes joined
 * by edges, and their execution in time.  Others use plan/cost/cost.h.
 */
#ifndef GT_PLAN_COST_NETWORK_H
#define GT_PLAN_COST_NETWORK_H

#include <stdint.h>

#include "plan/cost/params.h"
#include "plan/ir/program.h"

struct gt_arena;
struct gt_err;

/* Which part of a link's bytes is data on a leg. */
enum gt_cost_rate {
	GT_COST_RATE_LINK,
	GT_COST_RATE_HOST,    /* bytes wait in the host's memory on the way */
	GT_COST_RATE_ONE_WAY, /* the same of one direction of PCIe */
};

/* The time that a byte takes on a link of a route. */
struct gt_cost_leg {
	uint32_t link;
	enum gt_cost_rate rate;
	double us;
};

struct gt_cost_route {
	uint32_t nlegs;
	struct gt_cost_leg *legs;
};

/* One FIFO of a group of workers: who writes and who reads it, over what. */
struct gt_cost_edge {
	/*
	 * One route, or for a cluster's templates one by the local rank of the
	 * block's root.
	 */
	const struct gt_cost_route *routes;
	uint32_t nroutes;
	uint32_t from, to; /* processes */
	uint32_t tag;      /* of the program's connections */
	enum gt_cost_hop kind;
	/* Counts since the run began; the k-th time is in place k & mask. */
	uint32_t written, read, freed, taken;
	double *data_us, *credit_us;
};

/* A connection's part in a step. */
struct gt_cost_end {
	uint32_t edge; /* from the process's first one on */
	uint8_t sends, waits, posts;
	uint8_t moves; /* it moves bytes over links */
};

/* A step, as far as it takes time. */
struct gt_cost_op {
	const struct gt_cost_end *ends;
	uint32_t nends;
	uint32_t nlocal; /* operands that are in the rank's own memory */
	uint32_t route;  /* of an edge that has several */
	double scale; /* of a piece: what its pair has of the largest block */
};

/* One program: a rank on a lane of a channel, by a group of workers. */
struct gt_cost_proc {
	const struct gt_cost_op *ops;
	struct gt_cost_edge *edges; /* those of its group */
	/* The edge that it waits for; NULL while it is queued, or done. */
	const struct gt_cost_edge *lacks;
	double time_us; /* when it can go on */
	uint32_t nops;
	uint32_t rank;
	uint32_t selected; /* which of the row's channels it is on */
	uint32_t group;
	uint32_t loop, piece;
	uint32_t op;
};

/* A process that can go on, and when. */
struct gt_cost_event {
	double time_us;
	uint32_t proc;
};

/* What is the same for all pieces of a channel in a run. */
struct gt_cost_pace {
	double bytes;
	double worker_us; /* that a worker takes */
	double *local_us; /* that the rank's memory takes, by op.nlocal */
	uint32_t pieces;
};

struct gt_cost_net {
	const struct gt_plan *plan;
	struct gt_arena *arena;
	uint32_t nprocs, nselected, nlanes, slots;
	uint32_t nedges;  /* of all groups, one group's behind another's */
	uint32_t mask;    /* one less than a power of two, at least slots */
	uint32_t ngroups; /* of workers, that wait each on its own */
	struct gt_cost_proc *procs;
	struct gt_cost_edge *edges;
	const uint32_t *selected; /* channel indices */
	/*
	 * Links of each node, then uplinks of switches: gt_cost_uplink(); of a
	 * staged plan its links, then both ways of each (route.c).
	 */
	uint32_t nlinks;
	double *link_free_us;       /* when a link has served all so far */
	double *link_busy_us;       /* how long it served */
	double *local_free_us;      /* a rank's memory */
	uint32_t nlocal;            /* the most that an op has, and one */
	struct gt_cost_pace *paces; /* by selected channel */
	struct gt_cost_event *heap; /* ordered by time */
	uint32_t heap_len;
	/*
	 * For lower_bound.c, by selected channel; NULL until they are needed.
	 */
	double *alpha_us; /* of a message without bytes */
	double *load_us;  /* of each link, for a byte in each piece */
};

/* How the channel's part of a message is cut. */
struct gt_cost_slicing {
	uint32_t workers;
	uint32_t pieces;    /* pieces a slice is handed over in */
	double loops;       /* loops of the message; 0: nothing to move */
	double piece_bytes; /* of all workers together */
};

enum {
	GT_COST_LOOPS = 4,  /* loops that are executed */
	GT_COST_PIECES = 2, /* pieces of a slice, at most */
	/*
	 * Groups of workers wait on their own while others use the links.  More
	 * groups than this change nothing that shows.
	 */
	GT_COST_GROUPS = 3,
};

struct gt_cost_run {
	const struct gt_cost_params *params;
	const struct gt_cost_slicing *slicings; /* by selected channel */
	uint32_t ngroups; /* that the workers are divided into */
	/* loops to execute, up to GT_COST_LOOPS */
	uint32_t loops;
	double end_us[GT_COST_LOOPS]; /* of each loop, filled in */
};

/* Lower and connect everything that row `row` uses for `coll`. */
int gt_cost_net_init(struct gt_cost_net *net, const struct gt_plan *plan,
		     uint32_t row, enum gt_coll coll, struct gt_arena *arena,
		     struct gt_err *err);

/*
 * The routes (route.c): links of every hop, and the kind and the routes of an
 * edge between two ranks, whose tag is set.
 */
struct gt_cost_routes;
int gt_cost_routes_new(const struct gt_plan *plan, struct gt_arena *arena,
		       struct gt_cost_routes **routes, struct gt_err *err);
uint32_t gt_cost_routes_nlinks(const struct gt_cost_routes *routes);
int gt_cost_routes_find(const struct gt_cost_routes *routes, uint32_t channel,
			uint32_t from, uint32_t to, struct gt_cost_edge *edge,
			struct gt_err *err);

/*
 * The number, as a link, of the uplink of the switch of a level (not the last)
 * and rail that `node` is below.
 */
uint32_t gt_cost_uplink(const struct gt_plan *plan, uint32_t level,
			uint32_t node, uint32_t rail, int in);

/* Bounds are taken down by more than sums in another order may differ. */
#define GT_COST_SURE (1 - 1e-9)

/*
 * Set link_busy_us to what a loop puts on links, without executing it
 * (lower_bound.c).
 */
int gt_cost_net_serve(struct gt_cost_net *net, const struct gt_cost_run *run,
		      struct gt_err *err);

/*
 * A time that `loops` loops take at least, for any order of service
 * (lower_bound.c): a loop without bytes, then what the busiest link serves.
 */
int gt_cost_net_lower_bound(struct gt_cost_net *net,
			    const struct gt_cost_run *run, double loops,
			    double *time_us, struct gt_err *err);

static inline double gt_cost_leg_rate(const struct gt_cost_leg *leg,
				      const struct gt_cost_params *params)
{
	return leg->rate == GT_COST_RATE_LINK   ? params->rate
	       : leg->rate == GT_COST_RATE_HOST ? params->host_rate
						: params->host_one_way_rate;
}

static inline const struct gt_cost_route *gt_cost_edge_route(
	const struct gt_cost_edge *edge, const struct gt_cost_op *op)
{
	return &edge->routes[edge->nroutes > 1 ? op->route : 0];
}

/*
 * Execute run->loops loops from time 0.  GT_ENO when processes wait for each
 * other in a circle.
 */
int gt_cost_net_run(struct gt_cost_net *net, struct gt_cost_run *run,
		    struct gt_err *err);

#endif
