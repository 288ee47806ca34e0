#include "search/emit.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/plan.h"
#include "search/bound.h"
#include "search/emit_proof.h"
#include "search/fabric.h"
#include "search/request.h"
#include "search/shape.h"
#include "topo/print.h"

/*
 * How many workers (thread blocks) drive all channels together: 128 where
 * only NVLink is crossed, since on H200 (132 multiprocessors) every one up to
 * there adds bandwidth to a ring: 335 GB/s with 32, 362 with 96, 366 with 128;
 * 8 where PCIe limits, a tenth of that bandwidth.
 */
enum { GT_EMIT_WORKERS_NVL = 128, GT_EMIT_WORKERS_PCI = 8 };

enum { GT_EMIT_SLOTS = 8, GT_EMIT_SLICE_BYTES = 524288 };

void *gt_emit_array(struct gt_emit *e, size_t n, size_t size_bytes)
{
	void *array = gt_arena_array(e->plan->arena, n, size_bytes);

	e->failed |= !array;
	return array;
}

static const char *gt_emit_text(struct gt_emit *e, const char *text)
{
	char *copy = text ? gt_arena_strdup(e->plan->arena, text) : NULL;

	e->failed |= text && !copy;
	return copy;
}

static void gt_emit_head(struct gt_emit *e)
{
	const struct gt_request *request = e->found->request;
	struct gt_plan *plan = e->plan;

	plan->coll = request->coll;
	plan->root = request->root;
	plan->digest = gt_emit_text(e, gt_topo_digest(request->topo));
	plan->shape_digest =
		gt_emit_text(e, gt_topo_shape_digest(request->topo));
	plan->source = gt_emit_text(e, gt_topo_source(request->topo));
	plan->rates = gt_rates_name(request->rates);
	plan->fifo_slots = GT_EMIT_SLOTS;
	plan->fifo_slice_bytes = GT_EMIT_SLICE_BYTES;
}

static void gt_emit_ranks(struct gt_emit *e)
{
	const struct gt_request *request = e->found->request;
	struct gt_plan *plan = e->plan;

	plan->ranks = gt_emit_array(e, request->nranks, sizeof(*plan->ranks));
	if (e->failed)
		return;
	plan->nranks = request->nranks;
	for (uint32_t i = 0; i < plan->nranks; i++) {
		const struct gt_node *node =
			gt_topo_node(request->topo, request->gpus[i]);

		plan->ranks[i].node = "n0";
		plan->ranks[i].device = gt_emit_text(e, node->bus_id);
		plan->ranks[i].name = gt_emit_text(e, node->name);
		plan->ranks[i].has_dev = node->dev >= 0;
		if (node->dev >= 0)
			plan->ranks[i].dev = (uint32_t)node->dev;
	}
}

/* All links of routes and of the bound's parts, in the topology's order. */
static void gt_emit_links(struct gt_emit *e)
{
	const struct gt_fabric *f = e->found->fabric;
	const struct gt_bound *bound = e->found->proposal->cut;
	struct gt_plan *plan = e->plan;

	e->link = gt_emit_array(e, f->nlinks, sizeof(*e->link));
	plan->links = gt_emit_array(e, f->nlinks, sizeof(*plan->links));
	if (e->failed)
		return;
	for (uint32_t i = 0; i < f->nranks * f->nranks; i++)
		for (uint32_t k = 0; k < f->routes[i].nlinks; k++)
			e->link[f->routes[i].links[k]] = 1;
	for (uint32_t i = 0; bound && bound->found && i < bound->nparts; i++)
		for (uint32_t k = 0; k < bound->parts[i].nlinks; k++)
			e->link[bound->parts[i].links[k]] = 1;
	for (uint32_t i = 0; i < f->nlinks; i++) {
		const struct gt_link *link =
			gt_topo_link(e->found->request->topo, i);
		struct gt_plan_link *out = &plan->links[plan->nlinks];

		if (!e->link[i])
			continue;
		out->id = gt_emit_text(e, link->id);
		out->kind = gt_link_kind_name(link->kind);
		out->gbs = link->gbs;
		e->link[i] = plan->nlinks++;
	}
}

uint32_t *gt_emit_map(struct gt_emit *e, const uint32_t *links, uint32_t n)
{
	uint32_t *out = gt_emit_array(e, n, sizeof(*out));

	for (uint32_t i = 0; out && i < n; i++)
		out[i] = e->link[links[i]];
	return out;
}

static void gt_emit_hop(struct gt_emit *e, struct gt_plan_hop *hop,
			uint32_t from, uint32_t to,
			const struct gt_fabric_route *route)
{
	hop->from = from;
	hop->to = to;
	hop->transport = GT_TRANSPORT_PEER;
	hop->charge = route->charge;
	hop->nroute = route->nlinks;
	hop->route = gt_emit_map(e, route->links, route->nlinks);
}

static void gt_emit_order(struct gt_emit *e,
			  const struct gt_proposal_channel *in,
			  struct gt_plan_channel *out)
{
	const struct gt_fabric *f = e->found->fabric;
	uint32_t n = e->plan->nranks;

