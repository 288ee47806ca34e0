/* What a captured graph would take of a GPU. */
#ifndef GT_BENCH_GRAPH_H
#define GT_BENCH_GRAPH_H

#include <cuda_runtime_api.h>

/* Thread blocks of its largest kernel, 0 without one; -1: nobody tells. */
int gt_graph_blocks(cudaGraph_t graph);

#endif
