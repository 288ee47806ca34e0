/*
 * Matches two servers that differ, as match.h describes it: the cheapest match
 * of the trees from the top down, then a local search over swaps where NVLinks
 * tell devices apart that the trees do not.
 */
#include "topo/diff/match.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "topo/diff/device_tree.h"
#include "topo/diff/hungarian.h"
#include "topo/diff/mix.h"

enum {
	/* the unit of prices; below it, names decide between equals */
	GT_MATCH_UNIT = 1024,
	GT_MATCH_LOST = 32 * GT_MATCH_UNIT, /* for a device without a match */
	GT_MATCH_MOVED = 8 * GT_MATCH_UNIT, /* for a device that is elsewhere */
	GT_MATCH_LINK = 2 * GT_MATCH_UNIT,  /* for an NVLink more or less */
	GT_MATCH_STARTS = 160,
	/*
	 * Beyond these limits a match need not be the best, but it takes no
	 * hours.
	 */
	GT_MATCH_MAX_REST = 512,
	GT_MATCH_MAX_DEVS = 512,
};

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
};

struct gt_matcher {
	const struct gt_device_tree *a, *b;
	uint32_t na, nb;
	uint32_t *image, *back;
	/* [x * nb + y]: the price of both subtrees plus 1, or 0: unknown */
	int *costs;
	int failed;
};

static const struct gt_device *gt_device_a(const struct gt_matcher *m,
					   uint32_t x)
{
	return gt_device_tree_device(m->a, x);
}

static const struct gt_device *gt_device_b(const struct gt_matcher *m,
					   uint32_t y)
{
	return gt_device_tree_device(m->b, y);
}

int gt_match_differs(const char *a, const char *b)
{
	return *a && *b && strcmp(a, b);
}

int gt_match_nlinks(const struct gt_device_tree *tree, uint32_t from,
		    uint32_t to)
{
	const struct gt_device *dev = gt_device_tree_device(tree, from);

	for (uint32_t i = 0; i < dev->nlinks; i++)
		if (dev->links[i].to == to)
			return dev->links[i].count;
	return 0;
}

static int gt_match_device_cost(const struct gt_matcher *m, uint32_t x,
				uint32_t y)
{
	const struct gt_device *a = gt_device_a(m, x), *b = gt_device_b(m, y);
	int links =
		abs(gt_match_nlinks(m->a, x, 0) - gt_match_nlinks(m->b, y, 0));
	int cost = GT_MATCH_LINK * (links < 4 ? links : 4);

	for (int i = 0; i < GT_NPROPS; i++)
		if (gt_match_differs(a->props[i], b->props[i]))
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
	if (n > GT_MATCH_MAX_REST)
		return sum + gt_match_in_order(m, children);
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
	sum = gt_match_device_cost(m, x, y);
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

static void gt_match_pair(struct gt_matcher *m, uint32_t x, uint32_t y)
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
static void gt_match_remove(struct gt_matcher *m, uint32_t x, uint32_t y)
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
		    gt_device_a(m, i)->kind == GT_DEVICE_CPU)
			continue;
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

static void gt_match_moved(struct gt_matcher *m)
{
	uint32_t x, y = 0;

	while (!m->failed && (x = gt_match_moved_one(m, &y)))
		gt_match_pair(m, x, y);
}

static int gt_match_total(const struct gt_matcher *m)
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
		sum += gt_match_device_cost(m, x, y);
		if (m->image[a->parent] != gt_device_b(m, y)->parent)
			sum += GT_MATCH_MOVED;
		for (uint32_t i = 0; i < a->nlinks; i++) {
			uint32_t to = a->links[i].to;

			if (to && m->image[to] != GT_UNMATCHED)
				sum += GT_MATCH_LINK *
				       abs(a->links[i].count -
					   gt_match_nlinks(m->b, y,
							   m->image[to]));
		}
	}
	return sum;
}

/* Returns whether the device is a GPU, or above one. */
static int gt_match_holds_gpu(const struct gt_matcher *m, uint32_t x)
{
	uint32_t end = x + gt_device_a(m, x)->ndevs;

	while (x < end && gt_device_a(m, x)->kind != GT_DEVICE_GPU)
		x++;
	return x < end;
}