	out->order = gt_emit_array(e, n, sizeof(*out->order));
	out->hops = gt_emit_array(e, n, sizeof(*out->hops));
	if (e->failed)
		return;
	out->norder = n;
	memcpy(out->order, in->order, n * sizeof(*out->order));
	out->nhops = n > 1 ? n : 0;
	for (uint32_t k = 0; k < out->nhops; k++) {
		uint32_t from = in->order[k], to = in->order[(k + 1) % n];

		gt_emit_hop(e, &out->hops[k], from, to,
			    &f->routes[from * n + to]);
	}
}

/* Hops by child, down before up. */
static void gt_emit_tree(struct gt_emit *e,
			 const struct gt_proposal_channel *in,
			 struct gt_plan_channel *out)
{
	uint32_t n = e->plan->nranks;

	out->root = in->root;
	out->parent = gt_emit_array(e, n, sizeof(*out->parent));
	out->hops = gt_emit_array(e, 2 * (size_t)n, sizeof(*out->hops));
	for (uint32_t v = 0; !e->failed && v < n; v++) {
		out->parent[v] = v == in->root ? -1 : (int32_t)in->parent[v];
		if (in->down[v])
			gt_emit_hop(e, &out->hops[out->nhops++], in->parent[v],
				    v, in->down[v]);
		if (in->up[v])
			gt_emit_hop(e, &out->hops[out->nhops++], v,
				    in->parent[v], in->up[v]);
	}
}

static void gt_emit_channel(struct gt_emit *e, uint32_t i)
{
	const struct gt_proposal *proposal = e->found->proposal;
	const struct gt_proposal_channel *in = &proposal->channels[i];
	struct gt_plan_channel *out = &e->plan->channels[i];

	out->id = i;
	out->shape = proposal->shape;
	out->gbs = in->gbs;
	out->share = GT_RAT(1, 1);
	if (proposal->nchannels > 1)
		gt_rat_div(in->gbs, proposal->value, &out->share);
	if (proposal->shape == GT_SHAPE_RING)
		gt_emit_order(e, in, out);
	else
		gt_emit_tree(e, in, out);
}

static void gt_emit_channels(struct gt_emit *e)
{
	uint32_t n = e->found->proposal->nchannels;
	struct gt_plan *plan = e->plan;

	plan->channels = gt_emit_array(e, n, sizeof(*plan->channels));
	if (e->failed)
		return;
	plan->nchannels = n;
	for (uint32_t i = 0; i < n; i++)
		gt_emit_channel(e, i);
}

static int gt_emit_crosses_pci(const struct gt_plan *plan,
			       const struct gt_plan_hop *hop)
{
	for (uint32_t k = 0; k < hop->nroute; k++)
		if (!strcmp(plan->links[hop->route[k]].kind, "PCI"))
			return 1;
	return 0;
}

static uint32_t gt_emit_workers(const struct gt_plan *plan)
{
	uint32_t total = GT_EMIT_WORKERS_NVL;

	for (uint32_t c = 0; c < plan->nchannels; c++)
		for (uint32_t i = 0; i < plan->channels[c].nhops; i++)
			if (gt_emit_crosses_pci(plan,
						&plan->channels[c].hops[i]))
				total = GT_EMIT_WORKERS_PCI;
	return total > plan->nchannels ? total / plan->nchannels : 1;
}

static void gt_emit_select(struct gt_emit *e)
{
	struct gt_plan *plan = e->plan;
	struct gt_plan_select *select = gt_emit_array(e, 1, sizeof(*select));
	uint32_t *ids = gt_emit_array(e, plan->nchannels, sizeof(*ids));

	if (e->failed)
		return;
	for (uint32_t i = 0; i < plan->nchannels; i++)
		ids[i] = i;
	select->max_bytes = UINT64_MAX;
	select->coll = plan->coll;
	select->algo = e->found->proposal->shape == GT_SHAPE_RING
			       ? GT_ALGO_RING
			       : GT_ALGO_TREE;
	select->protocol = GT_PROTOCOL_SIMPLE;
	select->nchannels = plan->nchannels;
	select->channels = ids;
	select->workers = gt_emit_workers(plan);
	plan->select = select;
	plan->nselect = 1;
}

/* A wrong plan never leaves; that it is one is our fault, not the input's. */
static int gt_emit_check(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_err wrong;
	int rc;

	gt_err_init(&wrong);
	rc = gt_plan_check(plan, &wrong);
	if (!rc)
		return GT_OK;
	return gt_err_set(err, GT_ESYS, wrong.where,
			  "the search made a wrong plan: %s", wrong.text);
}

int gt_emit(const struct gt_found *found, struct gt_plan **plan,
	    struct gt_err *err)
{
	struct gt_emit e = {.found = found, .plan = gt_plan_new()};
	int rc;

	if (!e.plan)
		return gt_err_nomem(err);
	gt_emit_head(&e);
	gt_emit_ranks(&e);
	gt_emit_links(&e);
	if (!e.failed)
		gt_emit_channels(&e);
	if (!e.failed)
		gt_emit_select(&e);
	if (!e.failed)
		gt_emit_proof(&e);
	rc = e.failed ? gt_err_nomem(err) : gt_emit_check(e.plan, err);
	if (rc) {
		gt_plan_free(e.plan);
		return rc;
	}
	*plan = e.plan;
	return GT_OK;
}
