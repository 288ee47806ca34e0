/*
 * What plans of machines and plans of clusters are written with: arrays and
 * strings in the plan's arena, and the parts that all plans have alike.
 */
#include "search/emit/plan_builder.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "search/problem/fabric.h"

/* The FIFO that every plan begins with; rows of `select` may say otherwise. */
enum { GT_PLAN_SLOTS = 8, GT_PLAN_SLICE_BYTES = 524288 };

int gt_plan_builder_init(struct gt_plan_builder *b, struct gt_err *err)
{
	*b = (struct gt_plan_builder){.plan = gt_plan_new()};
	return b->plan ? GT_OK : gt_err_nomem(err);
}

static int check(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_err wrong;
	int rc;

	gt_err_init(&wrong);
	rc = gt_plan_check(plan, &wrong);
	/* A check that could not be made says nothing about the plan. */
	if (rc == GT_ESYS)
		return gt_err_set(err, rc, wrong.where, "%s", wrong.text);
	if (!rc)
		return GT_OK;
	return gt_err_set(err, GT_ESYS, wrong.where,
			  "the search made a wrong plan: %s", wrong.text);
}

int gt_plan_builder_finish(struct gt_plan_builder *b, struct gt_plan **plan,
			   struct gt_err *err)
{
	int rc = b->failed ? gt_err_nomem(err) : check(b->plan, err);

	if (rc)
		gt_plan_free(b->plan);
	else
		*plan = b->plan;
	return rc;
}

void *gt_plan_builder_array(struct gt_plan_builder *b, size_t n,
			    size_t size_bytes)
{
	void *array = gt_arena_array(b->plan->arena, n, size_bytes);

	b->failed |= !array;
	return array;
}

void *gt_plan_builder_copy(struct gt_plan_builder *b, const void *from,
			   size_t n, size_t size_bytes)
{
	void *copy = gt_plan_builder_array(b, n, size_bytes);

	if (copy && n)
		memcpy(copy, from, n * size_bytes);
	return copy;
}

const char *gt_plan_builder_text(struct gt_plan_builder *b, const char *text)
{
	char *copy = text ? gt_arena_strdup(b->plan->arena, text) : NULL;

	b->failed |= text && !copy;
	return copy;
}

void gt_plan_builder_head(struct gt_plan_builder *b,
			  const struct gt_plan_head *head)
{
	struct gt_plan *plan = b->plan;
	const struct gt_topo *topo = head->topo;

	plan->coll = head->coll;
	plan->root = head->root;
	plan->rates = gt_rates_name(head->rates);
	plan->fifo_slots = GT_PLAN_SLOTS;
	plan->fifo_slice_bytes = GT_PLAN_SLICE_BYTES;
	if (!topo)
		return;
	plan->digest = gt_plan_builder_text(b, gt_topo_digest(topo));
	plan->shape_digest =
		gt_plan_builder_text(b, gt_topo_shape_digest(topo));
	plan->source = gt_plan_builder_text(b, gt_topo_source(topo));
}

static void append_links(const struct gt_plan_builder *b, uint32_t *out,
			 const uint32_t *links, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		out[i] = b->link_map ? b->link_map[links[i]] : links[i];
}

uint32_t *gt_plan_builder_links(struct gt_plan_builder *b,
				const uint32_t *links, uint32_t n)
{
	uint32_t *out = gt_plan_builder_array(b, n, sizeof(*out));

	if (out)
		append_links(b, out, links, n);
	return out;
}

struct gt_plan_hop gt_plan_builder_hop(struct gt_plan_builder *b, uint32_t from,
				       uint32_t to,
				       const struct gt_fabric_route *route,
				       const struct gt_fabric_route *arrival)
{
	struct gt_plan_hop hop = {.from = from,
				  .to = to,
				  .charge = route->charge,
				  .nroute = route->nlinks,
				  .network = arrival != NULL};

	hop.nroute += arrival ? arrival->nlinks : 0;
	hop.route = gt_plan_builder_array(b, hop.nroute, sizeof(*hop.route));
	if (!hop.route)
		return hop;
	append_links(b, hop.route, route->links, route->nlinks);
	if (arrival)
		append_links(b, hop.route + route->nlinks, arrival->links,
			     arrival->nlinks);
	hop.transport = gt_plan_transport(b->plan, hop.route, hop.nroute,
					  route->is_staged);
	return hop;
}

void gt_plan_builder_channels(struct gt_plan_builder *b, size_t n)
{
	b->plan->channels =
		gt_plan_builder_array(b, n, sizeof(*b->plan->channels));
}

struct gt_plan_channel *gt_plan_builder_channel(struct gt_plan_builder *b,
						enum gt_shape shape)
{
	struct gt_plan *plan = b->plan;
	struct gt_plan_channel *channel = &plan->channels[plan->nchannels];

	channel->id = plan->nchannels++;
	channel->shape = shape;
	return channel;
}

struct gt_plan_select *gt_plan_builder_select(struct gt_plan_builder *b,
					      enum gt_algo algo,
					      uint32_t workers)
{
	struct gt_plan *plan = b->plan;
	uint32_t n = plan->nchannels;
	struct gt_plan_select *select =
		gt_plan_builder_array(b, 1, sizeof(*select));
	uint32_t *ids = gt_plan_builder_array(b, n, sizeof(*ids));

	if (b->failed)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		ids[i] = i;
	*select = (struct gt_plan_select){
		.max_bytes = UINT64_MAX,
		.coll = plan->coll,
		.algo = algo,
		.protocol = GT_PROTOCOL_SIMPLE,
		.nchannels = n,
		.channels = ids,
		.workers = workers > n ? workers / n : 1,
	};
	plan->select = select;
	plan->nselect = 1;
	return select;
}

void gt_plan_builder_proof(struct gt_plan_builder *b,
			   enum gt_proof_class class_, struct gt_rat value,
			   struct gt_rat bound)
{
	struct gt_plan_proof *proof = &b->plan->proof;

	b->plan->has_proof = 1;
	proof->class_ = class_;
	proof->value = value;
	proof->bound = bound;
	proof->optimal = !gt_rat_cmp(value, bound);
}

void gt_plan_builder_route(struct gt_plan_builder *b, uint32_t from,
			   uint32_t to, const struct gt_fabric_route *route)
{
	struct gt_plan_proof *proof = &b->plan->proof;

	proof->routes[proof->nroutes++] = (struct gt_plan_route){
		.from = from,
		.to = to,
		.charge = route->charge,
		.nlinks = route->nlinks,
		.links = gt_plan_builder_links(b, route->links, route->nlinks),
		.is_staged = route->is_staged,
	};
}
