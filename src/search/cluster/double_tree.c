/*
 * Trees through all nodes: column generation over trees of one node, each of
 * which is used by both trees of nodes, then shares in whole parts with their
 * exact rate.
 */
#include "search/cluster/double_tree.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "search/cluster/quotient.h"
#include "search/graph/graph.h"
#include "search/lp/column_generation.h"
#include "search/lp/fewer_columns.h"
#include "search/lp/lp.h"
#include "search/problem/fabric.h"
#include "search/problem/link_rows.h"

/*
 * Shares are rounded to parts of GT_DOUBLE_TREE_PARTS, which has many divisors.
 * There are at most so many rounds of pricing, and so many trees.
 */
enum {
	GT_DOUBLE_TREE_PARTS = 720720,
	GT_DOUBLE_TREE_ROUNDS = 200,
	GT_DOUBLE_TREE_MAX = 4096
};

/* The cost of what is no hop: more than any tree that is worth adding has. */
#define GT_DOUBLE_TREE_DEAR (INT64_C(1) << 50)

/*
 * How many hops of both trees of nodes leave a node, or a switch, and enter
 * it.
 */
struct gt_double_tree_hops {
	uint32_t out, in;
};

struct gt_double_tree_search {
	const struct gt_quotient *quotient;
	struct gt_arena *arena;
	int down, up;
	struct gt_double_tree_hops node;   /* the most of any node */
	struct gt_double_tree_hops *above; /* and of any switch, by level */
	struct gt_fabric fabric;           /* ranks, then ports */
	struct gt_link_rows *rows;
	/*
	 * The root's node has rows of its own behind these, one for each link;
	 * there are none when it is as the others.  All its ranks hang from
	 * root_local, so some hops of a tree are turned round there.
	 */
	uint32_t nroot_rows, root_local;
	int32_t *loads;   /* of the root's node */
	struct gt_lp *lp; /* it has a column for each tree */
	struct gt_double_trees *trees;
	int64_t *prices, *weights, *local;
	int32_t *entries;
	int failed;
};

static void *new_array(struct gt_double_tree_search *s, size_t n,
		       size_t size_bytes)
{
	void *array = gt_arena_array(s->arena, n, size_bytes);

	s->failed |= !array;
	return array;
}

/* The hops that leave and enter the `count` nodes from `first` on. */
static struct gt_double_tree_hops count_hops(
	const struct gt_double_tree_search *s, uint32_t first, uint32_t count)
{
	uint32_t n = s->quotient->cluster.nnodes, places[GT_DTREE_FAN];
	uint32_t children = 0, parents = 0;

	for (uint32_t i = 0; i < 2 * count; i++) {
		uint32_t place = first + i / 2, m;

		m = gt_nodes_dtree_children(n, (int)(i % 2), place, places);
		for (uint32_t k = 0; k < m; k++)
			children += places[k] - first >= count;
		if (place)
			parents +=
				gt_nodes_dtree_parent(n, (int)(i % 2), place) -
					first >=
				count;
	}
	return (struct gt_double_tree_hops){
		(s->down ? children : 0) + (s->up ? parents : 0),
		(s->down ? parents : 0) + (s->up ? children : 0)};
}

static struct gt_double_tree_hops most_hops(
	const struct gt_double_tree_search *s, uint32_t nodes)
{
	struct gt_double_tree_hops most = {0, 0};

	for (uint32_t i = 0; i < s->quotient->cluster.nnodes; i += nodes) {
		struct gt_double_tree_hops one = count_hops(s, i, nodes);

		most.out = one.out > most.out ? one.out : most.out;
		most.in = one.in > most.in ? one.in : most.in;
	}
	return most;
}

/* Append the route's links so many times. */
static void repeat_links(uint32_t *links, uint32_t *n,
			 const struct gt_fabric_route *route, uint32_t times)
{
	for (uint32_t t = 0; t < times; t++)
		for (uint32_t k = 0; k < route->nlinks; k++)
			links[(*n)++] = route->links[k];
}

static struct gt_rat larger_charge(const struct gt_fabric_route *a,
				   const struct gt_fabric_route *b)
{
	return gt_rat_cmp(a->charge, b->charge) > 0 ? a->charge : b->charge;
}

/*
 * The route of a hop from parent to child, with all that it loads: both
 * directions as the collective uses them, once for each tree of nodes.
 */
