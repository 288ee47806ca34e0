/*
 * The best all-gather or reduce-scatter of a fabric by a maximum flow that
 * shares no code with the search: each cut lets so many bytes of the result
 * through a second as leave it, over its ranks' part of all, and the least of
 * all cuts is what can be reached (Edmonds, Bang-Jensen, Frank and Jackson).
 * All is in whole numbers.
 */
#ifndef GT_TESTS_UNIT_SEARCH_LEAST_CUT_H
#define GT_TESTS_UNIT_SEARCH_LEAST_CUT_H

#include "unit/test.h"

#include <string.h>

#include "base/arena.h"
#include "search/problem/fabric.h"

/* Arcs in pairs: arc a ^ 1 leads back.  Node `source` is behind the fabric's */
struct cut_net {
	const struct gt_fabric *fabric;
	uint32_t narcs, source, *to, *next, *first, *by, *queue;
	int64_t *left, *rate; /* by arc; of links, times `scale` of all */
	int64_t scale;
};

static inline void cut_arc(struct cut_net *net, uint32_t from, uint32_t to)
{
	for (int back = 0; back < 2; back++) {
		uint32_t a = net->narcs++, at = back ? to : from;

		net->to[a] = back ? from : to;
		net->next[a] = net->first[at];
		net->first[at] = a;
	}
}

static inline void cut_net_make(struct cut_net *net, const struct gt_fabric *f,
				int reverse, struct gt_arena *arena)
{
	uint32_t n = f->nnodes + 1, arcs = 2 * (f->nlinks + f->nranks);

	*net = (struct cut_net){f, .source = f->nnodes, .scale = 1};
	net->to = gt_arena_array(arena, arcs, sizeof(*net->to));
	net->next = gt_arena_array(arena, arcs, sizeof(*net->next));
	net->left = gt_arena_array(arena, arcs, sizeof(*net->left));
	net->rate = gt_arena_array(arena, f->nlinks, sizeof(*net->rate));
	net->first = gt_arena_array(arena, n, sizeof(*net->first));
	net->by = gt_arena_array(arena, n, sizeof(*net->by));
	net->queue = gt_arena_array(arena, n, sizeof(*net->queue));
	memset(net->first, 0xff, n * sizeof(*net->first));
	for (uint32_t i = 0; i < f->nlinks; i++) {
		const struct gt_fabric_link *l = &f->links[i];
		int64_t den = l->gbs.den, a = net->scale, b = den;

		while (b) {
			int64_t rest = a % b;

			a = b;
			b = rest;
		}
		net->scale *= den / a;
		cut_arc(net, reverse ? l->to : l->from,
			reverse ? l->from : l->to);
	}
	for (uint32_t i = 0; i < f->nranks; i++)
		cut_arc(net, net->source, f->ranks[i]);
	for (uint32_t i = 0; i < f->nlinks; i++)
		net->rate[i] = f->links[i].gbs.num *
			       (net->scale / f->links[i].gbs.den);
}

/* One more path from the source to the node; what it takes. */
static inline int64_t cut_augment(struct cut_net *net, uint32_t node)
{
	int64_t least = INT64_MAX;
	uint32_t end = 0;

	memset(net->by, 0xff, (net->source + 1) * sizeof(*net->by));
	net->queue[end++] = net->source;
	for (uint32_t i = 0; i < end && net->by[node] == UINT32_MAX; i++)
		for (uint32_t a = net->first[net->queue[i]]; a != UINT32_MAX;
		     a = net->next[a])
			if (net->left[a] && net->to[a] != net->source &&
			    net->by[net->to[a]] == UINT32_MAX) {
				net->by[net->to[a]] = a;
				net->queue[end++] = net->to[a];
			}
	if (net->by[node] == UINT32_MAX)
		return 0;
	for (uint32_t v = node; v != net->source; v = net->to[net->by[v] ^ 1])
		if (net->left[net->by[v]] < least)
			least = net->left[net->by[v]];
	for (uint32_t v = node; v != net->source; v = net->to[net->by[v] ^ 1]) {
		net->left[net->by[v]] -= least;
		net->left[net->by[v] ^ 1] += least;
	}
	return least;
}

/*
 * If all ranks send a part of this result a second, how much of it reaches the
 * rank, times the result's denominator and the number of ranks.
 */
static inline int64_t cut_flow(struct cut_net *net, struct gt_rat result,
			       uint32_t rank)
{
	const struct gt_fabric *f = net->fabric;
	int64_t all = 0, more, each;

	for (uint32_t i = 0; i < f->nlinks; i++) {
		assert_false(__builtin_mul_overflow(net->rate[i],
						    f->nranks * result.den,
						    &net->left[2 * i]));
		net->left[2 * i + 1] = 0;
	}
	assert_false(__builtin_mul_overflow(result.num, net->scale, &each));
	for (uint32_t i = 0; i < f->nranks; i++) {
		net->left[2 * (f->nlinks + i)] = each;
		net->left[2 * (f->nlinks + i) + 1] = 0;
	}
	while ((more = cut_augment(net, f->ranks[rank])))
		all += more;
	return all;
}

/* What leaves the nodes that were just reached, over their part of ranks. */
static inline struct gt_rat cut_ratio(const struct cut_net *net)
{
	const struct gt_fabric *f = net->fabric;
	int64_t ranks = 0, leaves = 0;
	struct gt_rat ratio;

	for (uint32_t i = 0; i < f->nranks; i++)
		ranks += net->by[f->ranks[i]] != UINT32_MAX;
	for (uint32_t i = 0; i < f->nlinks; i++)
		if (net->by[net->to[2 * i + 1]] != UINT32_MAX &&
		    net->by[net->to[2 * i]] == UINT32_MAX)
			leaves += net->rate[i];
	assert_true(ranks > 0);
	assert_true(
		gt_rat_make(leaves * f->nranks, ranks * net->scale, &ratio));
	return ratio;
}

/*
 * From more than any rank can take in, down to what reaches all of them: each
 * rank that gets less shows a cut that is less.
 */
static inline struct gt_rat least_cut(const struct gt_fabric *f, int reverse,
				      struct gt_arena *arena)
{
	struct gt_rat result;
	struct cut_net net;
	int64_t all = 0;

	cut_net_make(&net, f, reverse, arena);
	for (uint32_t i = 0; i < f->nlinks; i++)
		all += net.rate[i];
	assert_true(gt_rat_make(all * f->nranks, net.scale, &result));
	for (uint32_t rank = 0; rank < f->nranks;) {
		int64_t flow = cut_flow(&net, result, rank);

		if (flow == result.num * net.scale * f->nranks)
			rank++;
		else
			result = cut_ratio(&net);
	}
	return result;
}

#endif
