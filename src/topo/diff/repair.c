/*
 * Looks for the changes that make two servers alike, the best one first, as
 * repair.h says.
 */
#include "topo/diff/repair.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "topo/diff/match.h"
#include "topo/diff/matcher.h"
#include "topo/diff/mix.h"
#include "topo/diff/wiring.h"

enum {
	GT_REPAIR_ROUNDS = 4,
	GT_REPAIR_CHANGES = 24,
	/* devices and links whose colours are refined: well below a second */
	GT_REPAIR_WORK = 8000000,
};

/* One of the two servers, its colours and, sorted, those of each round. */
struct gt_repair_side {
	struct gt_wiring w;
	uint64_t *colours[GT_REPAIR_ROUNDS], *sorted[GT_REPAIR_ROUNDS];
	uint32_t nsorted;
	uint64_t *class; /* the colours after the last round */
	uint64_t *trial, *trial_sorted;
};

enum gt_change_kind { GT_CHANGE_GONE, GT_CHANGE_LABEL, GT_CHANGE_LINKS };

struct gt_change {
	enum gt_change_kind kind;
	int side;
	uint32_t dev;
	uint64_t label;
	/* the index of the link and of the one back, or GT_UNMATCHED */
	uint32_t link, back;
	int count;
	/* changes of one class look alike; those that names speak for first */
	uint64_t class;
	uint32_t rank;
	int named;
};

struct gt_repair {
	struct gt_matcher *m;
	struct gt_repair_side side[2];
	struct gt_change *list;
	uint32_t n, room;
	uint32_t nchanges;
	uint32_t distance, distance_own; /* over all rounds, over the first */
	uint64_t work;
};

static int gt_repair_side_init(struct gt_repair_side *side,
			       const struct gt_device_tree *tree)
{
	uint64_t *memory;
	size_t n;

	if (!gt_wiring_init(&side->w, tree))
		return 0;
	n = side->w.n;
	memory = calloc(n, (2 * GT_REPAIR_ROUNDS + 3) * sizeof(*memory));
	if (!memory)
		return 0;
	for (int i = 0; i < GT_REPAIR_ROUNDS; i++) {
		side->colours[i] = memory + n * (size_t)i;
		side->sorted[i] = memory + n * (size_t)(i + GT_REPAIR_ROUNDS);
	}
	side->class = memory + n * 2 * GT_REPAIR_ROUNDS;
	side->trial = side->class + n;
	side->trial_sorted = side->trial + n;
	return 1;
}

static void gt_repair_side_release(struct gt_repair_side *side)
{
	free(side->colours[0]);
	gt_wiring_release(&side->w);
}

/* Returns how many of two sorted lists of colours are in one of them only. */
static uint32_t gt_repair_differ(const uint64_t *a, uint32_t na,
				 const uint64_t *b, uint32_t nb)
{
	uint32_t i = 0, j = 0, common = 0;

	while (i < na && j < nb) {
		common += a[i] == b[j];
		if (a[i] == b[j])
			j++, i++;
		else if (a[i] < b[j])
			i++;
		else
			j++;
	}
	return na + nb - 2 * common;
}

/* Colours a server as it is now, round by round. */
static void gt_repair_colour(struct gt_repair *r, int which)
{
	struct gt_repair_side *side = &r->side[which];
	size_t bytes = side->w.n * sizeof(uint64_t);

	gt_wiring_start(&side->w, side->trial);
	for (int i = 0; i < GT_REPAIR_ROUNDS; i++) {
		if (i)
			gt_wiring_refine(&side->w, side->trial);
		memcpy(side->colours[i], side->trial, bytes);
		side->nsorted =
			gt_wiring_sort(&side->w, side->trial, side->sorted[i]);
	}
	gt_wiring_colour(&side->w, side->class, side->trial_sorted, &r->work);
}

static void gt_repair_measure(struct gt_repair *r)
{
	r->distance = 0;
	for (int i = 0; i < GT_REPAIR_ROUNDS; i++) {
		uint32_t differ = gt_repair_differ(
			r->side[0].sorted[i], r->side[0].nsorted,
			r->side[1].sorted[i], r->side[1].nsorted);

		r->distance += differ;
		if (!i)
			r->distance_own = differ;
	}
}

