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
#ifndef GT_PLAN_IR_PLAN_H
#define GT_PLAN_IR_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/rat.h"
#include "plan/ir/program.h"

struct gt_arena;
struct gt_buf;
struct gt_err;
struct gt_plan_cluster;
struct gt_plan_demand;
struct gt_plan_template;

enum gt_shape {
	/*
	 * order: a Hamiltonian cycle of the ranks, or, in a cluster, one that
	 * goes through a node's ranks (plan/ir/cluster.h)
	 */
	GT_SHAPE_RING,
	GT_SHAPE_CHAIN,    /* order: a Hamiltonian path */
	GT_SHAPE_TREE,     /* root, parent: a spanning out-tree */
	GT_SHAPE_MESH,     /* every pair directly */
	GT_SHAPE_FLOW,     /* paths: pairs directly, or through other ranks */
	GT_SHAPE_TEMPLATE, /* edges times a group of symmetries */
	GT_SHAPE_STEPS,    /* what the plan's programs say */
	GT_SHAPE_SWITCH,   /* vertices: a tree through switches that compute */
	GT_NSHAPES
};

/* How channels are used: the algorithm that a row of `select` names. */
enum gt_algo {
	GT_ALGO_RING,
	GT_ALGO_TREE,     /* trees and chains */
	GT_ALGO_ONE_SHOT, /* mesh: everything to everyone who needs it */
	GT_ALGO_TWO_SHOT, /* mesh: each rank first has a part to itself */
	GT_ALGO_FLOW,     /* flows: each block along its path; clusters' too */
	GT_ALGO_HIER,     /* templates: each rank's block along a tree */
	GT_ALGO_STEPS,    /* the plan's programs, for one collective */
	GT_ALGO_NVLS,     /* NVSwitches multicast and add up */
	GT_ALGO_COLLNET,  /* switches of the network do (SHARP) */
	GT_NALGOS
};

enum gt_transport {
	GT_TRANSPORT_PEER, /* loads and stores between GPUs */
	GT_TRANSPORT_SHM,  /* through the host's memory */
	GT_TRANSPORT_TCP,
	GT_TRANSPORT_VERBS,
	GT_NTRANSPORTS
};

enum gt_proof_class {
	GT_PROOF_RING, /* optimal among Hamiltonian rings */
	GT_PROOF_TREE, /* among trees, all-reduce going up and down the same */
	GT_PROOF_ANY,  /* among all schedules without in-network compute */
	GT_PROOF_SWITCH, /* among trees through the plan's switches */
	GT_NPROOFS
};

enum gt_protocol {
	GT_PROTOCOL_SIMPLE,
	GT_PROTOCOL_LL,
	GT_PROTOCOL_LL128,
	GT_PROTOCOL_DIRECT, /* registered user buffers, no FIFO */
	GT_PROTOCOL_CE,     /* copy engines */
	GT_NPROTOCOLS
};

struct gt_plan_rank {
	const char *node;   /* "n0" */
	const char *device; /* bus id */
	const char *name;   /* for people; NULL: unknown */
	uint32_t dev;       /* NVML's and NCCL's number of the GPU */
	int has_dev;
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
	/*
	 * In a cluster: the hop leads from a local rank of one node to one of
	 * another; the charge is the sender's, as far as the port.
	 */
	int network;
	uint32_t common; /* 1 + its number among the plan's; 0: not there */
};

/*
 * The path by which a flow gets the block that the path's first rank has for
 * its last one.  In a cluster (plan/ir/cluster.h) a path is for all pairs of a
 * rank of one node and one of another of its class, or of the same node.
 */
struct gt_plan_path {
	uint32_t nranks; /* at least 3, each once */
	uint32_t *ranks;
	/* in a cluster instead: gt_nodes_class(), and hops of the channel */
	uint32_t class_, nhops;
	uint32_t *hops;
};

/*
 * A vertex of a tree through switches that multicast and add up.  A rank is a
 * leaf below a switch, where its bytes come from and the result goes to.  It
 * may also drive: as GPUs do for NVSwitches, it reads the sum of what hangs
 * below it from the switch, and writes the result for the switch to multicast.
 * Whatever hangs from a vertex, each of its links to the parent carries the
 * channel's bytes once in a direction.
 */
struct gt_plan_vertex {
	const char *name; /* a switch, as links call it; NULL: a rank */
	uint32_t rank;
	int drives;     /* a rank that only passes on here */
	int32_t parent; /* a vertex; -1 at the root */
	uint32_t nup, ndown;
	uint32_t *up, *down; /* links to the parent, and from it */
};

