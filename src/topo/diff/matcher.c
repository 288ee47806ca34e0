/*
 * Matches trees of devices from the top down, children by a cheapest
 * assignment in which a pair's price is what differs in both subtrees.
 */
#include "topo/diff/matcher.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "topo/diff/hungarian.h"

/*
 * These are the prices of properties that differ; the sum of all is less than
 * two lost devices.
 */
static const int gt_match_price[GT_NPROPS] = {
	[GT_PROP_MODEL] = 12,
	[GT_PROP_SUBSYSTEM] = 1,
	[GT_PROP_CLASS] = 3,
	[GT_PROP_WIDTH] = 4,
	[GT_PROP_SPEED] = 4,
	[GT_PROP_DRIVER] = 1,
	[GT_PROP_CUR_WIDTH] = 2,
	[GT_PROP_CUR_SPEED] = 2,
	[GT_PROP_DRIVER_VERSION] = 1,
	[GT_PROP_FIRMWARE] = 1,
	[GT_PROP_STATE] = 1,
	[GT_PROP_LAYER] = 1,
	[GT_PROP_ACS] = 1,
	[GT_PROP_P2P] = 1,
	[GT_PROP_MIG] = 1,
	[GT_PROP_VISIBLE] = 1,
	[GT_PROP_GDR] = 1,
};

/*
 * Returns what differs between two devices themselves: properties, links to
 * switches, and, below the unit, names.
 */
static int device_cost(const struct gt_matcher *m, uint32_t x, uint32_t y)
{
	const struct gt_device *a = gt_device_a(m, x), *b = gt_device_b(m, y);
	int links = abs(gt_device_tree_nlinks(m->a, x, 0) -
			gt_device_tree_nlinks(m->b, y, 0));
	int cost = GT_MATCH_LINK * (links < 4 ? links : 4);

	for (int i = 0; i < GT_NPROPS; i++)
		if (gt_prop_differs(a->props[i], b->props[i]))
			cost += gt_match_price[i] * GT_MATCH_UNIT;
	return cost + (strcmp(a->name, b->name) != 0);
}

static int gt_match_cost(struct gt_matcher *m, uint32_t x, uint32_t y);

/* The children of two devices, and the cheapest way to pair them. */
struct gt_match_children {
	uint32_t na, nb;
	uint32_t *a, *b; /* the children, as devices */
	/* for each of a's children its partner among b's, or GT_UNMATCHED */
	uint32_t *pick;
	uint32_t *taken; /* for each of b's children whether it has a partner */
	void *memory;
};

static uint32_t gt_match_count(const struct gt_device_tree *tree, uint32_t dev)
{
	uint32_t n = 0;

	for (uint32_t i = gt_device_tree_device(tree, dev)->first; i;
	     i = gt_device_tree_device(tree, i)->next)
		n++;
	return n;
}

static int gt_match_children(struct gt_matcher *m, uint32_t x, uint32_t y,
			     struct gt_match_children *children)
{
	uint32_t na = gt_match_count(m->a, x), nb = gt_match_count(m->b, y);
	uint32_t i = 0;

	children->memory = calloc(2 * ((size_t)na + nb) + 1, sizeof(uint32_t));
	if (!children->memory)
		return GT_ESYS;
	children->na = na;
	children->nb = nb;
	children->a = children->memory;
	children->b = children->a + na;
	children->pick = children->b + nb;
	children->taken = children->pick + na;
	for (uint32_t d = gt_device_a(m, x)->first; d;
	     d = gt_device_a(m, d)->next)
		children->a[i++] = d;
	memset(children->pick, 0xff, na * sizeof(*children->pick));
	i = 0;
	for (uint32_t d = gt_device_b(m, y)->first; d;
	     d = gt_device_b(m, d)->next)
		children->b[i++] = d;
	return GT_OK;
}

/*
 * Pairs children in which nothing differs; with `named` only those that have
 * the same name as well.
 */
static int gt_match_identical(struct gt_matcher *m,
			      struct gt_match_children *children, int named)
{
	int sum = 0, cost;

