#include "search/cluster/alltoall.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/fabric.h"
#include "search/cluster/quotient.h"
#include "search/problem/budget.h"

enum {
	GT_HIER_FEW_MAX = 8,         /* lanes that are tried */
	GT_HIER_FEW_CANDIDATES = 48, /* ways of a pair */
	GT_HIER_FEW_PASSES = 6,
	GT_HIER_FEW_ENDS = 1024, /* rank and port, of either side */
	GT_HIER_FEW_STRAY = 4,   /* links that meeting one's like is worth */
	/* What a link is worth, and a port of one's own. */
	GT_HIER_FEW_LINK = 6,
	GT_HIER_FEW_PORT = 2,
};

/* What ways that are as full differ by: a score of 1. */
#define GT_HIER_FEW_TIE 3e-6

struct gt_hier_choice {
	uint32_t n;
	const struct gt_alltoall_path *ways[GT_HIER_FEW_CANDIDATES];
	uint32_t score[GT_HIER_FEW_CANDIDATES];
};

struct gt_hier_few {
	struct gt_alltoall *flow;
	struct gt_alltoall_lengths *l;
	uint32_t n, npairs;
	uint32_t *own;                        /* port of a rank */
	struct gt_hier_choice *choices;       /* of a pair */
	double *use, *room;                   /* of a row: of 1 that is full */
	const struct gt_alltoall_path **pick; /* [lane * npairs + pair] */
};

/* ---- candidates -------------------------------------------------------- */

/* The port next to a rank; of several each rank has another. */
static uint32_t gt_hier_few_own(const struct gt_quotient *hier, uint32_t rank)
{
	uint32_t nports = hier->cluster.nports, own = UINT32_MAX;
	const struct gt_fabric_route *out = hier->out + (size_t)rank * nports;

	for (uint32_t i = 0; i < nports; i++) {
		uint32_t port = (rank + i) % nports;

		if (out[port].nlinks &&
		    (own == UINT32_MAX || out[port].nlinks < out[own].nlinks))
			own = port;
	}
	return own;
}

/*
 * Few links; over the network to the like of a rank rather than to others, by
 * the ports next to the two; through other ranks rather before than behind it.
 */
static uint32_t gt_hier_few_score(const struct gt_hier_few *few,
				  const struct gt_alltoall_path *way)
{
	uint32_t score = GT_HIER_FEW_LINK * way->nparts, from, to;

	if (!way->class_)
		return score;
	from = way->ranks[way->nout - 1];
	to = way->ranks[way->nout];
	if (from != to)
		score += GT_HIER_FEW_STRAY * GT_HIER_FEW_LINK;
	if (way->out != few->own[from])
		score += GT_HIER_FEW_PORT;
	if (way->in != few->own[to])
		score += GT_HIER_FEW_PORT;
	return score + (way->nout + 1 < way->nranks);
}

static int gt_hier_few_same(const struct gt_alltoall_path *a,
			    const struct gt_alltoall_path *b)
{
	return a->nranks == b->nranks && a->nout == b->nout &&
	       a->out == b->out && a->in == b->in &&
	       !memcmp(a->ranks, b->ranks, a->nranks * sizeof(*a->ranks));
}

static uint32_t gt_hier_few_pair(const struct gt_hier_few *few,
				 const struct gt_alltoall_path *way)
{
	return (way->class_ * few->n + way->ranks[0]) * few->n +
	       way->ranks[way->nranks - 1];
}

/* Keep it, in place of the one with the worst score if there is no room. */
static void gt_hier_few_keep(struct gt_hier_few *few,
			     const struct gt_alltoall_path *way)
{
	struct gt_hier_choice *choice =
		&few->choices[gt_hier_few_pair(few, way)];
	uint32_t score = gt_hier_few_score(few, way), worst = 0;

	for (uint32_t i = 0; i < choice->n; i++) {
		if (gt_hier_few_same(choice->ways[i], way))
			return;
		if (choice->score[i] > choice->score[worst])
			worst = i;
	}
	if (choice->n < GT_HIER_FEW_CANDIDATES)
		worst = choice->n++;
	else if (choice->score[worst] <= score)
		return;
	choice->ways[worst] = way;
	choice->score[worst] = score;
}

