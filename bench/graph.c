#include "graph.h"

#include <cuda.h>
#include <stdlib.h>

typedef CUresult gt_node_params(CUgraphNode node,
				CUDA_KERNEL_NODE_PARAMS *params);

/*
 * Of the driver: a kernel that another copy of the runtime launched, as NCCL's
 * own does, is unknown to ours.
 */
static gt_node_params *graph_asks(void)
{
	enum cudaDriverEntryPointQueryResult found;
	void *call = NULL;

	if (cudaGetDriverEntryPointByVersion("cuGraphKernelNodeGetParams",
					     &call, 12000, cudaEnableDefault,
					     &found) != cudaSuccess ||
	    found != cudaDriverEntryPointSuccess)
		return NULL;
	return (gt_node_params *)call;
}

static int node_blocks(gt_node_params *ask, cudaGraphNode_t node)
{
	CUDA_KERNEL_NODE_PARAMS params;
	enum cudaGraphNodeType type;

	if (cudaGraphNodeGetType(node, &type) != cudaSuccess ||
	    (type == cudaGraphNodeTypeKernel &&
	     ask(node, &params) != CUDA_SUCCESS))
		return -1;
	return type == cudaGraphNodeTypeKernel
		       ? (int)(params.gridDimX * params.gridDimY *
			       params.gridDimZ)
		       : 0;
}

int gt_graph_blocks(cudaGraph_t graph)
{
	gt_node_params *ask = graph_asks();
	cudaGraphNode_t *nodes;
	int most = 0, blocks;
	size_t n = 0;

	if (!ask || cudaGraphGetNodes(graph, NULL, &n) != cudaSuccess)
		return -1;
	nodes = calloc(n + 1, sizeof(*nodes));
	if (!nodes || cudaGraphGetNodes(graph, nodes, &n) != cudaSuccess)
		most = -1;
	for (size_t i = 0; i < n && most >= 0; i++) {
		blocks = node_blocks(ask, nodes[i]);
		most = blocks < 0 || blocks > most ? blocks : most;
	}
	free(nodes);
	return most;
}