struct gt_plan_channel {
	uint32_t id;
	enum gt_shape shape;
	uint32_t norder;
	uint32_t *order; /* ring, chain */
	uint32_t root;
	/*
	 * Tree: nranks entries, -1 at the root; in a cluster those of a node.
	 */
	int32_t *parent;
	int second; /* tree of a cluster: which of two (plan/ir/cluster.h) */
	uint32_t
		/*
		 * flow: of pairs that do not go directly; in a cluster: of all
		 */
		npaths;
	struct gt_plan_path *paths;
	uint32_t nchunks;   /* steps: the result is divided into so many */
	uint32_t nscratch;  /* steps: scratch places of each rank */
	uint32_t nvertices; /* switch; there are no hops then */
	struct gt_plan_vertex *vertices;
	struct gt_rat share; /* of the result; those of a row sum to 1 */
	/*
	 * The rate on each of the channel's hops; of a flow for each pair, of
	 * steps on a hop that every chunk takes once.
	 */
	struct gt_rat gbs;
	uint32_t nhops;
	/*
	 * Ring, chain: as in order.  Where a ring's hop is relayed there are
	 * two in its place (gt_plan_ring_relay()).
	 */
	struct gt_plan_hop *hops;
	/*
	 * template: one for each local rank, in order; hops are between local
	 * ranks and in the direction away from the root
	 */
	struct gt_plan_template *templates;
	/* template: for each hop from its root a block waits so many blocks */
	uint32_t lag;
};

/*
 * The price of a link in a certificate.  In those about a cluster's rings and
 * flows uplinks have prices as well; their numbers follow those of links
 * (gt_nodes_uplink()).
 */
struct gt_plan_price {
	uint32_t link;
	struct gt_rat price; /* per GB/s of capacity */
};

struct gt_plan_prices {
	uint32_t n;
	struct gt_plan_price *list;
};

/*
 * The route that the hardware fixes for an ordered pair of ranks, and its
 * charge: a hop between the two loads these links, whether a channel uses it or
 * not.  In a cluster routes are between local ranks, and between ranks and
 * ports, whose numbers follow those of the local ranks.
 */
struct gt_plan_route {
	uint32_t from, to; /* ranks */
	struct gt_rat charge;
	uint32_t nlinks;
	uint32_t *links;
	/* The two have no peer access: their hops have GT_TRANSPORT_SHM. */
	int is_staged;
};

/*
 * A set of ranks and links that all its outgoing routes have to cross (all
 * incoming ones when the collective is reduce-scatter, reduce or gather).
 */
struct gt_plan_part {
	uint32_t nranks;
	uint32_t *ranks;
	uint32_t nlinks;
	uint32_t *links;
};

/*
 * A set of a cluster's vertices, for its bounds.  A name is the class of the
 * node, a slash and the vertex (plan/check/cluster_cut.c).
 */
struct gt_plan_set {
	uint32_t n;
	const char **vertices;
};

/*
 * How good the plan is.  `value` is the rate of the channels of
 * gt_plan_main_row() together, the sum of their gbs; times
 * gt_plan_algbw_factor() it is the size of the result over the time.  No plan
 * of the class exceeds `bound`, and no plan at all (without in-network compute)
 * exceeds `any_bound`, in the same unit.
 *
 * The certificate of `bound` is a list of link prices: the sum of price *
 * capacity is the bound, and whatever a plan of the class does costs at least 1
 * for each byte of the result (a hop costs the sum over its route of price,
 * times charge on links of kind PCI):
 *   class ring: no Hamiltonian ring of `routes` costs less than 1; in a cluster
 *     (plan/ir/cluster.h) no path through all ranks of a node, from port to
 *     port, does;
 *   class any: broadcast, reduce: no tree from or to the root does; all-gather,
 *     reduce-scatter: each rank's cheapest tree costs 1 on average.  Every
 *     byte leaves a tree behind, whatever the schedule;
 *   class any of what only moves (gt_coll_only_moves()): the cheapest paths of
 *     all pairs of ranks cost 1 together, each times its part of the largest
 *     block where there is a demand; in a cluster those that begin in one
 *     node, where crossing an uplink costs its price for each node below it.
 *     Every byte leaves a path behind, as long as it is passed on as it is;
 *   class tree, of an all-reduce: no tree, up and down together, does;
 *   class switch: no tree through the plan's switches does, which all ranks
 *     hang from as in the plan, and which any rank of each switch drives, over
 *     any way along the plan's links, not through GPUs, to one that joins them
 *     (plan/check/switch_bound.c).
 *
 * Where the proof is about at most max_channels channels (class ring), a
 * channel has a price as well.  A hop's room is the least of its links'
 * capacity over charge, a ring's room that of its narrowest hop, which is more
 * than it carries: so it costs channel_price / room a byte besides, and the
 * bound has max_channels * channel_price more.
 *
 * any_bound's certificate, and instead of prices that of a bound of class any,
 * is `parts`.  The capacity of their links over what has to cross them, as a
 * fraction of the result of n blocks, bounds the size of the result over the
 * time:
 *   all-gather, reduce-scatter: one part of k < n ranks: k / n, its blocks;
 *   broadcast, reduce: one part that holds the root: 1;
 *   gather, scatter: one part of k ranks that holds the root: (n - k) / n;
 *   all-to-all: one part of k ranks: k (n - k) / n;
 *   send and receive: one part: its ranks r whose r + 1 is not in it;
 *   all-reduce: p >= 2 parts, each rank in one: 2 (p - 1), as every element
 *     needs p - 1 messages between parts to be combined and p - 1 to be
 *     spread.
 */
