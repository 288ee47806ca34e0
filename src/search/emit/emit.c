/*
 * The plan of one machine, or of a small cluster as one: ranks and links by
 * name, channels by shape, the row of `select`, and the proof with its
 * certificates.
 */
#include "search/emit/emit.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/demand.h"
#include "plan/ir/plan.h"
#include "search/bound/bound.h"
#include "search/emit/common_hops.h"
#include "search/emit/plan_builder.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"
#include "search/problem/link_rows.h"
#include "search/problem/request.h"
#include "search/problem/shape.h"
#include "topo/cluster/cluster.h"
#include "topo/view/print.h"

/*
 * How many workers (thread blocks) drive all channels together: 128 where
 * only NVLink is crossed, since on H200 (132 multiprocessors) every one up to
 * there adds bandwidth to a ring: 335 GB/s with 32, 362 with 96, 366 with 128;
 * 8 where PCIe limits, a tenth of that bandwidth.
 */
enum { GT_EMIT_WORKERS_NVL = 128, GT_EMIT_WORKERS_PCI = 8 };

/* A flow's hops only work side by side when a worker has several slices. */
enum { GT_EMIT_FLOW_SLICE_BYTES = 65536 };

struct gt_emitter {
	struct gt_plan_builder b;
	const struct gt_solution *solution;
	uint32_t *link_map; /* the builder's, while it is made */
};

/* ---- the machine ------------------------------------------------------- */

static void emit_head(struct gt_emitter *e)
{
	const struct gt_search_request *request = e->solution->request;
	const struct gt_flat_cluster *flat = request->flat;

	gt_plan_builder_head(
		&e->b, &(struct gt_plan_head){request->coll, request->root,
					      request->rates,
					      flat ? NULL : request->topo});
	if (flat)
		e->b.plan->source =
			gt_plan_builder_text(&e->b, flat->cluster->source);
}

/* A rank as the topology has it; its strings are borrowed. */
static struct gt_plan_rank borrow_rank(const struct gt_search_request *request,
				       uint32_t rank)
{
	const struct gt_node *node;

	if (request->flat)
		return request->flat->ranks[rank];
	node = gt_topo_node(request->topo, request->gpus[rank]);
	return (struct gt_plan_rank){
		.node = "n0",
		.device = node->bus_id,
		.name = node->name,
		.dev = node->dev >= 0 ? (uint32_t)node->dev : 0,
		.has_dev = node->dev >= 0,
	};
}

/* The request's demand, whose numbers were checked when it was made. */
static void emit_demand(struct gt_emitter *e)
{
	const struct gt_search_request *request = e->solution->request;

	e->b.plan->out_of_place = request->demand != NULL;
	if (request->demand)
		e->b.failed |=
			gt_demand_new(request->nranks, request->demand->bytes,
				      e->b.plan->arena, &e->b.plan->demand,
				      NULL) != GT_OK;
}

static void emit_ranks(struct gt_emitter *e)
{
	const struct gt_search_request *request = e->solution->request;
	struct gt_plan *plan = e->b.plan;

	plan->ranks = gt_plan_builder_array(&e->b, request->nranks,
					    sizeof(*plan->ranks));
	if (e->b.failed)
		return;
	plan->nranks = request->nranks;
	for (uint32_t i = 0; i < plan->nranks; i++) {
		struct gt_plan_rank *rank = &plan->ranks[i];

		*rank = borrow_rank(request, i);
		rank->node = gt_plan_builder_text(&e->b, rank->node);
		rank->device = gt_plan_builder_text(&e->b, rank->device);
		rank->name = gt_plan_builder_text(&e->b, rank->name);
	}
}

static void emit_link(struct gt_emitter *e, uint32_t i,
		      struct gt_plan_link *out)
{
	const struct gt_search_request *request = e->solution->request;
	const struct gt_link *link;