static void local_route(struct gt_double_tree_search *s, uint32_t from,
			uint32_t to, struct gt_fabric_route *out)
{
	const struct gt_fabric *node = s->quotient->fabric;
	const struct gt_fabric_route *down =
		&node->routes[from * node->nranks + to];
	const struct gt_fabric_route *up =
		&node->routes[to * node->nranks + from];
	uint32_t *links;

	if (!down->nlinks || !up->nlinks)
		return;
	links = new_array(s, 2 * ((size_t)down->nlinks + up->nlinks),
			  sizeof(*links));
	if (s->failed)
		return;
	repeat_links(links, &out->nlinks, down, s->down ? 2 : 0);
	repeat_links(links, &out->nlinks, up, s->up ? 2 : 0);
	out->links = links;
	out->charge = larger_charge(down, up);
}

/*
 * The route by a port to the rank that trees enter the node by, with all that
 * it loads: as many hops out and in as any node has, and as any switch above
 * has.
 */
static void port_route(struct gt_double_tree_search *s, uint32_t rank,
		       uint32_t port, struct gt_fabric_route *to)
{
	const struct gt_plan_cluster *cluster = &s->quotient->cluster;
	const struct gt_fabric_route *out =
		&s->quotient->out[rank * cluster->nports + port];
	const struct gt_fabric_route *in =
		&s->quotient->in[rank * cluster->nports + port];
	uint32_t *links, most = 0;

	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++)
		most += s->above[l].out + s->above[l].in;
	if (!out->nlinks || !in->nlinks)
		return;
	links = new_array(s,
			  (size_t)s->node.out * out->nlinks +
				  (size_t)s->node.in * in->nlinks + most,
			  sizeof(*links));
	if (s->failed)
		return;
	repeat_links(links, &to->nlinks, out, s->node.out);
	repeat_links(links, &to->nlinks, in, s->node.in);
	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++) {
		struct gt_double_tree_hops up = s->above[l];
		uint32_t rail = cluster->ports[port].rail;

		for (uint32_t k = 0; k < up.out + up.in; k++)
			links[to->nlinks++] =
				s->quotient->fabric->nlinks +
				gt_nodes_uplink(cluster, l, rail, k >= up.out);
	}
	to->links = links;
	to->charge = out->charge;
}

static void build_fabric(struct gt_double_tree_search *s)
{
	const struct gt_fabric *node = s->quotient->fabric;
	const struct gt_plan_cluster *cluster = &s->quotient->cluster;
	uint32_t nup = gt_nodes_nuplinks(cluster), n = node->nranks;
	uint32_t m = n + cluster->nports;
	struct gt_fabric *f = &s->fabric;

	*f = *node;
	f->external = NULL;
	f->nranks = m;
	f->nlinks = node->nlinks + nup;
	f->links = new_array(s, f->nlinks, sizeof(*f->links));
	f->routes = new_array(s, (size_t)m * m, sizeof(*f->routes));
	s->above = new_array(s, cluster->nlevels, sizeof(*s->above));
	if (s->failed)
		return;
	s->node = most_hops(s, 1);
	for (uint32_t l = 0; l + 1 < cluster->nlevels; l++)
		s->above[l] = most_hops(s, cluster->levels[l].nodes);
	memcpy(f->links, node->links, node->nlinks * sizeof(*f->links));
	for (uint32_t i = 0; i < nup; i++)
		f->links[node->nlinks + i].gbs =
			cluster->levels[i / 2 / cluster->nrails].gbs;
	for (uint32_t i = 0; i < m * n && !s->failed; i++) {
		uint32_t from = i / n, to = i % n;

		if (from >= n)
			port_route(s, to, from - n, &f->routes[from * m + to]);
		else if (from != to)
			local_route(s, from, to, &f->routes[from * m + to]);
	}
}

static struct gt_rat row_gbs(const struct gt_double_tree_search *s,
			     uint32_t row)
{
	return row < s->rows->nrows
		       ? s->rows->rows[row].gbs
		       : s->quotient->fabric->links[row - s->rows->nrows].gbs;
}

