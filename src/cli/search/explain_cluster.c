#include "cli/search/explain_cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/cluster/alltoall.h"
#include "search/cluster/ports.h"
#include "search/cluster/search.h"
#include "search/cluster/block_trees.h"
#include "topo/cluster/cluster.h"

/* Solved again so often at most, and so many links named one by one. */
enum { GT_XC_TRIES = 24, GT_XC_NAMES = 4 };

/* Links of a node between two sorts of devices, alike, that are full. */
struct gt_xc_group {
	enum gt_node_kind a, b;
	struct gt_rat gbs;
	uint32_t n;
	uint32_t *links; /* one of each pair of directions */
};

/* More of something: links and levels that are twice as wide. */
struct gt_xc_wish {
	char *text;
	uint8_t *twice;    /* by link */
	uint32_t level;    /* or UINT32_MAX */
	struct gt_rat gbs; /* of its uplinks then */
	double gain;
};

struct gt_xc {
	const struct gt_cluster_request *request;
	const struct gt_topo *topo;
	struct gt_arena *arena;
	struct gt_buf *out;
	struct gt_quotient *quotient;
	struct gt_quotient_bound bound; /* of a flow: without a cut */
	struct gt_rat x; /* what a rank's block has, or a pair of a flow */
	uint8_t *full;   /* by row */
	uint32_t ngroups, nwishes;
	struct gt_xc_group *groups;
	struct gt_xc_wish *wishes;
};

/* Block rate to size of the result over time; a pair's rate as it is. */
static double gt_xc_value(const struct gt_xc *e, struct gt_rat x)
{
	double n = (double)e->quotient->fabric->nranks *
		   e->quotient->cluster.nnodes;

	if (gt_coll_only_moves(e->request->coll))
		return gt_rat_double(x);
	return gt_rat_double(x) * n /
	       (e->request->coll == GT_COLL_ALLREDUCE ? 2 : 1);
}

/* Does the plan reach its bound, exactly? */
static int gt_xc_optimal(const struct gt_xc *e)
{
	int64_t n = (int64_t)e->quotient->fabric->nranks *
		    e->quotient->cluster.nnodes;
	struct gt_rat value = GT_RAT(1, 1);

	if (gt_coll_only_moves(e->request->coll))
		n = 1;
	if (e->request->coll == GT_COLL_ALLREDUCE)
		value = GT_RAT(1, 2);
	return gt_rat_mul(value, GT_RAT(n, 1), &value) &&
	       gt_rat_mul(value, e->x, &value) &&
	       !gt_rat_cmp(value, e->bound.value);
}

static const char *gt_xc_unit(const struct gt_xc *e)
{
	return gt_coll_only_moves(e->request->coll) ? "GB/s a pair" : "GB/s";
}

/* The rate of the cluster's trees, and which rows are full. */
static int gt_xc_trees(const struct gt_xc *e, const struct gt_quotient *q,
		       struct gt_arena *arena, uint8_t *full, struct gt_rat *x,
		       struct gt_err *err)
{
	struct gt_block_trees trees;
	struct gt_rat at;
	int rc = gt_block_trees_solve(q, e->request->coll, arena, &trees, err);

	if (rc)
		return rc;
	if (!gt_block_trees_rate(q, &trees, x))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the rates need more than 64 bits");
	for (uint32_t r = 0; full && r < trees.rows.n; r++)
		full[r] = gt_block_trees_row_rate(q, &trees, r, &at) > 0 &&
			  !gt_rat_cmp(at, *x);
	return GT_OK;
}