	out->gbs = e->solution->fabric->links[i].gbs;
	if (request->flat) {
		out->id =
			gt_plan_builder_text(&e->b, request->flat->link_ids[i]);
		out->kind = request->flat->link_kinds[i];
		return;
	}
	link = gt_topo_link(request->topo, i);
	out->id = gt_plan_builder_text(&e->b, link->id);
	out->kind = gt_link_kind_name(link->kind);
}

/* Mark the links that trees through switches cross. */
static void mark_vertices(const struct gt_proposal *proposal, uint32_t *used)
{
	for (uint32_t c = 0; c < proposal->nchannels; c++)
		for (uint32_t i = 0; i < proposal->channels[c].nvertices; i++) {
			const struct gt_plan_vertex *v =
				&proposal->channels[c].vertices[i];

			for (uint32_t k = 0; k < v->nup; k++)
				used[v->up[k]] = 1;
			for (uint32_t k = 0; k < v->ndown; k++)
				used[v->down[k]] = 1;
		}
}

/*
 * Mark the links of all routes and those of the bound's parts; those that lead
 * somewhere where the proof is about ways along any of them: where some pair
 * has no route, and where switches of a network join nodes.
 */
static void mark_links(const struct gt_solution *solution, uint32_t *used)
{
	const struct gt_fabric *f = solution->fabric;
	const struct gt_bound *bound = solution->proposal->cut;
	int switches = solution->proposal->shape == GT_SHAPE_SWITCH;
	int any = switches ? solution->request->flat != NULL
			   : !gt_fabric_is_routed(f);

	mark_vertices(solution->proposal, used);
	for (uint32_t i = 0; any && i < f->nlinks; i++)
		used[i] = f->links[i].from != f->links[i].to;
	if (switches)
		return;
	for (uint32_t i = 0; !f->open && i < f->nranks * f->nranks; i++)
		for (uint32_t k = 0; k < f->routes[i].nlinks; k++)
			used[f->routes[i].links[k]] = 1;
	for (uint32_t i = 0; bound && bound->found && i < bound->nparts; i++)
		for (uint32_t k = 0; k < bound->parts[i].nlinks; k++)
			used[bound->parts[i].links[k]] = 1;
}

/* The links that are marked, in the topology's order. */
static void emit_links(struct gt_emitter *e)
{
	const struct gt_fabric *f = e->solution->fabric;
	struct gt_plan *plan = e->b.plan;

	e->link_map =
		gt_plan_builder_array(&e->b, f->nlinks, sizeof(*e->link_map));
	plan->links =
		gt_plan_builder_array(&e->b, f->nlinks, sizeof(*plan->links));
	if (e->b.failed)
		return;
	mark_links(e->solution, e->link_map);
	for (uint32_t i = 0; i < f->nlinks; i++) {
		if (!e->link_map[i])
			continue;
		emit_link(e, i, &plan->links[plan->nlinks]);
		e->link_map[i] = plan->nlinks++;
	}
	e->b.link_map = e->link_map;
}

/* ---- its channels ------------------------------------------------------ */

static void emit_hop(struct gt_emitter *e, struct gt_plan_channel *out,
		     uint32_t from, uint32_t to,
		     const struct gt_fabric_route *route)
{
	out->hops[out->nhops++] =
		gt_plan_builder_hop(&e->b, from, to, route, NULL);
}

static void emit_leg(struct gt_emitter *e, struct gt_plan_channel *out,
		     uint32_t from, uint32_t to)
{
	const struct gt_fabric *f = e->solution->fabric;

	emit_hop(e, out, from, to, &f->routes[from * f->nranks + to]);
}

/* A hop that is relayed is two, one behind the other. */
static void emit_order(struct gt_emitter *e,
		       const struct gt_proposal_channel *in,
		       struct gt_plan_channel *out)
{
	uint32_t n = e->b.plan->nranks;

