#include "search/emit/proof.h"

#include <string.h>

#include "plan/ir/plan.h"
#include "search/bound/bound.h"
#include "search/emit/emit.h"
#include "search/problem/fabric.h"
#include "search/problem/shape.h"

/* None where some pair is not connected: a certificate needs them all. */
static void gt_emit_routes(struct gt_emit *e)
{
	const struct gt_fabric *f = e->found->fabric;
	struct gt_plan_proof *proof = &e->plan->proof;
	uint32_t n = f->nranks, count = 0;

	proof->routes = gt_emit_array(e, (size_t)n * n, sizeof(*proof->routes));
	for (uint32_t i = 0; !e->failed && i < n * n; i++) {
		struct gt_plan_route *route = &proof->routes[count];

		if (i / n == i % n)
			continue;
		if (!f->routes[i].nlinks)
			return;
		route->from = i / n;
		route->to = i % n;
		route->charge = f->routes[i].charge;
		route->nlinks = f->routes[i].nlinks;
		route->links =
			gt_emit_map(e, f->routes[i].links, f->routes[i].nlinks);
		count++;
	}
	proof->nroutes = count;
}

static void gt_emit_price_list(struct gt_emit *e,
			       const struct gt_proposal_price *in, uint32_t n,
			       struct gt_plan_prices *out)
{
	out->list = gt_emit_array(e, n, sizeof(*out->list));
	for (uint32_t i = 0; !e->failed && i < n; i++) {
		out->list[i].link = e->link[in[i].link];
		out->list[i].price = in[i].price;
		out->n++;
	}
}

static void gt_emit_prices(struct gt_emit *e)
{
	const struct gt_proposal *proposal = e->found->proposal;
	struct gt_plan_proof *proof = &e->plan->proof;
	struct gt_plan_prices prices = {0};

	gt_emit_price_list(e, proposal->prices, proposal->nprices, &prices);
	proof->nprices = prices.n;
	proof->prices = prices.list;
	proof->equal =
		gt_emit_array(e, proposal->nequal, sizeof(*proof->equal));
	for (uint32_t i = 0; !e->failed && i < proposal->nequal; i++)
		gt_emit_price_list(e, proposal->equal[i].list,
				   proposal->equal[i].n,
				   &proof->equal[proof->nequal++]);
}

static void gt_emit_parts(struct gt_emit *e)
{
	const struct gt_bound *bound = e->found->proposal->cut;
	struct gt_plan_proof *proof = &e->plan->proof;

	proof->parts = gt_emit_array(e, bound->nparts, sizeof(*proof->parts));
	for (uint32_t i = 0; !e->failed && i < bound->nparts; i++) {
		const struct gt_bound_part *in = &bound->parts[i];
		struct gt_plan_part *out = &proof->parts[i];

		out->nlinks = in->nlinks;
		out->links = gt_emit_map(e, in->links, in->nlinks);
		out->nranks = in->nranks;
		out->ranks = gt_emit_array(e, in->nranks, sizeof(*out->ranks));
		if (!e->failed)
			memcpy(out->ranks, in->ranks,
			       in->nranks * sizeof(*out->ranks));
		proof->nparts++;
	}
}

void gt_emit_proof(struct gt_emit *e)
{
	const struct gt_proposal *proposal = e->found->proposal;
	struct gt_plan_proof *proof = &e->plan->proof;

	if (!proposal->has_bound)
		return;
	e->plan->has_proof = 1;
	proof->class_ = proposal->class_;
	proof->value = proposal->value;
	proof->bound = proposal->bound;
	proof->optimal = !gt_rat_cmp(proof->value, proof->bound);
	if (e->plan->nranks < 2)
		return;
	gt_emit_routes(e);
	gt_emit_prices(e);
	proof->max_channels = proposal->max_channels;
	proof->channel_price =
		proposal->max_channels ? proposal->channel_price : GT_RAT(0, 1);
	proof->has_any_bound = proposal->has_any_bound;
	proof->any_bound = proposal->any_bound;
	if (proposal->cut && proposal->cut->found)
		gt_emit_parts(e);
}
