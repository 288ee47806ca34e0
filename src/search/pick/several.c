/*
 * Divides nodes into classes, goes through the ways to take GPUs of them, and
 * bounds those exactly that may be better than the best so far.
 */
#include "search/pick/several.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "search/pick/joined.h"
#include "search/pick/stock.h"
#include "topo/cluster/cluster.h"

/* Nodes that are alike, and what each has to offer. */
struct nodes_class {
	const struct gt_stock *stock;
	uint32_t leaf; /* the lowest switches that take in several nodes */
	uint32_t nnodes;
	uint32_t *nodes; /* ascending */
};

/* What counts of a way, the more important first. */
struct rating {
	struct gt_rat gbs, net_gbs;
	uint32_t nparts, nnuma;
};

struct search {
	const struct gt_pick_several_query *query;
	struct gt_arena *arena;
	uint32_t nstocks;
	struct gt_stock *stocks;
	uint32_t nclasses;
	struct nodes_class *classes;
	uint32_t nparts; /* of the way that is being made */
	struct gt_joined_part *parts;
	struct rating best;
	uint32_t nbest;
	struct gt_joined_part *best_parts;
	uint64_t nways, nbounded;
	int counting; /* ways are counted, and not compared */
	struct gt_err *err;
	int rc;
};

/* ---- classes of nodes --------------------------------------------------- */

/* The number of nodes that the lowest level with more than one takes in. */
static uint32_t leaf_nodes(const struct gt_cluster *cluster)
{
	enum gt_fabric_kind over =
		gt_joined_by_nvlink(cluster) ? GT_FABRIC_NVLINK : GT_FABRIC_NET;
	const struct gt_cluster_fabric *f = &cluster->fabrics[over];

	for (uint32_t l = 0; l < f->nlevels; l++)
		if (f->levels[l].nodes > 1)
			return f->levels[l].nodes;
	return cluster->nnodes;
}

static int find_stock(struct search *s, const struct gt_cluster_kind *kind,
		      uint64_t free_gpus, const struct gt_stock **stock)
{
	int nvlink = gt_joined_by_nvlink(s->query->cluster), rc;

	for (uint32_t i = 0; i < s->nstocks; i++)
		if (s->stocks[i].kind == kind &&
		    s->stocks[i].free == free_gpus) {
			*stock = &s->stocks[i];
			return GT_OK;
		}
	rc = gt_stock_init(&s->stocks[s->nstocks], kind, free_gpus, nvlink,
			   s->arena, s->err);
	*stock = &s->stocks[s->nstocks++];
	return rc;
}

static int add_node(struct search *s, uint32_t node, uint32_t leaf)
{
	const struct gt_cluster *cluster = s->query->cluster;
	const struct gt_stock *stock;
	struct nodes_class *class_;
	uint32_t i = 0;
	int rc = find_stock(s, gt_cluster_kind_of(cluster, node),
			    s->query->free[node], &stock);

	if (rc)
		return rc;
	while (i < s->nclasses && (s->classes[i].stock != stock ||
				   s->classes[i].leaf != node / leaf))
		i++;
	class_ = &s->classes[i];
	if (i == s->nclasses) {
		*class_ = (struct nodes_class){.stock = stock,
					       .leaf = node / leaf};
		class_->nodes = gt_arena_array(s->arena, cluster->nnodes - node,
					       sizeof(*class_->nodes));
		s->nclasses++;
	}
	if (!class_->nodes)
		return gt_err_nomem(s->err);
	class_->nodes[class_->nnodes++] = node;
	return GT_OK;
}

static int find_classes(struct search *s)
{
	const struct gt_cluster *cluster = s->query->cluster;
	uint32_t n = cluster->nnodes, leaf = leaf_nodes(cluster);
	int rc = GT_OK;

	s->stocks = gt_arena_array(s->arena, n, sizeof(*s->stocks));
	s->classes = gt_arena_array(s->arena, n, sizeof(*s->classes));
	s->parts = gt_arena_array(s->arena, n, sizeof(*s->parts));
	s->best_parts = gt_arena_array(s->arena, n, sizeof(*s->best_parts));
	if (!s->stocks || !s->classes || !s->parts || !s->best_parts)
		return gt_err_nomem(s->err);
	for (uint32_t i = 0; i < n && !rc; i++)
		if (s->query->free[i])
			rc = add_node(s, i, leaf);
	return rc;
}

/* ---- which is better ---------------------------------------------------- */

/* Compare all but the worth: below 0 if `a` is better. */
static int compare_seats(const struct rating *a, const struct rating *b)
{
	int net = gt_rat_cmp(b->net_gbs, a->net_gbs);

	if (a->nparts != b->nparts)
		return a->nparts < b->nparts ? -1 : 1;
	if (net)
		return net;
	return a->nnuma < b->nnuma ? -1 : a->nnuma > b->nnuma;
}

