#include "cli/search_explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "plan/plan.h"
#include "search/request.h"
#include "search/search.h"
#include "topo/edit.h"
#include "topo/path.h"
#include "topo/topo.h"

/* Machines that are searched again, at most: the rest is left out. */
enum { GT_EXPLAIN_TRIES = 24 };

/* Two nodes that the plan fills a link between, and what more would give. */
struct gt_explain_pair {
	uint32_t a, b;
	struct gt_rat gbs; /* one way */
	double gain;
};

struct gt_explaining {
	const struct gt_explain *ask;
	struct gt_buf *out;
	struct gt_arena *arena;
	uint32_t npairs;
	struct gt_explain_pair *pairs;
	struct gt_rat *gbs; /* of the topology's links, as they are */
};

/* As people say it: "GPU0", "CPU1", "PCI 0000:05:00.0". */
static void gt_explain_node(const struct gt_explaining *e, uint32_t index)
{
	const struct gt_node *node = gt_topo_node(e->ask->topo, index);
	const char *kind = gt_node_kind_name(node->kind);

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
	const struct gt_topo *topo = e->ask->topo;
	const char *id = e->ask->plan->links[plan_link].id;

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++)
		if (!strcmp(gt_topo_link(topo, i)->id, id))
			return i;
	return GT_NONE;
}

/* Is the plan's link as full as can be? */
static int gt_explain_is_full(const struct gt_plan *plan, uint32_t link)
{
	const struct gt_plan_select *row = gt_plan_main(plan);
	double load = 0, gbs = gt_rat_double(plan->links[link].gbs);

	for (uint32_t c = 0; c < row->nchannels; c++) {
		const struct gt_plan_channel *channel =
			&plan->channels[row->channels[c]];

		for (uint32_t i = 0; i < channel->nhops; i++) {
			const struct gt_plan_hop *hop = &channel->hops[i];
			int pci = !strcmp(plan->links[link].kind, "PCI");

			for (uint32_t k = 0; k < hop->nroute; k++)
				if (hop->route[k] == link)
					load += gt_rat_double(channel->gbs) *
						(pci ? gt_rat_double(
							       hop->charge)
						     : 1);
		}
	}
	return load > gbs * (1 - 1e-9);
}

/* All full links, each with its other direction. */
static int gt_explain_pairs(struct gt_explaining *e, struct gt_err *err)
{
	const struct gt_plan *plan = e->ask->plan;

	e->pairs = gt_arena_array(e->arena, plan->nlinks, sizeof(*e->pairs));
	e->gbs = gt_arena_array(e->arena, gt_topo_nlinks(e->ask->topo),
				sizeof(*e->gbs));
	if (!e->pairs || !e->gbs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < gt_topo_nlinks(e->ask->topo); i++)
		e->gbs[i] = gt_topo_link(e->ask->topo, i)->gbs;
	for (uint32_t i = 0; i < plan->nlinks; i++) {
		struct gt_explain_pair pair = {.gain = 1};
		uint32_t link = gt_explain_find(e, i), k = 0;

		if (link == GT_NONE || !gt_explain_is_full(plan, i))
			continue;
		pair.a = gt_topo_link(e->ask->topo, link)->from;
		pair.b = gt_topo_link(e->ask->topo, link)->to;
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
	struct gt_topo *topo = e->ask->topo;

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);
		struct gt_rat gbs;

		if (!(link->from == pair->a && link->to == pair->b) &&
		    !(link->from == pair->b && link->to == pair->a))
			continue;
		if (gt_rat_mul(e->gbs[i], GT_RAT(2, 1), &gbs))
			gt_topo_set_gbs(topo, i, gbs);
	}
}

static void gt_explain_restore(const struct gt_explaining *e)
{
	for (uint32_t i = 0; i < gt_topo_nlinks(e->ask->topo); i++)
		gt_topo_set_gbs(e->ask->topo, i, e->gbs[i]);
}

/* The value on the topology as it is now, over that of the plan. */
static int gt_explain_gain(const struct gt_explaining *e, double *gain,
			   struct gt_err *err)
{
	struct gt_request request = *e->ask->request;
	struct gt_paths *paths;
	struct gt_plan *plan;
	int rc = gt_paths_new(e->ask->topo, &paths, err);

	if (rc)
		return rc;
	request.paths = paths;
	request.watch = NULL;
	rc = gt_search(&request, e->ask->algo, &plan, NULL, err);
	if (!rc) {
		*gain = gt_rat_double(plan->proof.value) /
			gt_rat_double(e->ask->plan->proof.value);
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
	double all = 1;
	int rc = GT_OK;

	for (uint32_t i = 0; !rc && i < e->npairs && i < GT_EXPLAIN_TRIES;
	     i++) {
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

/* The certificates, in the words of gtopo-plan(5). */
static void gt_explain_proof(const struct gt_explaining *e)
{
	const struct gt_plan_proof *proof = &e->ask->plan->proof;
	const char *what = proof->class_ == GT_PROOF_RING  ? "rings"
			   : proof->class_ == GT_PROOF_ANY ? "schedules"
							   : "trees";

	gt_buf_printf(e->out,
		      "%s of %" PRIu32 " GPUs: %g GB/s in %" PRIu32
		      " channel%s\n",
		      gt_coll_name(e->ask->plan->coll), e->ask->plan->nranks,
		      gt_rat_double(proof->value),
		      gt_plan_main(e->ask->plan)->nchannels,
		      gt_plan_main(e->ask->plan)->nchannels == 1 ? "" : "s");
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
	if (proof->nprices)
		gt_buf_printf(e->out,
			      "  with prices on %" PRIu32 " of the links none "
			      "of the %s costs less than 1 a byte,\n  and all "
			      "capacity together is worth %g\n",
			      proof->nprices, what,
			      gt_rat_double(proof->bound));
	if (!proof->has_any_bound || !proof->nparts)
		return;
	gt_buf_printf(e->out,
		      "no schedule at all reaches more than %g GB/s, since "
		      "everything has to cross:\n",
		      gt_rat_double(proof->any_bound));
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
