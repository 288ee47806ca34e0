#include "search/cluster/emit.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/cluster/search.h"
#include "search/cluster/block_trees.h"
#include "topo/cluster/cluster.h"

enum {
	GT_HIER_SLOTS = 8,
	GT_HIER_SLICE_BYTES = 524288,
	GT_HIER_WORKERS = 32,     /* of all channels; a port needs few */
	GT_HIER_FLOW_WORKERS = 8, /* each has FIFOs to all of a rail */
};

/* A tree for a part of a root's blocks. */
struct gt_hier_piece {
	uint32_t tree;
	int64_t weight;
};

/* What is left to hand out of a root's home and away trees. */
struct gt_hier_pieces {
	uint32_t nhome, naway;
	struct gt_hier_piece *home, *away;
};

void *gt_cluster_emit_array(struct gt_cluster_emit *e, size_t n,
			    size_t size_bytes)
{
	void *array = gt_arena_array(e->plan->arena, n, size_bytes);

	e->failed |= !array;
	return array;
}

static const char *gt_hier_text(struct gt_cluster_emit *e, const char *text)
{
	char *copy = text ? gt_arena_strdup(e->plan->arena, text) : NULL;

	e->failed |= text && !copy;
	return copy;
}

static void gt_hier_emit_cluster(struct gt_cluster_emit *e)
{
	const struct gt_plan_cluster *from = &e->found->quotient->cluster;
	struct gt_plan_cluster *to = gt_cluster_emit_array(e, 1, sizeof(*to));

	if (e->failed)
		return;
	*to = *from;
	to->levels = gt_cluster_emit_array(e, to->nlevels, sizeof(*to->levels));
	to->ports = gt_cluster_emit_array(e, to->nports, sizeof(*to->ports));
	if (e->failed)
		return;
	memcpy(to->levels, from->levels, to->nlevels * sizeof(*to->levels));
	for (uint32_t i = 0; i < to->nports; i++) {
		to->ports[i] = from->ports[i];
		to->ports[i].id = gt_hier_text(e, from->ports[i].id);
	}
	e->plan->cluster = to;
}

static void gt_hier_emit_head(struct gt_cluster_emit *e)
{
	const struct gt_cluster_request *request = e->found->request;
	const struct gt_topo *topo = request->cluster->kinds[0].topo;
	struct gt_plan *plan = e->plan;

	plan->coll = request->coll;
	plan->root = request->root;
	plan->digest = gt_hier_text(e, gt_topo_digest(topo));
	plan->shape_digest = gt_hier_text(e, gt_topo_shape_digest(topo));
	plan->source = gt_hier_text(e, gt_topo_source(topo));
	plan->rates = gt_rates_name(request->rates);
	plan->fifo_slots = GT_HIER_SLOTS;
	plan->fifo_slice_bytes = GT_HIER_SLICE_BYTES;
	gt_hier_emit_cluster(e);
}

static void gt_hier_emit_ranks(struct gt_cluster_emit *e)
{
	const struct gt_cluster_request *request = e->found->request;
	const struct gt_topo *topo = request->cluster->kinds[0].topo;
	struct gt_plan_rank *local =
		gt_cluster_emit_array(e, request->ngpus, sizeof(*local));

	if (e->failed)
		return;
	for (uint32_t i = 0; i < request->ngpus; i++) {
		const struct gt_node *gpu =
			gt_topo_node(topo, request->gpus[i]);

		local[i].device = gt_hier_text(e, gpu->bus_id);
		local[i].name = gt_hier_text(e, gpu->name);
		local[i].has_dev = gpu->dev >= 0;
		local[i].dev = (uint32_t)gpu->dev;
	}
	if (!e->failed)
		e->failed = gt_plan_expand_ranks(e->plan, local) < 0;
}

