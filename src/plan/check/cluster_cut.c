#include "plan/check/cluster.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/bounds.h"
#include "plan/check/cluster_prices.h"
#include "plan/check/cluster_routes.h"
#include "plan/check/fault.h"
#include "plan/check/link_graph.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

/*
 * The sum of the cluster as seen from node 0.  Class c of 0 .. nlevels holds
 * the nodes that have a switch of level c - 1 in common with node 0, but none
 * of a lower level; its links are those of its nodes together.  Switches of a
 * level are one for a class and rail; classes up to the level share theirs,
 * which is class 0's.
 */
struct gt_sum {
	const struct gt_plan *plan;
	struct gt_link_graph vertices;
	uint8_t *unused; /* by link: no route crosses it */
	uint32_t classes;
	uint32_t *node; /* [class * vertices.n + vertex]: 1 + its set, or 0 */
	uint32_t *switch_; /* [(level * classes + class) * nrails + rail] */
	struct gt_rat capacity; /* of what enters */
	uint64_t inside;        /* ranks in no set */
	uint64_t roots;         /* of them, those that the root may stand for */
	const char *fault;
};

static uint32_t gt_cluster_cut_nodes(const struct gt_sum *sum, uint32_t class_)
{
	const struct gt_plan_level *levels = sum->plan->cluster->levels;

	if (!class_)
		return 1;
	return levels[class_ - 1].nodes -
	       (class_ > 1 ? levels[class_ - 2].nodes : 1);
}

static uint32_t *gt_cluster_cut_switch(const struct gt_sum *sum, uint32_t level,
				       uint32_t class_, uint32_t rail)
{
	const struct gt_plan_cluster *cluster = sum->plan->cluster;

	if (class_ <= level + 1)
		class_ = 0;
	if (!cluster->levels[level].by_rail)
		rail = 0;
	return &sum->switch_[(level * sum->classes + class_) * cluster->nrails +
			     rail];
}

/* "1/GPU/0000:07:00.0", "0/switch2.5": the place to mark, or NULL. */
static uint32_t *gt_cluster_cut_find(const struct gt_sum *sum, const char *text)
{
	const struct gt_plan_cluster *cluster = sum->plan->cluster;
	unsigned class_, level, rail, vertex;
	int at = 0, end = 0;

	if (sscanf(text, "%u/%n", &class_, &at) != 1 || !at ||
	    class_ >= sum->classes)
		return NULL;
	vertex = gt_link_graph_find(&sum->vertices, text + at);
	if (vertex != GT_NO_VERTEX)
		return &sum->node[class_ * sum->vertices.n + vertex];
	if (sscanf(text + at, "switch%u.%u%n", &level, &rail, &end) == 2 &&
	    !text[at + end] && level < cluster->nlevels &&
	    rail < cluster->nrails)
		return gt_cluster_cut_switch(sum, level, class_, rail);
	return NULL;
}

static int gt_cluster_cut_mark(struct gt_sum *sum, struct gt_err *err)
{
	const struct gt_plan_proof *proof = &sum->plan->proof;

	for (uint32_t s = 0; s < proof->nsets; s++)
		for (uint32_t i = 0; i < proof->sets[s].n; i++) {
			const char *text = proof->sets[s].vertices[i];
			uint32_t *mark = gt_cluster_cut_find(sum, text);

			if (mark && !*mark) {
				*mark = s + 1;
				continue;
			}
			return gt_plan_wrong(
				sum->plan,
				gt_plan_at("proof.certificate.sets[%u][%u]", s,
					   i),
				err, "'%s' is no vertex, or in a set already",
				text);
		}
	return GT_OK;
}

/* Does data flow into a set here?  What only goes up flows out. */
static int gt_cluster_cut_enters(const struct gt_sum *sum, uint32_t from,
				 uint32_t to)
{
	if (!gt_coll_goes_down(sum->plan->coll))
		return from && from != to;
	return to && from != to;
}

static void gt_cluster_cut_add(struct gt_sum *sum, struct gt_rat gbs,
			       uint32_t times)
{
	struct gt_rat all;

	if (!gt_rat_mul(gbs, GT_RAT(times, 1), &all) ||
	    !gt_rat_add(sum->capacity, all, &sum->capacity))
		sum->fault = "its capacity needs more than 64 bits";
}

/* Both ways between two places. */
static void gt_cluster_cut_pair(struct gt_sum *sum, uint32_t a, uint32_t b,
				struct gt_rat gbs, uint32_t times)
{
	if (gt_cluster_cut_enters(sum, a, b))
		gt_cluster_cut_add(sum, gbs, times);
	if (gt_cluster_cut_enters(sum, b, a))
		gt_cluster_cut_add(sum, gbs, times);
}

