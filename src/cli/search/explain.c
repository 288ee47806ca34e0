#include "cli/search/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "plan/ir/hop_uses.h"
#include "search/problem/request.h"
#include "search/search.h"
#include "search/problem/flat_cluster.h"
#include "topo/graph/edit.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

/* Machines that are searched again, at most: the rest is left out. */
enum { GT_EXPLAIN_TRIES = 24, GT_EXPLAIN_WHOLE_TRIES = 8 };

/* Two nodes that the plan fills a link between, and what more would give. */
struct gt_explain_pair {
	uint32_t a, b;
	struct gt_rat gbs; /* one way */
	double gain;
};

struct gt_explain_edge {
	uint32_t from, to;
	const char *id;
	struct gt_rat gbs;
};

struct gt_explaining {
	const struct gt_explain *ask;
	struct gt_buf *out;
	struct gt_arena *arena;
	uint32_t npairs;
	struct gt_explain_pair *pairs;
	struct gt_rat *gbs; /* of the topology's links, as they are */
};

/* The links that are searched over, of a machine or of a cluster as one. */
static uint32_t gt_explain_nlinks(const struct gt_explaining *e)
{
	const struct gt_flat_cluster *whole = e->ask->request->whole;

	return whole ? whole->fabric.nlinks : gt_topo_nlinks(e->ask->topo);
}

static struct gt_explain_edge gt_explain_edge(const struct gt_explaining *e,
					      uint32_t i)
{
	const struct gt_flat_cluster *whole = e->ask->request->whole;
	const struct gt_link *link;

	if (whole)
		return (struct gt_explain_edge){
			whole->fabric.links[i].from, whole->fabric.links[i].to,
			whole->link_ids[i], whole->fabric.links[i].gbs};
	link = gt_topo_link(e->ask->topo, i);
	return (struct gt_explain_edge){link->from, link->to, link->id,
					link->gbs};
}

static void gt_explain_set(const struct gt_explaining *e, uint32_t i,
			   struct gt_rat gbs)
{
	const struct gt_flat_cluster *whole = e->ask->request->whole;

	if (whole)
		whole->fabric.links[i].gbs = gbs;
	else
		gt_topo_set_gbs(e->ask->topo, i, gbs);
}

/* Of a cluster: what its links' ids call it. */
static void gt_explain_vertex(const struct gt_explaining *e, uint32_t index)
{
	for (uint32_t i = 0; i < gt_explain_nlinks(e); i++) {
		struct gt_explain_edge edge = gt_explain_edge(e, i);

		if (edge.from != index)
			continue;
		gt_buf_printf(e->out, "%.*s", (int)strcspn(edge.id, ">"),
			      edge.id);
		return;
	}
}

/* As people say it: "GPU0", "CPU1", "PCI 0000:05:00.0". */
static void gt_explain_node(const struct gt_explaining *e, uint32_t index)
{
	const struct gt_node *node;
	const char *kind;

	if (e->ask->request->whole) {
		gt_explain_vertex(e, index);
		return;
	}
	node = gt_topo_node(e->ask->topo, index);
	kind = gt_node_kind_name(node->kind);
	if (node->dev >= 0)
		gt_buf_printf(e->out, "%s%d", kind, node->dev);
	else if (node->kind == GT_NODE_NVS)
		gt_buf_puts(e->out, "NVSwitch");
	else if (node->bus_id)
		gt_buf_printf(e->out, "%s %s", kind, node->bus_id);
	else
		gt_buf_puts(e->out, node->id);
}

static void gt_explain_link(const struct gt_explaining *e, uint32_t a,
			    uint32_t b)
{
	gt_explain_node(e, a);
	gt_buf_puts(e->out, "\xe2\x80\x93");
	gt_explain_node(e, b);
}

/* The topology's link with the plan's id; GT_NONE if it is gone. */
static uint32_t gt_explain_find(const struct gt_explaining *e,
				uint32_t plan_link)
{
	const char *id = e->ask->plan->links[plan_link].id;

	for (uint32_t i = 0; i < gt_explain_nlinks(e); i++)
		if (!strcmp(gt_explain_edge(e, i).id, id))
			return i;
	return GT_NONE;
}