/* One that goes through at most one rank on each side. */
static int gt_hier_few_try(struct gt_hier_few *few, const uint32_t ends[2],
			   const uint32_t mid[2], struct gt_alltoall_path *like)
{
	uint32_t ranks[4], k = 0;
	const struct gt_alltoall_path *way;

	ranks[k++] = ends[0];
	if (mid[0] != ends[0])
		ranks[k++] = mid[0];
	like->nout = k;
	if (like->class_)
		ranks[k++] = mid[1];
	if (mid[1] != ends[1] || !like->class_)
		ranks[k++] = ends[1];
	like->nranks = k;
	like->ranks = ranks;
	way = gt_alltoall_path_new(few->flow, like);
	if (!way)
		return GT_ESYS;
	gt_hier_few_keep(few, way);
	return GT_OK;
}

/* Shortest ways that go through no more than one rank of each node. */
static int64_t gt_hier_few_least(const struct gt_hier_few *few, uint32_t class_,
				 const uint32_t ends[2])
{
	uint32_t n = few->n;
	int64_t least = GT_ALLTOALL_UNREACHABLE - 1;

	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n; b++) {
			int64_t length = few->l->local[ends[0] * n + a] +
					 few->l->local[b * n + ends[1]];

			if (!class_ && a != b)
				continue;
			if (class_)
				length += few->l->cross[((size_t)class_ * n +
							 a) * n +
							b];
			if (length < least)
				least = length;
		}
	return least;
}

static int gt_hier_few_local(struct gt_hier_few *few, const uint32_t ends[2])
{
	int64_t least = gt_hier_few_least(few, 0, ends);
	const int64_t *local = few->l->local;
	int rc = GT_OK;

	for (uint32_t a = 0; a < few->n && !rc; a++) {
		struct gt_alltoall_path like = {0};
		const uint32_t mid[2] = {a, ends[1]};

		if (a != ends[1] &&
		    local[ends[0] * few->n + a] + local[a * few->n + ends[1]] <=
			    least)
			rc = gt_hier_few_try(few, ends, mid, &like);
	}
	return rc;
}

/* From a rank, or (1) to it, through another and a port: how long. */
static int64_t gt_hier_few_end(const struct gt_hier_few *few, uint32_t rank,
			       uint32_t mid, uint32_t port, int in)
{
	const struct gt_alltoall_lengths *l = few->l;
	uint32_t n = few->n, nports = few->flow->hier->cluster.nports;

	return in ? l->in[mid * nports + port] + l->local[mid * n + rank]
		  : l->local[rank * n + mid] + l->out[mid * nports + port];
}

static int gt_hier_few_remote(struct gt_hier_few *few, uint32_t class_,
			      const uint32_t ends[2])
{
	const struct gt_quotient *hier = few->flow->hier;
	uint32_t nports = hier->cluster.nports, all = few->n * nports;
	int64_t least = gt_hier_few_least(few, class_, ends);
	int rc = GT_OK;

	for (uint32_t i = 0; i < all * all && !rc; i++) {
		const uint32_t at[2] = {i / all, i % all};
		const uint32_t mid[2] = {(ends[0] + at[0] / nports) % few->n,
					 (ends[1] + at[1] / nports) % few->n};
		struct gt_alltoall_path like = {
			.class_ = class_,
			.out = (ends[0] + at[0]) % nports,
			.in = (ends[1] + at[1]) % nports};
		int64_t out =
			gt_hier_few_end(few, ends[0], mid[0], like.out, 0);

		if (out > least) {
			i += all - 1 - at[1];
			continue;
		}
		if (out + gt_hier_few_end(few, ends[1], mid[1], like.in, 1) +
				    gt_alltoall_lengths_uplinks(few->l, class_,
								like.out,
								like.in) <=
			    least &&
		    gt_quotient_ports_joined(hier, like.out, like.in))
			rc = gt_hier_few_try(few, ends, mid, &like);
	}
	return rc;
}