/*
 * Returns whether two devices may exchange their matches: siblings that hold
 * GPUs may, and GPUs wherever they are.
 */
static int gt_match_swappable(const struct gt_matcher *m, uint32_t x1,
			      uint32_t x2)
{
	const struct gt_device *a = gt_device_a(m, x1), *b = gt_device_a(m, x2);

	return a->kind == b->kind && m->image[x1] != m->image[x2] &&
	       (a->kind == GT_DEVICE_GPU ||
		(a->parent == b->parent && gt_match_holds_gpu(m, x1)));
}

static void gt_match_swap(struct gt_matcher *m, uint32_t x1, uint32_t x2)
{
	uint32_t y1 = m->image[x1], y2 = m->image[x2];

	gt_match_remove(m, x1, y1);
	gt_match_remove(m, x2, y2);
	if (y2 != GT_UNMATCHED)
		gt_match_pair(m, x1, y2);
	if (y1 != GT_UNMATCHED)
		gt_match_pair(m, x2, y1);
	gt_match_moved(m);
}

/* Returns whether the device's match is a child of the match of `up`. */
static int gt_match_in_place(const struct gt_matcher *m, uint32_t x,
			     uint32_t up)
{
	return m->image[x] != GT_UNMATCHED &&
	       gt_device_b(m, m->image[x])->parent == m->image[up];
}

static void gt_match_swap_only(struct gt_matcher *m, uint32_t x1, uint32_t x2);

/*
 * When two devices have exchanged their matches, cards and switches below them
 * exchange theirs, too.
 */
static void gt_match_follow(struct gt_matcher *m, uint32_t x1, uint32_t x2)
{
	for (uint32_t i = gt_device_a(m, x1)->first; i;
	     i = gt_device_a(m, i)->next)
		for (uint32_t k = gt_device_a(m, x2)->first; k;
		     k = gt_device_a(m, k)->next) {
			if (gt_device_a(m, i)->kind == GT_DEVICE_GPU ||
			    gt_device_a(m, i)->kind !=
				    gt_device_a(m, k)->kind ||
			    !gt_match_in_place(m, i, x2) ||
			    !gt_match_in_place(m, k, x1))
				continue;
			if (gt_match_holds_gpu(m, i) ||
			    gt_match_holds_gpu(m, k))
				gt_match_swap_only(m, i, k);
			else
				gt_match_swap(m, i, k);
		}
}

/*
 * Exchanges the matches of two devices, but GPUs below them stay as they are
 * matched.
 */
static void gt_match_swap_only(struct gt_matcher *m, uint32_t x1, uint32_t x2)
{
	uint32_t y1 = m->image[x1], y2 = m->image[x2];

	m->image[x1] = y2;
	m->image[x2] = y1;
	if (y2 != GT_UNMATCHED)
		m->back[y2] = x1;
	if (y1 != GT_UNMATCHED)
		m->back[y1] = x2;
	gt_match_follow(m, x1, x2);
}

struct gt_match_copy {
	uint32_t *image, *back;
};

static void gt_match_save(const struct gt_matcher *m,
			  const struct gt_match_copy *copy)
{
	memcpy(copy->image, m->image, m->na * sizeof(*copy->image));
	memcpy(copy->back, m->back, m->nb * sizeof(*copy->back));
}

static void gt_match_load(struct gt_matcher *m,
			  const struct gt_match_copy *copy)
{
	memcpy(m->image, copy->image, m->na * sizeof(*copy->image));
	memcpy(m->back, copy->back, m->nb * sizeof(*copy->back));
}

/*
 * Tries to swap two devices' matches; returns 1 when that makes less differ,
 * and else leaves everything as it was.
 */
static int gt_match_try(struct gt_matcher *m, uint32_t x1, uint32_t x2,
			const struct gt_match_copy *copy, int *best)
{
	void (*const swap[])(struct gt_matcher *, uint32_t,
			     uint32_t) = {gt_match_swap, gt_match_swap_only};
	int now;

	for (int i = 0; i < (gt_device_a(m, x1)->first ? 2 : 1); i++) {
		gt_match_save(m, copy);
		swap[i](m, x1, x2);
		now = gt_match_total(m);
		if (now < *best) {
			*best = now;
			return 1;
		}
		gt_match_load(m, copy);
	}
	return 0;
}

