/* Measures sets of a node's GPUs by the routes and bounds of one machine. */
#include "search/pick/stock.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "search/pick/network.h"
#include "search/pick/routes.h"
#include "search/pick/worth.h"
#include "search/problem/fabric.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/topo.h"

/* What is needed to measure sets of one kind of node. */
struct scale {
	struct gt_pick_query query;
	struct gt_pick_routes routes;
	struct gt_pick_worth worth;
	struct gt_pick_network network;
	int nvlink;
};

static int list_devices(const struct gt_stock *stock, struct gt_arena *arena,
			struct gt_pick_query *query)
{
	const struct gt_cluster_ports *ports =
		&stock->kind->ports[GT_FABRIC_NET];
	const struct gt_topo *topo = stock->kind->topo;
	uint32_t ngpus = gt_topo_ngpus(topo), *gpus, *list;

	gpus = gt_arena_array(arena, ngpus, sizeof(*gpus));
	list = gt_arena_array(arena, ports->n, sizeof(*list));
	if (!gpus || !list)
		return GT_ESYS;
	for (uint32_t i = 0; i < ngpus; i++)
		gpus[i] = gt_topo_gpu(topo, i);
	for (uint32_t i = 0; i < ports->n; i++)
		list[i] = ports->list[i].device;
	*query = (struct gt_pick_query){.topo = topo,
					.ngpus = ngpus,
					.nports = stock->nvlink ? 0 : ports->n,
					.gpus = gpus,
					.ports = list};
	return GT_OK;
}

/* Release also after failure. */
static int open_scale(struct scale *scale, const struct gt_stock *stock,
		      struct gt_arena *arena, struct gt_err *err)
{
	int rc;

	memset(scale, 0, sizeof(*scale));
	scale->nvlink = stock->nvlink;
	if (list_devices(stock, arena, &scale->query))
		return gt_err_nomem(err);
	rc = gt_pick_routes_init(&scale->routes, &scale->query, arena, err);
	if (!rc)
		rc = gt_pick_worth_init(&scale->worth, &scale->routes, arena,
					err);
	if (!rc)
		rc = gt_pick_network_init(&scale->network, &scale->routes,
					  arena, err);
	return rc;
}

static void close_scale(struct scale *scale)
{
	gt_pick_network_release(&scale->network);
	gt_pick_routes_release(&scale->routes);
}

/* ---- the links of a set ------------------------------------------------- */

static int add_link(struct gt_stock_set *set, uint32_t from, uint32_t to,
		    struct gt_rat gbs)
{
	for (uint32_t i = 0; i < set->nlinks; i++)
		if (set->links[i].from == from && set->links[i].to == to)
			return 0;
	set->links[set->nlinks++] =
		(struct gt_fabric_link){.from = from, .to = to, .gbs = gbs};
	return 1;
}

/* Add the links that the routes use now, and with `back` their other way. */
static void add_used(const struct gt_pick_routes *routes, int back,
		     struct gt_stock_set *set)
{
	for (uint32_t i = 0; i < routes->nused; i++) {
		uint32_t link = routes->used[i];
		const struct gt_pick_link *used = &routes->links[link];

		add_link(set, used->from, used->to,
			 gt_pick_link_gbs(routes, link));
		for (uint32_t k = 0; back && k < routes->nlinks; k++)
			if (routes->links[k].from == used->to &&
			    routes->links[k].to == used->from)
				add_link(set, used->to, used->from,
					 routes->links[k].gbs[0]);
	}
}

