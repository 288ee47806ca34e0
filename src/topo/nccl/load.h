/*
 * What rings or chains load a machine's links with, over the routes that NCCL
 * fixed: it takes a graph file as it is, even one that asks for too much.
 */
#ifndef GT_TOPO_NCCL_LOAD_H
#define GT_TOPO_NCCL_LOAD_H

#include <stdint.h>

struct gt_err;
struct gt_nccl_file_graph;
struct gt_nccl_system;

struct gt_nccl_load {
	uint32_t link; /* the fullest, of the topology; GT_NONE without any */
	double part;   /* of its width: above 1 it carries too much */
};

/*
 * Find the load of a graph's channels, closed as rings or not.  GT_ENO, and
 * which, when one of their GPUs is not in the machine or not reached.
 */
int gt_nccl_load_find(const struct gt_nccl_system *system,
		      const struct gt_nccl_file_graph *graph, int closed,
		      struct gt_nccl_load *load, struct gt_err *err);

#endif