static void gt_hier_emit_links(struct gt_cluster_emit *e)
{
	const struct gt_quotient *q = e->found->quotient;
	uint32_t n = q->fabric->nlinks;
	struct gt_plan_link *links =
		gt_cluster_emit_array(e, n, sizeof(*links));

	if (e->failed)
		return;
	for (uint32_t i = 0; i < n; i++) {
		links[i].id = gt_hier_text(e, q->link_ids[i]);
		links[i].kind = q->link_kinds[i];
		links[i].gbs = q->fabric->links[i].gbs;
	}
	e->plan->links = links;
	e->plan->nlinks = n;
}

struct gt_plan_hop gt_cluster_emit_hop_make(struct gt_cluster_emit *e,
					    uint32_t from, uint32_t to,
					    const struct gt_network_hop *net)
{
	const struct gt_quotient *q = e->found->quotient;
	uint32_t n = q->fabric->nranks, nports = q->cluster.nports, at = 0;
	struct gt_plan_hop hop = {.from = from, .to = to, .network = !!net};
	const struct gt_fabric_route *parts[2] = {
		&q->fabric->routes[from * n + to], NULL};

	if (net) {
		parts[0] = &q->out[from * nports + net->out];
		parts[1] = &q->in[to * nports + net->in];
	}
	hop.charge = parts[0]->charge;
	hop.nroute = parts[0]->nlinks + (net ? parts[1]->nlinks : 0);
	hop.route = gt_cluster_emit_array(e, hop.nroute, sizeof(*hop.route));
	for (int p = 0; p < 2 && parts[p] && !e->failed; p++)
		for (uint32_t k = 0; k < parts[p]->nlinks; k++)
			hop.route[at++] = parts[p]->links[k];
	if (!e->failed)
		hop.transport = gt_plan_transport(e->plan, hop.route, at);
	return hop;
}

uint32_t gt_cluster_emit_hop(struct gt_cluster_emit *e,
			     struct gt_plan_channel *channel, uint32_t from,
			     uint32_t to, const struct gt_network_hop *net)
{
	struct gt_plan_hop hop = gt_cluster_emit_hop_make(e, from, to, net);
	uint32_t i;

	if (e->failed)
		return 0;
	for (i = 0; i < channel->nhops; i++) {
		const struct gt_plan_hop *old = &channel->hops[i];

		if (old->from == from && old->to == to &&
		    old->network == hop.network && old->nroute == hop.nroute &&
		    !memcmp(old->route, hop.route,
			    hop.nroute * sizeof(*hop.route)))
			return i;
	}
	channel->hops[channel->nhops++] = hop;
	return i;
}

static void gt_hier_emit_template(struct gt_cluster_emit *e,
				  struct gt_plan_channel *channel,
				  uint32_t root)
{
	const struct gt_hier_pieces *pieces = &e->pieces[root];
	const struct gt_block_trees *trees = e->found->block_trees;
	const struct gt_block_tree *home = &trees->trees[pieces->home->tree];
	const struct gt_block_tree *away = &trees->trees[pieces->away->tree];
	struct gt_plan_template *out = &channel->templates[root];
	uint32_t n = e->found->quotient->fabric->nranks;

	out->root = root;
	out->home = gt_cluster_emit_array(e, n, sizeof(*out->home));
	out->away = gt_cluster_emit_array(e, n, sizeof(*out->away));
	out->net = gt_cluster_emit_array(e, n, sizeof(*out->net));
	for (uint32_t i = 0; i < n && !e->failed; i++) {
		out->home[i] = home->parent[i];
		out->away[i] = away->parent[i];
		if (home->parent[i] >= 0)
			gt_cluster_emit_hop(e, channel,
					    (uint32_t)home->parent[i], i, NULL);
		if (away->parent[i] >= 0)
			gt_cluster_emit_hop(e, channel,
					    (uint32_t)away->parent[i], i, NULL);
		else
			out->net[i] = gt_cluster_emit_hop(e, channel,
							  away->net[i].from, i,
							  &away->net[i]);
	}
}