	for (uint32_t i = 0; i < children->na; i++)
		for (uint32_t j = 0;
		     j < children->nb && children->pick[i] == GT_UNMATCHED;
		     j++) {
			const struct gt_device *a =
				gt_device_a(m, children->a[i]);
			const struct gt_device *b =
				gt_device_b(m, children->b[j]);

			if (children->taken[j] || a->tree != b->tree ||
			    (named && strcmp(a->name, b->name)))
				continue;
			cost = gt_match_cost(m, children->a[i], children->b[j]);
			if (cost >= GT_MATCH_UNIT)
				continue;
			children->pick[i] = j;
			children->taken[j] = 1;
			sum += cost;
		}
	return sum;
}

/* Returns the price of a pair, one of which may be GT_UNMATCHED. */
static int gt_match_price_of(struct gt_matcher *m, uint32_t x, uint32_t y)
{
	if (x != GT_UNMATCHED && y != GT_UNMATCHED)
		return gt_match_cost(m, x, y);
	if (x != GT_UNMATCHED)
		return GT_MATCH_LOST * (int)gt_device_a(m, x)->ndevs;
	if (y != GT_UNMATCHED)
		return GT_MATCH_LOST * (int)gt_device_b(m, y)->ndevs;
	return 0;
}

/*
 * Pairs the children that have no identical partner, by the cheapest
 * assignment.
 */
static int gt_match_rest(struct gt_matcher *m,
			 struct gt_match_children *children, uint32_t n)
{
	uint32_t *rows = calloc((size_t)n * n + 3 * (size_t)n, sizeof(*rows));
	uint32_t *columns = rows + n, *pick = columns + n, na = 0, nb = 0;
	int *price = (int *)(rows + 3 * (size_t)n), sum = 0;

	if (!rows) {
		m->failed = 1;
		return 0;
	}
	for (uint32_t i = 0; i < children->na; i++)
		if (children->pick[i] == GT_UNMATCHED)
			rows[na++] = i;
	for (uint32_t j = 0; j < children->nb; j++)
		if (!children->taken[j])
			columns[nb++] = j;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < n; j++)
			price[i * n + j] = gt_match_price_of(
				m, i < na ? children->a[rows[i]] : GT_UNMATCHED,
				j < nb ? children->b[columns[j]]
				       : GT_UNMATCHED);
	sum = gt_hungarian(n, price, pick, &m->failed);
	for (uint32_t i = 0; i < na && !m->failed; i++)
		if (pick[i] < nb)
			children->pick[rows[i]] = columns[pick[i]];
	free(rows);
	return sum;
}

/* Pairs the children that are left as they come, kind by kind. */
static int gt_match_in_order(struct gt_matcher *m,
			     struct gt_match_children *children)
{
	int sum = 0;

	for (uint32_t i = 0; i < children->na; i++) {
		uint32_t j = 0;

		while (children->pick[i] == GT_UNMATCHED && j < children->nb &&
		       (children->taken[j] ||
			gt_device_a(m, children->a[i])->kind !=
				gt_device_b(m, children->b[j])->kind))
			j++;
		if (children->pick[i] != GT_UNMATCHED || j == children->nb)
			continue;
		children->pick[i] = j;
		children->taken[j] = 1;
		sum += gt_match_cost(m, children->a[i], children->b[j]);
	}
	return sum;
}

static int gt_match_solve(struct gt_matcher *m,
			  struct gt_match_children *children)
{
	int sum = gt_match_identical(m, children, 1) +
		  gt_match_identical(m, children, 0);
	uint32_t n = 0;

	for (uint32_t i = 0; i < children->na; i++)
		n += children->pick[i] == GT_UNMATCHED;
	for (uint32_t j = 0; j < children->nb; j++)
		n += !children->taken[j];
	m->work += (uint64_t)children->na * children->nb;
	if (m->work + (uint64_t)n * n * n > GT_MATCH_WORK)
		return sum + gt_match_in_order(m, children);
	m->work += (uint64_t)n * n * n;
	return n ? sum + gt_match_rest(m, children, n) : sum;
}

/*
 * Returns the price of matching x and all below it with y, which must be of its
 * kind.
 */
