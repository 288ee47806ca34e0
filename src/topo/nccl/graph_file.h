/*
 * Graph files of NCCL: what NCCL_GRAPH_DUMP_FILE writes and NCCL_GRAPH_FILE
 * reads, a <graphs version="1"> with a <graph> for rings, trees and so on.
 */
#ifndef GT_TOPO_NCCL_GRAPH_FILE_H
#define GT_TOPO_NCCL_GRAPH_FILE_H

#include <stdint.h>

#include "topo/graph/path_kind.h"

struct gt_arena;
struct gt_err;
struct gt_xml;

/* Which graph it is, by NCCL's numbers. */
enum gt_nccl_graph_id {
	GT_NCCL_GRAPH_RING,
	GT_NCCL_GRAPH_TREE,
	GT_NCCL_GRAPH_COLLNET_CHAIN,
	GT_NCCL_GRAPH_NVLS,
	GT_NCCL_GRAPH_COLLNET_DIRECT,
	GT_NCCL_NGRAPHIDS
};

struct gt_nccl_file_channel {
	uint32_t ngpus;
	const uint32_t *gpus;        /* their numbers (dev) */
	int64_t net_first, net_last; /* numbers of ports, or -1 */
};

struct gt_nccl_file_graph {
	enum gt_nccl_graph_id id;
	int pattern; /* enum gt_nccl_pattern */
	int cross_nic;
	double intra_gbs, inter_gbs;
	enum gt_path_kind intra, inter; /* worst kinds of routes */
	int same;
	uint32_t nchannels;
	const struct gt_nccl_file_channel *channels;
	uint32_t line;
};

struct gt_nccl_file {
	uint32_t ngraphs;
	const struct gt_nccl_file_graph *graphs;
};

/*
 * Read the graphs of a document; memory is the arena's.  GT_EINPUT, with line
 * and column, for what NCCL's reader would refuse or crash on: another version,
 * a missing attribute, a channel without GPUs or with one twice.
 */
int gt_nccl_file_read(const struct gt_xml *xml, struct gt_arena *arena,
		      struct gt_nccl_file *file, struct gt_err *err);

/* Returns "ring", "tree", ... */
const char *gt_nccl_graph_name(enum gt_nccl_graph_id id);

#endif
