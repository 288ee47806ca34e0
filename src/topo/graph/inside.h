/*
 * The struct of a topology, for the few files that make it, check it, walk it
 * or draw it.  Everybody else uses the accessors of topo.h.
 */
#ifndef GT_TOPO_GRAPH_INSIDE_H
#define GT_TOPO_GRAPH_INSIDE_H

#include <stdint.h>

struct gt_arena;
struct gt_link;
struct gt_node;

struct gt_topo {
	struct gt_arena *arena;
	struct gt_node *nodes;
	uint32_t nnodes, nodes_size;
	struct gt_link *links;
	uint32_t nlinks, links_size;
	uint32_t *first;       /* a node's first outgoing link, or GT_NONE */
	uint32_t *next;        /* the link's next sibling, or GT_NONE */
	uint32_t *gpus, *nets; /* in order of dev, after gt_graph_finish */
	uint32_t ngpus, nnets;
	const char **warnings;
	uint32_t nwarnings, warnings_size;
	const char *digest, *shape_digest, *source;
	const char *facts;
};

#endif
