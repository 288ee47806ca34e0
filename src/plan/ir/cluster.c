/*
 * Numbers of nodes in a cluster: places relative to a root's node, trees of
 * nodes by the levels' digits, the double binary tree, and uplinks.
 */
#include "plan/ir/cluster.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"

static const char *const gt_spread_names[GT_NSPREADS] = {
	[GT_SPREAD_STAR] = "star",
	[GT_SPREAD_BINOMIAL] = "binomial",
	[GT_SPREAD_CHAIN] = "chain",
};

const char *gt_spread_name(enum gt_spread spread)
{
	return gt_spread_names[spread];
}

int gt_spread_find(const char *name)
{
	for (int i = 0; i < GT_NSPREADS; i++)
		if (!strcmp(gt_spread_names[i], name))
			return i;
	return -1;
}

/* The number of nodes that a step of one in a level's digit skips. */
static uint32_t gt_nodes_unit(const struct gt_plan_cluster *cluster,
			      uint32_t level)
{
	return level ? cluster->levels[level - 1].nodes : 1;
}

uint32_t gt_nodes_radix(const struct gt_plan_cluster *cluster, uint32_t level)
{
	return cluster->levels[level].nodes / gt_nodes_unit(cluster, level);
}

static uint32_t gt_nodes_digit(const struct gt_plan_cluster *cluster,
			       uint32_t level, uint32_t number)
{
	return number / gt_nodes_unit(cluster, level) %
	       gt_nodes_radix(cluster, level);
}

uint32_t gt_nodes_place(const struct gt_plan_cluster *cluster, uint32_t origin,
			uint32_t node)
{
	uint32_t place = 0, radix, digit;

	for (uint32_t i = 0; i < cluster->nlevels; i++) {
		radix = gt_nodes_radix(cluster, i);
		digit = gt_nodes_digit(cluster, i, node) + radix -
			gt_nodes_digit(cluster, i, origin);
		place += digit % radix * gt_nodes_unit(cluster, i);
	}
	return place;
}

uint32_t gt_nodes_at(const struct gt_plan_cluster *cluster, uint32_t origin,
		     uint32_t place)
{
	uint32_t node = 0, radix, digit;

	for (uint32_t i = 0; i < cluster->nlevels; i++) {
		radix = gt_nodes_radix(cluster, i);
		digit = gt_nodes_digit(cluster, i, place) +
			gt_nodes_digit(cluster, i, origin);
		node += digit % radix * gt_nodes_unit(cluster, i);
	}
	return node;
}

uint32_t gt_nodes_class(const struct gt_plan_cluster *cluster, uint32_t a,
			uint32_t b)
{
	uint32_t level = 0;

	if (a == b)
		return 0;
	while (level + 1 < cluster->nlevels &&
	       a / cluster->levels[level].nodes !=
		       b / cluster->levels[level].nodes)
		level++;
	return level + 1;
}

uint32_t gt_nodes_in_class(const struct gt_plan_cluster *cluster,
			   uint32_t class_)
{
	if (!class_)
		return 1;
	return cluster->levels[class_ - 1].nodes -
	       gt_nodes_unit(cluster, class_ - 1);
}

/* The lowest level whose digit of the place is not 0; nlevels for place 0. */
static uint32_t gt_nodes_lowest(const struct gt_plan_cluster *cluster,
				uint32_t place)
{
	uint32_t level = 0;

	while (level < cluster->nlevels &&
	       !gt_nodes_digit(cluster, level, place))
		level++;
	return level;
}

uint32_t gt_nodes_parent(const struct gt_plan_cluster *cluster, uint32_t place)
{
	uint32_t level = gt_nodes_lowest(cluster, place);
	uint32_t digit = gt_nodes_digit(cluster, level, place);
	uint32_t up = 0;

	if (cluster->levels[level].spread == GT_SPREAD_BINOMIAL)
		up = digit & (digit - 1);
	else if (cluster->levels[level].spread == GT_SPREAD_CHAIN)
		up = digit - 1;
	return place - (digit - up) * gt_nodes_unit(cluster, level);
}