static int gt_xc_solve(struct gt_xc *e, struct gt_err *err)
{
	struct gt_arena *arena = e->arena;
	struct gt_quotient_bound_query query = {.coll = e->request->coll,
						.all_routes = 1};
	struct gt_alltoall flow;
	int rc = gt_quotient_new(e->request, arena, &e->quotient, err);

	if (rc)
		return rc;
	e->full =
		gt_arena_array(arena,
			       e->quotient->fabric->nlinks +
				       gt_nodes_nuplinks(&e->quotient->cluster),
			       sizeof(*e->full));
	if (!e->full)
		return gt_err_nomem(err);
	if (gt_coll_only_moves(e->request->coll)) {
		rc = gt_alltoall_solve(e->quotient, arena, &flow, err);
		if (rc)
			return rc;
		gt_alltoall_rate(&flow, e->full);
		e->x = flow.rate;
		e->bound.found = flow.has_bound;
		e->bound.value = flow.bound;
		return GT_OK;
	}
	rc = gt_xc_trees(e, e->quotient, arena, e->full, &e->x, err);
	query.quotient = e->quotient;
	return rc ? rc : gt_quotient_bound_find(&query, arena, &e->bound, err);
}

/* The device, or NULL: what is beyond a node's NVSwitches. */
static const struct gt_node *gt_xc_node(const struct gt_xc *e, uint32_t index)
{
	return index < gt_topo_nnodes(e->topo) ? gt_topo_node(e->topo, index)
					       : NULL;
}

static enum gt_node_kind gt_xc_kind(const struct gt_xc *e, uint32_t index)
{
	const struct gt_node *node = gt_xc_node(e, index);

	return node ? node->kind : GT_NODE_NVS;
}

/* ---- what it is ------------------------------------------------------- */

/* The smaller side of the best cut, as seen from node 0. */
static void gt_xc_cut(const struct gt_xc *e)
{
	const struct gt_fabric *f = e->quotient->fabric;
	uint32_t inside = 0, beyond = 0, all = f->nranks;
	uint64_t n = (uint64_t)all * e->quotient->cluster.nnodes, rest;
	double gbs;

	for (uint32_t c = 0; c <= e->quotient->cluster.nlevels; c++)
		for (uint32_t i = 0; i < all; i++)
			if (e->bound.outside[c * f->nnodes + f->ranks[i]]) {
				inside += !c;
				beyond += !!c;
			}
	rest = n - inside;
	gbs = gt_rat_double(e->bound.value) * (double)rest / (double)n;
	if (beyond)
		gt_buf_puts(e->out, "  what is below a switch");
	else if (inside == all)
		gt_buf_puts(e->out, "  each node");
	else if (inside == 1)
		gt_buf_puts(e->out, "  each GPU");
	else
		gt_buf_printf(e->out, "  %" PRIu32 " GPUs of each node",
			      inside);
	if (beyond)
		gt_buf_puts(e->out,
			    " has to exchange the blocks of all others with "
			    "them\n");
	else
		gt_buf_printf(e->out,
			      " has to %s the blocks of the other %" PRIu64
			      " GPUs over %g GB/s\n",
			      e->request->coll == GT_COLL_REDUCESCATTER ? "send"
									: "get",
			      rest, gbs);
}

/* All-reduce: parts of one sort, and what they have together. */
static void gt_xc_parts(const struct gt_xc *e)
{
	const struct gt_quotient *q = e->quotient;
	uint32_t n = q->fabric->nranks, nodes = 1;
	uint64_t parts = (uint64_t)q->cluster.nnodes * e->bound.nparts;
	const char *what = e->bound.nparts > 1 || n == 1 ? "a GPU" : "a node";

	for (uint32_t l = 0; l < q->cluster.nlevels; l++)
		if (e->bound.nparts == 1 &&
		    e->bound.outside[(l + 1) * q->fabric->nnodes +
				     q->fabric->ranks[0]])
			nodes = q->cluster.levels[l].nodes;
	parts /= nodes;
	if (nodes > 1)
		what = "all below a switch";
	gt_buf_printf(e->out,
		      "  in %" PRIu64
		      " parts, each %s, an element takes %" PRIu64
		      " messages between them; a part has %g GB/s\n",
		      parts, what, 2 * (parts - 1),
		      gt_rat_double(e->bound.value) * 2 * (double)(parts - 1) /
			      (double)parts);
}