static struct rating rate_seats(const struct search *s)
{
	struct rating rating = {.nparts = s->nparts, .net_gbs = GT_RAT(0, 1)};

	for (uint32_t i = 0; i < s->nparts; i++) {
		const struct gt_stock_set *set = s->parts[i].set;

		rating.nnuma += set->nnuma;
		if (!gt_rat_add(rating.net_gbs, set->net_gbs, &rating.net_gbs))
			rating.net_gbs = GT_RAT(0, 1);
	}
	return rating;
}

/* Look at the way that was made. */
static void try_way(struct search *s)
{
	struct rating rating = rate_seats(s);
	struct gt_rat most;
	int more = 1;

	s->nways++;
	if (s->counting)
		return;
	if (s->nbest && gt_joined_at_most(s->parts, s->nparts, &most))
		more = gt_rat_cmp(most, s->best.gbs);
	if (more < 0 || (!more && compare_seats(&rating, &s->best) >= 0))
		return;
	s->nbounded++;
	s->rc = gt_joined_worth(s->query->cluster, s->parts, s->nparts,
				&rating.gbs, s->err);
	more = s->nbest ? gt_rat_cmp(rating.gbs, s->best.gbs) : 1;
	if (s->rc || more < 0 ||
	    (!more && compare_seats(&rating, &s->best) >= 0))
		return;
	s->best = rating;
	s->nbest = s->nparts;
	memcpy(s->best_parts, s->parts, s->nparts * sizeof(*s->parts));
}

/* ---- all ways ----------------------------------------------------------- */

/* The most GPUs that take() could take from there; sets begin with the largest.
 */
static uint32_t most_left(const struct search *s, uint32_t c, uint32_t used,
			  uint32_t set)
{
	uint32_t most = 0;

	for (; c < s->nclasses; c++, used = set = 0) {
		const struct nodes_class *class_ = &s->classes[c];

		if (set < class_->stock->nsets)
			most += (class_->nnodes - used) *
				class_->stock->sets[set].n;
	}
	return most;
}

/*
 * Take `left` more GPUs of the classes from `c` on, of which `used` nodes of
 * class c are taken; their sets follow one another in the stock's order.
 */
static void take(struct search *s, uint32_t c, uint32_t used, uint32_t set,
		 uint32_t left)
{
	const struct nodes_class *class_ = &s->classes[c];

	if (!left) {
		try_way(s);
		return;
	}
	if (c == s->nclasses || s->rc || s->nways > GT_PICK_MAX_WAYS ||
	    left > most_left(s, c, used, set))
		return;
	for (uint32_t i = set;
	     used < class_->nnodes && i < class_->stock->nsets && !s->rc; i++) {
		const struct gt_stock_set *item = &class_->stock->sets[i];

		if (item->n > left)
			continue;
		s->parts[s->nparts++] =
			(struct gt_joined_part){class_->nodes[used], item};
		take(s, c, used + 1, i, left - item->n);
		s->nparts--;
	}
	take(s, c + 1, 0, 0, left);
}

/* The first set of so many GPUs, or of the most that are fewer. */
static const struct gt_stock_set *set_of(const struct gt_stock *stock,
					 uint32_t n)
{
	uint32_t i = 0;

	while (i < stock->nsets && stock->sets[i].n > n)
		i++;
	return i < stock->nsets ? &stock->sets[i] : NULL;
}

/*
 * Take at most `each` GPUs of each node, of the classes from `c` on and then
 * those before it.
 */
static void take_each(struct search *s, uint32_t c, uint32_t each)
{
	uint32_t left = s->query->n;

	s->nparts = 0;
	for (uint32_t k = 0; k < s->nclasses && left; k++) {
		const struct nodes_class *class_ =
			&s->classes[(c + k) % s->nclasses];

		for (uint32_t i = 0; i < class_->nnodes && left; i++) {
			const struct gt_stock_set *set = set_of(
				class_->stock, each < left ? each : left);

			if (!set)
				break;
			s->parts[s->nparts++] =
				(struct gt_joined_part){class_->nodes[i], set};
			left -= set->n;
		}
	}
	if (!left)
		try_way(s);
	s->nparts = 0;
}

/* Too many ways: from each class on, so many GPUs of each node. */
static void take_some(struct search *s)
{
	for (uint32_t each = s->query->n; each; each--)
		for (uint32_t c = 0; c < s->nclasses && !s->rc; c++)
			take_each(s, c, each);
}

