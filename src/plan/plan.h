/*
 * The plan: how bytes move, as data.  It is the narrow waist of gtopo: it
 * names ranks, devices and links by strings, embeds the links it uses with
 * exact capacities, and says of each channel which share of the bytes it
 * carries along which graph.  gtopo-plan(5) explains every field; the schema
 * is share/schema/plan-1.schema.json.
 *
 * A plan is built once (by the reader or the search), then only read: any
 * number of threads may share it.  Everything in it belongs to its arena.
 */
#ifndef GT_PLAN_PLAN_H
#define GT_PLAN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/rat.h"
#include "plan/program.h"

struct gt_arena;
struct gt_err;
struct gt_buf;

enum gt_shape {
	GT_SHAPE_RING,     /* order: a Hamiltonian cycle of the ranks */
	GT_SHAPE_CHAIN,    /* order: a Hamiltonian path */
	GT_SHAPE_TREE,     /* root, parent: a spanning out-tree */
	GT_SHAPE_MESH,     /* every pair directly */
	GT_SHAPE_TEMPLATE, /* edges times a group of symmetries */
	GT_NSHAPES
};

enum gt_transport {
	GT_TRANSPORT_PEER, /* loads and stores between GPUs */
	GT_TRANSPORT_SHM,  /* through host memory */
	GT_TRANSPORT_TCP,
	GT_TRANSPORT_VERBS,
	GT_NTRANSPORTS
};

enum gt_proof_class {
	GT_PROOF_RING, /* optimal among Hamiltonian rings */
	GT_PROOF_ANY,  /* among all schedules without in-network compute */
	GT_NPROOFS
};

enum gt_protocol {
	GT_PROTOCOL_SIMPLE,
	GT_PROTOCOL_LL,
	GT_PROTOCOL_LL128,
	GT_NPROTOCOLS
};

struct gt_plan_rank {
	const char *node;   /* "n0" */
	const char *device; /* bus id */
	const char *name;   /* for people; NULL: unknown */
};

struct gt_plan_link {
	const char *id;
	const char *kind; /* NVL, C2C, PCI, SYS, NET ... */
	struct gt_rat gbs;
};

/*
 * One hop of a channel.  `charge` multiplies the hop's rate on links of kind
 * PCI (1, or 6/5 for a GPU pair through an Intel host bridge, whose
 * peer-to-peer packets are smaller; NCCL's model).
 */
struct gt_plan_hop {
	uint32_t from, to; /* ranks */
	enum gt_transport transport;
	struct gt_rat charge;
	uint32_t nroute;
	uint32_t *route; /* indices into links */
};

struct gt_plan_channel {
	uint32_t id;
	enum gt_shape shape;
	uint32_t norder;
	uint32_t *order; /* ring, chain */
	uint32_t root;
	int32_t *parent;     /* tree: nranks entries, -1 at the root */
	struct gt_rat share; /* of the output; all shares sum to 1 */
	struct gt_rat gbs;   /* what the channel moves on each of its hops */
	uint32_t nhops;
	struct gt_plan_hop *hops; /* ring, chain: as in order */
};

struct gt_plan_price {
	uint32_t link;
	struct gt_rat price; /* per GB/s of capacity */
};

/*
 * The route that the hardware fixes for an ordered pair of ranks, and its
 * charge: what a hop between the two loads, whether a channel uses it or not.
 */
struct gt_plan_route {
	uint32_t from, to; /* ranks */
	struct gt_rat charge;
	uint32_t nlinks;
	uint32_t *links;
};

/*
 * A set of ranks and links that all its outgoing routes have to cross (all
 * incoming ones when the collective is reduce-scatter).
 */
struct gt_plan_part {
	uint32_t nranks;
	uint32_t *ranks;
	uint32_t nlinks;
	uint32_t *links;
};

