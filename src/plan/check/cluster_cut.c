/*
 * A cluster's proof by sets of vertices: what enters (or leaves) the sets,
 * summed over the whole cluster without expanding it, bounds every plan.
 */
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
 * The cut as seen from node 0.  Class c of 0 .. nlevels holds the nodes that
 * have a switch of level c - 1 in common with node 0, but none of a lower
 * level; its links are those of its nodes together.  The switches of a level
 * are one for each class and rail; classes up to the level share theirs, which
 * is class 0's.
 */
struct gt_cluster_cut {
	const struct gt_plan *plan;
	struct gt_link_graph vertices;
	uint8_t *unused; /* by link: 1 when no route crosses it */
	uint32_t classes;
	uint32_t *node; /* [class * vertices.n + vertex]: 1 + its set, or 0 */
	uint32_t *switch_; /* [(level * classes + class) * nrails + rail] */
	struct gt_rat capacity; /* of all that leads into a set */
	uint64_t inside;        /* ranks in no set */
	/* those of `inside` that have the root's local rank */
	uint64_t roots;
	const char *fault;
};

static uint32_t gt_cluster_cut_nodes(const struct gt_cluster_cut *cut,
				     uint32_t class_)
{
	const struct gt_plan_level *levels = cut->plan->cluster->levels;

	if (!class_)
		return 1;
	return levels[class_ - 1].nodes -
	       (class_ > 1 ? levels[class_ - 2].nodes : 1);
}

static uint32_t *gt_cluster_cut_switch(const struct gt_cluster_cut *cut,
				       uint32_t level, uint32_t class_,
				       uint32_t rail)
{
	const struct gt_plan_cluster *cluster = cut->plan->cluster;

	if (class_ <= level + 1)
		class_ = 0;
	if (!cluster->levels[level].by_rail)
		rail = 0;
	return &cut->switch_[(level * cut->classes + class_) * cluster->nrails +
			     rail];
}

/*
 * The mark of a vertex by its name in the certificate, such as
 * "1/GPU/0000:07:00.0" or "0/switch2.5" with the class in front; NULL when
 * there is no such vertex.
 */
static uint32_t *gt_cluster_cut_find(const struct gt_cluster_cut *cut,
				     const char *text)
{
	const struct gt_plan_cluster *cluster = cut->plan->cluster;
	unsigned class_, level, rail, vertex;
	int at = 0, end = 0;

	if (sscanf(text, "%u/%n", &class_, &at) != 1 || !at ||
	    class_ >= cut->classes)
		return NULL;
	vertex = gt_link_graph_find(&cut->vertices, text + at);
	if (vertex != GT_NO_VERTEX)
		return &cut->node[class_ * cut->vertices.n + vertex];
	if (sscanf(text + at, "switch%u.%u%n", &level, &rail, &end) == 2 &&
	    !text[at + end] && level < cluster->nlevels &&
	    rail < cluster->nrails)
		return gt_cluster_cut_switch(cut, level, class_, rail);
	return NULL;
}

static int gt_cluster_cut_mark(struct gt_cluster_cut *cut, struct gt_err *err)
{
	const struct gt_plan_proof *proof = &cut->plan->proof;

	for (uint32_t s = 0; s < proof->nsets; s++)
		for (uint32_t i = 0; i < proof->sets[s].n; i++) {
			const char *text = proof->sets[s].vertices[i];
			uint32_t *mark = gt_cluster_cut_find(cut, text);

			if (mark && !*mark) {
				*mark = s + 1;
				continue;
			}
			return gt_plan_wrong(
				cut->plan,
				gt_plan_at("proof.certificate.sets[%u][%u]", s,
					   i),
				err, "'%s' is no vertex, or in a set already",
				text);
		}
	return GT_OK;
}

/*
 * Do bytes flow into a set from vertex mark `from` to mark `to`?  In a
 * collective that only goes up they flow out of it instead.
 */
static int gt_cluster_cut_enters(const struct gt_cluster_cut *cut,
				 uint32_t from, uint32_t to)
{
	if (!gt_coll_goes_down(cut->plan->coll))
		return from && from != to;
	return to && from != to;
}

static void gt_cluster_cut_add(struct gt_cluster_cut *cut, struct gt_rat gbs,
			       uint32_t times)
{
	struct gt_rat all;

	if (!gt_rat_mul(gbs, GT_RAT(times, 1), &all) ||
	    !gt_rat_add(cut->capacity, all, &cut->capacity))
		cut->fault = "its capacity needs more than 64 bits";
}