/*
 * The children of a place that differ from it in the digit of a level; the
 * place has no lower digits.
 */
static uint32_t gt_nodes_below(const struct gt_plan_cluster *cluster,
			       uint32_t level, uint32_t place,
			       uint32_t *children)
{
	uint32_t unit = gt_nodes_unit(cluster, level), n = 0;
	uint32_t digit = gt_nodes_digit(cluster, level, place);
	uint32_t left = gt_nodes_radix(cluster, level) - digit;
	enum gt_spread spread = cluster->levels[level].spread;

	if (spread == GT_SPREAD_CHAIN && left > 1)
		children[n++] = place + unit;
	if (spread == GT_SPREAD_STAR && !digit)
		for (uint32_t i = 1; i < left; i++)
			children[n++] = place + i * unit;
	if (spread == GT_SPREAD_BINOMIAL)
		for (uint32_t i = 1; i < left && !(digit & i); i *= 2)
			children[n++] = place + i * unit;
	return n;
}

uint32_t gt_nodes_children(const struct gt_plan_cluster *cluster,
			   uint32_t place, uint32_t *children)
{
	uint32_t last = gt_nodes_lowest(cluster, place), n = 0;

	for (uint32_t i = cluster->nlevels; i--;)
		if (i <= last)
			n += gt_nodes_below(cluster, i, place, children + n);
	return n;
}

uint32_t gt_nodes_fan(const struct gt_plan_cluster *cluster)
{
	uint32_t fan = 1;

	for (uint32_t i = 0; i < cluster->nlevels; i++)
		fan += cluster->levels[i].spread == GT_SPREAD_STAR
			       ? gt_nodes_radix(cluster, i)
			       : 32;
	return fan;
}

/* Hops to a rank from the one of its node that has no parent there, *top. */
static uint32_t gt_template_local_depth(const int32_t *parents, uint32_t local,
					uint32_t *top)
{
	uint32_t depth = 0;

	for (*top = local; parents[*top] >= 0; depth++)
		*top = (uint32_t)parents[*top];
	return depth;
}

uint32_t gt_template_depth(const struct gt_plan_cluster *cluster,
			   const struct gt_plan_channel *channel, uint32_t root,
			   uint32_t place, uint32_t local)
{
	const struct gt_plan_template *tree = &channel->templates[root];
	uint32_t depth = 0, top;

	for (; place; place = gt_nodes_parent(cluster, place)) {
		depth += gt_template_local_depth(tree->away, local, &top) + 1;
		local = channel->hops[tree->net[top]].from;
	}
	return depth + gt_template_local_depth(tree->home, local, &top);
}

/* The digit below n that is the farthest from 0 in the tree. */
static uint32_t gt_nodes_deepest(enum gt_spread spread, uint32_t n)
{
	uint32_t deepest = 0;

	if (spread == GT_SPREAD_CHAIN || n < 2)
		return n - 1;
	if (spread == GT_SPREAD_STAR)
		return 1;
	/*
	 * In a binomial tree each bit that is set is a step, and a number below
	 * n with the most bits set is all ones.
	 */
	while (n >>= 1)
		deepest++;
	return deepest;
}

uint32_t gt_nodes_depth(const struct gt_plan_cluster *cluster)
{
	uint32_t depth = 0;

	for (uint32_t i = 0; i < cluster->nlevels; i++)
		depth += gt_nodes_deepest(cluster->levels[i].spread,
					  gt_nodes_radix(cluster, i));
	return depth;
}

void gt_nodes_resize(struct gt_plan_cluster *cluster, uint32_t level,
		     uint32_t radix)
{
	uint32_t below = 1, nodes = 1;

	for (uint32_t i = 0; i < cluster->nlevels; i++) {
		nodes *= i == level ? radix : cluster->levels[i].nodes / below;
		below = cluster->levels[i].nodes;
		cluster->levels[i].nodes = nodes;
	}
	cluster->nnodes = nodes;
}