/* What a channel of the row brings to the loads of links. */
static int gt_explain_load(const struct gt_plan *plan,
			   const struct gt_plan_select *row,
			   const struct gt_plan_channel *channel, double *loads)
{
	uint32_t *uses = calloc((size_t)channel->nhops + 1, sizeof(*uses));
	int rc = uses ? gt_plan_hop_uses(plan, row, channel, uses) : GT_ESYS;

	for (uint32_t i = 0; !rc && i < channel->nhops; i++) {
		const struct gt_plan_hop *hop = &channel->hops[i];
		double gbs = gt_rat_double(channel->gbs) * uses[i];

		for (uint32_t k = 0; k < hop->nroute; k++) {
			uint32_t link = hop->route[k];

			loads[link] +=
				strcmp(plan->links[link].kind, "PCI")
					? gbs
					: gbs * gt_rat_double(hop->charge);
		}
	}
	free(uses);
	return rc;
}

static double *gt_explain_loads(const struct gt_explaining *e)
{
	const struct gt_plan *plan = e->ask->plan;
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	double *loads = gt_arena_array(e->arena, plan->nlinks, sizeof(*loads));

	for (uint32_t c = 0; loads && c < row->nchannels; c++)
		if (gt_explain_load(plan, row,
				    &plan->channels[row->channels[c]], loads))
			return NULL;
	return loads;
}

/* All full links, each with its other direction. */
static int gt_explain_pairs(struct gt_explaining *e, struct gt_err *err)
{
	const struct gt_plan *plan = e->ask->plan;
	const double *loads = gt_explain_loads(e);

	e->pairs = gt_arena_array(e->arena, plan->nlinks, sizeof(*e->pairs));
	e->gbs =
		gt_arena_array(e->arena, gt_explain_nlinks(e), sizeof(*e->gbs));
	if (!loads || !e->pairs || !e->gbs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < gt_explain_nlinks(e); i++)
		e->gbs[i] = gt_explain_edge(e, i).gbs;
	for (uint32_t i = 0; i < plan->nlinks; i++) {
		struct gt_explain_pair pair = {.gain = 1};
		uint32_t link = gt_explain_find(e, i), k = 0;

		if (link == GT_NONE ||
		    loads[i] <= gt_rat_double(plan->links[i].gbs) * (1 - 1e-9))
			continue;
		pair.a = gt_explain_edge(e, link).from;
		pair.b = gt_explain_edge(e, link).to;
		pair.gbs = plan->links[i].gbs;
		while (k < e->npairs &&
		       !(e->pairs[k].a == pair.b && e->pairs[k].b == pair.a))
			k++;
		if (k == e->npairs)
			e->pairs[e->npairs++] = pair;
	}
	return GT_OK;
}

/* Double the rates of a pair's links, both ways. */
static void gt_explain_double(const struct gt_explaining *e,
			      const struct gt_explain_pair *pair)
{
	for (uint32_t i = 0; i < gt_explain_nlinks(e); i++) {
		struct gt_explain_edge edge = gt_explain_edge(e, i);
		struct gt_rat gbs;

		if (!(edge.from == pair->a && edge.to == pair->b) &&
		    !(edge.from == pair->b && edge.to == pair->a))
			continue;
		if (gt_rat_mul(e->gbs[i], GT_RAT(2, 1), &gbs))
			gt_explain_set(e, i, gbs);
	}
}

static void gt_explain_restore(const struct gt_explaining *e)
{
	for (uint32_t i = 0; i < gt_explain_nlinks(e); i++)
		gt_explain_set(e, i, e->gbs[i]);
}

/* Bytes of the result over time: rings and trees count other things. */
static double gt_explain_algbw(const struct gt_plan *plan)
{
	return gt_rat_double(plan->proof.value) *
	       gt_rat_double(gt_plan_algbw_factor(plan));
}

/* The value with links as they are now, over that of the plan. */
static int gt_explain_gain(const struct gt_explaining *e, double *gain,
			   struct gt_err *err)
{
	struct gt_request request = *e->ask->request;
	struct gt_paths *paths = NULL;
	struct gt_plan *plan;
	int rc = GT_OK;