/* Makes a change; or undoes it, when it is made. */
static void gt_repair_toggle(struct gt_repair *r, struct gt_change *change)
{
	struct gt_wiring *w = &r->side[change->side].w;
	uint32_t end = change->dev +
		       gt_device_tree_device(w->tree, change->dev)->ndevs;
	uint32_t since = r->nchanges + 1;
	uint64_t label = w->own[change->dev];
	int count;

	if (change->kind == GT_CHANGE_GONE) {
		for (uint32_t i = change->dev; i < end; i++)
			if (!w->gone[i] || w->gone[i] == since)
				w->gone[i] = since - w->gone[i];
		return;
	}
	if (change->kind == GT_CHANGE_LABEL) {
		w->own[change->dev] = change->label;
		change->label = label;
		return;
	}
	count = w->count[change->link];
	w->count[change->link] = change->count;
	if (change->back != GT_UNMATCHED)
		w->count[change->back] = change->count;
	change->count = count;
}

/*
 * Returns how much differs with the change that was made on this side, or
 * `most` when that is no less.
 */
static uint32_t gt_repair_try(struct gt_repair *r, int which, uint32_t most)
{
	struct gt_repair_side *side = &r->side[which];
	const struct gt_repair_side *other = &r->side[!which];
	uint32_t sum = 0, n, differ;

	gt_wiring_start(&side->w, side->trial);
	for (int i = 0; i < GT_REPAIR_ROUNDS && sum < most; i++) {
		if (i)
			gt_wiring_refine(&side->w, side->trial);
		n = gt_wiring_sort(&side->w, side->trial, side->trial_sorted);
		r->work += side->w.n + side->w.links[side->w.n];
		differ = gt_repair_differ(side->trial_sorted, n,
					  other->sorted[i], other->nsorted);
		/* What differs by itself must become less, or is not it. */
		if (!i && r->distance_own && differ >= r->distance_own)
			return most;
		sum += differ;
	}
	return sum < most ? sum : most;
}

static void gt_repair_list(struct gt_repair *r, struct gt_change change)
{
	struct gt_change *grown =
		gt_vec_grow(r->list, r->n, &r->room, sizeof(*r->list));

	if (!grown) {
		r->m->failed = 1;
		return;
	}
	r->list = grown;
	r->list[r->n++] = change;
}

/* Returns the device of the other server that has the same name, or none. */
static uint32_t gt_repair_namesake(const struct gt_repair *r, int which,
				   uint32_t dev)
{
	const struct gt_wiring *w = &r->side[!which].w;
	const struct gt_device *of =
		gt_device_tree_device(r->side[which].w.tree, dev);

	for (uint32_t i = 0; i < w->n; i++) {
		const struct gt_device *o = gt_device_tree_device(w->tree, i);

		if (!w->gone[i] && o->kind == of->kind &&
		    !strcmp(o->name, of->name))
			return i;
	}
	return GT_UNMATCHED;
}

static uint32_t gt_repair_count(const uint64_t *sorted, uint32_t n,
				uint64_t colour)
{
	uint32_t low = 0, high = n, first;

	while (low < high) {
		uint32_t mid = (low + high) / 2;

		if (sorted[mid] < colour)
			low = mid + 1;
		else
			high = mid;
	}
	for (first = low; low < n && sorted[low] == colour;)
		low++;
	return low - first;
}

/* Returns whether more devices have this colour here than there. */
static int gt_repair_odd(const struct gt_repair *r, int which, int round,
			 uint64_t colour)
{
	const struct gt_repair_side *side = &r->side[which];
	const struct gt_repair_side *other = &r->side[!which];

	return gt_repair_count(side->sorted[round], side->nsorted, colour) >
	       gt_repair_count(other->sorted[round], other->nsorted, colour);
}

static void gt_repair_list_gone(struct gt_repair *r, int which)
{
	const struct gt_repair_side *side = &r->side[which];

	for (uint32_t i = 1; i < side->w.n; i++)
		if (!side->w.gone[i] &&
		    gt_repair_odd(r, which, 0, side->colours[0][i]))
			gt_repair_list(
				r, (struct gt_change){
					   .kind = GT_CHANGE_GONE,
					   .side = which,
					   .dev = i,
					   .class = side->class[i],
					   .named = gt_repair_namesake(r, which,
								       i) ==
						    GT_UNMATCHED});
}

/*
 * Lists devices of a that may be what one of b is: labels of which a has too
 * many for those of which b has.
 */
