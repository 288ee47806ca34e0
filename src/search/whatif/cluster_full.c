/* Solves a cluster's trees or flow and reads off which links are full. */
#include "search/whatif/cluster_full.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/rat.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/cluster/alltoall.h"
#include "search/cluster/block_trees.h"
#include "search/cluster/quotient.h"
#include "search/cluster/request.h"
#include "search/problem/fabric.h"
#include "search/whatif/result.h"
#include "search/whatif/whatif.h"

/*
 * A link that is as full as the fullest but for so much limits as it does:
 * rates of trees are rounded.
 */
#define FULL_PART 1e-4

/* The rate of the cluster's trees, and which rows are full, unless NULL. */
static int solve_trees(const struct gt_whatif_cluster_state *s,
		       const struct gt_quotient *q, struct gt_arena *arena,
		       uint8_t *full, struct gt_rat *rate, struct gt_err *err)
{
	struct gt_block_trees trees;
	struct gt_rat row_rate;
	int rc = gt_block_trees_solve(q, s->request->coll, arena, &trees, err);

	if (rc)
		return rc;
	if (!gt_block_trees_rate(q, &trees, rate))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the rates need more than 64 bits");
	for (uint32_t r = 0; full && r < trees.rows.n; r++)
		full[r] =
			gt_block_trees_row_rate(q, &trees, r, &row_rate) > 0 &&
			gt_rat_double(row_rate) <
				gt_rat_double(*rate) * (1 + FULL_PART);
	return GT_OK;
}

static int solve_flow(struct gt_whatif_cluster_state *s, struct gt_err *err)
{
	struct gt_alltoall flow;
	int rc = gt_alltoall_solve(s->quotient, s->result->arena, &flow, err);

	if (rc)
		return rc;
	gt_alltoall_rate(&flow, s->full);
	s->rate = flow.rate;
	s->bound.found = flow.has_bound;
	s->bound.value = flow.bound;
	return GT_OK;
}

int gt_whatif_cluster_solve(struct gt_whatif_cluster_state *s,
			    struct gt_err *err)
{
	struct gt_arena *arena = s->result->arena;
	struct gt_quotient_bound_query query = {.coll = s->request->coll,
						.all_routes = 1};
	int rc = gt_quotient_new(s->request, arena, &s->quotient, err);

	if (rc)
		return rc;
	s->full =
		gt_arena_array(arena,
			       s->quotient->fabric->nlinks +
				       gt_nodes_nuplinks(&s->quotient->cluster),
			       sizeof(*s->full));
	if (!s->full)
		return gt_err_nomem(err);
	if (gt_coll_only_moves(s->request->coll))
		return solve_flow(s, err);
	rc = solve_trees(s, s->quotient, arena, s->full, &s->rate, err);
	query.quotient = s->quotient;
	return rc ? rc : gt_quotient_bound_find(&query, arena, &s->bound, err);
}

int gt_whatif_cluster_rate(const struct gt_whatif_cluster_state *s,
			   const struct gt_quotient *q, struct gt_arena *arena,
			   struct gt_rat *rate, struct gt_err *err)
{
	struct gt_alltoall flow;
	int rc;

	if (!gt_coll_only_moves(s->request->coll))
		return solve_trees(s, q, arena, NULL, rate, err);
	rc = gt_alltoall_solve(q, arena, &flow, err);
	if (!rc)
		*rate = flow.rate;
	return rc;
}

const struct gt_node *gt_whatif_cluster_node(
	const struct gt_whatif_cluster_state *s, uint32_t index)
{
	return index < gt_topo_nnodes(s->topo) ? gt_topo_node(s->topo, index)
					       : NULL;
}

enum gt_node_kind gt_whatif_cluster_kind(
	const struct gt_whatif_cluster_state *s, uint32_t index)
{
	const struct gt_node *node = gt_whatif_cluster_node(s, index);

	return node ? node->kind : GT_NODE_NVS;
}

int gt_whatif_cluster_level_is_full(const struct gt_whatif_cluster_state *s,
				    uint32_t level)
{
	uint32_t rails = 2 * s->quotient->cluster.nrails;

	for (uint32_t i = 0; i < rails; i++)
		if (s->full[s->quotient->fabric->nlinks + level * rails + i])
			return 1;
	return 0;
}

static struct gt_whatif_group *find_group(struct gt_whatif_cluster_state *s,
					  uint32_t link)
{
	const struct gt_fabric_link *l = &s->quotient->fabric->links[link];
	struct gt_whatif_group key = {
		.a = gt_whatif_cluster_kind(s, l->from),
		.b = gt_whatif_cluster_kind(s, l->to),
		.gbs = l->gbs,
	};
	uint32_t i = 0;

	if (key.b < key.a) {
		key.b = key.a;
		key.a = gt_whatif_cluster_kind(s, l->to);
	}
	while (i < s->ngroups &&
	       (s->groups[i].a != key.a || s->groups[i].b != key.b ||
		gt_rat_cmp(s->groups[i].gbs, key.gbs)))
		i++;
	if (i < s->ngroups)
		return &s->groups[i];
	key.links =
		gt_arena_array(s->result->arena, s->quotient->fabric->nlinks,
			       sizeof(*key.links));
	key.name = gt_whatif_link(s->result->arena, gt_node_kind_name(key.a),
				  gt_node_kind_name(key.b));
	if (!key.links || !key.name)
		return NULL;
	s->groups[s->ngroups] = key;
	return &s->groups[s->ngroups++];
}

/* Has the group this link, in either direction? */
static int has_link(const struct gt_whatif_cluster_state *s,
		    const struct gt_whatif_group *group, uint32_t link)
{
	const struct gt_fabric_link *links = s->quotient->fabric->links;

	for (uint32_t i = 0; i < group->n; i++) {
		const struct gt_fabric_link *old = &links[group->links[i]];

		if ((old->from == links[link].from &&
		     old->to == links[link].to) ||
		    (old->from == links[link].to &&
		     old->to == links[link].from))
			return 1;
	}
	return 0;
}

int gt_whatif_cluster_group(struct gt_whatif_cluster_state *s,
			    struct gt_err *err)
{
	uint32_t n = s->quotient->fabric->nlinks;

	s->groups = gt_arena_array(s->result->arena, n, sizeof(*s->groups));
	if (!s->groups)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++) {
		struct gt_whatif_group *group;

		if (!s->full[i])
			continue;
		group = find_group(s, i);
		if (!group)
			return gt_err_nomem(err);
		if (!has_link(s, group, i))
			group->links[group->n++] = i;
	}
	return GT_OK;
}