static int search_init(struct gt_double_tree_search *s, struct gt_err *err)
{
	uint32_t n = s->quotient->fabric->nranks;
	size_t m, nrows;
	double *upper;
	int rc;

	build_fabric(s);
	if (s->failed)
		return gt_err_nomem(err);
	rc = gt_link_rows_new(&s->fabric, s->arena, &s->rows, err);
	if (rc)
		return rc;
	m = s->rows->stride;
	nrows = s->rows->nrows + s->nroot_rows;
	upper = new_array(s, nrows, sizeof(*upper));
	s->prices = new_array(s, nrows, sizeof(*s->prices));
	s->entries = new_array(s, nrows, sizeof(*s->entries));
	s->loads = new_array(s, s->nroot_rows, sizeof(*s->loads));
	s->weights = new_array(s, m * m, sizeof(*s->weights));
	s->local = new_array(s, (size_t)n * n, sizeof(*s->local));
	s->trees->trees =
		new_array(s, GT_DOUBLE_TREE_MAX, sizeof(*s->trees->trees));
	if (s->failed)
		return gt_err_nomem(err);
	for (uint32_t r = 0; r < nrows; r++)
		upper[r] = gt_rat_double(row_gbs(s, r)) * s->rows->unit;
	s->lp = gt_lp_new((uint32_t)nrows, upper);
	return s->lp ? GT_OK : gt_err_nomem(err);
}

static int32_t row_load(const struct gt_double_tree_search *s,
			const struct gt_double_tree *tree, uint32_t row)
{
	const uint32_t *load = s->rows->rows[row].load;
	uint32_t n = s->quotient->fabric->nranks, m = s->rows->stride, sum;

	sum = load[(n + tree->port) * m + tree->root];
	for (uint32_t i = 0; i < n; i++)
		if (i != tree->root)
			sum += load[tree->parent[i] * m + i];
	return (int32_t)sum;
}

/* Add what a hop loads the root's node with, for both trees of nodes. */
static void load_root_route(struct gt_double_tree_search *s,
			    const struct gt_fabric_route *route)
{
	const struct gt_fabric_link *links = s->quotient->fabric->links;

	for (uint32_t k = 0; k < route->nlinks; k++) {
		struct gt_rat load = links[route->links[k]].charged
					     ? route->charge
					     : GT_RAT(1, 1);
		int64_t unit = 2 * (int64_t)s->rows->unit;

		/* The unit may be too coarse for this load: round up. */
		s->loads[route->links[k]] +=
			(int32_t)((load.num * unit + load.den - 1) / load.den);
	}
}

static int turns_round(const struct gt_double_tree_search *s,
		       const struct gt_double_tree *tree, uint32_t local)
{
	uint32_t up = s->root_local;

	while (up != UINT32_MAX && up != local)
		up = tree->parent[up];
	return up == local;
}

static void load_root_node(struct gt_double_tree_search *s,
			   const struct gt_double_tree *tree)
{
	const struct gt_quotient *q = s->quotient;
	uint32_t n = q->fabric->nranks;
	size_t entry = (size_t)tree->root * q->cluster.nports + tree->port;

	if (!s->nroot_rows)
		return;
	memset(s->loads, 0, s->nroot_rows * sizeof(*s->loads));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t from = tree->parent[i], to = i;

		if (i == tree->root)
			continue;
		if (turns_round(s, tree, i) != s->up) {
			from = i;
			to = tree->parent[i];
		}
		load_root_route(s, &q->fabric->routes[from * n + to]);
	}
	load_root_route(s, s->up ? &q->in[entry] : &q->out[entry]);
}

/* Add a tree as a column, unless it is there already; 1 if it was added. */
static int take_tree(struct gt_double_tree_search *s, const uint32_t *parent,
		     uint32_t root, uint32_t port)
{
	struct gt_double_trees *trees = s->trees;
	struct gt_double_tree *tree = &trees->trees[trees->ntrees];
	uint32_t n = s->quotient->fabric->nranks;

	if (trees->ntrees == GT_DOUBLE_TREE_MAX)
		return 0;
	tree->root = root;
	tree->port = port;
	tree->parent = new_array(s, n, sizeof(*parent));
	if (s->failed)
		return 0;
	memcpy(tree->parent, parent, n * sizeof(*parent));
	for (uint32_t k = 0; k < trees->ntrees; k++) {
		const struct gt_double_tree *old = &trees->trees[k];

		if (old->root == root && old->port == port &&
		    !memcmp(old->parent, parent, n * sizeof(*parent)))
			return 0;
	}
	for (uint32_t r = 0; r < s->rows->nrows; r++)
		s->entries[r] = row_load(s, tree, r);
	load_root_node(s, tree);
	for (uint32_t i = 0; i < s->nroot_rows; i++)
		s->entries[s->rows->nrows + i] = s->loads[i];
	gt_lp_add(s->lp, 1, s->entries);
	trees->ntrees++;
	return 1;
}

