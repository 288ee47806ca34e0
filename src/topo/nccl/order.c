/*
 * Orders a machine's nodes as NCCL does when it puts the ranks' trees together.
 */
#include "topo/nccl/order.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/graph/topo.h"

/* A node, and the first rank that keeps it. */
struct gt_nccl_kept {
	uint32_t up, rank, node;
};

/* Sorts by what the nodes hang on, then by rank, then as in the file. */
static int gt_nccl_kept_order(const void *left, const void *right)
{
	const struct gt_nccl_kept *a = left, *b = right;

	if (a->up != b->up)
		return a->up < b->up ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

/*
 * Lists the ranks: those of the file if it has one for every GPU, else in order
 * of dev.
 */
static void gt_nccl_ranks(const struct gt_topo *topo, struct gt_nccl_kept *kept)
{
	uint32_t ngpus = gt_topo_ngpus(topo);
	int listed = 1;

	for (uint32_t i = 0; i < ngpus; i++)
		listed &= gt_topo_node(topo, gt_topo_gpu(topo, i))->rank >= 0;
	for (uint32_t i = 0; i < ngpus; i++)
		kept[gt_topo_gpu(topo, i)].rank =
			listed ? (uint32_t)gt_topo_node(topo,
							gt_topo_gpu(topo, i))
					 ->rank
			       : i;
	for (uint32_t i = 0; i < gt_topo_nnets(topo); i++)
		kept[gt_topo_net(topo, i)].rank = 0;
}

/* Gives every node the lowest rank below it. */
static void gt_nccl_ranks_up(const struct gt_topo *topo,
			     struct gt_nccl_kept *kept)
{
	uint32_t n = gt_topo_nnodes(topo), rank;

	for (uint32_t i = 0; i < n; i++) {
		rank = kept[i].rank;
		for (uint32_t up = kept[i].up; up != GT_NONE && rank != GT_NONE;
		     up = gt_topo_node(topo, up)->up)
			if (rank < kept[up].rank)
				kept[up].rank = rank;
	}
}

/*
 * Lists a tree in depth first order.  `kept` is sorted; the children of a node
 * begin at first[node], the roots at first[n].
 */
static void gt_nccl_list_tree(const struct gt_nccl_kept *kept, uint32_t n,
			      uint32_t *first, uint32_t *stack, uint32_t *nodes)
{
	uint32_t depth = 0, count = 0, parent, at;

	stack[0] = n;
	for (;;) {
		parent = stack[depth];
		at = first[parent];
		if (at < n && kept[at].up == (parent == n ? GT_NONE : parent)) {
			first[parent]++;
			nodes[count++] = kept[at].node;
			stack[++depth] = kept[at].node;
		} else if (!depth--) {
			return;
		}
	}
}

int gt_nccl_order_new(const struct gt_topo *topo, struct gt_arena *arena,
		      uint32_t **nodes, uint32_t **places, struct gt_err *err)
{
	uint32_t n = gt_topo_nnodes(topo), *first, *stack;
	struct gt_nccl_kept *kept = gt_arena_array(arena, n, sizeof(*kept));

	*nodes = gt_arena_array(arena, n, sizeof(uint32_t));
	*places = gt_arena_array(arena, n, sizeof(uint32_t));
	first = gt_arena_array(arena, n + 1, sizeof(*first));
	stack = gt_arena_array(arena, n + 1, sizeof(*stack));
	if (!kept || !*nodes || !*places || !first || !stack)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		kept[i] = (struct gt_nccl_kept){gt_topo_node(topo, i)->up,
						GT_NONE, i};
	gt_nccl_ranks(topo, kept);
	gt_nccl_ranks_up(topo, kept);
	qsort(kept, n, sizeof(*kept), gt_nccl_kept_order);
	for (uint32_t i = 0; i <= n; i++)
		first[i] = n;
	for (uint32_t i = n; i--;)
		first[kept[i].up == GT_NONE ? n : kept[i].up] = i;
	gt_nccl_list_tree(kept, n, first, stack, *nodes);
	for (uint32_t i = 0; i < n; i++)
		(*places)[(*nodes)[i]] = i;
	return GT_OK;
}