/* Links that the bound leaves out, each sort once. */
static void gt_xc_left_out(const struct gt_xc *e)
{
	uint8_t seen[GT_NNODEKINDS][GT_NNODEKINDS] = {{0}};
	uint32_t n = 0;

	for (uint32_t i = 0; e->bound.unused && i < e->quotient->fabric->nlinks;
	     i++) {
		const struct gt_fabric_link *l = &e->quotient->fabric->links[i];
		enum gt_node_kind a = gt_xc_kind(e, l->from);
		enum gt_node_kind b = gt_xc_kind(e, l->to);

		if (!e->bound.unused[i] || seen[a][b])
			continue;
		seen[a][b] = seen[b][a] = 1;
		gt_buf_printf(e->out, "%s %s\xe2\x80\x93%s",
			      n++ ? "," : "  without links",
			      gt_node_kind_name(a), gt_node_kind_name(b));
	}
	if (n)
		gt_buf_puts(e->out, ", which no route between GPUs takes\n");
}

static void gt_xc_proof(const struct gt_xc *e)
{
	double value = gt_xc_value(e, e->x);
	double bound = gt_rat_double(e->bound.value);

	gt_buf_printf(
		e->out, "%s of %" PRIu32 " nodes of %" PRIu32 " GPUs: %g %s\n",
		gt_coll_name(e->request->coll), e->quotient->cluster.nnodes,
		e->quotient->fabric->nranks, value, gt_xc_unit(e));
	if (!e->bound.found)
		return;
	if (!gt_xc_optimal(e))
		gt_buf_printf(e->out,
			      "proved: no schedule reaches more than %g %s "
			      "(%.3g%% above this)\n",
			      bound, gt_xc_unit(e), 100 * (bound / value - 1));
	else
		gt_buf_puts(e->out, "proved: no schedule reaches more\n");
	if (e->bound.nparts)
		gt_xc_parts(e);
	else if (!gt_coll_only_moves(e->request->coll))
		gt_xc_cut(e);
	gt_xc_left_out(e);
}

/* ---- what is full ----------------------------------------------------- */

static void gt_xc_name(const struct gt_xc *e, struct gt_buf *out,
		       uint32_t index)
{
	const struct gt_node *node = gt_xc_node(e, index);
	const char *kind = gt_node_kind_name(gt_xc_kind(e, index));

	if (!node)
		gt_buf_puts(out, "other nodes");
	else if (node->dev >= 0)
		gt_buf_printf(out, "%s%d", kind, node->dev);
	else if (node->bus_id)
		gt_buf_printf(out, "%s %s", kind, node->bus_id);
	else
		gt_buf_puts(out,
			    node->kind == GT_NODE_NVS ? "NVSwitch" : node->id);
}

static struct gt_xc_group *gt_xc_group_of(struct gt_xc *e, uint32_t link)
{
	const struct gt_fabric_link *l = &e->quotient->fabric->links[link];
	struct gt_xc_group key = {
		.a = gt_xc_kind(e, l->from),
		.b = gt_xc_kind(e, l->to),
		.gbs = l->gbs,
	};
	uint32_t i = 0;

	if (key.b < key.a) {
		key.b = key.a;
		key.a = gt_xc_kind(e, l->to);
	}
	while (i < e->ngroups &&
	       (e->groups[i].a != key.a || e->groups[i].b != key.b ||
		gt_rat_cmp(e->groups[i].gbs, key.gbs)))
		i++;
	if (i == e->ngroups)
		e->groups[e->ngroups++] = key;
	return &e->groups[i];
}

/* The group's link, in either direction. */
static int gt_xc_has(const struct gt_xc *e, const struct gt_xc_group *group,
		     uint32_t link)
{
	const struct gt_fabric_link *links = e->quotient->fabric->links;

	for (uint32_t i = 0; i < group->n; i++) {
		const struct gt_fabric_link *old = &links[group->links[i]];

		if ((old->from == links[link].from &&
		     old->to == links[link].to) ||
		    (old->from == links[link].to &&
		     old->to == links[link].from))
			return 1;
	}
	return 0;
}