/* The cheapest tree of the node from this rank, of equals a flat one. */
static int64_t cheapest_tree(struct gt_double_tree_search *s, uint32_t root,
			     uint32_t *parent)
{
	uint32_t n = s->quotient->fabric->nranks, m = s->rows->stride;
	int64_t sum = 0;

	for (uint32_t i = 0; i < n * n; i++) {
		int64_t cost = s->weights[i / n * m + i % n];

		if (!s->rows->joined[i / n * m + i % n] ||
		    cost > GT_DOUBLE_TREE_DEAR)
			cost = GT_DOUBLE_TREE_DEAR;
		s->local[i] = 16 * cost + (i / n != root);
	}
	parent[root] = UINT32_MAX;
	if (n > 1 && gt_arborescence(n, s->local, root, parent) < 0) {
		s->failed = 1;
		return GT_DOUBLE_TREE_DEAR;
	}
	parent[root] = UINT32_MAX;
	for (uint32_t i = 0; i < n; i++)
		if (i != root)
			sum += s->local[parent[i] * n + i] / 16;
	return sum;
}

/*
 * Add the prices of the root's node to the weights of hops as if none of them
 * was turned round there.  So trees need not be the very cheapest.
 */
static void weigh_root_node(struct gt_double_tree_search *s)
{
	uint32_t n = s->quotient->fabric->nranks, m = s->rows->stride;
	const int64_t *prices = s->prices + s->rows->nrows;

	for (uint32_t i = 0; i < n * n && s->nroot_rows; i++) {
		uint32_t from = s->up ? i % n : i / n;
		uint32_t to = s->up ? i / n : i % n;
		const struct gt_fabric_route *route =
			&s->quotient->fabric->routes[from * n + to];

		for (uint32_t k = 0; k < route->nlinks; k++)
			s->weights[i / n * m + i % n] +=
				2 * (int64_t)s->rows->unit *
				prices[route->links[k]];
	}
}

/*
 * Add trees that cost less than `limit`, from each rank and by each port; the
 * number of those that were new.
 */
static int price_trees(struct gt_double_tree_search *s, int64_t limit)
{
	uint32_t n = s->quotient->fabric->nranks, m = s->rows->stride;
	uint32_t *parent = new_array(s, n, sizeof(*parent));
	int added = 0;

	gt_ring_weights(s->rows, s->prices, s->weights);
	weigh_root_node(s);
	for (uint32_t i = 0; i < n && !s->failed; i++) {
		int64_t cost = cheapest_tree(s, i, parent);

		for (uint32_t p = 0; p < s->quotient->cluster.nports; p++) {
			size_t at = (size_t)(n + p) * m + i;

			if (s->rows->joined[at] && cost < GT_DOUBLE_TREE_DEAR &&
			    cost + s->weights[at] < limit)
				added += take_tree(s, parent, i, p);
		}
	}
	return added;
}

static int price_columns(void *arg, struct gt_err *err)
{
	struct gt_double_tree_search *s = arg;
	int added;

	gt_column_prices(s->lp, s->rows->nrows + s->nroot_rows, s->prices);
	added = price_trees(s, GT_COLUMN_ONE - GT_COLUMN_SLACK);
	return s->failed ? gt_err_nomem(err) : added;
}

static int generate_trees(struct gt_double_tree_search *s, struct gt_err *err)
{
	uint32_t nrounds = 0;
	const struct gt_column_generation cg = {
		.lp = s->lp,
		.problem = "the trees",
		.max_rounds = GT_DOUBLE_TREE_ROUNDS,
		.nrounds = &nrounds,
		.budget = s->quotient->budget,
		.arg = s,
		.price = price_columns,
	};

	if (price_trees(s, GT_DOUBLE_TREE_DEAR))
		return gt_column_generation_run(&cg, err);
	return s->failed ? gt_err_nomem(err)
			 : gt_err_set(err, GT_ENO, NULL,
				      "no tree joins the GPUs of a node and "
				      "its ports");
}