static int gt_hier_few_choices(struct gt_hier_few *few,
			       const struct gt_alltoall_known_paths *known)
{
	uint32_t n = few->n;
	uint32_t ends_max = n * few->flow->hier->cluster.nports;
	int rc = GT_OK;

	for (uint32_t p = 0; p < few->npairs && !rc; p++) {
		const uint32_t ends[2] = {p / n % n, p % n};
		uint32_t class_ = p / n / n;

		if (!few->flow->nodes[class_] ||
		    (!class_ && ends[0] == ends[1]))
			continue;
		if (!class_)
			rc = gt_hier_few_local(few, ends);
		else if (ends_max <= GT_HIER_FEW_ENDS)
			rc = gt_hier_few_remote(few, class_, ends);
	}
	for (uint32_t i = 0; i < known->n && !rc; i++)
		gt_hier_few_keep(few, known->ways[i]);
	return rc;
}

/* ---- choosing ---------------------------------------------------------- */

/* How full a link is, such that the fullest count: the twelfth power. */
static double gt_hier_few_full(double use)
{
	double square = use * use, fourth = square * square;

	return fourth * fourth * fourth;
}

/* Take a way's load on or (-1) off, of one of k lanes; what it adds. */
static double gt_hier_few_load(struct gt_hier_few *few,
			       const struct gt_alltoall_path *way, double times)
{
	double before = 0, after = 0;

	times *= few->flow->nodes[way->class_];
	for (uint32_t k = 0; k < way->nparts; k++) {
		double *use = &few->use[way->parts[k].row];

		before += gt_hier_few_full(*use);
		*use += times * way->parts[k].units *
			few->room[way->parts[k].row];
		after += gt_hier_few_full(*use);
	}
	return after - before;
}

/* What a way in a lane costs: how much fuller links get, and its score. */
static double gt_hier_few_cost(struct gt_hier_few *few,
			       const struct gt_hier_choice *choice, uint32_t i,
			       uint32_t k)
{
	double more = gt_hier_few_load(few, choice->ways[i], 1.0 / k);

	gt_hier_few_load(few, choice->ways[i], -1.0 / k);
	return more + choice->score[i] * GT_HIER_FEW_TIE;
}

/* A cheaper way for the pair, if there is one. */
static int gt_hier_few_better(struct gt_hier_few *few, uint32_t pair,
			      uint32_t k, const struct gt_alltoall_path **pick)
{
	const struct gt_hier_choice *choice = &few->choices[pair];
	uint32_t old = 0, best;
	double least, cost;

	while (choice->ways[old] != *pick)
		old++;
	best = old;
	gt_hier_few_load(few, *pick, -1.0 / k);
	least = gt_hier_few_cost(few, choice, old, k) - GT_HIER_FEW_TIE / 2;
	for (uint32_t i = 0; i < choice->n; i++) {
		cost = gt_hier_few_cost(few, choice, i, k);
		if (cost >= least)
			continue;
		least = cost;
		best = i;
	}
	*pick = choice->ways[best];
	gt_hier_few_load(few, *pick, 1.0 / k);
	return best != old;
}

/* The way with the best score, in another lane the next that is as good. */
static const struct gt_alltoall_path *gt_hier_few_first(
	const struct gt_hier_choice *choice, uint32_t lane)
{
	uint32_t best = UINT32_MAX, equal = 0;

	for (uint32_t i = 0; i < choice->n; i++) {
		if (choice->score[i] < best) {
			best = choice->score[i];
			equal = 0;
		}
		equal += choice->score[i] == best;
	}
	lane %= equal;
	for (uint32_t i = 0; i < choice->n; i++)
		if (choice->score[i] == best && !lane--)
			return choice->ways[i];
	return NULL;
}

static void gt_hier_few_begin(struct gt_hier_few *few, uint32_t k)
{
	for (uint32_t r = 0; r < few->flow->rows.n; r++)
		few->use[r] = 0;
	for (uint32_t i = 0; i < k * few->npairs; i++) {
		const struct gt_hier_choice *choice =
			&few->choices[i % few->npairs];

		few->pick[i] = NULL;
		if (!choice->n)
			continue;
		few->pick[i] = gt_hier_few_first(choice, i / few->npairs);
		gt_hier_few_load(few, few->pick[i], 1.0 / k);
	}
}

static int gt_hier_few_is_full(const struct gt_hier_few *few)
{
	for (uint32_t r = 0; r < few->flow->rows.n; r++)
		if (few->use[r] > 1 + 1e-9)
			return 1;
	return 0;
}

/* k lanes, each pair's way in each for itself; 1: as good or better. */
static int gt_hier_few_lanes(struct gt_hier_few *few, uint32_t k,
			     struct gt_alltoall_channel *lanes,
			     struct gt_rat *rate)
{
	struct gt_alltoall like = *few->flow;
	int changed = 1;