static void gt_cluster_cut_class(struct gt_sum *sum, uint32_t class_)
{
	const struct gt_plan *plan = sum->plan;
	const struct gt_link_graph *v = &sum->vertices;
	const uint32_t *node = &sum->node[class_ * v->n];
	uint32_t count = gt_cluster_cut_nodes(sum, class_);

	for (uint32_t i = 0; i < plan->nlinks; i++)
		if (!sum->unused[i] &&
		    gt_cluster_cut_enters(sum, node[v->from[i]],
					  node[v->to[i]]))
			gt_cluster_cut_add(sum, plan->links[i].gbs, count);
	for (uint32_t i = 0; i < v->n && count; i++) {
		uint32_t port = v->port[i];

		if (port != GT_NO_VERTEX &&
		    node[i] != *gt_cluster_cut_switch(
				       sum, 0, class_,
				       plan->cluster->ports[port].rail))
			sum->fault = "it parts a port from its switch, which "
				     "no capacity limits";
	}
	for (uint32_t i = 0; i < plan->cluster->nlocal; i++)
		if (v->rank[i] == GT_NO_VERTEX || !node[v->rank[i]]) {
			sum->inside += count;
			if (i == plan->root % plan->cluster->nlocal)
				sum->roots += count;
		}
}

static void gt_cluster_cut_uplinks(struct gt_sum *sum, uint32_t level,
				   uint32_t class_)
{
	const struct gt_plan_cluster *cluster = sum->plan->cluster;
	const struct gt_plan_level *l = &cluster->levels[level];
	uint32_t rails = l->by_rail ? cluster->nrails : 1, count = 1;

	if (class_ && class_ <= level + 1)
		return;
	if (class_)
		count = gt_cluster_cut_nodes(sum, class_) / l->nodes;
	for (uint32_t r = 0; r < rails; r++)
		gt_cluster_cut_pair(
			sum, *gt_cluster_cut_switch(sum, level, class_, r),
			*gt_cluster_cut_switch(sum, level + 1, class_, r),
			l->gbs, count);
}

/* The classes up to which a single set goes: a switch's nodes. */
static uint32_t gt_cluster_cut_group(const struct gt_sum *sum)
{
	uint32_t n = sum->vertices.n, group = 0;

	for (uint32_t i = 0; i < sum->classes * n; i++)
		if (sum->node[i])
			group = i / n;
	return group;
}

/*
 * An all-reduce's parts: of node 0, which all nodes have alike, or one that
 * holds all below a switch, which all switches of the level have alike.  Every
 * rank is in one.  How many there are in the cluster; 0 with the fault.
 */
static int64_t gt_cluster_cut_parts(struct gt_sum *sum)
{
	const struct gt_plan_cluster *cluster = sum->plan->cluster;
	uint32_t group = gt_cluster_cut_group(sum),
		 nsets = sum->plan->proof.nsets;
	uint32_t nodes = group ? cluster->levels[group - 1].nodes : 1;
	uint32_t per = sum->classes * cluster->nrails;

	for (uint32_t i = 0; i < cluster->nlevels * per; i++)
		if (sum->switch_[i] &&
		    (i / per >= group || i % per / cluster->nrails > group))
			sum->fault = "a part has a switch above it";
	if (nsets > 1 && group)
		sum->fault = "parts are not within a node";
	if (sum->inside !=
	    (uint64_t)sum->plan->nranks - (uint64_t)nodes * cluster->nlocal)
		sum->fault = "a rank is in no part";
	return sum->fault ? 0 : (int64_t)nsets * (cluster->nnodes / nodes);
}

/*
 * What the certificate proves: the size of the result over the time.  As adding
 * a vector of digits maps the cluster to itself, the root may be any rank of
 * its local number: one that is not in the set, if there is any.
 */
static int gt_cluster_cut_bound(struct gt_sum *sum, struct gt_rat *bound)
{
	const struct gt_plan *plan = sum->plan;
	int64_t n = plan->nranks, parts;

	*bound = sum->capacity;
	if (plan->coll != GT_COLL_ALLREDUCE) {
		if (!sum->inside || sum->inside >= (uint64_t)n) {
			sum->fault = "it leaves no rank outside, or all";
			return 0;
		}
		if (gt_coll_is_rooted(plan->coll)) {
			if (!sum->roots)
				sum->fault = "it has the root wherever it is";
			return sum->roots > 0;
		}
		return gt_rat_mul(*bound, GT_RAT(n, (int64_t)sum->inside),
				  bound);
	}
	parts = gt_cluster_cut_parts(sum);
	return parts > 1 &&
	       gt_rat_mul(*bound, GT_RAT(parts, (int64_t)plan->proof.nsets),
			  bound) &&
	       gt_rat_div(*bound, GT_RAT(2 * (parts - 1), 1), bound);
}