/* Of each GPU of the set, to NVSwitches and back. */
static struct gt_rat add_nvlinks(const struct scale *scale,
				 struct gt_stock_set *set)
{
	const struct gt_topo *topo = scale->query.topo;
	struct gt_rat sum = GT_RAT(0, 1);

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);
		int out = gt_topo_node(topo, link->to)->kind == GT_NODE_NVS;
		uint32_t gpu = out ? link->from : link->to, k = 0;

		if (!out && gt_topo_node(topo, link->from)->kind != GT_NODE_NVS)
			continue;
		while (k < scale->query.ngpus && scale->query.gpus[k] != gpu)
			k++;
		if (k == scale->query.ngpus || !(set->gpus >> k & 1))
			continue;
		add_link(set, link->from, link->to, link->gbs);
		if (out)
			gt_rat_add(sum, link->gbs, &sum);
	}
	return sum;
}

/* Add up what leaves the GPUs of a set over its links. */
static void add_gpus(const struct scale *scale, struct gt_stock_set *set)
{
	for (uint32_t i = 0; i < set->nlinks; i++)
		for (uint32_t k = 0; k < scale->query.ngpus; k++)
			if (set->gpus >> k & 1 &&
			    scale->query.gpus[k] == set->links[i].from)
				gt_rat_add(set->gpus_gbs, set->links[i].gbs,
					   &set->gpus_gbs);
}

/* Measure what a set has inside, and what leads to its ports. */
static void add_ports(struct scale *scale, struct gt_stock_set *set)
{
	struct gt_pick_routes *routes = &scale->routes;

	add_used(routes, 0, set);
	if (scale->nvlink) {
		set->net_gbs = add_nvlinks(scale, set);
		return;
	}
	if (!gt_rat_make(gt_pick_network_find(&scale->network, set->gpus),
			 routes->scale, &set->net_gbs))
		set->net_gbs = GT_RAT(0, 1);
	/* The routes now are those to the ports. */
	add_used(routes, 1, set);
}

static int measure(struct scale *scale, uint64_t gpus, struct gt_arena *arena,
		   struct gt_stock_set *set, struct gt_err *err)
{
	struct gt_pick_routes *routes = &scale->routes;
	int rc = GT_OK;

	*set = (struct gt_stock_set){
		.gpus = gpus,
		.n = (uint32_t)__builtin_popcountll(gpus),
		.nnuma = gt_pick_count_numa(routes, gpus),
		.gbs = GT_RAT(0, 1),
		.gpus_gbs = GT_RAT(0, 1),
		.links = gt_arena_array(arena, routes->nlinks,
					sizeof(*set->links)),
	};
	if (!set->links)
		return gt_err_nomem(err);
	gt_pick_routes_use(routes, gpus);
	if (set->n > 1)
		rc = gt_pick_worth_find(&scale->worth, gpus, &set->gbs, err);
	if (rc)
		return rc;
	add_ports(scale, set);
	add_gpus(scale, set);
	return GT_OK;
}

int gt_stock_measure(const struct gt_stock *stock, uint64_t gpus,
		     struct gt_arena *arena, struct gt_stock_set *set,
		     struct gt_err *err)
{
	struct scale scale;
	int rc = open_scale(&scale, stock, arena, err);

	if (!rc)
		rc = measure(&scale, gpus, arena, set, err);
	close_scale(&scale);
	return rc;
}

/* ---- which sets are worth taking ---------------------------------------- */

/* Does a set that comes first beat another? */
static int beats(const struct gt_stock_set *a, const struct gt_stock_set *b)
{
	return gt_rat_cmp(a->gbs, b->gbs) >= 0 &&
	       gt_rat_cmp(a->net_gbs, b->net_gbs) >= 0 && a->nnuma <= b->nnuma;
}

