#include "search/emit/emit.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "search/bound/bound.h"
#include "search/emit/proof.h"
#include "search/problem/fabric.h"
#include "search/problem/request.h"
#include "search/problem/shape.h"
#include "search/problem/flat_cluster.h"
#include "topo/cluster/cluster.h"
#include "topo/view/print.h"

/*
 * How many workers (thread blocks) drive all channels together: 128 where
 * only NVLink is crossed, since on H200 (132 multiprocessors) every one up to
 * there adds bandwidth to a ring: 335 GB/s with 32, 362 with 96, 366 with 128;
 * 8 where PCIe limits, a tenth of that bandwidth.
 */
enum { GT_EMIT_WORKERS_NVL = 128, GT_EMIT_WORKERS_PCI = 8 };

enum { GT_EMIT_SLOTS = 8, GT_EMIT_SLICE_BYTES = 524288 };

/* A flow's hops only work side by side when a worker has several slices. */
enum { GT_EMIT_FLOW_SLICE_BYTES = 65536 };

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

static void gt_emit_source(struct gt_emit *e)
{
	const struct gt_request *request = e->found->request;
	struct gt_plan *plan = e->plan;

	if (request->whole) {
		plan->source = gt_emit_text(e, request->whole->cluster->source);
		return;
	}
	plan->digest = gt_emit_text(e, gt_topo_digest(request->topo));
	plan->shape_digest =
		gt_emit_text(e, gt_topo_shape_digest(request->topo));
	plan->source = gt_emit_text(e, gt_topo_source(request->topo));
}

static void gt_emit_head(struct gt_emit *e)
{
	const struct gt_request *request = e->found->request;
	struct gt_plan *plan = e->plan;

	plan->coll = request->coll;
	plan->root = request->root;
	plan->rates = gt_rates_name(request->rates);
	plan->fifo_slots = GT_EMIT_SLOTS;
	plan->fifo_slice_bytes = GT_EMIT_SLICE_BYTES;
	gt_emit_source(e);
}

/* As the topology has it; the strings are borrowed. */
static struct gt_plan_rank gt_emit_rank(const struct gt_request *request,
					uint32_t rank)
{
	const struct gt_node *node;

	if (request->whole)
		return request->whole->ranks[rank];
	node = gt_topo_node(request->topo, request->gpus[rank]);
	return (struct gt_plan_rank){
		.node = "n0",
		.device = node->bus_id,
		.name = node->name,
		.dev = node->dev >= 0 ? (uint32_t)node->dev : 0,
		.has_dev = node->dev >= 0,
	};
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
		struct gt_plan_rank *rank = &plan->ranks[i];

		*rank = gt_emit_rank(request, i);
		rank->node = gt_emit_text(e, rank->node);
		rank->device = gt_emit_text(e, rank->device);
		rank->name = gt_emit_text(e, rank->name);
	}
}

static void gt_emit_link(struct gt_emit *e, uint32_t i,
			 struct gt_plan_link *out)
{
	const struct gt_request *request = e->found->request;
	const struct gt_link *link;

	out->gbs = e->found->fabric->links[i].gbs;
	if (request->whole) {
		out->id = gt_emit_text(e, request->whole->link_ids[i]);
		out->kind = request->whole->link_kinds[i];
		return;
	}
	link = gt_topo_link(request->topo, i);
	out->id = gt_emit_text(e, link->id);
	out->kind = gt_link_kind_name(link->kind);
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
		if (!e->link[i])
			continue;
		gt_emit_link(e, i, &plan->links[plan->nlinks]);
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

void gt_emit_hop(struct gt_emit *e, struct gt_plan_hop *hop, uint32_t from,
		 uint32_t to, const struct gt_fabric_route *route)
{
	hop->from = from;
	hop->to = to;
	hop->charge = route->charge;
	hop->nroute = route->nlinks;
	hop->route = gt_emit_map(e, route->links, route->nlinks);
	if (hop->route)
		hop->transport =
			gt_plan_transport(e->plan, hop->route, hop->nroute);
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
	switch (proposal->shape) {
	case GT_SHAPE_RING:
		gt_emit_order(e, in, out);
		break;
	case GT_SHAPE_FLOW:
		gt_emit_flow(e, in, out);
		break;
	case GT_SHAPE_MESH:
		gt_emit_mesh(e, out);
		break;
	default:
		gt_emit_tree(e, in, out);
	}
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

static enum gt_algo gt_emit_algo(enum gt_shape shape)
{
	switch (shape) {
	case GT_SHAPE_RING:
		return GT_ALGO_RING;
	case GT_SHAPE_FLOW:
		return GT_ALGO_FLOW;
	case GT_SHAPE_MESH:
		return GT_ALGO_ONE_SHOT;
	default:
		return GT_ALGO_TREE;
	}
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
	select->algo = gt_emit_algo(e->found->proposal->shape);
	select->protocol = GT_PROTOCOL_SIMPLE;
	select->nchannels = plan->nchannels;
	select->channels = ids;
	select->workers = gt_emit_workers(plan);
	if (select->algo == GT_ALGO_FLOW)
		select->slice_bytes = GT_EMIT_FLOW_SLICE_BYTES;
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

int gt_emit(const struct gt_solution *found, struct gt_plan **plan,
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
