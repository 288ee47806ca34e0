/*
 * The what-if analysis of a cluster whose nodes are all alike: what its trees
 * or its flow reach, what the bound is about, and what is full.
 */
#include "plan/ir/cluster.h"
#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/cluster/request.h"
#include "search/problem/fabric.h"
#include "search/whatif/cluster_full.h"
#include "search/whatif/in_switch.h"
#include "search/whatif/result.h"
#include "search/whatif/whatif.h"
#include "topo/cluster/cluster.h"

/* So many links of one sort are named one by one. */
enum { MAX_MEMBERS = 4 };

/* The rate of blocks, or of pairs, as size of the result over time. */
static double find_value(const struct gt_whatif_cluster_state *s)
{
	double n = (double)s->quotient->fabric->nranks *
		   s->quotient->cluster.nnodes;

	return gt_rat_double(s->rate) * n /
	       (s->request->coll == GT_COLL_ALLREDUCE ? 2 : 1);
}

/* What a bound on the cluster is given in: of the result, or of a pair. */
static double find_unit(const struct gt_whatif_cluster_state *s)
{
	return gt_coll_only_moves(s->request->coll)
		       ? (double)s->quotient->fabric->nranks *
				 s->quotient->cluster.nnodes
		       : 1;
}

/* Does the plan reach its bound, exactly? */
static int is_optimal(const struct gt_whatif_cluster_state *s)
{
	int64_t n = (int64_t)s->quotient->fabric->nranks *
		    s->quotient->cluster.nnodes;
	struct gt_rat value = GT_RAT(1, 1);

	if (gt_coll_only_moves(s->request->coll))
		n = 1;
	if (s->request->coll == GT_COLL_ALLREDUCE)
		value = GT_RAT(1, 2);
	return gt_rat_mul(value, GT_RAT(n, 1), &value) &&
	       gt_rat_mul(value, s->rate, &value) &&
	       !gt_rat_cmp(value, s->bound.value);
}

/* Describe the smaller side of the best cut, as seen from node 0. */
static void describe_cut(const struct gt_whatif_cluster_state *s,
			 struct gt_whatif_cluster *out)
{
	const struct gt_fabric *fabric = s->quotient->fabric;
	const uint32_t *outside = s->bound.outside;
	uint64_t n = (uint64_t)fabric->nranks * s->quotient->cluster.nnodes;

	for (uint32_t c = 0; c <= s->quotient->cluster.nlevels; c++)
		for (uint32_t i = 0; i < fabric->nranks; i++)
			if (outside[c * fabric->nnodes + fabric->ranks[i]]) {
				out->inside += !c;
				out->beyond |= c > 0;
			}
	out->rest = n - out->inside;
	out->cut_gbs =
		gt_rat_double(s->bound.value) * (double)out->rest / (double)n;
}

/* Describe an all-reduce's parts, all of one sort, and what each has. */
static void describe_parts(const struct gt_whatif_cluster_state *s,
			   struct gt_whatif_cluster *out)
{
	const struct gt_quotient *q = s->quotient;
	uint32_t nodes = 1; /* in a part */

	for (uint32_t l = 0; l < q->cluster.nlevels; l++)
		if (s->bound.nparts == 1 &&
		    s->bound.outside[(l + 1) * q->fabric->nnodes +
				     q->fabric->ranks[0]])
			nodes = q->cluster.levels[l].nodes;
	out->nparts = (uint64_t)q->cluster.nnodes * s->bound.nparts / nodes;
	out->part = nodes > 1 ? GT_WHATIF_PART_SWITCH
		    : s->bound.nparts > 1 || q->fabric->nranks == 1
			    ? GT_WHATIF_PART_GPU
			    : GT_WHATIF_PART_NODE;
	out->part_gbs = gt_rat_double(s->bound.value) * 2 *
			(double)(out->nparts - 1) / (double)out->nparts;
}

/* List the links that the bound leaves out, each pair of kinds once. */
static int list_unused(const struct gt_whatif_cluster_state *s,
		       struct gt_whatif_cluster *out)
{
	uint8_t seen[GT_NNODEKINDS][GT_NNODEKINDS] = {{0}};
	struct gt_arena *arena = s->result->arena;