	/* Of a cluster as one machine routes stay what they are. */
	if (!request.whole)
		rc = gt_paths_new(e->ask->topo, &paths, err);
	if (rc)
		return rc;
	request.paths = paths;
	request.watch = NULL;
	rc = gt_search(&request, e->ask->algo, &plan, NULL, err);
	if (!rc) {
		*gain = gt_explain_algbw(plan) / gt_explain_algbw(e->ask->plan);
		gt_plan_free(plan);
	}
	gt_paths_free(paths);
	return rc;
}

static int gt_explain_by_gain(const void *a, const void *b)
{
	const struct gt_explain_pair *x = a, *y = b;

	if (x->gain != y->gain)
		return x->gain < y->gain ? 1 : -1;
	return x->a != y->a ? (x->a > y->a) - (x->a < y->a)
			    : (x->b > y->b) - (x->b < y->b);
}

static void gt_explain_full(const struct gt_explaining *e)
{
	gt_buf_printf(e->out, "\n%s full:\n",
		      e->npairs == 1 ? "this link is" : "these links are");
	for (uint32_t i = 0; i < e->npairs; i++) {
		gt_buf_puts(e->out, "  ");
		gt_explain_link(e, e->pairs[i].a, e->pairs[i].b);
		gt_buf_printf(e->out, ", %g GB/s each way\n",
			      gt_rat_double(e->pairs[i].gbs));
	}
}

static void gt_explain_gains(struct gt_explaining *e, double all)
{
	double value = gt_rat_double(e->ask->plan->proof.value);
	uint32_t shown = 0;

	qsort(e->pairs, e->npairs, sizeof(*e->pairs), gt_explain_by_gain);
	gt_buf_puts(e->out, "\nwhat would raise it, searched again:\n");
	for (uint32_t i = 0; i < e->npairs; i++) {
		if (e->pairs[i].gain < 1.0005)
			continue;
		gt_buf_puts(e->out, "  a second link ");
		gt_explain_link(e, e->pairs[i].a, e->pairs[i].b);
		gt_buf_printf(e->out, ": %.3gx, %g GB/s\n", e->pairs[i].gain,
			      e->pairs[i].gain * value);
		shown++;
	}
	if (!shown)
		gt_buf_puts(e->out, "  no second link at one place alone\n");
	if (e->npairs > 1)
		gt_buf_printf(e->out,
			      "  a second link beside each of them: %.3gx, %g "
			      "GB/s\n",
			      all, all * value);
}

/* What more of each full link would give, and of all of them together. */
static int gt_explain_try(struct gt_explaining *e, struct gt_err *err)
{
	uint32_t tries = e->ask->request->whole ? GT_EXPLAIN_WHOLE_TRIES
						: GT_EXPLAIN_TRIES;
	double all = 1;
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < e->npairs && i < tries; i++) {
		gt_explain_double(e, &e->pairs[i]);
		rc = gt_explain_gain(e, &e->pairs[i].gain, err);
		gt_explain_restore(e);
	}
	for (uint32_t i = 0; i < e->npairs; i++)
		gt_explain_double(e, &e->pairs[i]);
	if (!rc && e->npairs > 1)
		rc = gt_explain_gain(e, &all, err);
	gt_explain_restore(e);
	if (!rc)
		gt_explain_gains(e, all);
	return rc;
}

static void gt_explain_part(const struct gt_explaining *e,
			    const struct gt_plan_part *part)
{
	const struct gt_plan *plan = e->ask->plan;
	double gbs = 0;

	gt_buf_puts(e->out, part->nranks == 1 ? "  rank" : "  ranks");
	for (uint32_t i = 0; i < part->nranks; i++)
		gt_buf_printf(e->out, " %" PRIu32, part->ranks[i]);
	for (uint32_t i = 0; i < part->nlinks; i++)
		gbs += gt_rat_double(plan->links[part->links[i]].gbs);
	gt_buf_printf(e->out, " | the rest: %" PRIu32 " link%s of %g GB/s\n",
		      part->nlinks, part->nlinks == 1 ? "" : "s together", gbs);
}