	out->norder = n;
	out->order = gt_plan_builder_array(&e->b, n, sizeof(*out->order));
	out->hops =
		gt_plan_builder_array(&e->b, 2 * (size_t)n, sizeof(*out->hops));
	for (uint32_t k = 0; k < n && !e->b.failed; k++) {
		uint32_t to = gt_ring_place(in->order[(k + 1) % n]);
		uint32_t via = gt_ring_via(in->order[k]);

		out->order[k] = gt_ring_place(in->order[k]);
		if (n > 1)
			emit_leg(e, out, out->order[k],
				 via == UINT32_MAX ? to : via);
		if (via != UINT32_MAX)
			emit_leg(e, out, via, to);
	}
}

/* Hops are in order of the child, the one down to it before the one up. */
static void emit_tree(struct gt_emitter *e,
		      const struct gt_proposal_channel *in,
		      struct gt_plan_channel *out)
{
	uint32_t n = e->b.plan->nranks;

	out->root = in->root;
	out->parent = gt_plan_builder_array(&e->b, n, sizeof(*out->parent));
	out->hops =
		gt_plan_builder_array(&e->b, 2 * (size_t)n, sizeof(*out->hops));
	for (uint32_t v = 0; !e->b.failed && v < n; v++) {
		out->parent[v] = v == in->root ? -1 : (int32_t)in->parent[v];
		if (in->down[v])
			emit_hop(e, out, in->parent[v], v, in->down[v]);
		if (in->up[v])
			emit_hop(e, out, v, in->parent[v], in->up[v]);
	}
}

/* Hops are in order of the two ranks, each over the fabric's one route. */
static void emit_used_pairs(struct gt_emitter *e, const unsigned char *used,
			    struct gt_plan_channel *out)
{
	const struct gt_fabric *f = e->solution->fabric;
	uint32_t n = f->nranks;

	out->hops =
		gt_plan_builder_array(&e->b, (size_t)n * n, sizeof(*out->hops));
	for (uint32_t i = 0; !e->b.failed && i < n * n; i++)
		if (used[i])
			emit_hop(e, out, i / n, i % n, &f->routes[i]);
}

/* A flow names only the paths that go through other ranks. */
static void emit_flow(struct gt_emitter *e,
		      const struct gt_proposal_channel *in,
		      struct gt_plan_channel *out)
{
	uint32_t n = e->b.plan->nranks;
	unsigned char *used = gt_plan_builder_array(&e->b, (size_t)n * n, 1);

	out->paths =
		gt_plan_builder_array(&e->b, in->npaths, sizeof(*out->paths));
	for (uint32_t p = 0; !e->b.failed && p < in->npaths; p++) {
		const struct gt_proposal_path *path = &in->paths[p];
		uint32_t nranks = path->nhops + 1;

		for (uint32_t k = 0; k < path->nhops; k++)
			used[path->ranks[k] * n + path->ranks[k + 1]] = 1;
		if (path->nhops < 2)
			continue;
		out->paths[out->npaths++] = (struct gt_plan_path){
			.nranks = nranks,
			.ranks =
				gt_plan_builder_copy(&e->b, path->ranks, nranks,
						     sizeof(*path->ranks))};
	}
	if (!e->b.failed)
		emit_used_pairs(e, used, out);
}

static void emit_mesh(struct gt_emitter *e, struct gt_plan_channel *out)
{
	uint32_t n = e->b.plan->nranks;
	unsigned char *used = gt_plan_builder_array(&e->b, (size_t)n * n, 1);

	for (uint32_t i = 0; !e->b.failed && i < n * n; i++)
		used[i] = i / n != i % n;
	if (!e->b.failed)
		emit_used_pairs(e, used, out);
}

static void emit_vertices(struct gt_emitter *e,
			  const struct gt_proposal_channel *in,
			  struct gt_plan_channel *out)
{
	out->nvertices = in->nvertices;
	out->vertices = gt_plan_builder_copy(&e->b, in->vertices, in->nvertices,
					     sizeof(*out->vertices));
	for (uint32_t i = 0; !e->b.failed && i < out->nvertices; i++) {
		struct gt_plan_vertex *v = &out->vertices[i];

		v->name = gt_plan_builder_text(&e->b, v->name);
		v->up = gt_plan_builder_links(&e->b, v->up, v->nup);
		v->down = gt_plan_builder_links(&e->b, v->down, v->ndown);
	}
}