static int gt_xc_find_full(struct gt_xc *e, struct gt_err *err)
{
	uint32_t n = e->quotient->fabric->nlinks;

	e->groups = gt_arena_array(e->arena, n, sizeof(*e->groups));
	if (!e->groups)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++) {
		struct gt_xc_group *group;

		if (!e->full[i])
			continue;
		group = gt_xc_group_of(e, i);
		if (!group->links)
			group->links = gt_arena_array(e->arena, n,
						      sizeof(*group->links));
		if (!group->links)
			return gt_err_nomem(err);
		if (!gt_xc_has(e, group, i))
			group->links[group->n++] = i;
	}
	return GT_OK;
}

static void gt_xc_print_group(const struct gt_xc *e,
			      const struct gt_xc_group *group)
{
	gt_buf_printf(e->out, "  %" PRIu32 " link%s %s\xe2\x80\x93%s, %g GB/s",
		      group->n, group->n == 1 ? "" : "s",
		      gt_node_kind_name(group->a), gt_node_kind_name(group->b),
		      gt_rat_double(group->gbs));
	for (uint32_t i = 0; i < group->n && group->n <= GT_XC_NAMES; i++) {
		const struct gt_fabric_link *l =
			&e->quotient->fabric->links[group->links[i]];

		gt_buf_puts(e->out, i ? ", " : ": ");
		gt_xc_name(e, e->out, l->from);
		gt_buf_puts(e->out, "\xe2\x80\x93");
		gt_xc_name(e, e->out, l->to);
	}
	gt_buf_puts(e->out, "\n");
}

/* Are uplinks of this level full, of any rail and direction? */
static int gt_xc_level_full(const struct gt_xc *e, uint32_t level)
{
	uint32_t rails = 2 * e->quotient->cluster.nrails;

	for (uint32_t i = 0; i < rails; i++)
		if (e->full[e->quotient->fabric->nlinks + level * rails + i])
			return 1;
	return 0;
}

static void gt_xc_print_full(const struct gt_xc *e)
{
	const struct gt_plan_cluster *cluster = &e->quotient->cluster;

	gt_buf_puts(e->out, "\nfull, in every node:\n");
	for (uint32_t i = 0; i < e->ngroups; i++)
		gt_xc_print_group(e, &e->groups[i]);
	if (!e->ngroups)
		gt_buf_puts(e->out, "  nothing\n");
	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++)
		if (gt_xc_level_full(e, l))
			gt_buf_printf(e->out,
				      "full: uplinks of the switches above "
				      "%" PRIu32 " nodes%s, %g GB/s each way\n",
				      cluster->levels[l].nodes,
				      cluster->levels[l].by_rail
					      ? ", one a rail"
					      : "",
				      gt_rat_double(cluster->levels[l].gbs));
}

/* ---- what would raise it ---------------------------------------------- */

static struct gt_xc_wish *gt_xc_wish(struct gt_xc *e, char *text)
{
	struct gt_xc_wish *wish = &e->wishes[e->nwishes];

	wish->text = text;
	wish->level = UINT32_MAX;
	wish->twice = gt_arena_array(e->arena, e->quotient->fabric->nlinks,
				     sizeof(*wish->twice));
	if (!text || !wish->twice)
		return NULL;
	e->nwishes++;
	return wish;
}

static void gt_xc_twice(const struct gt_xc *e, struct gt_xc_wish *wish,
			uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < e->quotient->fabric->nlinks; i++) {
		const struct gt_fabric_link *l = &e->quotient->fabric->links[i];

		if ((l->from == a && l->to == b) ||
		    (l->from == b && l->to == a))
			wish->twice[i] = 1;
	}
}

/* A card of its own has a port, and a link to where the first one hangs. */
static void gt_xc_port(const struct gt_xc *e, struct gt_xc_wish *wish,
		       uint32_t port)
{
	uint32_t net = e->quotient->ports[port];
	const struct gt_node *node = gt_xc_node(e, net);
	uint32_t nic = node ? node->up : GT_NONE;

	if (nic == GT_NONE)
		return;
	gt_xc_twice(e, wish, net, nic);
	if (gt_topo_node(e->topo, nic)->up != GT_NONE)
		gt_xc_twice(e, wish, nic, gt_topo_node(e->topo, nic)->up);
}