static int gt_cluster_cut_init(struct gt_sum *sum, const struct gt_plan *plan,
			       struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = plan->cluster;
	int rc;

	sum->plan = plan;
	sum->capacity = GT_RAT(0, 1);
	sum->classes = cluster->nlevels + 1;
	rc = gt_link_graph_init(plan, arena, &sum->vertices, err);
	if (rc)
		return rc;
	sum->node =
		gt_arena_array(arena, (size_t)sum->classes * sum->vertices.n,
			       sizeof(*sum->node));
	sum->switch_ = gt_arena_array(arena,
				      (size_t)cluster->nlevels * sum->classes *
					      cluster->nrails,
				      sizeof(*sum->switch_));
	sum->unused =
		gt_arena_array(arena, plan->nlinks + 1, sizeof(*sum->unused));
	if (!sum->node || !sum->switch_ || !sum->unused)
		return gt_err_nomem(err);
	if (plan->proof.nunused)
		rc = gt_check_cluster_unused(plan, &sum->vertices, arena,
					     sum->unused, err);
	return rc ? rc : gt_cluster_cut_mark(sum, err);
}

static int gt_check_sets(const struct gt_plan *plan, struct gt_arena *arena,
			 struct gt_err *err)
{
	struct gt_plan_at at = gt_plan_at("proof.certificate.sets");
	int any = plan->proof.class_ == GT_PROOF_ANY;
	const struct gt_rat *claim =
		any ? &plan->proof.bound : &plan->proof.any_bound;
	struct gt_sum sum = {0};
	struct gt_rat bound;
	char text[GT_RAT_TEXT_MAX];
	int rc = gt_cluster_cut_init(&sum, plan, arena, err);

	if (rc)
		return rc;
	if (plan->coll != GT_COLL_ALLREDUCE && plan->proof.nsets != 1)
		return gt_plan_wrong(plan, at, err, "must be one");
	if (gt_coll_only_moves(plan->coll) ||
	    (!any && !plan->proof.has_any_bound))
		return gt_plan_wrong(plan, at, err, "prove nothing of this");
	for (uint32_t c = 0; c < sum.classes; c++) {
		gt_cluster_cut_class(&sum, c);
		for (uint32_t l = 0; l + 1 < plan->cluster->nlevels; l++)
			gt_cluster_cut_uplinks(&sum, l, c);
	}
	if (!sum.fault &&
	    (!gt_cluster_cut_bound(&sum, &bound) ||
	     !gt_rat_div(bound, gt_plan_algbw_factor(plan), &bound)) &&
	    !sum.fault)
		sum.fault = "its bound needs more than 64 bits";
	if (sum.fault)
		return gt_plan_wrong(plan, at, err, "prove nothing: %s",
				     sum.fault);
	if (!gt_rat_cmp(bound, *claim))
		return GT_OK;
	return gt_plan_wrong(plan, at, err,
			     "prove '%s', which is not the bound",
			     gt_rat_print(bound, text));
}

/* The sets, and of rings the prices. */
static int gt_check_cluster_certificate(const struct gt_plan *plan,
					struct gt_plan_report *made,
					struct gt_err *err)
{
	int any = plan->proof.class_ == GT_PROOF_ANY, rc = GT_OK;
	struct gt_arena *arena = gt_arena_new();
	struct gt_link_graph vertices;

	if (!arena)
		return gt_err_nomem(err);
	if (plan->proof.nsets)
		rc = gt_check_sets(plan, arena, err);
	if (!rc && plan->proof.nsets)
		*(any ? &made->bound : &made->any_bound) = GT_BOUND_PROVEN;
	if (!rc && plan->proof.nprices)
		rc = gt_link_graph_init(plan, arena, &vertices, err);
	if (!rc && plan->proof.nprices)
		rc = gt_check_cluster_prices(plan, &vertices, arena, made, err);
	gt_arena_free(arena);
	return rc;
}

int gt_check_cluster_proof(const struct gt_plan *plan,
			   struct gt_plan_report *report, struct gt_err *err)
{
	struct gt_plan_report made = {.bound = GT_BOUND_ABSENT};
	int rc = GT_OK;

	if (plan->has_proof)
		rc = gt_check_claims(plan, err);
	if (!rc && plan->has_proof)
		rc = gt_check_cluster_certificate(plan, &made, err);
	if (!rc)
		*report = made;
	return rc;
}