static void gt_repair_list_labels(struct gt_repair *r, uint32_t y)
{
	const struct gt_repair_side *a = &r->side[0], *b = &r->side[1];
	uint64_t label = b->colours[0][y];
	enum gt_device_kind kind = gt_device_b(r->m, y)->kind;
	uint32_t same;

	for (uint32_t x = 0; x < a->w.n; x++) {
		if (a->w.gone[x] || gt_device_a(r->m, x)->kind != kind ||
		    !gt_repair_odd(r, 0, 0, a->colours[0][x]))
			continue;
		same = gt_repair_namesake(r, 0, x);
		gt_repair_list(r,
			       (struct gt_change){
				       .kind = GT_CHANGE_LABEL,
				       .dev = x,
				       .label = label,
				       .class = gt_hash_mix(a->class[x], label),
				       .named = same != GT_UNMATCHED &&
						b->colours[0][same] == label});
	}
}

/* Lists each label of which b has too many once. */
static void gt_repair_list_all_labels(struct gt_repair *r)
{
	const struct gt_repair_side *b = &r->side[1];

	for (uint32_t y = 0; y < b->w.n; y++) {
		uint32_t first = 0;

		if (b->w.gone[y] || !gt_repair_odd(r, 1, 0, b->colours[0][y]))
			continue;
		while (b->w.gone[first] ||
		       b->colours[0][first] != b->colours[0][y])
			first++;
		if (first == y)
			gt_repair_list_labels(r, y);
	}
}

/* Returns the index of a device's links to another one, or none. */
static uint32_t gt_repair_link(const struct gt_wiring *w, uint32_t dev,
			       uint32_t to)
{
	for (uint32_t k = w->links[dev]; k < w->links[dev + 1]; k++)
		if (w->to[k] == to)
			return k;
	return GT_UNMATCHED;
}

/* Returns the number of links between the namesakes of two devices. */
static int gt_repair_named_count(const struct gt_repair *r, int which,
				 uint32_t dev, uint32_t to)
{
	uint32_t x = gt_repair_namesake(r, which, dev);
	uint32_t y = to ? gt_repair_namesake(r, which, to) : 0, k;

	if (x == GT_UNMATCHED || y == GT_UNMATCHED)
		return -1;
	k = gt_repair_link(&r->side[!which].w, x, y);
	return k == GT_UNMATCHED ? 0 : r->side[!which].w.count[k];
}

/* Lists fewer links of a pair: one less, or none. */
static void gt_repair_list_pair(struct gt_repair *r, int which, uint32_t dev,
				uint32_t k)
{
	const struct gt_repair_side *side = &r->side[which];
	const struct gt_wiring *w = &side->w;
	uint32_t to = w->to[k];
	struct gt_change change = {.kind = GT_CHANGE_LINKS,
				   .side = which,
				   .dev = dev,
				   .link = k,
				   .back = GT_UNMATCHED};
	int named = gt_repair_named_count(r, which, dev, to);

	if (to)
		change.back = gt_repair_link(w, to, dev);
	if (change.back != GT_UNMATCHED) {
		if (w->count[change.back] != w->count[k])
			change.back = GT_UNMATCHED;
		else if (to < dev)
			return;
	}
	for (int count = w->count[k] - 1; count >= 0;
	     count = count > 0 ? 0 : -1) {
		change.count = count;
		change.named = named == count;
		change.class = gt_hash_mix(side->class[dev] + side->class[to],
					   (uint64_t)count);
		gt_repair_list(r, change);
	}
}

static void gt_repair_list_links(struct gt_repair *r, int which)
{
	const struct gt_repair_side *side = &r->side[which];

	for (uint32_t i = 1; i < side->w.n; i++)
		for (uint32_t k = side->w.links[i];
		     k < side->w.links[i + 1] && !side->w.gone[i]; k++)
			if (side->w.count[k] && !side->w.gone[side->w.to[k]] &&
			    gt_repair_odd(r, which, 1, side->colours[1][i]))
				gt_repair_list_pair(r, which, i, k);
}

static int gt_repair_by_class(const void *left, const void *right)
{
	const struct gt_change *a = left, *b = right;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->named != b->named)
		return b->named - a->named;
	return a->dev < b->dev ? -1 : a->dev > b->dev;
}

static int gt_repair_by_rank(const void *left, const void *right)
{
	const struct gt_change *a = left, *b = right;

	if (a->named != b->named)
		return b->named - a->named;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return gt_repair_by_class(a, b);
}

/*
 * Lists all changes that may be right.  Those that names speak for come first,
 * then one of each class, since what looks alike mostly leaves the same.
 */