static int gt_xc_wish_ports(struct gt_xc *e, struct gt_xc_wish *both)
{
	uint32_t n = e->quotient->cluster.nports;
	int nvlink = gt_quotient_over(e->request->cluster) == GT_FABRIC_NVLINK;
	struct gt_xc_wish *all = gt_xc_wish(
		e, gt_arena_printf(e->arena, "a second port beside each"));

	for (uint32_t p = 0; all && p < n; p++) {
		struct gt_xc_wish *one;

		gt_xc_port(e, all, p);
		gt_xc_port(e, both, p);
		if (n > GT_XC_TRIES / 2 || nvlink)
			continue;
		one = gt_xc_wish(
			e, gt_arena_printf(
				   e->arena,
				   "a second port on rail %" PRIu32
				   ", beside NET%d",
				   e->quotient->cluster.ports[p].rail,
				   gt_topo_node(e->topo, e->quotient->ports[p])
					   ->dev));
		if (!one)
			return 0;
		gt_xc_port(e, one, p);
	}
	return !!all;
}

static int gt_xc_wish_groups(struct gt_xc *e, struct gt_xc_wish *all,
			     struct gt_xc_wish *both)
{
	for (uint32_t g = 0; g < e->ngroups && e->nwishes < GT_XC_TRIES; g++) {
		const struct gt_xc_group *group = &e->groups[g];
		struct gt_xc_wish *wish;

		wish = gt_xc_wish(e,
				  gt_arena_printf(e->arena,
						  "a second link beside each "
						  "full %s\xe2\x80\x93%s",
						  gt_node_kind_name(group->a),
						  gt_node_kind_name(group->b)));
		if (!wish)
			return 0;
		for (uint32_t i = 0; i < group->n; i++) {
			const struct gt_fabric_link *l =
				&e->quotient->fabric->links[group->links[i]];

			gt_xc_twice(e, wish, l->from, l->to);
			gt_xc_twice(e, all, l->from, l->to);
			gt_xc_twice(e, both, l->from, l->to);
		}
	}
	return 1;
}

/* What comes from below, where the cluster's level has the same switches. */
static struct gt_rat gt_xc_below(const struct gt_xc *e, uint32_t level)
{
	const struct gt_plan_level *at = &e->quotient->cluster.levels[level];
	const struct gt_cluster *cluster = e->request->cluster;
	enum gt_fabric_kind over = gt_quotient_over(cluster);
	struct gt_rat gbs = at->gbs;
	struct gt_err ignored;

	gt_err_init(&ignored);
	for (uint32_t i = 0; i < cluster->fabrics[over].nlevels; i++)
		if (cluster->fabrics[over].levels[i].nodes == at->nodes)
			gt_cluster_downlink(cluster, over, i, 0, &gbs,
					    &ignored);
	return gbs;
}

static int gt_xc_wish_levels(struct gt_xc *e)
{
	for (uint32_t l = 0; l + 1 < e->quotient->cluster.nlevels; l++) {
		struct gt_xc_wish *wish;

		if (!gt_xc_level_full(e, l))
			continue;
		wish = gt_xc_wish(
			e, gt_arena_printf(
				   e->arena,
				   "no oversubscription of the switches above "
				   "%" PRIu32 " nodes",
				   e->quotient->cluster.levels[l].nodes));
		if (!wish)
			return 0;
		wish->level = l;
		wish->gbs = gt_xc_below(e, l);
	}
	return 1;
}