	out->unused = gt_arena_array(arena, sizeof(seen), sizeof(*out->unused));
	if (!out->unused)
		return 0;
	for (uint32_t i = 0; s->bound.unused && i < s->quotient->fabric->nlinks;
	     i++) {
		const struct gt_fabric_link *l = &s->quotient->fabric->links[i];
		enum gt_node_kind a = gt_whatif_cluster_kind(s, l->from);
		enum gt_node_kind b = gt_whatif_cluster_kind(s, l->to);
		const char **name = &out->unused[out->nunused];

		if (!s->bound.unused[i] || seen[a][b])
			continue;
		seen[a][b] = seen[b][a] = 1;
		*name = gt_whatif_link(arena, gt_node_kind_name(a),
				       gt_node_kind_name(b));
		if (!*name)
			return 0;
		out->nunused++;
	}
	return 1;
}

static int list_levels(const struct gt_whatif_cluster_state *s,
		       struct gt_whatif_cluster *out)
{
	const struct gt_plan_cluster *cluster = &s->quotient->cluster;

	out->levels = gt_arena_array(s->result->arena, cluster->nlevels,
				     sizeof(*out->levels));
	if (!out->levels)
		return 0;
	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++)
		if (gt_whatif_cluster_level_is_full(s, l))
			out->levels[out->nlevels++] = (struct gt_whatif_level){
				cluster->levels[l].nodes,
				cluster->levels[l].by_rail,
				cluster->levels[l].gbs};
	return 1;
}

static int describe_cluster(const struct gt_whatif_cluster_state *s)
{
	struct gt_whatif_cluster *out =
		gt_arena_alloc(s->result->arena, sizeof(*out));

	if (!out)
		return 0;
	s->result->cluster = out;
	s->result->coll = s->request->coll;
	s->result->value_gbs = out->value = find_value(s);
	out->nnodes = s->quotient->cluster.nnodes;
	out->ngpus = s->quotient->fabric->nranks;
	out->has_bound = s->bound.found;
	if (s->bound.found) {
		out->bound = gt_rat_double(s->bound.value) * find_unit(s);
		out->optimal = is_optimal(s);
		if (s->bound.nparts)
			describe_parts(s, out);
		else if (!gt_coll_only_moves(s->request->coll))
			describe_cut(s, out);
	}
	return list_unused(s, out) && list_levels(s, out);
}

static const char *name_vertex(const struct gt_whatif_cluster_state *s,
			       uint32_t index)
{
	if (!gt_whatif_cluster_node(s, index))
		return "other nodes";
	return gt_whatif_device(s->result->arena, s->topo, index);
}

static int name_members(const struct gt_whatif_cluster_state *s,
			const struct gt_whatif_group *group,
			struct gt_whatif_full *full)
{
	struct gt_arena *arena = s->result->arena;

	if (group->n > MAX_MEMBERS)
		return 1;
	full->members = gt_arena_array(arena, group->n, sizeof(*full->members));
	if (!full->members)
		return 0;
	for (uint32_t i = 0; i < group->n; i++) {
		const struct gt_fabric_link *l =
			&s->quotient->fabric->links[group->links[i]];

		full->members[i] = gt_whatif_link(
			arena, name_vertex(s, l->from), name_vertex(s, l->to));
		if (!full->members[i])
			return 0;
	}
	full->nmembers = group->n;
	return 1;
}

static int list_full(const struct gt_whatif_cluster_state *s)
{
	struct gt_whatif *result = s->result;

	result->full = gt_arena_array(result->arena, s->ngroups,
				      sizeof(*result->full));
	if (!result->full)
		return 0;
	for (uint32_t i = 0; i < s->ngroups; i++) {
		const struct gt_whatif_group *group = &s->groups[i];
		struct gt_whatif_full *full = &result->full[i];

		full->name = group->name;
		full->gbs = group->gbs;
		full->n = group->n;
		if (!name_members(s, group, full))
			return 0;
	}
	result->nfull = s->ngroups;
	return 1;
}

int gt_whatif_of_cluster(const struct gt_cluster_request *request,
			 struct gt_whatif **whatif, struct gt_err *err)
{
	/* Out of time, other links would limit than limit the cluster. */
	struct gt_cluster_request unhurried = *request;
	struct gt_whatif_cluster_state s = {
		.request = &unhurried,
		.topo = request->cluster->kinds[0].topo,
		.result = gt_whatif_new()};
	int rc;

	unhurried.budget = NULL;
	if (!s.result)
		return gt_err_nomem(err);
	s.result->in_switch_gbs = gt_whatif_in_switch_of_cluster(request);
	rc = gt_whatif_cluster_solve(&s, err);
	if (!rc)
		rc = gt_whatif_cluster_group(&s, err);
	if (!rc && (!describe_cluster(&s) || !list_full(&s)))
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_whatif_cluster_try(&s, err);
	if (rc)
		gt_whatif_free(s.result);
	else
		*whatif = s.result;
	return rc;
}