/*
 * How good the plan is.  value: what the channels reach together (ring: the
 * sum of their gbs); bound: what no plan of the class exceeds; any_bound:
 * what no plan at all exceeds (no in-network compute), in the same unit.
 *
 * bound's certificate is a list of link prices: the sum of price * capacity
 * is the bound, and no Hamiltonian ring of `routes` costs less than 1 (a hop
 * costs the sum over its route of price, times charge on links of kind PCI).
 *
 * any_bound's certificate is `parts`, with cap(P) the capacity of P's links:
 *   all-gather, reduce-scatter: one part P of k < nranks ranks, all of whose
 *     blocks leave (enter) it: (nranks - 1) * cap(P) / k;
 *   all-reduce: p >= 2 parts, each rank in one; every element needs p - 1
 *     messages between parts to be combined and p - 1 to be spread:
 *     (nranks - 1) / nranks * sum of cap / (p - 1).
 */
struct gt_plan_proof {
	enum gt_proof_class class_;
	struct gt_rat value, bound, any_bound;
	int has_any_bound;
	int optimal; /* value == bound, exactly */
	uint32_t nprices, nroutes, nparts;
	struct gt_plan_price *prices;
	struct gt_plan_route *routes; /* of all ordered pairs, or none */
	struct gt_plan_part *parts;
};

struct gt_plan_select {
	uint64_t max_bytes; /* UINT64_MAX: no limit */
	enum gt_shape algo;
	enum gt_protocol protocol;
	uint32_t nchannels;
	uint32_t *channels; /* ids */
	uint32_t workers;   /* per channel */
};

struct gt_plan {
	struct gt_arena *arena;
	const char *file; /* what it was read from, for messages, or NULL */
	enum gt_coll coll;
	const char *digest;       /* "sha256:...", or NULL */
	const char *shape_digest; /* likewise */
	const char *source;       /* the topology's file name, or NULL */
	const char *rates;        /* "measured", "nccl", "line", or NULL */
	uint32_t nranks, nlinks, nchannels, nselect;
	struct gt_plan_rank *ranks;
	struct gt_plan_link *links;
	struct gt_plan_channel *channels;
	struct gt_plan_select *select;
	int has_proof;
	struct gt_plan_proof proof;
	uint32_t fifo_slots;
	uint32_t fifo_slice_bytes;
};

/* An empty plan with an arena; NULL when memory ran out. */
struct gt_plan *gt_plan_new(void);

/* NULL is allowed. */
void gt_plan_free(struct gt_plan *plan);

/*
 * Read a plan ("-": standard input).  Checks the file's structure and the
 * types and ranges of fields; what is wrong is told with file and JSON path.
 * *plan is the caller's.
 */
int gt_plan_read(const char *path, struct gt_plan **plan, struct gt_err *err);

/* The same from memory; `name` is how messages call it. */
int gt_plan_parse(const char *name, const char *text, size_t len,
		  struct gt_plan **plan, struct gt_err *err);

/* Append the plan as JSON, in canonical key order, ending in a newline. */
int gt_plan_print(const struct gt_plan *plan, struct gt_buf *out,
		  struct gt_err *err);

/*
 * Static validity: orders are permutations, shares sum to 1, hops match the
 * order, routes exist, link loads are within capacities, values add up, the
 * proof's certificate proves its bound, FIFO and select make sense.  GT_ENO
 * with the JSON path when the plan is wrong.
 */
int gt_plan_check(const struct gt_plan *plan, struct gt_err *err);

/* Words of the enums, as in the JSON; _find gives -1 for none. */
const char *gt_coll_name(enum gt_coll coll);
const char *gt_shape_name(enum gt_shape shape);
const char *gt_transport_name(enum gt_transport transport);
const char *gt_protocol_name(enum gt_protocol protocol);
const char *gt_proof_name(enum gt_proof_class class_);
int gt_coll_find(const char *name);
int gt_shape_find(const char *name);
int gt_transport_find(const char *name);
int gt_protocol_find(const char *name);
int gt_proof_find(const char *name);
const char *gt_op_name(enum gt_op op);

#endif