/* The next channel is as wide as the narrowest piece of any root. */
static int64_t gt_hier_width(const struct gt_cluster_emit *e)
{
	uint32_t n = e->found->quotient->fabric->nranks;
	int64_t width = INT64_MAX;

	for (uint32_t i = 0; i < n; i++) {
		const struct gt_hier_pieces *p = &e->pieces[i];

		if (!p->nhome || !p->naway)
			return 0;
		if (p->home->weight < width)
			width = p->home->weight;
		if (p->away->weight < width)
			width = p->away->weight;
	}
	return width;
}

static void gt_hier_take(struct gt_hier_piece **piece, uint32_t *n,
			 int64_t width)
{
	(*piece)->weight -= width;
	if ((*piece)->weight)
		return;
	(*piece)++;
	(*n)--;
}

static void gt_hier_emit_channel(struct gt_cluster_emit *e, int64_t width)
{
	struct gt_plan *plan = e->plan;
	struct gt_plan_channel *channel = &plan->channels[plan->nchannels];
	uint32_t n = e->found->quotient->fabric->nranks;

	channel->id = plan->nchannels++;
	channel->shape = GT_SHAPE_TEMPLATE;
	channel->hops = gt_cluster_emit_array(e, 3 * (size_t)n * n,
					      sizeof(*channel->hops));
	channel->templates =
		gt_cluster_emit_array(e, n, sizeof(*channel->templates));
	if (!gt_rat_make(width, e->found->block_trees->denominator,
			 &channel->share) ||
	    !gt_rat_mul(channel->share, e->value, &channel->gbs))
		e->failed = 1;
	for (uint32_t i = 0; i < n && !e->failed; i++) {
		gt_hier_emit_template(e, channel, i);
		gt_hier_take(&e->pieces[i].home, &e->pieces[i].nhome, width);
		gt_hier_take(&e->pieces[i].away, &e->pieces[i].naway, width);
	}
}

static void gt_hier_emit_channels(struct gt_cluster_emit *e)
{
	uint32_t max = 1;
	int64_t width;

	for (uint32_t i = 0; i < e->found->quotient->fabric->nranks; i++)
		max += e->pieces[i].nhome + e->pieces[i].naway;
	e->plan->channels =
		gt_cluster_emit_array(e, max, sizeof(*e->plan->channels));
	while (!e->failed && (width = gt_hier_width(e)))
		gt_hier_emit_channel(e, width);
}

/*
 * Which root's blocks use which away trees is free as long as all of both are
 * used up: first those that arrive at the root's own place, then any.
 */
static void gt_hier_share_out(struct gt_cluster_emit *e, int64_t *left)
{
	const struct gt_block_trees *trees = e->found->block_trees;
	uint32_t n = e->found->quotient->fabric->nranks;

	for (int pass = 0; pass < 2; pass++)
		for (uint32_t root = 0; root < n; root++) {
			struct gt_hier_pieces *p = &e->pieces[root];
			int64_t room = trees->denominator;

			for (uint32_t i = 0; i < p->naway; i++)
				room -= p->away[i].weight;
			for (uint32_t t = 0; t < trees->ntrees && room; t++) {
				int64_t take = left[t] < room ? left[t] : room;

				if (!take ||
				    (!pass &&
				     trees->trees[t].parent[root] >= 0))
					continue;
				left[t] -= take;
				room -= take;
				p->away[p->naway++] =
					(struct gt_hier_piece){t, take};
			}
		}
}

static void gt_hier_emit_pieces(struct gt_cluster_emit *e)
{
	const struct gt_block_trees *trees = e->found->block_trees;
	uint32_t n = e->found->quotient->fabric->nranks, count = trees->ntrees;
	int64_t *left = gt_arena_array(e->scratch, count, sizeof(*left));

	e->pieces = gt_arena_array(e->scratch, n, sizeof(*e->pieces));
	e->failed |= !left || !e->pieces;
	for (uint32_t i = 0; i < n && !e->failed; i++) {
		struct gt_hier_pieces *p = &e->pieces[i];

		p->home = gt_arena_array(e->scratch, count, sizeof(*p->home));
		p->away = gt_arena_array(e->scratch, 2 * (size_t)count,
					 sizeof(*p->away));
		e->failed |= !p->home || !p->away;
	}
	for (uint32_t t = 0; t < count && !e->failed; t++) {
		const struct gt_block_tree *tree = &trees->trees[t];
		struct gt_hier_pieces *p = &e->pieces[tree->root % n];

		if (tree->root == n)
			left[t] = tree->weight * n;
		else if (tree->weight)
			p->home[p->nhome++] =
				(struct gt_hier_piece){t, tree->weight};
	}
	if (!e->failed)
		gt_hier_share_out(e, left);
}