static void emit_channel(struct gt_emitter *e,
			 const struct gt_proposal_channel *in)
{
	const struct gt_proposal *proposal = e->solution->proposal;
	struct gt_plan_channel *out =
		gt_plan_builder_channel(&e->b, proposal->shape);

	out->gbs = in->gbs;
	out->share = GT_RAT(1, 1);
	if (proposal->nchannels > 1)
		gt_rat_div(in->gbs, proposal->value, &out->share);
	switch (proposal->shape) {
	case GT_SHAPE_RING:
		emit_order(e, in, out);
		break;
	case GT_SHAPE_FLOW:
		emit_flow(e, in, out);
		break;
	case GT_SHAPE_MESH:
		emit_mesh(e, out);
		break;
	case GT_SHAPE_SWITCH:
		emit_vertices(e, in, out);
		break;
	default:
		emit_tree(e, in, out);
	}
}

static void emit_channels(struct gt_emitter *e)
{
	const struct gt_proposal *proposal = e->solution->proposal;

	gt_plan_builder_channels(&e->b, proposal->nchannels);
	for (uint32_t i = 0; !e->b.failed && i < proposal->nchannels; i++)
		emit_channel(e, &proposal->channels[i]);
}

/* ---- their use --------------------------------------------------------- */

static int crosses_pci(const struct gt_plan *plan,
		       const struct gt_plan_hop *hop)
{
	for (uint32_t k = 0; k < hop->nroute; k++)
		if (!strcmp(plan->links[hop->route[k]].kind, "PCI"))
			return 1;
	return 0;
}

static uint32_t count_workers(const struct gt_plan *plan)
{
	for (uint32_t c = 0; c < plan->nchannels; c++)
		for (uint32_t i = 0; i < plan->channels[c].nhops; i++)
			if (crosses_pci(plan, &plan->channels[c].hops[i]))
				return GT_EMIT_WORKERS_PCI;
	return GT_EMIT_WORKERS_NVL;
}

/* A tree through switches whose root is one joins nodes by their network. */
static enum gt_algo algo_of(const struct gt_proposal *proposal)
{
	switch (proposal->shape) {
	case GT_SHAPE_RING:
		return GT_ALGO_RING;
	case GT_SHAPE_FLOW:
		return GT_ALGO_FLOW;
	case GT_SHAPE_MESH:
		return GT_ALGO_ONE_SHOT;
	case GT_SHAPE_SWITCH:
		return proposal->channels[0].vertices[0].name ? GT_ALGO_COLLNET
							      : GT_ALGO_NVLS;
	default:
		return GT_ALGO_TREE;
	}
}

static void emit_select(struct gt_emitter *e)
{
	enum gt_algo algo = algo_of(e->solution->proposal);
	struct gt_plan_select *select =
		gt_plan_builder_select(&e->b, algo, count_workers(e->b.plan));

	if (select && algo == GT_ALGO_FLOW)
		select->slice_bytes = GT_EMIT_FLOW_SLICE_BYTES;
	/* By the host's memory a mesh has nothing else that large ones take. */
	if (select && algo == GT_ALGO_ONE_SHOT && gt_plan_is_staged(e->b.plan))
		select->protocol = GT_PROTOCOL_CE;
}

/* ---- the proof --------------------------------------------------------- */

/*
 * The routes of all pairs.  Where some pair is not connected there are none,
 * since a certificate needs them all; in an open fabric any path is a route.
 */
static void emit_routes(struct gt_emitter *e)
{
	const struct gt_fabric *f = e->solution->fabric;
	struct gt_plan_proof *proof = &e->b.plan->proof;
	uint32_t n = f->nranks;

	if (e->solution->proposal->shape == GT_SHAPE_SWITCH ||
	    !gt_fabric_is_routed(f))
		return;
	proof->routes = gt_plan_builder_array(&e->b, (size_t)n * n,
					      sizeof(*proof->routes));
	for (uint32_t i = 0; !e->b.failed && i < n * n; i++)
		if (i / n != i % n)
			gt_plan_builder_route(&e->b, i / n, i % n,
					      &f->routes[i]);
}