int gt_nodes_ring_alternates(const struct gt_plan_cluster *cluster,
			     const struct gt_plan_channel *ring)
{
	return ring->nhops == 2 * cluster->nlocal;
}

uint32_t gt_nodes_ring_rank(const struct gt_plan_cluster *cluster,
			    const struct gt_plan_channel *ring,
			    uint32_t position)
{
	uint32_t n = cluster->nlocal, node = position / n, at = position % n;

	if (node % 2 && gt_nodes_ring_alternates(cluster, ring))
		at = n - 1 - at;
	return node * n + ring->order[at];
}

/*
 * The second tree is the first one with other numbers: this turns a place of
 * the second into that of the first or, with `back`, the other way.  Place 0
 * stays.
 */
static uint32_t gt_nodes_dtree_swap(uint32_t m, uint32_t place, int back)
{
	if (!place)
		return 0;
	if (m % 2 == 0)
		return m + 1 - place;
	if (back)
		return place == 1 ? m : place - 1;
	return place % m + 1;
}

uint32_t gt_nodes_dtree_parent(uint32_t n, int second, uint32_t place)
{
	uint32_t m = n - 1, x, bit, up;

	x = second ? gt_nodes_dtree_swap(m, place, 0) : place;
	bit = x & -x;
	up = (x ^ bit) | bit << 1;
	if (up > m)
		up = x ^ bit;
	return second ? gt_nodes_dtree_swap(m, up, 1) : up;
}

uint32_t gt_nodes_dtree_children(uint32_t n, int second, uint32_t place,
				 uint32_t children[GT_DTREE_FAN])
{
	uint32_t m = n - 1, found = 0;
	uint32_t x = second ? gt_nodes_dtree_swap(m, place, 0) : place;

	/* Children differ from their parent by a power of two. */
	for (uint32_t step = 1; step <= m; step *= 2)
		for (int less = 0; less < 2; less++) {
			uint32_t child = less ? x - step : x + step;

			if ((less && step >= x) || child > m ||
			    gt_nodes_dtree_parent(n, 0, child) != x)
				continue;
			if (second)
				child = gt_nodes_dtree_swap(m, child, 1);
			if (found < GT_DTREE_FAN)
				children[found++] = child;
		}
	return found;
}

int gt_nodes_ring_keeps_rail(const struct gt_plan_cluster *cluster)
{
	int odd = 0;

	for (uint32_t i = 0; i < cluster->nlevels; i++)
		odd |= cluster->levels[i].nodes % 2;
	return cluster->levels[0].by_rail && odd;
}

uint32_t gt_nodes_uplink(const struct gt_plan_cluster *cluster, uint32_t level,
			 uint32_t rail, int in)
{
	if (!cluster->levels[level].by_rail)
		rail = 0;
	return 2 * (level * cluster->nrails + rail) + (uint32_t)in;
}

uint32_t gt_nodes_nuplinks(const struct gt_plan_cluster *cluster)
{
	return 2 * (cluster->nlevels - 1) * cluster->nrails;
}

int gt_plan_expand_ranks(struct gt_plan *plan, const struct gt_plan_rank *local)
{
	const struct gt_plan_cluster *cluster = plan->cluster;
	uint32_t n = cluster->nnodes * cluster->nlocal;
	struct gt_plan_rank *ranks =
		gt_arena_array(plan->arena, n, sizeof(*ranks));
	const char *node = NULL;

	if (!ranks)
		return GT_ESYS;
	for (uint32_t i = 0; i < n; i++) {
		if (!(i % cluster->nlocal))
			node = gt_arena_printf(plan->arena, "n%u",
					       i / cluster->nlocal);
		if (!node)
			return GT_ESYS;
		ranks[i] = local[i % cluster->nlocal];
		ranks[i].node = node;
	}
	plan->ranks = ranks;
	plan->nranks = n;
	return GT_OK;
}