struct gt_plan_proof {
	enum gt_proof_class class_;
	struct gt_rat value, bound, any_bound;
	int has_any_bound;
	int optimal;   /* value == bound, exactly */
	int has_busbw; /* the file states the value as busbw, too */
	double busbw_gbs, gap;
	int has_gap;
	uint32_t max_channels; /* 0: any number; else of class ring */
	struct gt_rat channel_price;
	/* Class ring: over routes of two hops, by a rank between, neither. */
	int relays;
	uint32_t nprices, nroutes, nparts;
	struct gt_plan_price *prices;
	/* of all ordered pairs of ranks, or none */
	struct gt_plan_route *routes;
	struct gt_plan_part *parts;
	uint32_t nsets; /* in a cluster, in place of parts */
	struct gt_plan_set *sets;
	/*
	 * The bound on rings of one share: no k of them, for k up to nequal,
	 * reach more than the value.  With more than value / k each, few fit on
	 * a link; under the prices equal[k - 1] all that fits is worth less
	 * than k, and no ring costs less than 1.  An empty list of prices means
	 * that nothing is proved for this k.
	 */
	uint32_t nequal;
	struct gt_plan_prices *equal;
	/*
	 * Links that none of `routes` crosses, which the sets therefore leave
	 * out.
	 */
	uint32_t nunused;
	uint32_t *unused;
};

/*
 * Which channels to use for messages of up to max_bytes, and how.  The rows of
 * one collective are in ascending order of size.  Channels of different rows
 * are alternatives that stand side by side: shares and loads count within a
 * row.  The plan's proof, its shares and gbs are about the last row of the
 * plan's own collective (gt_plan_main_row()).  An engine that cannot do a row's
 * protocol runs the same channels with GT_PROTOCOL_SIMPLE.
 */
struct gt_plan_select {
	uint64_t max_bytes; /* UINT64_MAX: no limit */
	enum gt_coll coll;
	enum gt_algo algo;
	enum gt_protocol protocol;
	uint32_t nchannels;
	uint32_t *channels;       /* indices into the plan's channels */
	uint32_t workers;         /* per channel */
	uint32_t slots;           /* 0: the plan's */
	uint32_t slice_bytes;     /* 0: the plan's */
	uint32_t detour_permille; /* plan/ir/detour.h; 0: none */
	uint32_t max_blocks;      /* GPUs: exec/engine.h; 0: no limit */
};

/*
 * How long one use of channels took on a machine, by size: what `gtopo tune`
 * measured.  Every use that was measured is here, so that what lost on one
 * machine can win on another.
 */
struct gt_plan_measured {
	struct gt_plan_select use; /* max_bytes means nothing here */
	const char *machine;       /* "cuda: 4 x NVIDIA H200" */
	uint32_t npoints;
	uint64_t *bytes; /* ascending, above 0 */
	double *time_us; /* above 0 */
};

