/* The trees of a rank's block where all ranks have them alike. */
#include "search/cluster/regular_template.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/cluster/block_tree.h"
#include "search/cluster/quotient.h"
#include "search/problem/fabric.h"

static uint32_t nth_from(const struct gt_quotient *q,
			 enum gt_regular_order order, uint32_t root, uint32_t k)
{
	return order == GT_REGULAR_ROTATED ? (root + k) % q->fabric->nranks
					   : root ^ k;
}

/* The links of the way from a rank to a port and back; 0: there is none. */
static uint32_t port_distance(const struct gt_quotient *q, uint32_t rank,
			      uint32_t port)
{
	uint32_t at = rank * q->cluster.nports + port;

	if (!q->out[at].nlinks || !q->in[at].nlinks ||
	    !gt_quotient_ports_joined(q, port, port))
		return 0;
	return q->out[at].nlinks + q->in[at].nlinks;
}

/* How many ports are nearest to a rank; *first is the first of them. */
static uint32_t nearest_ports(const struct gt_quotient *q, uint32_t rank,
			      uint32_t *first)
{
	uint32_t nearest = UINT32_MAX, n = 0;

	*first = 0;
	for (uint32_t p = 0; p < q->cluster.nports; p++) {
		uint32_t distance = port_distance(q, rank, p);

		if (!distance || distance > nearest)
			continue;
		if (distance < nearest) {
			nearest = distance;
			*first = p;
			n = 0;
		}
		n++;
	}
	return n;
}

/*
 * The rank's port: the nearest one.  Of several that are as near, ranks that
 * share them take one each, in turn.
 */
static int own_port(const struct gt_quotient *q, uint32_t rank, uint32_t *port)
{
	uint32_t first, other, n = nearest_ports(q, rank, &first), turn = 0;
	uint32_t distance;

	if (!n)
		return GT_ENO;
	distance = port_distance(q, rank, first);
	for (uint32_t i = 0; i < rank; i++)
		turn += nearest_ports(q, i, &other) == n && other == first;
	turn %= n;
	for (*port = first; turn || port_distance(q, rank, *port) != distance;
	     (*port)++)
		turn -= port_distance(q, rank, *port) == distance;
	return GT_OK;
}

static int new_tree(const struct gt_quotient *q,
		    const struct gt_quotient_rows *rows, uint32_t root,
		    struct gt_arena *arena, struct gt_block_tree *tree)
{
	uint32_t n = q->fabric->nranks;

	memset(tree, 0, sizeof(*tree));
	tree->root = root;
	tree->parent = gt_arena_array(arena, n, sizeof(*tree->parent));
	tree->net = gt_arena_array(arena, n, sizeof(*tree->net));
	tree->loads = gt_arena_array(arena, rows->n, sizeof(*tree->loads));
	return tree->parent && tree->net && tree->loads ? GT_OK : GT_ESYS;
}

/* Hang a rank on another one of its node; GT_ENO where no route leads there. */
static int hang(const struct gt_quotient *q, struct gt_block_tree *tree,
		uint32_t rank, uint32_t parent)
{
	const struct gt_fabric_route *route =
		&q->fabric->routes[parent * q->fabric->nranks + rank];

	if (!route->nlinks)
		return GT_ENO;
	tree->parent[rank] = (int32_t)parent;
	return GT_OK;
}

int gt_regular_trees(const struct gt_quotient *q,
		     const struct gt_quotient_rows *rows,
		     enum gt_regular_order order, uint32_t arrivals,
		     uint32_t root, struct gt_arena *arena,
		     struct gt_block_tree *trees)
{
	uint32_t n = q->fabric->nranks, port = 0;
	int rc = order == GT_REGULAR_MIRRORED && n & (n - 1) ? GT_ENO : GT_OK;

	if (!rc)
		rc = new_tree(q, rows, root, arena, &trees[0]);
	if (!rc)
		rc = new_tree(q, rows, n, arena, &trees[1]);
	for (uint32_t k = 0; k < n && !rc; k++) {
		uint32_t rank = nth_from(q, order, root, k);

		trees[0].parent[rank] = trees[1].parent[rank] = -1;
		if (k)
			rc = hang(q, &trees[0], rank, root);
		if (!rc && k >= arrivals)
			rc = hang(q, &trees[1], rank,
				  nth_from(q, order, root, k % arrivals));
		if (rc || k >= arrivals)
			continue;
		rc = own_port(q, rank, &port);
		trees[1].net[rank] = (struct gt_network_hop){rank, port, port};
	}
	if (rc)
		return rc;
	gt_block_tree_load(q, rows, &trees[0]);
	gt_block_tree_load(q, rows, &trees[1]);
	return GT_OK;
}
