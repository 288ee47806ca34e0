/*
 * Which GPUs of a machine to take: of all choices of so many, one whose
 * all-reduce has the highest bound.
 *
 * What a choice is worth is what no all-reduce over the routes between its GPUs
 * exceeds (search/bound/bound.h), as bus bandwidth and exactly; reductions in
 * switches (NVLS) are outside it.  A route is the direct NVLink of two of them,
 * else one over PCI and between CPUs.  GPUs of the choice relay for each other;
 * those that are not in it belong to somebody else and carry nothing.  A PCI
 * link that only routes through an Intel host bridge cross counts for what
 * these leave of it.
 *
 * Of choices that are worth the same it is the one whose GPUs together send
 * most to the network ports that are nearest to each, then that on fewest NUMA
 * nodes, then the first in order of the GPUs' numbers.
 */
#ifndef GT_SEARCH_PICK_PICK_H
#define GT_SEARCH_PICK_PICK_H

#include <stdint.h>

#include "base/rat.h"

struct gt_arena;
struct gt_err;
struct gt_topo;

/* The most GPUs to choose from, and the most choices that are compared. */
enum { GT_PICK_MAX_GPUS = 64, GT_PICK_MAX_CHOICES = 1 << 20 };

struct gt_pick_query {
	const struct gt_topo *topo;
	uint32_t n; /* how many GPUs; at least 1 */
	uint32_t ngpus, nports;
	const uint32_t *gpus;  /* the nodes to choose from, in order of dev */
	const uint32_t *ports; /* the nodes of ports that may be used */
};

/* A GPU that was chosen and the ports that are nearest to it. */
struct gt_pick_gpu {
	uint32_t node;
	uint32_t numa; /* the node of its CPU, or GT_NONE */
	uint32_t nports;
	const uint32_t *ports;
};

struct gt_pick {
	uint32_t n;
	struct gt_pick_gpu *gpus; /* in order of dev */
	struct gt_rat gbs;        /* bus bandwidth; 0 of one GPU */
	struct gt_rat first_gbs;  /* what the first n are worth */
	struct gt_rat net_gbs;    /* what they together send to their ports */
	uint64_t nchoices, nbounded; /* how many there are, were bounded */
};

/*
 * The GPUs of two lists (topo/graph/name.h) as what to choose from: those of
 * `among` (NULL: all) that are not in `taken` (NULL: none), which may name
 * ports, too.  Fills ngpus, gpus, nports and ports of the query; the arena owns
 * them.  GT_EINPUT, naming the entry, when it is not there.
 */
int gt_pick_read(const char *among, const char *taken, struct gt_arena *arena,
		 struct gt_pick_query *query, struct gt_err *err);

/*
 * Find the best choice; memory is the arena's.  GT_ENO when there are not
 * enough GPUs, or none that reach each other, GT_EINPUT when there are too many
 * choices.
 */
int gt_pick_find(const struct gt_pick_query *query, struct gt_arena *arena,
		 struct gt_pick *pick, struct gt_err *err);

#endif