/* The first n bits, and the next mask with as many of m, from the left. */
static uint64_t first_mask(uint32_t n)
{
	return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

static uint64_t next_mask(uint64_t mask, uint32_t m)
{
	uint32_t behind = 0;

	for (uint32_t i = m; i-- > 0;) {
		if (!(mask >> i & 1))
			continue;
		mask &= ~((uint64_t)1 << i);
		behind++;
		if (i + behind < m)
			return mask | first_mask(behind) << (i + 1);
	}
	return 0;
}

/* Keep a set unless one that is there beats it; drop those that it beats. */
static int keep(struct gt_stock *stock, uint32_t first, uint32_t *room,
		struct gt_arena *arena, const struct gt_stock_set *set)
{
	struct gt_stock_set *sets;
	uint32_t n = first;

	for (uint32_t i = first; i < stock->nsets; i++)
		if (beats(&stock->sets[i], set))
			return GT_OK;
	for (uint32_t i = first; i < stock->nsets; i++)
		if (!beats(set, &stock->sets[i]))
			stock->sets[n++] = stock->sets[i];
	stock->nsets = n;
	sets = gt_vec_grow_in(arena, stock->sets, n, room, sizeof(*sets));
	if (!sets)
		return GT_ESYS;
	stock->sets = sets;
	sets[stock->nsets++] = *set;
	return GT_OK;
}

static int add_sets(struct gt_stock *stock, struct scale *scale, uint32_t n,
		    uint32_t *room, struct gt_arena *arena, struct gt_err *err)
{
	uint32_t first = stock->nsets, m = scale->query.ngpus;
	int rc = GT_OK;

	for (uint64_t mask = first_mask(n); mask && !rc;
	     mask = next_mask(mask, m)) {
		struct gt_stock_set set;

		if (mask & ~stock->free)
			continue;
		rc = measure(scale, mask, arena, &set, err);
		if (!rc && (n == 1 || set.gbs.num) &&
		    keep(stock, first, room, arena, &set))
			rc = gt_err_nomem(err);
	}
	return rc;
}

/* Of many GPUs only the choice of the node alone is a set. */
static int add_choice(struct gt_stock *stock, struct scale *scale, uint32_t n,
		      uint32_t *room, struct gt_arena *arena,
		      struct gt_err *err)
{
	struct gt_pick_query query = scale->query;
	uint32_t *gpus =
		gt_arena_array(arena, query.ngpus, sizeof(*query.gpus));
	struct gt_stock_set set;
	struct gt_pick pick;
	uint64_t mask = 0;
	uint32_t m = 0;
	int rc;

	if (!gpus)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < query.ngpus; i++)
		if (stock->free >> i & 1)
			gpus[m++] = query.gpus[i];
	query.gpus = gpus;
	query.ngpus = m;
	query.n = n;
	rc = gt_pick_find(&query, arena, &pick, NULL);
	if (rc == GT_ENO)
		return GT_OK;
	for (uint32_t i = 0; !rc && i < pick.n; i++)
		for (uint32_t k = 0; k < scale->query.ngpus; k++)
			if (scale->query.gpus[k] == pick.gpus[i].node)
				mask |= (uint64_t)1 << k;
	if (rc)
		return gt_err_set(err, rc, gt_topo_source(query.topo),
				  "has too many GPUs to choose %u of; name "
				  "fewer with --among",
				  n);
	rc = measure(scale, mask, arena, &set, err);
	if (!rc && keep(stock, stock->nsets, room, arena, &set))
		rc = gt_err_nomem(err);
	return rc;
}

int gt_stock_init(struct gt_stock *stock, const struct gt_cluster_kind *kind,
		  uint64_t free_gpus, int nvlink, struct gt_arena *arena,
		  struct gt_err *err)
{
	uint32_t n = (uint32_t)__builtin_popcountll(free_gpus), room = 0;
	struct scale scale;
	int rc;

	*stock = (struct gt_stock){
		.kind = kind, .nvlink = nvlink, .free = free_gpus};
	rc = open_scale(&scale, stock, arena, err);
	for (uint32_t k = n; k && !rc; k--)
		rc = n <= GT_STOCK_MAX_FREE
			     ? add_sets(stock, &scale, k, &room, arena, err)
			     : add_choice(stock, &scale, k, &room, arena, err);
	close_scale(&scale);
	return rc;
}