/* Do without trees that others make up for: each costs two channels. */
static int leave_out(struct gt_double_tree_search *s, struct gt_err *err)
{
	double value = 0;
	int rc;

	for (uint32_t i = 0; i < s->trees->ntrees; i++)
		value += gt_lp_values(s->lp)[i];
	rc = gt_lp_fewer_columns(s->lp, value);
	if (rc == GT_ESYS)
		return gt_err_nomem(err);
	return GT_OK;
}

/*
 * Shares as whole parts, and their sum; a share of less than half a part is 0.
 */
static int64_t round_shares(struct gt_double_tree_search *s, int64_t *parts)
{
	const double *values = gt_lp_values(s->lp);
	double sum = 0;
	int64_t denominator = 0;

	for (uint32_t i = 0; i < s->trees->ntrees; i++)
		sum += values[i];
	for (uint32_t i = 0; i < s->trees->ntrees && sum > 0; i++) {
		parts[i] =
			(int64_t)(values[i] / sum * GT_DOUBLE_TREE_PARTS + 0.5);
		denominator += parts[i];
	}
	return denominator;
}

/* The rate that the fullest link allows; loads count for two trees of nodes. */
static int exact_rate(struct gt_double_tree_search *s, const int64_t *parts,
		      int64_t denominator, struct gt_rat *value)
{
	uint32_t nrows = s->rows->nrows;
	int64_t *loads = new_array(s, nrows + s->nroot_rows, sizeof(*loads));
	int found = 0;

	for (uint32_t i = 0; i < s->trees->ntrees && !s->failed; i++) {
		const struct gt_double_tree *tree = &s->trees->trees[i];

		load_root_node(s, tree);
		for (uint32_t r = 0; r < nrows + s->nroot_rows; r++)
			loads[r] +=
				parts[i] * (r < nrows ? row_load(s, tree, r)
						      : s->loads[r - nrows]);
	}
	for (uint32_t r = 0; r < nrows + s->nroot_rows && !s->failed; r++) {
		struct gt_rat rate;

		if (!loads[r])
			continue;
		if (!gt_rat_make(2 * denominator * s->rows->unit, loads[r],
				 &rate) ||
		    !gt_rat_mul(rate, row_gbs(s, r), &rate))
			return 0;
		if (!found || gt_rat_cmp(rate, *value) < 0)
			*value = rate;
		found = 1;
	}
	return found;
}

static int keep_shares(struct gt_double_tree_search *s, struct gt_err *err)
{
	struct gt_double_trees *trees = s->trees;
	int64_t *parts = new_array(s, trees->ntrees, sizeof(*parts));
	int64_t denominator = s->failed ? 0 : round_shares(s, parts);
	uint32_t kept = 0;

	if (s->failed)
		return gt_err_nomem(err);
	if (!denominator || !exact_rate(s, parts, denominator, &trees->value))
		return gt_err_set(err, GT_ENO, NULL,
				  "the trees' rates need more than 64 bits");
	for (uint32_t i = 0; i < trees->ntrees; i++) {
		if (!parts[i])
			continue;
		trees->trees[kept] = trees->trees[i];
		gt_rat_make(parts[i], denominator, &trees->trees[kept++].share);
	}
	trees->ntrees = kept;
	return GT_OK;
}

int gt_double_trees_find(const struct gt_quotient *q, enum gt_coll coll,
			 uint32_t root, struct gt_arena *arena,
			 struct gt_double_trees *trees, struct gt_err *err)
{
	struct gt_double_tree_search s = {.quotient = q,
					  .arena = arena,
					  .down = gt_coll_goes_down(coll),
					  .up = gt_coll_goes_up(coll),
					  .root_local =
						  root % q->fabric->nranks,
					  .trees = trees};
	int rc;

	memset(trees, 0, sizeof(*trees));
	if (q->cluster.nnodes < 2 || gt_coll_has_blocks(coll))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "trees of several nodes do allreduce, "
				  "broadcast and reduce");
	if (gt_coll_is_rooted(coll))
		s.nroot_rows = q->fabric->nlinks;
	rc = search_init(&s, err);
	if (!rc)
		rc = generate_trees(&s, err);
	if (!rc)
		rc = leave_out(&s, err);
	if (!rc)
		rc = keep_shares(&s, err);
	gt_lp_free(s.lp);
	return rc;
}
