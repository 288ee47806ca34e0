/*
 * Adds memories of NUMA nodes to machines whose GPUs do not all reach each
 * other: what these send waits in one of them.
 */
#include "topo/graph/memory.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/graph/graph.h"

/* Is there a GPU whose memory this one may not read and write? */
static int gt_memory_lacks_peers(const struct gt_node *gpu)
{
	const char *word = gpu->p2p;

	while (word && *word) {
		size_t len = strcspn(word, " ");

		if (len > 1 && (word[0] != 'r' || word[1] != 'w'))
			return 1;
		word += len;
		word += strspn(word, " ");
	}
	return 0;
}

/* A link gets its id here, as in a finished graph nobody else gives it one. */
static int gt_memory_link(struct gt_topo *topo, uint32_t from, uint32_t to,
			  struct gt_rat gbs, struct gt_err *err)
{
	struct gt_link link = {
		.kind = GT_LINK_MEM, .from = from, .to = to, .gbs = gbs};

	link.id = gt_arena_printf(topo->arena, "%s>%s", topo->nodes[from].id,
				  topo->nodes[to].id);
	return link.id ? gt_graph_link(topo, &link, err) : gt_err_nomem(err);
}

static int gt_memory_add(struct gt_topo *topo, uint32_t cpu, struct gt_err *err)
{
	const struct gt_node *above = &topo->nodes[cpu];
	struct gt_rat gbs = above->memory_gbs;
	struct gt_node node = {.kind = GT_NODE_MEM,
			       .dev = above->dev,
			       .rank = -1,
			       .line = above->line};
	uint32_t memory;
	int rc;

	node.id = gt_arena_printf(topo->arena, "MEM/%d", above->dev);
	if (!node.id)
		return gt_err_nomem(err);
	rc = gt_graph_node(topo, &node, &memory, err);
	if (!rc)
		rc = gt_memory_link(topo, cpu, memory, gbs, err);
	return rc ? rc : gt_memory_link(topo, memory, cpu, gbs, err);
}

int gt_graph_memories(struct gt_topo *topo, struct gt_err *err)
{
	uint32_t n = topo->nnodes;
	int lacking = 0, rc = GT_OK;

	for (uint32_t i = 0; i < n; i++) {
		if (topo->nodes[i].kind == GT_NODE_MEM)
			return GT_OK;
		lacking |= topo->nodes[i].kind == GT_NODE_GPU &&
			   gt_memory_lacks_peers(&topo->nodes[i]);
	}
	for (uint32_t i = 0; i < n && lacking && !rc; i++)
		if (topo->nodes[i].kind == GT_NODE_CPU)
			rc = gt_memory_add(topo, i, err);
	return rc;
}