/* Add what flows between two vertices, in both directions. */
static void gt_cluster_cut_pair(struct gt_cluster_cut *cut, uint32_t a,
				uint32_t b, struct gt_rat gbs, uint32_t times)
{
	if (gt_cluster_cut_enters(cut, a, b))
		gt_cluster_cut_add(cut, gbs, times);
	if (gt_cluster_cut_enters(cut, b, a))
		gt_cluster_cut_add(cut, gbs, times);
}

static void gt_cluster_cut_class(struct gt_cluster_cut *cut, uint32_t class_)
{
	const struct gt_plan *plan = cut->plan;
	const struct gt_link_graph *v = &cut->vertices;
	const uint32_t *node = &cut->node[class_ * v->n];
	uint32_t count = gt_cluster_cut_nodes(cut, class_);

	for (uint32_t i = 0; i < plan->nlinks; i++)
		if (!cut->unused[i] &&
		    gt_cluster_cut_enters(cut, node[v->from[i]],
					  node[v->to[i]]))
			gt_cluster_cut_add(cut, plan->links[i].gbs, count);
	for (uint32_t i = 0; i < v->n && count; i++) {
		uint32_t port = v->port[i];

		if (port != GT_NO_VERTEX &&
		    node[i] != *gt_cluster_cut_switch(
				       cut, 0, class_,
				       plan->cluster->ports[port].rail))
			cut->fault = "it parts a port from its switch, which "
				     "no capacity limits";
	}
	for (uint32_t i = 0; i < plan->cluster->nlocal; i++)
		if (v->rank[i] == GT_NO_VERTEX || !node[v->rank[i]]) {
			cut->inside += count;
			if (i == plan->root % plan->cluster->nlocal)
				cut->roots += count;
		}
}

static void gt_cluster_cut_uplinks(struct gt_cluster_cut *cut, uint32_t level,
				   uint32_t class_)
{
	const struct gt_plan_cluster *cluster = cut->plan->cluster;
	const struct gt_plan_level *l = &cluster->levels[level];
	uint32_t rails = l->by_rail ? cluster->nrails : 1, count = 1;

	if (class_ && class_ <= level + 1)
		return;
	if (class_)
		count = gt_cluster_cut_nodes(cut, class_) / l->nodes;
	for (uint32_t r = 0; r < rails; r++)
		gt_cluster_cut_pair(
			cut, *gt_cluster_cut_switch(cut, level, class_, r),
			*gt_cluster_cut_switch(cut, level + 1, class_, r),
			l->gbs, count);
}

/*
 * The largest class with a vertex in a set: a single set covers all nodes below
 * one switch of the level before it.
 */
static uint32_t gt_cluster_cut_group(const struct gt_cluster_cut *cut)
{
	uint32_t n = cut->vertices.n, group = 0;

	for (uint32_t i = 0; i < cut->classes * n; i++)
		if (cut->node[i])
			group = i / n;
	return group;
}

/*
 * The number of parts that an all-reduce's certificate makes of the cluster.
 * The sets are parts of node 0, which all nodes have alike, or one set holds
 * all that is below a switch, which all switches of the level have alike.
 * Every rank has to be in one.  The result is 0 when there is a fault.
 */
static int64_t gt_cluster_cut_parts(struct gt_cluster_cut *cut)
{
	const struct gt_plan_cluster *cluster = cut->plan->cluster;
	uint32_t group = gt_cluster_cut_group(cut),
		 nsets = cut->plan->proof.nsets;
	uint32_t nodes = group ? cluster->levels[group - 1].nodes : 1;
	uint32_t per = cut->classes * cluster->nrails;

	for (uint32_t i = 0; i < cluster->nlevels * per; i++)
		if (cut->switch_[i] &&
		    (i / per >= group || i % per / cluster->nrails > group))
			cut->fault = "a part has a switch above it";
	if (nsets > 1 && group)
		cut->fault = "parts are not within a node";
	if (cut->inside !=
	    (uint64_t)cut->plan->nranks - (uint64_t)nodes * cluster->nlocal)
		cut->fault = "a rank is in no part";
	return cut->fault ? 0 : (int64_t)nsets * (cluster->nnodes / nodes);
}

/*
 * The bound that the cut proves: the size of the result over the time.  As
 * adding a vector of digits maps the cluster to itself, the root may be any
 * rank of its local number: one that is not in the set, if there is any.
 */
static int gt_cluster_cut_bound(struct gt_cluster_cut *cut,
				struct gt_rat *bound)
{
	const struct gt_plan *plan = cut->plan;
	int64_t n = plan->nranks, parts;