static enum gt_algo gt_hier_algo(const struct gt_cluster_solution *found)
{
	if (found->a2a)
		return GT_ALGO_FLOW;
	if (found->double_trees)
		return GT_ALGO_TREE;
	return found->block_trees ? GT_ALGO_HIER : GT_ALGO_RING;
}

static void gt_hier_emit_select(struct gt_cluster_emit *e)
{
	struct gt_plan *plan = e->plan;
	struct gt_plan_select *select =
		gt_cluster_emit_array(e, 1, sizeof(*select));
	uint32_t *ids = gt_cluster_emit_array(e, plan->nchannels, sizeof(*ids));
	uint32_t workers;

	if (e->failed)
		return;
	for (uint32_t i = 0; i < plan->nchannels; i++)
		ids[i] = i;
	*select = (struct gt_plan_select){.max_bytes = UINT64_MAX,
					  .coll = plan->coll,
					  .algo = gt_hier_algo(e->found),
					  .protocol = GT_PROTOCOL_SIMPLE,
					  .nchannels = plan->nchannels,
					  .channels = ids,
					  .workers = 1};
	workers = e->found->a2a ? GT_HIER_FLOW_WORKERS : GT_HIER_WORKERS;
	if (plan->nchannels < workers)
		select->workers = workers / plan->nchannels;
	plan->select = select;
	plan->nselect = 1;
}

/* "1/PCI/0000:15:00.0", "0/switch2.3": class, then vertex. */
static const char *gt_hier_vertex(struct gt_cluster_emit *e, uint32_t vertex)
{
	const struct gt_quotient *q = e->found->quotient;
	uint32_t classes = q->cluster.nlevels + 1, nnodes = q->fabric->nnodes;
	uint32_t rails = q->cluster.nrails;
	char *text;

	if (vertex < classes * nnodes) {
		text = gt_arena_printf(e->plan->arena, "%u/%s", vertex / nnodes,
				       q->vertex_ids[vertex % nnodes]);
	} else {
		vertex -= classes * nnodes;
		text = gt_arena_printf(e->plan->arena, "%u/switch%u.%u",
				       vertex / rails % classes,
				       vertex / rails / classes,
				       vertex % rails);
	}
	e->failed |= !text;
	return text;
}

/* Plans know vertices by their links, and switches. */
static int gt_alltoall_known_paths(const struct gt_quotient *q, uint32_t vertex)
{
	const struct gt_fabric *f = q->fabric;

	if (vertex >= (q->cluster.nlevels + 1) * f->nnodes)
		return 1;
	for (uint32_t i = 0; i < f->nlinks; i++)
		if (f->links[i].from == vertex % f->nnodes ||
		    f->links[i].to == vertex % f->nnodes)
			return 1;
	return 0;
}

static void gt_hier_emit_set(struct gt_cluster_emit *e, uint32_t part,
			     struct gt_plan_set *set)
{
	const struct gt_quotient_bound *bound = e->found->bound;

	set->vertices = gt_cluster_emit_array(e, bound->nvertices,
					      sizeof(*set->vertices));
	for (uint32_t v = 0; v < bound->nvertices && !e->failed; v++)
		if (bound->outside[v] == part &&
		    gt_alltoall_known_paths(e->found->quotient, v))
			set->vertices[set->n++] = gt_hier_vertex(e, v);
}

