/*
 * Memories of NUMA nodes, where GPUs meet that do not reach each other.
 */
#ifndef GT_TOPO_GRAPH_MEMORY_H
#define GT_TOPO_GRAPH_MEMORY_H

struct gt_err;
struct gt_topo;

/*
 * Add the memory of each CPU, with the links into it and out of it, if a GPU
 * does not reach the memory of all others and no memory is there yet.  It works
 * before gt_graph_finish() and after it.
 */
int gt_graph_memories(struct gt_topo *topo, struct gt_err *err);

#endif