	*bound = cut->capacity;
	if (plan->coll != GT_COLL_ALLREDUCE) {
		if (!cut->inside || cut->inside >= (uint64_t)n) {
			cut->fault = "it leaves no rank outside, or all";
			return 0;
		}
		if (gt_coll_is_rooted(plan->coll)) {
			if (!cut->roots)
				cut->fault = "it has the root wherever it is";
			return cut->roots > 0;
		}
		return gt_rat_mul(*bound, GT_RAT(n, (int64_t)cut->inside),
				  bound);
	}
	parts = gt_cluster_cut_parts(cut);
	return parts > 1 &&
	       gt_rat_mul(*bound, GT_RAT(parts, (int64_t)plan->proof.nsets),
			  bound) &&
	       gt_rat_div(*bound, GT_RAT(2 * (parts - 1), 1), bound);
}

static int gt_cluster_cut_init(struct gt_cluster_cut *cut,
			       const struct gt_plan *plan,
			       struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = plan->cluster;
	int rc;

	cut->plan = plan;
	cut->capacity = GT_RAT(0, 1);
	cut->classes = cluster->nlevels + 1;
	rc = gt_link_graph_init(plan, arena, &cut->vertices, err);
	if (rc)
		return rc;
	cut->node =
		gt_arena_array(arena, (size_t)cut->classes * cut->vertices.n,
			       sizeof(*cut->node));
	cut->switch_ = gt_arena_array(arena,
				      (size_t)cluster->nlevels * cut->classes *
					      cluster->nrails,
				      sizeof(*cut->switch_));
	cut->unused =
		gt_arena_array(arena, plan->nlinks + 1, sizeof(*cut->unused));
	if (!cut->node || !cut->switch_ || !cut->unused)
		return gt_err_nomem(err);
	if (plan->proof.nunused)
		rc = gt_check_cluster_unused(plan, &cut->vertices, arena,
					     cut->unused, err);
	return rc ? rc : gt_cluster_cut_mark(cut, err);
}

static int gt_check_sets(const struct gt_plan *plan, struct gt_arena *arena,
			 struct gt_err *err)
{
	struct gt_plan_at at = gt_plan_at("proof.certificate.sets");
	int any = plan->proof.class_ == GT_PROOF_ANY;
	const struct gt_rat *claim =
		any ? &plan->proof.bound : &plan->proof.any_bound;
	struct gt_cluster_cut cut = {0};
	struct gt_rat bound;
	char text[GT_RAT_TEXT_MAX];
	int rc = gt_cluster_cut_init(&cut, plan, arena, err);

	if (rc)
		return rc;
	if (plan->coll != GT_COLL_ALLREDUCE && plan->proof.nsets != 1)
		return gt_plan_wrong(plan, at, err, "must be one");
	if (gt_coll_only_moves(plan->coll) ||
	    (!any && !plan->proof.has_any_bound))
		return gt_plan_wrong(plan, at, err, "prove nothing of this");
	for (uint32_t c = 0; c < cut.classes; c++) {
		gt_cluster_cut_class(&cut, c);
		for (uint32_t l = 0; l + 1 < plan->cluster->nlevels; l++)
			gt_cluster_cut_uplinks(&cut, l, c);
	}
	if (!cut.fault &&
	    (!gt_cluster_cut_bound(&cut, &bound) ||
	     !gt_rat_div(bound, gt_plan_algbw_factor(plan), &bound)) &&
	    !cut.fault)
		cut.fault = "its bound needs more than 64 bits";
	if (cut.fault)
		return gt_plan_wrong(plan, at, err, "prove nothing: %s",
				     cut.fault);
	if (!gt_rat_cmp(bound, *claim))
		return GT_OK;
	return gt_plan_wrong(plan, at, err,
			     "prove '%s', which is not the bound",
			     gt_rat_print(bound, text));
}

/* The certificate has sets, or prices, or both. */
static int gt_check_cluster_certificate(const struct gt_plan *plan,
					struct gt_plan_report *made,
					struct gt_err *err)
{
	int any = plan->proof.class_ == GT_PROOF_ANY, rc = GT_OK;
	struct gt_arena *arena = gt_arena_new();
	struct gt_link_graph vertices;

	if (!arena)
		return gt_err_nomem(err);
	if (plan->proof.relays)
		rc = gt_plan_wrong(
			plan, gt_plan_at("proof.certificate.relays"), err,
			"is for ranks that are listed, not for those of a "
			"cluster");
	if (!rc && plan->proof.nsets)
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