/* Rings of one share: what prices show of other numbers of them. */
static void gt_explain_equal(const struct gt_explaining *e)
{
	const struct gt_plan_proof *proof = &e->ask->plan->proof;
	const char *between = " but for";

	if (!proof->nequal)
		return;
	gt_buf_printf(e->out,
		      "  that is of unequal ones; prices show of %" PRIu32
		      " equal ones or fewer that none reach more",
		      proof->nequal);
	for (uint32_t k = 1; k <= proof->nequal; k++) {
		if (proof->equal[k - 1].n)
			continue;
		gt_buf_printf(e->out, "%s %" PRIu32, between, k);
		between = ",";
	}
	gt_buf_puts(e->out, "\n");
}

/* The certificates, in the words of gtopo-plan(5). */
static void gt_explain_proof(const struct gt_explaining *e)
{
	const struct gt_plan_proof *proof = &e->ask->plan->proof;
	const char *what = proof->class_ == GT_PROOF_RING  ? "rings"
			   : proof->class_ == GT_PROOF_ANY ? "schedules"
							   : "trees";
	char limited[48];
	int pairs = gt_coll_only_moves(e->ask->plan->coll);

	if (proof->max_channels) {
		snprintf(limited, sizeof(limited), "%" PRIu32 " rings or fewer",
			 proof->max_channels);
		what = limited;
	}
	gt_buf_printf(
		e->out,
		"%s of %" PRIu32 " GPUs: %g GB/s%s in %" PRIu32 " channel%s\n",
		gt_coll_name(e->ask->plan->coll), e->ask->plan->nranks,
		gt_rat_double(proof->value), pairs ? " a pair" : "",
		gt_plan_main_row(e->ask->plan)->nchannels,
		gt_plan_main_row(e->ask->plan)->nchannels == 1 ? "" : "s");
	if (proof->optimal)
		gt_buf_printf(e->out, "proved: no %s reach more\n", what);
	else
		gt_buf_printf(e->out,
			      "proved: no %s reach more than %g GB/s "
			      "(%.3g%% above this)\n",
			      what, gt_rat_double(proof->bound),
			      100 * (gt_rat_double(proof->bound) /
					     gt_rat_double(proof->value) -
				     1));
	gt_explain_equal(e);
	if (proof->nprices && pairs)
		gt_buf_printf(e->out,
			      "  with prices on %" PRIu32 " of the links the "
			      "pairs' cheapest ways cost 1 a byte together,\n"
			      "  and all capacity together is worth %g\n",
			      proof->nprices, gt_rat_double(proof->bound));
	else if (proof->nprices)
		gt_buf_printf(e->out,
			      "  with prices on %" PRIu32
			      " of the links%s none "
			      "of the %s costs less than 1 a byte,\n  and all "
			      "capacity together is worth %g\n",
			      proof->nprices,
			      proof->max_channels ? " and on channels" : "",
			      proof->class_ == GT_PROOF_RING ? "rings" : what,
			      gt_rat_double(proof->bound));
	if (!proof->nparts)
		return;
	if (proof->has_any_bound)
		gt_buf_printf(e->out,
			      "no schedule at all reaches more than %g GB/s, "
			      "since everything has to cross:\n",
			      gt_rat_double(proof->any_bound));
	else
		gt_buf_puts(e->out, "since everything has to cross:\n");
	for (uint32_t i = 0; i < proof->nparts; i++)
		gt_explain_part(e, &proof->parts[i]);
}

int gt_search_explain(const struct gt_explain *explain, struct gt_buf *out,
		      struct gt_err *err)
{
	struct gt_explaining e = {.ask = explain, .out = out};
	int rc;

	if (!explain->plan->has_proof || explain->plan->nranks < 2) {
		gt_buf_puts(out, "nothing moves, nothing limits\n");
		return GT_OK;
	}
	e.arena = gt_arena_new();
	if (!e.arena)
		return gt_err_nomem(err);
	gt_explain_proof(&e);
	rc = gt_explain_pairs(&e, err);
	if (!rc && e.npairs) {
		gt_explain_full(&e);
		rc = gt_explain_try(&e, err);
	}
	gt_arena_free(e.arena);
	return rc;
}