struct gt_plan {
	struct gt_arena *arena;
	const char *file; /* what it was read from, for messages, or NULL */
	enum gt_coll coll;
	uint32_t root; /* of broadcast, reduce, gather, scatter */
	/* Of an all-to-all: what each pair has (plan/ir/demand.h); NULL: all
	   the same. */
	struct gt_plan_demand *demand;
	int out_of_place; /* it is right only where buffers do not overlap */
	/*
	 * Each element of what it adds up is made by one step, from the inputs
	 * of all ranks in the order of ranks, and then only copied: its bits
	 * depend on these inputs alone, as a step holds sums of what is
	 * narrower than a float in floats and rounds them once.
	 */
	int invariant;
	const char *digest;       /* "sha256:...", or NULL */
	const char *shape_digest; /* likewise */
	const char *source;       /* the topology's file name, or NULL */
	const char *rates;        /* "measured", "nccl", "line", or NULL */
	uint32_t nranks, nlinks, nchannels, nselect;
	struct gt_plan_rank *ranks;
	struct gt_plan_link *links;
	struct gt_plan_channel *channels;
	/* Hops that files list once; what channels have are copies of them. */
	uint32_t ncommon;
	struct gt_plan_hop *common;
	struct gt_plan_select *select;
	/*
	 * The programs of channels of shape steps, in order of channel, rank
	 * and lane.
	 */
	uint32_t nprograms;
	struct gt_program *programs;
	int has_proof;
	struct gt_plan_proof proof;
	uint32_t fifo_slots;
	uint32_t fifo_slice_bytes;
	/*
	 * The cluster whose node the links are of; NULL: ranks are listed one
	 * by one.
	 */
	struct gt_plan_cluster *cluster;
	uint32_t nmeasured;
	struct gt_plan_measured *measured;
};

/* An empty plan with an arena; NULL when memory ran out. */
struct gt_plan *gt_plan_new(void);

/* Release a plan and all that is in its arena; NULL is allowed. */
void gt_plan_free(struct gt_plan *plan);

/*
 * How bytes go over these of the plan's links: over a network by RDMA,
 * otherwise by access to each other's memory or, if it is staged, to the
 * host's.
 */
/*
 * The rank that relays the hop from the i-th rank of a ring's order to the
 * next, or UINT32_MAX.  The ring's hops have passed gt_plan_check().
 */
uint32_t gt_plan_ring_relay(const struct gt_plan_channel *ring, uint32_t i);

enum gt_transport gt_plan_transport(const struct gt_plan *plan,
				    const uint32_t *links, uint32_t nlinks,
				    int is_staged);

/*
 * Does a hop go through the host's memory?  Then engines have all that ranks
 * reach of each other there (docs/design/engine-gpu-staged.md).
 */
int gt_plan_is_staged(const struct gt_plan *plan);

/*
 * Do some hops go so, and others from GPU to GPU?  Then the value counts on
 * routes that engines do not take.
 */
int gt_plan_is_mixed(const struct gt_plan *plan);

/* Does a hop through the host's memory lead to the rank, and one from it? */
int gt_plan_stages_rank(const struct gt_plan *plan, uint32_t rank);

/* The row that the plan's proof is about; rows come from reader or search. */
const struct gt_plan_select *gt_plan_main_row(const struct gt_plan *plan);

/*
 * Is this row for messages of `coll`?  It is when it names it; or, when no row
 * does, when it is one of the plan's own collective and can do that as well.
 */
int gt_plan_row_serves(const struct gt_plan *plan,
		       const struct gt_plan_select *row, enum gt_coll coll);

/*
 * The row for a message of so many bytes, which is the last one that serves
 * coll when the message is larger than all limits; NULL when none serves coll.
 */
const struct gt_plan_select *gt_plan_row(const struct gt_plan *plan,
					 enum gt_coll coll, uint64_t bytes);

/*
 * Bytes of the result over time, for each GB/s of the plan's value: a ring's
 * hop carries (n - 1) / n of an all-gather, for instance.
 */
struct gt_rat gt_plan_algbw_factor(const struct gt_plan *plan);

/*
 * What a link that all bytes cross would carry for each GB/s of the result:
 * busbw over algbw, as nccl-tests define it, for n ranks.
 */
double gt_coll_busbw_factor(enum gt_coll coll, uint64_t n);

/*
 * A rate in the unit of the plan's value, as algbw and as busbw: these are
 * what people compare, whatever the channels' shape.
 */
double gt_plan_algbw(const struct gt_plan *plan, struct gt_rat value);
double gt_plan_busbw(const struct gt_plan *plan, struct gt_rat value);

/* What the proof's value is below its bound, as a part of that. */
double gt_plan_gap(const struct gt_plan *plan);

/*
 * What a channel adds to the busbw of the last row that uses it for the plan's
 * own collective; 0 when none does.
 */