/* The cluster as it is but for the wish. */
static int gt_xc_try(struct gt_xc *e, struct gt_xc_wish *wish,
		     struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_fabric f = *e->quotient->fabric;
	struct gt_quotient q = *e->quotient;
	struct gt_alltoall flow;
	struct gt_rat x = GT_RAT(0, 1);
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	f.links = gt_arena_array(arena, f.nlinks, sizeof(*f.links));
	q.fabric = &f;
	q.cluster.levels = gt_arena_array(arena, q.cluster.nlevels,
					  sizeof(*q.cluster.levels));
	rc = f.links && q.cluster.levels ? GT_OK : gt_err_nomem(err);
	if (!rc) {
		memcpy(f.links, e->quotient->fabric->links,
		       f.nlinks * sizeof(*f.links));
		memcpy(q.cluster.levels, e->quotient->cluster.levels,
		       q.cluster.nlevels * sizeof(*q.cluster.levels));
		for (uint32_t i = 0; i < f.nlinks; i++)
			if (wish->twice[i])
				gt_rat_mul(f.links[i].gbs, GT_RAT(2, 1),
					   &f.links[i].gbs);
		if (wish->level != UINT32_MAX)
			q.cluster.levels[wish->level].gbs = wish->gbs;
		if (gt_coll_only_moves(e->request->coll))
			rc = gt_alltoall_solve(&q, arena, &flow, err);
		else
			rc = gt_xc_trees(e, &q, arena, NULL, &x, err);
	}
	if (!rc && gt_coll_only_moves(e->request->coll))
		x = flow.rate;
	if (!rc)
		wish->gain = gt_rat_double(x) / gt_rat_double(e->x);
	gt_arena_free(arena);
	return rc;
}

static int gt_xc_by_gain(const void *a, const void *b)
{
	const struct gt_xc_wish *x = a, *y = b;

	if (x->gain != y->gain)
		return x->gain < y->gain ? 1 : -1;
	return strcmp(x->text, y->text);
}

static int gt_xc_wishes(struct gt_xc *e, struct gt_err *err)
{
	struct gt_xc_wish *all, *both;
	uint32_t shown = 0;
	int rc = GT_OK;

	e->wishes = gt_arena_array(
		e->arena, 2 * GT_XC_TRIES + e->quotient->cluster.nlevels,
		sizeof(*e->wishes));
	if (!e->wishes)
		return gt_err_nomem(err);
	all = gt_xc_wish(e, gt_arena_printf(e->arena, "a second link beside "
						      "each full one"));
	both = gt_xc_wish(e, gt_arena_printf(e->arena,
					     "a second port beside each, and a "
					     "second link beside each full "
					     "one"));
	if (!all || !both || !gt_xc_wish_ports(e, both) ||
	    !gt_xc_wish_groups(e, all, both) || !gt_xc_wish_levels(e))
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < e->nwishes && !rc; i++)
		rc = gt_xc_try(e, &e->wishes[i], err);
	if (rc)
		return rc;
	qsort(e->wishes, e->nwishes, sizeof(*e->wishes), gt_xc_by_gain);
	gt_buf_puts(e->out, "\nwhat would raise it, solved again:\n");
	for (uint32_t i = 0; i < e->nwishes; i++) {
		if (e->wishes[i].gain < 1.0005)
			continue;
		gt_buf_printf(e->out, "  %s: %.3gx, %g %s\n", e->wishes[i].text,
			      e->wishes[i].gain,
			      e->wishes[i].gain * gt_xc_value(e, e->x),
			      gt_xc_unit(e));
		shown++;
	}
	if (!shown)
		gt_buf_puts(e->out, "  nothing of one sort alone\n");
	return GT_OK;
}

int gt_search_explain_cluster(const struct gt_cluster_request *request,
			      struct gt_buf *out, struct gt_err *err)
{
	struct gt_xc e = {.request = request,
			  .topo = request->cluster->kinds[0].topo,
			  .arena = gt_arena_new(),
			  .out = out};
	int rc;

	if (!e.arena)
		return gt_err_nomem(err);
	rc = gt_xc_solve(&e, err);
	if (!rc)
		rc = gt_xc_find_full(&e, err);
	if (!rc) {
		gt_xc_proof(&e);
		gt_xc_print_full(&e);
		rc = gt_xc_wishes(&e, err);
	}
	gt_arena_free(e.arena);
	return rc;
}