static void try_ways(struct search *s, struct gt_pick_several *pick)
{
	s->counting = 1;
	take(s, 0, 0, 0, s->query->n);
	pick->complete = s->nways <= GT_PICK_MAX_WAYS;
	s->counting = 0;
	s->nways = 0;
	if (pick->complete)
		take(s, 0, 0, 0, s->query->n);
	else
		take_some(s);
}

/* ---- the answer --------------------------------------------------------- */

/* What the first GPUs that are free are worth. */
static int bound_first(struct search *s, struct gt_pick_several *pick)
{
	const struct gt_pick_several_query *query = s->query;
	uint32_t left = query->n, nparts = 0;
	int rc = GT_OK;

	for (uint32_t i = 0; i < query->cluster->nnodes && left && !rc; i++) {
		struct gt_stock_set *set =
			gt_arena_alloc(s->arena, sizeof(*set));
		const struct gt_stock *stock;
		uint64_t gpus = query->free[i];

		if (!gpus)
			continue;
		while ((uint32_t)__builtin_popcountll(gpus) > left)
			gpus &= ~((uint64_t)1 << (63 - __builtin_clzll(gpus)));
		left -= (uint32_t)__builtin_popcountll(gpus);
		rc = find_stock(s, gt_cluster_kind_of(query->cluster, i),
				query->free[i], &stock);
		if (!rc && !set)
			rc = gt_err_nomem(s->err);
		if (!rc)
			rc = gt_stock_measure(stock, gpus, s->arena, set,
					      s->err);
		s->parts[nparts++] = (struct gt_joined_part){i, set};
	}
	if (!rc)
		rc = gt_joined_worth(query->cluster, s->parts, nparts,
				     &pick->first_gbs, s->err);
	return rc;
}

static int emit(struct search *s, struct gt_pick_several *pick)
{
	pick->nodes = gt_arena_array(s->arena, s->nbest, sizeof(*pick->nodes));
	if (!pick->nodes)
		return gt_err_nomem(s->err);
	for (uint32_t i = 0; i < s->nbest; i++) {
		struct gt_picked_node node = {s->best_parts[i].node,
					      s->best_parts[i].set->gpus};
		uint32_t at = pick->nnodes++;

		for (; at && pick->nodes[at - 1].node > node.node; at--)
			pick->nodes[at] = pick->nodes[at - 1];
		pick->nodes[at] = node;
	}
	pick->n = s->query->n;
	pick->gbs = s->best.gbs;
	pick->net_gbs = s->best.net_gbs;
	pick->nways = s->nways;
	pick->nbounded = s->nbounded;
	return GT_OK;
}

static int check(const struct gt_pick_several_query *query, struct gt_err *err)
{
	const struct gt_cluster *cluster = query->cluster;
	uint32_t n = 0;

	for (uint32_t i = 0; i < cluster->nnodes; i++)
		n += (uint32_t)__builtin_popcountll(query->free[i]);
	if (n < query->n)
		return gt_err_set(err, GT_ENO, cluster->source,
				  "has %u GPU%s to choose from, not %u", n,
				  gt_plural(n), query->n);
	for (int o = 0; o < GT_NFABRICKINDS; o++)
		if (cluster->fabrics[o].ncables)
			return gt_err_set(err, GT_EINPUT, cluster->source,
					  "GPUs are picked of clusters whose "
					  "fabric is of levels; this one has "
					  "links");
	return GT_OK;
}

/* What joins nodes by NVLink and by the network at once is not bounded yet. */
static int check_fabrics(const struct gt_cluster *cluster, struct gt_err *err)
{
	if (gt_cluster_joins(cluster, GT_FABRIC_NVLINK) < 2 ||
	    gt_joined_by_nvlink(cluster))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, cluster->source,
			  "NVLinks join some of its nodes and not all; pick "
			  "chooses among nodes that they join all, or none");
}

int gt_pick_several_find(const struct gt_pick_several_query *query,
			 struct gt_arena *arena, struct gt_pick_several *pick,
			 struct gt_err *err)
{
	struct search s = {.query = query, .arena = arena, .err = err};
	int rc = check(query, err);

	if (!rc)
		rc = check_fabrics(query->cluster, err);
	*pick = (struct gt_pick_several){.first_gbs = GT_RAT(0, 1)};
	if (!rc)
		rc = find_classes(&s);
	if (!rc)
		rc = bound_first(&s, pick);
	if (rc)
		return rc;
	try_ways(&s, pick);
	if (s.rc)
		return s.rc;
	if (!s.nbest || (query->n > 1 && !s.best.gbs.num))
		return gt_err_set(err, GT_ENO, query->cluster->source,
				  "has no %u GPUs to choose that reach each "
				  "other",
				  query->n);
	return emit(&s, pick);
}