	gt_hier_few_begin(few, k);
	for (int pass = 0; pass < GT_HIER_FEW_PASSES && changed; pass++) {
		changed = 0;
		if (!gt_hier_few_is_full(few))
			break;
		for (uint32_t i = 0; i < k * few->npairs; i++)
			if (few->pick[i])
				changed |= gt_hier_few_better(
					few, i % few->npairs, k, &few->pick[i]);
	}
	for (uint32_t i = 0; i < k; i++)
		lanes[i] = (struct gt_alltoall_channel){
			few->pick + (size_t)i * few->npairs, 1};
	like.nlanes = k;
	like.lanes = lanes;
	like.whole = k;
	if (!gt_alltoall_rate(&like, NULL))
		return 0;
	*rate = like.rate;
	return 1;
}

static int gt_hier_few_take(struct gt_hier_few *few, uint32_t k,
			    struct gt_alltoall_channel *lanes,
			    struct gt_rat rate)
{
	struct gt_alltoall *flow = few->flow;
	size_t n = few->npairs;

	flow->lanes = gt_arena_array(flow->arena, k, sizeof(*lanes));
	if (!flow->lanes)
		return GT_ESYS;
	for (uint32_t i = 0; i < k; i++) {
		flow->lanes[i].weight = 1;
		flow->lanes[i].ways =
			gt_arena_array(flow->arena, n, sizeof(*lanes[i].ways));
		if (!flow->lanes[i].ways)
			return GT_ESYS;
		memcpy(flow->lanes[i].ways, lanes[i].ways,
		       n * sizeof(*lanes[i].ways));
	}
	flow->nlanes = k;
	flow->whole = k;
	flow->rate = rate;
	return GT_OK;
}

/* More lanes only for more, and until there is no more to be had. */
static int gt_hier_few_run(struct gt_hier_few *few)
{
	struct gt_alltoall_channel lanes[GT_HIER_FEW_MAX];
	struct gt_alltoall *flow = few->flow;
	struct gt_rat most = flow->has_bound ? flow->bound : flow->rate, rate;
	int rc = GT_OK;

	for (uint32_t k = 1; k <= GT_HIER_FEW_MAX && !rc; k++) {
		int cmp = k <= flow->nlanes ? 0 : 1;

		if (!gt_hier_few_lanes(few, k, lanes, &rate))
			continue;
		if (gt_rat_cmp(rate, flow->rate) >= cmp)
			rc = gt_hier_few_take(few, k, lanes, rate);
		if (!gt_rat_cmp(flow->rate, most) && flow->nlanes <= k)
			break;
		if (gt_budget_is_spent(flow->hier->watch))
			break;
	}
	return rc;
}

int gt_alltoall_assign(struct gt_alltoall *flow, struct gt_alltoall_lengths *l,
		       const struct gt_alltoall_known_paths *known)
{
	struct gt_hier_few few = {.flow = flow, .l = l};
	struct gt_arena *a = flow->arena;
	double rate = gt_rat_double(flow->rate);
	uint32_t n = flow->hier->box->nranks;

	few.n = n;
	few.npairs = flow->nclasses * n * n;
	few.choices = gt_arena_array(a, few.npairs, sizeof(*few.choices));
	few.use = gt_arena_array(a, flow->rows.n, sizeof(*few.use));
	few.room = gt_arena_array(a, flow->rows.n, sizeof(*few.room));
	few.pick = gt_arena_array(a, (size_t)GT_HIER_FEW_MAX * few.npairs,
				  sizeof(*few.pick));
	few.own = gt_arena_array(a, n, sizeof(*few.own));
	if (!few.choices || !few.use || !few.room || !few.pick || !few.own)
		return GT_ESYS;
	for (uint32_t i = 0; i < n; i++)
		few.own[i] = gt_hier_few_own(flow->hier, i);
	for (uint32_t r = 0; r < flow->rows.n; r++) {
		double gbs = gt_rat_double(flow->rows.gbs[r]);

		if (gbs > 0)
			few.room[r] = rate / gbs / flow->rows.unit;
	}
	if (gt_hier_few_choices(&few, known))
		return GT_ESYS;
	return gt_hier_few_run(&few);
}