static struct gt_plan_prices emit_price_list(struct gt_emitter *e,
					     const struct gt_proposal_price *in,
					     uint32_t n)
{
	struct gt_plan_prices out = {
		.list = gt_plan_builder_array(&e->b, n, sizeof(*out.list))};

	for (uint32_t i = 0; !e->b.failed && i < n; i++)
		out.list[out.n++] = (struct gt_plan_price){
			e->link_map[in[i].link], in[i].price};
	return out;
}

static void emit_prices(struct gt_emitter *e)
{
	const struct gt_proposal *proposal = e->solution->proposal;
	struct gt_plan_proof *proof = &e->b.plan->proof;
	struct gt_plan_prices prices =
		emit_price_list(e, proposal->prices, proposal->nprices);

	proof->nprices = prices.n;
	proof->prices = prices.list;
	proof->equal = gt_plan_builder_array(&e->b, proposal->nequal,
					     sizeof(*proof->equal));
	for (uint32_t i = 0; !e->b.failed && i < proposal->nequal; i++)
		proof->equal[proof->nequal++] = emit_price_list(
			e, proposal->equal[i].list, proposal->equal[i].n);
}

static void emit_parts(struct gt_emitter *e)
{
	const struct gt_bound *bound = e->solution->proposal->cut;
	struct gt_plan_proof *proof = &e->b.plan->proof;

	proof->parts = gt_plan_builder_array(&e->b, bound->nparts,
					     sizeof(*proof->parts));
	for (uint32_t i = 0; !e->b.failed && i < bound->nparts; i++) {
		const struct gt_bound_part *in = &bound->parts[i];

		proof->parts[proof->nparts++] = (struct gt_plan_part){
			.nlinks = in->nlinks,
			.links = gt_plan_builder_links(&e->b, in->links,
						       in->nlinks),
			.nranks = in->nranks,
			.ranks = gt_plan_builder_copy(&e->b, in->ranks,
						      in->nranks,
						      sizeof(*in->ranks)),
		};
	}
}

static void emit_proof(struct gt_emitter *e)
{
	const struct gt_proposal *proposal = e->solution->proposal;
	struct gt_plan_proof *proof = &e->b.plan->proof;

	if (!proposal->has_bound)
		return;
	gt_plan_builder_proof(&e->b, proposal->class_, proposal->value,
			      proposal->bound);
	if (e->b.plan->nranks < 2)
		return;
	emit_routes(e);
	emit_prices(e);
	proof->relays = proposal->relays;
	proof->max_channels = proposal->max_channels;
	proof->channel_price =
		proposal->max_channels ? proposal->channel_price : GT_RAT(0, 1);
	proof->has_any_bound = proposal->has_any_bound;
	proof->any_bound = proposal->any_bound;
	if (proposal->cut && proposal->cut->found)
		emit_parts(e);
}

/* Beyond this plans are not merged with others, and files grow large. */
static int request_is_large(const struct gt_solution *solution)
{
	return solution->request->nranks > GT_FLAT_MAX_RANKS;
}

int gt_emit(const struct gt_solution *solution, struct gt_plan **plan,
	    struct gt_err *err)
{
	struct gt_emitter e = {.solution = solution};
	int rc = gt_plan_builder_init(&e.b, err);

	if (rc)
		return rc;
	emit_head(&e);
	emit_ranks(&e);
	emit_demand(&e);
	emit_links(&e);
	if (!e.b.failed)
		emit_channels(&e);
	if (!e.b.failed && request_is_large(solution))
		gt_common_hops(&e.b);
	if (!e.b.failed)
		emit_select(&e);
	if (!e.b.failed)
		emit_proof(&e);
	return gt_plan_builder_finish(&e.b, plan, err);
}