double gt_plan_channel_busbw(const struct gt_plan *plan, uint32_t channel);

/*
 * Can the algorithm use channels of this shape?  And can it do the collective?
 */
int gt_algo_fits_shape(enum gt_algo algo, enum gt_shape shape);
int gt_algo_supports(enum gt_algo algo, enum gt_coll coll);

/* Do a tree's edges carry bytes away from the root; towards it? */
int gt_coll_goes_down(enum gt_coll coll);
int gt_coll_goes_up(enum gt_coll coll);

/* Does the collective add contributions up? */
int gt_coll_reduces(enum gt_coll coll);

/*
 * Does the collective only move blocks, each from one rank to one other?  And
 * has rank `from` a block for rank `to`, of n ranks?
 */
int gt_coll_only_moves(enum gt_coll coll);
int gt_coll_has_pair(enum gt_coll coll, uint32_t n, uint32_t root,
		     uint32_t from, uint32_t to);

/*
 * Are the collective's blocks not all alike?  So it is where the plan has a
 * demand, which is of the plan's collective alone.
 */
int gt_plan_blocks_differ(const struct gt_plan *plan, enum gt_coll coll);

/*
 * How much rank `from` has for rank `to` in a collective that only moves, of
 * the gt_plan_most_units() that the pair with most has: 0 or 1 of 1, unless the
 * collective is the plan's and that has a demand.
 */
uint32_t gt_plan_pair_units(const struct gt_plan *plan, enum gt_coll coll,
			    uint32_t from, uint32_t to);
uint32_t gt_plan_most_units(const struct gt_plan *plan, enum gt_coll coll);

/*
 * How much a block has, the largest where they differ, when the rank that sends
 * or gets most has `count` of anything in all.
 */
uint64_t gt_plan_block_count(const struct gt_plan *plan, enum gt_coll coll,
			     uint64_t count);

/* Bus bandwidth over algorithm bandwidth, for that size. */
double gt_plan_busbw_factor(const struct gt_plan *plan, enum gt_coll coll);

/*
 * GT_EINPUT when the plan has a demand, which `what` cannot do: so far such
 * plans are found, verified, predicted, and run by gtopo run.
 */
int gt_plan_need_even(const struct gt_plan *plan, const char *what,
		      struct gt_err *err);

/*
 * Does the plan have switches multicast and add up?  And GT_EINPUT when it
 * does, which `what` cannot do: no engine of gtopo calls multicast.
 */
int gt_plan_uses_switches(const struct gt_plan *plan);
int gt_plan_need_forwarding(const struct gt_plan *plan, const char *what,
			    struct gt_err *err);

/* Is the collective's larger buffer made of a block for each rank? */
int gt_coll_has_blocks(enum gt_coll coll);

/* Does one rank of this collective differ from the others? */
int gt_coll_is_rooted(enum gt_coll coll);

/* The order of plan->programs, for qsort() and bsearch(). */
int gt_program_cmp(const void *a, const void *b);

/* The program of a channel, rank and lane; NULL when there is none. */
const struct gt_program *gt_plan_program(const struct gt_plan *plan,
					 uint32_t channel, uint32_t rank,
					 uint32_t lane);

/*
 * The words of the enums, as in the JSON; the _find functions give -1 for a
 * word that is none.
 */
const char *gt_coll_name(enum gt_coll coll);
const char *gt_shape_name(enum gt_shape shape);
const char *gt_algo_name(enum gt_algo algo);
const char *gt_transport_name(enum gt_transport transport);
const char *gt_protocol_name(enum gt_protocol protocol);
const char *gt_proof_name(enum gt_proof_class class_);
int gt_coll_find(const char *name);
int gt_shape_find(const char *name);
int gt_algo_find(const char *name);
int gt_transport_find(const char *name);
int gt_protocol_find(const char *name);
int gt_proof_find(const char *name);

/* The collective that people mean by a word, as gt_word_is() does; or -1. */
int gt_coll_meant(const char *text);
const char *gt_op_name(enum gt_op op);
const char *gt_operand_name(enum gt_operand_buf buf);
int gt_operand_find(const char *name);

/*
 * May engines use protocol ll128 for the plan: do all hops of the plan's
 * channels, and all routes of its proof if it has some, cross NVLink alone?
 * Over NVLink a warp's store of 128 bytes is known to arrive whole, which
 * packets of protocol ll128 rely on; over PCIe it may not.
 */
int gt_plan_allows_ll128(const struct gt_plan *plan);

#endif