static void gt_repair_list_all(struct gt_repair *r)
{
	r->n = 0;
	if (r->distance_own) {
		gt_repair_list_all_labels(r);
		for (int which = 0; which < 2; which++)
			gt_repair_list_gone(r, which);
	} else {
		for (int which = 0; which < 2; which++)
			gt_repair_list_links(r, which);
	}
	if (!r->n || r->m->failed)
		return;
	qsort(r->list, r->n, sizeof(*r->list), gt_repair_by_class);
	for (uint32_t i = 1; i < r->n; i++)
		if (r->list[i].class == r->list[i - 1].class)
			r->list[i].rank = r->list[i - 1].rank + 1;
	qsort(r->list, r->n, sizeof(*r->list), gt_repair_by_rank);
}

static int gt_repair_matches(struct gt_repair *r)
{
	struct gt_match match = {r->m->image, r->m->back};

	return gt_match_wirings(&r->side[0].w, &r->side[1].w, &match,
				&r->work) > 0;
}

/*
 * Makes the best change; returns 1 when the servers are alike with it, -1 when
 * none is good.
 */
static int gt_repair_step(struct gt_repair *r)
{
	uint32_t best = r->distance, take = GT_UNMATCHED, now;

	gt_repair_list_all(r);
	for (uint32_t i = 0;
	     i < r->n && r->work < GT_REPAIR_WORK && !r->m->failed; i++) {
		gt_repair_toggle(r, &r->list[i]);
		now = gt_repair_try(r, r->list[i].side, best ? best : 1);
		if (!now && gt_repair_matches(r))
			return 1;
		gt_repair_toggle(r, &r->list[i]);
		if (now < best) {
			best = now;
			take = i;
		}
	}
	if (take == GT_UNMATCHED)
		return -1;
	gt_repair_toggle(r, &r->list[take]);
	gt_repair_colour(r, r->list[take].side);
	gt_repair_measure(r);
	return 0;
}

/* Returns which properties are known of no device of a kind. */
static unsigned gt_repair_unknown(const struct gt_device_tree *tree,
				  enum gt_device_kind kind)
{
	unsigned unknown = (1u << GT_NPROPS) - 1;

	for (uint32_t i = 0; i < gt_device_tree_ndevices(tree); i++) {
		const struct gt_device *dev = gt_device_tree_device(tree, i);

		for (int k = 0; k < GT_NPROPS && dev->kind == kind; k++)
			if (*dev->props[k])
				unknown &= ~(1u << k);
	}
	return unknown;
}

/* Leaves out of the labels what one of the servers says of no device. */
static void gt_repair_label(struct gt_repair *r)
{
	for (int kind = 0; kind < GT_NDEVICEKINDS; kind++) {
		unsigned unknown =
			gt_repair_unknown(r->m->a, (enum gt_device_kind)kind) |
			gt_repair_unknown(r->m->b, (enum gt_device_kind)kind);

		for (int which = 0; which < 2; which++) {
			struct gt_wiring *w = &r->side[which].w;

			for (uint32_t i = 0; i < w->n; i++) {
				const struct gt_device *dev =
					gt_device_tree_device(w->tree, i);

				if ((int)dev->kind == kind)
					w->own[i] =
						gt_device_label(dev, unknown);
			}
		}
	}
}

static int gt_repair_run(struct gt_repair *r)
{
	int rc = 0;

	gt_repair_label(r);
	for (int which = 0; which < 2; which++)
		gt_repair_colour(r, which);
	gt_repair_measure(r);
	if (!r->distance && gt_repair_matches(r))
		return 0;
	/* Others are not one server with few faults. */
	if (r->distance_own > 16 + (r->m->na + r->m->nb) / 4)
		return -1;
	while (!rc && r->nchanges < GT_REPAIR_CHANGES) {
		rc = gt_repair_step(r);
		r->nchanges++;
	}
	return rc > 0 && !r->m->failed ? (int)r->nchanges : -1;
}

int gt_match_repair(struct gt_matcher *m)
{
	struct gt_repair r = {.m = m};
	int n = -1;

	if (gt_repair_side_init(&r.side[0], m->a) &&
	    gt_repair_side_init(&r.side[1], m->b))
		n = gt_repair_run(&r);
	else
		m->failed = 1;
	for (int which = 0; which < 2; which++)
		gt_repair_side_release(&r.side[which]);
	free(r.list);
	return n;
}