static int gt_match_cost(struct gt_matcher *m, uint32_t x, uint32_t y)
{
	const struct gt_device *a = gt_device_a(m, x), *b = gt_device_b(m, y);
	int *cost = &m->costs[(size_t)x * m->nb + y];
	struct gt_match_children children;
	int sum;

	if (a->kind != b->kind)
		return GT_HUNGARIAN_FORBIDDEN;
	if (*cost)
		return *cost - 1;
	sum = device_cost(m, x, y);
	if (a->first || b->first) {
		if (gt_match_children(m, x, y, &children)) {
			m->failed = 1;
			return 0;
		}
		sum += gt_match_solve(m, &children);
		free(children.memory);
	}
	*cost = sum + 1;
	return sum;
}

void gt_match_pair(struct gt_matcher *m, uint32_t x, uint32_t y)
{
	struct gt_match_children children;

	m->image[x] = y;
	m->back[y] = x;
	if (gt_match_children(m, x, y, &children)) {
		m->failed = 1;
		return;
	}
	gt_match_solve(m, &children);
	for (uint32_t i = 0; i < children.na && !m->failed; i++)
		if (children.pick[i] != GT_UNMATCHED)
			gt_match_pair(m, children.a[i],
				      children.b[children.pick[i]]);
	free(children.memory);
}

/* Undoes the match of a's x and all below it, and of b's y likewise. */
void gt_match_remove(struct gt_matcher *m, uint32_t x, uint32_t y)
{
	uint32_t end_a = x + gt_device_a(m, x)->ndevs;
	uint32_t end_b = y == GT_UNMATCHED ? y : y + gt_device_b(m, y)->ndevs;

	for (uint32_t i = x; i < end_a; i++) {
		if (m->image[i] != GT_UNMATCHED)
			m->back[m->image[i]] = GT_UNMATCHED;
		m->image[i] = GT_UNMATCHED;
	}
	for (uint32_t j = y; j < end_b; j++) {
		if (m->back[j] != GT_UNMATCHED)
			m->image[m->back[j]] = GT_UNMATCHED;
		m->back[j] = GT_UNMATCHED;
	}
}

/*
 * Finds the largest device of a without a match that has an equal in b without
 * one; 0 when there is none.
 */
static uint32_t gt_match_moved_one(struct gt_matcher *m, uint32_t *y)
{
	uint32_t x = 0, most = 0;

	for (uint32_t i = 1; i < m->na; i++) {
		if (m->image[i] != GT_UNMATCHED ||
		    gt_device_a(m, i)->ndevs <= most ||
		    gt_device_a(m, i)->kind == GT_DEVICE_CPU ||
		    m->work > GT_MATCH_WORK)
			continue;
		m->work += m->nb;
		for (uint32_t j = 1; j < m->nb; j++)
			if (m->back[j] == GT_UNMATCHED &&
			    gt_match_cost(m, i, j) <
				    gt_match_price[GT_PROP_MODEL] *
					    GT_MATCH_UNIT) {
				x = i;
				*y = j;
				most = gt_device_a(m, i)->ndevs;
				break;
			}
	}
	return x;
}

void gt_match_moved(struct gt_matcher *m)
{
	uint32_t x, y = 0;

	while (!m->failed && (x = gt_match_moved_one(m, &y)))
		gt_match_pair(m, x, y);
}

int gt_match_total(struct gt_matcher *m)
{
	int sum = 0;

	for (uint32_t y = 1; y < m->nb; y++)
		sum += m->back[y] == GT_UNMATCHED ? GT_MATCH_LOST : 0;
	for (uint32_t x = 1; x < m->na; x++) {
		const struct gt_device *a = gt_device_a(m, x);
		uint32_t y = m->image[x];

		if (y == GT_UNMATCHED) {
			sum += GT_MATCH_LOST;
			continue;
		}
		sum += device_cost(m, x, y);
		m->work += 1 + (uint64_t)a->nlinks * a->nlinks;
		if (m->image[a->parent] != gt_device_b(m, y)->parent)
			sum += GT_MATCH_MOVED;
		for (uint32_t i = 0; i < a->nlinks; i++) {
			uint32_t to = a->links[i].to;

			if (to && m->image[to] != GT_UNMATCHED)
				sum += GT_MATCH_LINK *
				       abs(a->links[i].count -
					   gt_device_tree_nlinks(m->b, y,
								 m->image[to]));
		}
	}
	return sum;
}