void gt_cluster_emit_sets(struct gt_cluster_emit *e)
{
	const struct gt_quotient_bound *bound = e->found->bound;
	struct gt_plan_proof *proof = &e->plan->proof;
	uint32_t nsets = bound->nparts ? bound->nparts : 1;

	proof->sets = gt_cluster_emit_array(e, nsets, sizeof(*proof->sets));
	for (uint32_t i = 0; i < nsets && !e->failed; i++)
		gt_hier_emit_set(e, i + 1, &proof->sets[proof->nsets++]);
	if (!e->failed)
		gt_cluster_emit_unused(e);
}

static void gt_hier_emit_proof(struct gt_cluster_emit *e)
{
	const struct gt_quotient_bound *bound = e->found->bound;
	struct gt_plan_proof *proof = &e->plan->proof;

	if (!bound->found)
		return;
	e->plan->has_proof = 1;
	proof->class_ = GT_PROOF_ANY;
	proof->value = e->value;
	proof->bound = bound->value;
	proof->optimal = !gt_rat_cmp(proof->value, proof->bound);
	gt_cluster_emit_sets(e);
	if (proof->nunused)
		gt_cluster_emit_routes(e);
}

/* As the size of the result over the time. */
static int gt_hier_value(struct gt_cluster_emit *e, struct gt_err *err)
{
	const struct gt_quotient *q = e->found->quotient;
	int64_t n = (int64_t)q->fabric->nranks * q->cluster.nnodes;
	int64_t times = e->found->request->coll == GT_COLL_ALLREDUCE ? 2 : 1;

	if (gt_block_trees_rate(q, e->found->block_trees, &e->value) &&
	    gt_rat_mul(e->value, GT_RAT(n, 1), &e->value) &&
	    gt_rat_div(e->value, GT_RAT(times, 1), &e->value))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "the rates need more than 64 bits");
}

static int gt_hier_emit_check(const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_err wrong;

	gt_err_init(&wrong);
	if (!gt_plan_check(plan, &wrong))
		return GT_OK;
	return gt_err_set(err, GT_ESYS, wrong.where,
			  "the search made a wrong plan: %s", wrong.text);
}

static void gt_hier_emit_trees(struct gt_cluster_emit *e)
{
	gt_hier_emit_pieces(e);
	if (!e->failed)
		gt_hier_emit_channels(e);
	if (!e->failed)
		gt_hier_emit_select(e);
	if (!e->failed)
		gt_hier_emit_proof(e);
}

static void gt_hier_emit_all(struct gt_cluster_emit *e)
{
	gt_hier_emit_head(e);
	if (!e->failed)
		gt_hier_emit_ranks(e);
	if (!e->failed)
		gt_hier_emit_links(e);
	if (!e->failed && e->found->block_trees)
		gt_hier_emit_trees(e);
	if (e->failed || e->found->block_trees)
		return;
	if (e->found->a2a)
		gt_cluster_emit_alltoall(e);
	else if (e->found->double_trees)
		gt_cluster_emit_double_trees(e);
	else
		gt_cluster_emit_rings(e);
	if (!e->failed)
		gt_hier_emit_select(e);
	if (!e->failed && e->found->a2a)
		gt_cluster_emit_alltoall_proof(e);
	else if (!e->failed && e->found->double_trees)
		gt_hier_emit_proof(e);
	else if (!e->failed)
		gt_cluster_emit_ring_proof(e);
}

int gt_cluster_emit(const struct gt_cluster_solution *found,
		    struct gt_plan **plan, struct gt_err *err)
{
	struct gt_cluster_emit e = {.found = found,
				    .plan = gt_plan_new(),
				    .scratch = gt_arena_new()};
	int rc = GT_OK;

	if (!e.plan || !e.scratch)
		rc = gt_err_nomem(err);
	if (!rc && found->block_trees)
		rc = gt_hier_value(&e, err);
	if (!rc) {
		gt_hier_emit_all(&e);
		rc = e.failed ? gt_err_nomem(err)
			      : gt_hier_emit_check(e.plan, err);
	}
	gt_arena_free(e.scratch);
	if (rc)
		gt_plan_free(e.plan);
	else
		*plan = e.plan;
	return rc;
}