/*
 * Takes every swap that makes less differ, until none does; returns the price
 * of what is left.
 */
static int gt_match_improve(struct gt_matcher *m,
			    const struct gt_match_copy *copy)
{
	int best = gt_match_total(m), again = 1;

	while (again && best && !m->failed) {
		again = 0;
		for (uint32_t x1 = 1; x1 < m->na; x1++)
			for (uint32_t x2 = x1 + 1; x2 < m->na; x2++)
				if (gt_match_swappable(m, x1, x2))
					again |= gt_match_try(m, x1, x2, copy,
							      &best);
	}
	return best;
}

/*
 * Swaps siblings that look the same at random, as another start of the search.
 */
static void gt_match_perturb(struct gt_matcher *m, uint64_t *seed)
{
	for (uint32_t x1 = 1; x1 < m->na; x1++)
		for (uint32_t x2 = x1 + 1; x2 < m->na; x2++) {
			*seed = gt_hash_mix(*seed, x2);
			if (*seed & 1 && gt_match_swappable(m, x1, x2) &&
			    gt_device_a(m, x1)->parent ==
				    gt_device_a(m, x2)->parent)
				gt_match_swap(m, x1, x2);
		}
}

static int gt_match_direct(const struct gt_device_tree *tree)
{
	for (uint32_t i = 1; i < gt_device_tree_ndevices(tree); i++)
		for (uint32_t k = 0; k < gt_device_tree_device(tree, i)->nlinks;
		     k++)
			if (gt_device_tree_device(tree, i)->links[k].to)
				return 1;
	return 0;
}

/*
 * Searches from several starts and keeps the best match.  Only links from GPU
 * to GPU leave the tree, so only they make this necessary.
 */
static int gt_match_search(struct gt_matcher *m)
{
	size_t n = (size_t)m->na + m->nb;
	uint32_t *memory = calloc(3 * n, sizeof(*memory));
	struct gt_match_copy copy = {memory, memory + m->na};
	struct gt_match_copy top = {memory + n, memory + n + m->na};
	struct gt_match_copy tree = {memory + 2 * n, memory + 2 * n + m->na};
	uint64_t seed = 1;
	int best, now;

	if (!memory)
		return GT_ESYS;
	gt_match_save(m, &tree);
	best = gt_match_improve(m, &copy);
	gt_match_save(m, &top);
	for (int i = 0; i < GT_MATCH_STARTS && !m->failed; i++) {
		gt_match_load(m, &tree);
		gt_match_perturb(m, &seed);
		now = gt_match_improve(m, &copy);
		if (now < best) {
			best = now;
			gt_match_save(m, &top);
		}
	}
	gt_match_load(m, &top);
	free(memory);
	return GT_OK;
}

static int gt_match_alike(struct gt_matcher *m)
{
	m->costs = calloc((size_t)m->na * m->nb, sizeof(*m->costs));
	if (!m->costs)
		return GT_ESYS;
	gt_match_pair(m, 0, 0);
	gt_match_moved(m);
	if (!m->failed && m->na <= GT_MATCH_MAX_DEVS && gt_match_direct(m->a) &&
	    gt_match_search(m))
		m->failed = 1;
	free(m->costs);
	return m->failed ? GT_ESYS : GT_OK;
}

int gt_match_find(const struct gt_device_tree *a,
		  const struct gt_device_tree *b, struct gt_match *match,
		  struct gt_err *err)
{
	struct gt_matcher m = {
		.a = a,
		.b = b,
		.na = gt_device_tree_ndevices(a),
		.nb = gt_device_tree_ndevices(b),
		.image = match->image,
		.back = match->back,
	};

	memset(m.image, 0xff, m.na * sizeof(*m.image));
	memset(m.back, 0xff, m.nb * sizeof(*m.back));
	if (m.na == m.nb && gt_device_tree_hash(a) == gt_device_tree_hash(b) &&
	    gt_match_isomorphic(a, b, match))
		return GT_OK;
	memset(m.image, 0xff, m.na * sizeof(*m.image));
	memset(m.back, 0xff, m.nb * sizeof(*m.back));
	return gt_match_alike(&m) ? gt_err_nomem(err) : GT_OK;
}
