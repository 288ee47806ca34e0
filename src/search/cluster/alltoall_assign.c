/*
 * The assignment of one path a pair to each of a few equal channels, so that no
 * row is overfull: candidates of every pair, then local search over them.
 */
#include "search/cluster/alltoall_master.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/cluster/alltoall_lengths.h"
#include "search/cluster/alltoall_path.h"
#include "search/cluster/quotient.h"
#include "search/flow/assignment.h"
#include "search/problem/budget.h"
#include "search/problem/fabric.h"

enum {
	GT_ASSIGN_CHANNELS_MAX = 8, /* so many channels are tried */
	GT_ASSIGN_CANDIDATES = 48,  /* paths of a pair */
	/* How often one number of channels may look at a row, and how much
	 * more often for each pair. */
	GT_ASSIGN_LOOKS = 2000000,
	GT_ASSIGN_LOOKS_PAIR = 10000,
	GT_ASSIGN_ENDS_MAX =
		1024,        /* ranks times ports of a node that are tried */
	GT_ASSIGN_STRAY = 4, /* in links: the cost of another rank's number */
	/* Scores of a link, and of a port that is not the nearest. */
	GT_ASSIGN_LINK = 6,
	GT_ASSIGN_PORT = 2,
};

struct gt_assign_choice {
	uint32_t n;
	uint32_t worst; /* of the scores */
	const struct gt_alltoall_path *paths[GT_ASSIGN_CANDIDATES];
	uint32_t score[GT_ASSIGN_CANDIDATES];
};

struct gt_assign_search {
	struct gt_alltoall *a2a;
	struct gt_alltoall_lengths *l;
	uint32_t n, npairs;
	uint32_t *nearest;                /* by rank: its nearest port */
	struct gt_assign_choice *choices; /* by pair */
	struct gt_assignment a;
	uint32_t *pair_of; /* pair of the assignment -> pair */
	const struct gt_alltoall_path **picked; /* [channel * npairs + pair] */
};

/* ---- candidates -------------------------------------------------------- */

/* The port that is nearest to a rank; of several each rank has another. */
static uint32_t nearest_port(const struct gt_quotient *q, uint32_t rank)
{
	uint32_t nports = q->cluster.nports, nearest = UINT32_MAX;
	const struct gt_fabric_route *out = q->out + (size_t)rank * nports;

	for (uint32_t i = 0; i < nports; i++) {
		uint32_t port = (rank + i) % nports;

		if (out[port].nlinks &&
		    (nearest == UINT32_MAX ||
		     out[port].nlinks < out[nearest].nlinks))
			nearest = port;
	}
	return nearest;
}

/*
 * The lower the better: few links; over the network to the rank of the same
 * number rather than to others, by the ports nearest to the two; through other
 * ranks before the network rather than behind it.
 */
static uint32_t path_score(const struct gt_assign_search *s,
			   const struct gt_alltoall_path *path)
{
	uint32_t score = GT_ASSIGN_LINK * path->nloads, from, to;

	if (!path->class_)
		return score;
	from = path->ranks[path->nout - 1];
	to = path->ranks[path->nout];
	if (from != to)
		score += GT_ASSIGN_STRAY * GT_ASSIGN_LINK;
	if (path->out != s->nearest[from])
		score += GT_ASSIGN_PORT;
	if (path->in != s->nearest[to])
		score += GT_ASSIGN_PORT;
	return score + (path->nout + 1 < path->nranks);
}

static int is_same_path(const struct gt_alltoall_path *a,
			const struct gt_alltoall_path *b)
{
	return a->nranks == b->nranks && a->nout == b->nout &&
	       a->out == b->out && a->in == b->in &&
	       !memcmp(a->ranks, b->ranks, a->nranks * sizeof(*a->ranks));
}

static uint32_t pair_of(const struct gt_assign_search *s,
			const struct gt_alltoall_path *path)
{
	return (path->class_ * s->n + path->ranks[0]) * s->n +
	       path->ranks[path->nranks - 1];
}

/*
 * The place for a candidate: that of the one with the worst score if there is
 * no room.  The result is GT_ASSIGN_CANDIDATES when it is known or no better.
 */
static uint32_t find_place(const struct gt_assign_choice *choice,
			   const struct gt_alltoall_path *path, uint32_t score)
{
	uint32_t worst = 0;

	if (choice->n == GT_ASSIGN_CANDIDATES && choice->worst <= score)
		return GT_ASSIGN_CANDIDATES;
	for (uint32_t i = 0; i < choice->n; i++) {
		if (choice->score[i] == score &&
		    is_same_path(choice->paths[i], path))
			return GT_ASSIGN_CANDIDATES;
		if (choice->score[i] > choice->score[worst])
			worst = i;
	}
	return choice->n < GT_ASSIGN_CANDIDATES ? choice->n : worst;
}

static void put_candidate(struct gt_assign_choice *choice, uint32_t place,
			  const struct gt_alltoall_path *path, uint32_t score)
{
	if (place == choice->n)
		choice->n++;
	choice->paths[place] = path;
	choice->score[place] = score;
	choice->worst = 0;
	for (uint32_t i = 0; i < choice->n; i++)
		if (choice->score[i] > choice->worst)
			choice->worst = choice->score[i];
}

static void keep_candidate(struct gt_assign_search *s,
			   const struct gt_alltoall_path *path)
{
	struct gt_assign_choice *choice = &s->choices[pair_of(s, path)];
	uint32_t score = path_score(s, path);
	uint32_t place = find_place(choice, path, score);

	if (place < GT_ASSIGN_CANDIDATES)
		put_candidate(choice, place, path, score);
}

/* Keep a candidate that is only made if there is a place for it. */
static int keep_model(struct gt_assign_search *s,
		      struct gt_alltoall_path *model)
{
	struct gt_assign_choice *choice = &s->choices[pair_of(s, model)];
	const struct gt_alltoall_path *path;
	uint32_t score, place;

	model->nloads = gt_alltoall_path_nloads(s->a2a, model);
	score = path_score(s, model);
	place = find_place(choice, model, score);
	if (place == GT_ASSIGN_CANDIDATES)
		return GT_OK;
	path = gt_alltoall_path_new(s->a2a, model);
	if (!path)
		return GT_ESYS;
	put_candidate(choice, place, path, score);
	return GT_OK;
}

/* Make a candidate that goes through at most one rank on each side. */
static int try_candidate(struct gt_assign_search *s, const uint32_t ends[2],
			 const uint32_t mid[2], struct gt_alltoall_path *model)
{
	uint32_t ranks[4], k = 0;

	ranks[k++] = ends[0];
	if (mid[0] != ends[0])
		ranks[k++] = mid[0];
	model->nout = k;
	if (model->class_)
		ranks[k++] = mid[1];
	if (mid[1] != ends[1] || !model->class_)
		ranks[k++] = ends[1];
	model->nranks = k;
	model->ranks = ranks;
	return keep_model(s, model);
}

/* The length of the shortest path through at most one rank of each node. */
static int64_t shortest_length(const struct gt_assign_search *s,
			       uint32_t class_, const uint32_t ends[2])
{
	uint32_t n = s->n;
	int64_t least = GT_ALLTOALL_UNREACHABLE - 1;

	for (uint32_t a = 0; a < n; a++)
		for (uint32_t b = 0; b < n; b++) {
			int64_t length = s->l->local[ends[0] * n + a] +
					 s->l->local[b * n + ends[1]];

			if (!class_ && a != b)
				continue;
			if (class_)
				length += s->l->crossing[((size_t)class_ * n +
							  a) * n +
							 b];
			if (length < least)
				least = length;
		}
	return least;
}

static int local_candidates(struct gt_assign_search *s, const uint32_t ends[2])
{
	int64_t least = shortest_length(s, 0, ends);
	const int64_t *local = s->l->local;
	int rc = GT_OK;

	for (uint32_t a = 0; a < s->n && !rc; a++) {
		struct gt_alltoall_path model = {0};
		const uint32_t mid[2] = {a, ends[1]};

		if (a != ends[1] &&
		    local[ends[0] * s->n + a] + local[a * s->n + ends[1]] <=
			    least)
			rc = try_candidate(s, ends, mid, &model);
	}
	return rc;
}

/*
 * The length from a rank (or, if `in`, to it) through another one and a port.
 */
static int64_t end_length(const struct gt_assign_search *s, uint32_t rank,
			  uint32_t mid, uint32_t port, int in)
{
	const struct gt_alltoall_lengths *l = s->l;
	uint32_t n = s->n, nports = s->a2a->quotient->cluster.nports;

	return in ? l->in[mid * nports + port] + l->local[mid * n + rank]
		  : l->local[rank * n + mid] + l->out[mid * nports + port];
}

static int remote_candidates(struct gt_assign_search *s, uint32_t class_,
			     const uint32_t ends[2])
{
	const struct gt_quotient *q = s->a2a->quotient;
	uint32_t nports = q->cluster.nports, all = s->n * nports;
	int64_t least = shortest_length(s, class_, ends);
	int rc = GT_OK;

	for (uint32_t i = 0; i < all * all && !rc; i++) {
		const uint32_t at[2] = {i / all, i % all};
		const uint32_t mid[2] = {(ends[0] + at[0] / nports) % s->n,
					 (ends[1] + at[1] / nports) % s->n};
		struct gt_alltoall_path model = {
			.class_ = class_,
			.out = (ends[0] + at[0]) % nports,
			.in = (ends[1] + at[1]) % nports};
		int64_t out = end_length(s, ends[0], mid[0], model.out, 0);

		if (out > least) {
			i += all - 1 - at[1];
			continue;
		}
		if (out + end_length(s, ends[1], mid[1], model.in, 1) +
				    gt_alltoall_lengths_uplinks(s->l, class_,
								model.out,
								model.in) <=
			    least &&
		    gt_quotient_ports_joined(q, model.out, model.in))
			rc = try_candidate(s, ends, mid, &model);
	}
	return rc;
}

static int find_candidates(struct gt_assign_search *s,
			   const struct gt_alltoall_known_paths *known)
{
	uint32_t n = s->n;
	uint32_t ends_max = n * s->a2a->quotient->cluster.nports;
	int rc = GT_OK;

	for (uint32_t p = 0; p < s->npairs && !rc; p++) {
		const uint32_t ends[2] = {p / n % n, p % n};
		uint32_t class_ = p / n / n;

		if (!s->a2a->nodes[class_] || (!class_ && ends[0] == ends[1]))
			continue;
		if (!class_)
			rc = local_candidates(s, ends);
		else if (ends_max <= GT_ASSIGN_ENDS_MAX)
			rc = remote_candidates(s, class_, ends);
	}
	for (uint32_t i = 0; i < known->n && !rc; i++)
		keep_candidate(s, known->paths[i]);
	return rc;
}

/* ---- choosing ---------------------------------------------------------- */

/* Candidates in the order of their scores, the best first. */
static void sort_candidates(struct gt_assign_choice *choice)
{
	for (uint32_t i = 1; i < choice->n; i++)
		for (uint32_t k = i;
		     k && choice->score[k] < choice->score[k - 1]; k--) {
			const struct gt_alltoall_path *path = choice->paths[k];
			uint32_t score = choice->score[k];

			choice->paths[k] = choice->paths[k - 1];
			choice->score[k] = choice->score[k - 1];
			choice->paths[k - 1] = path;
			choice->score[k - 1] = score;
		}
}

/*
 * A block that leaves one node and enters another may load a row twice, which
 * an assignment has once.
 */
static int merge_loads(struct gt_arena *arena,
		       const struct gt_alltoall_path *path,
		       struct gt_assign_path *merged)
{
	struct gt_row_load *loads =
		gt_arena_array(arena, path->nloads, sizeof(*loads));
	uint32_t n = 0;

	if (!loads)
		return GT_ESYS;
	for (uint32_t i = 0; i < path->nloads; i++) {
		uint32_t k = 0;

		while (k < n && loads[k].row != path->loads[i].row)
			k++;
		if (k < n)
			loads[k].units += path->loads[i].units;
		else
			loads[n++] = path->loads[i];
	}
	merged->loads = loads;
	merged->nloads = n;
	return GT_OK;
}

/* List a pair's candidates, the best first. */
static int list_choice(const struct gt_assign_search *s,
		       struct gt_assign_choice *choice,
		       struct gt_assign_path *paths)
{
	sort_candidates(choice);
	for (uint32_t i = 0; i < choice->n; i++) {
		const struct gt_alltoall_path *path = choice->paths[i];

		paths[i] = (struct gt_assign_path){
			.times = s->a2a->nodes[path->class_],
			.score = choice->score[i]};
		if (merge_loads(s->a2a->arena, path, &paths[i]))
			return GT_ESYS;
	}
	return GT_OK;
}

/*
 * Tell the assignment of the pairs that have candidates, and of these: those of
 * its m-th pair are numbered from m * GT_ASSIGN_CANDIDATES on.
 */
static int list_candidates(struct gt_assign_search *s)
{
	size_t all = (size_t)s->npairs * GT_ASSIGN_CANDIDATES;
	struct gt_arena *arena = s->a2a->arena;
	struct gt_assign_path *paths =
		gt_arena_array(arena, all, sizeof(*paths));
	struct gt_assign_pair *pairs =
		gt_arena_array(arena, s->npairs, sizeof(*pairs));
	uint32_t *numbers = gt_arena_array(arena, all, sizeof(*numbers));
	uint32_t m = 0;

	s->pair_of = gt_arena_array(arena, s->npairs, sizeof(*s->pair_of));
	if (!paths || !pairs || !numbers || !s->pair_of)
		return GT_ESYS;
	for (uint32_t p = 0; p < s->npairs; p++) {
		struct gt_assign_choice *choice = &s->choices[p];
		uint32_t first = m * GT_ASSIGN_CANDIDATES;

		if (!choice->n)
			continue;
		if (list_choice(s, choice, &paths[first]))
			return GT_ESYS;
		for (uint32_t i = 0; i < choice->n; i++)
			numbers[first + i] = first + i;
		pairs[m] = (struct gt_assign_pair){choice->n, &numbers[first]};
		s->pair_of[m++] = p;
	}
	s->a.npairs = m;
	s->a.pairs = pairs;
	s->a.paths = paths;
	return GT_OK;
}

/* A path with the best score; in another channel the next that is as good. */
static void assign_first(struct gt_assign_search *s)
{
	for (uint32_t m = 0; m < s->a.npairs; m++) {
		const struct gt_assign_choice *choice =
			&s->choices[s->pair_of[m]];
		uint32_t equal = 1;

		while (equal < choice->n &&
		       choice->score[equal] == choice->score[0])
			equal++;
		for (uint32_t c = 0; c < s->a.k; c++)
			s->a.pick[m * s->a.k + c] =
				s->a.pairs[m].paths[c % equal];
	}
}

/* What rows may carry when each channel has 1 / k of the rate. */
static void set_limits(struct gt_assign_search *s)
{
	const struct gt_quotient_rows *rows = &s->a2a->rows;
	int64_t units = (int64_t)rows->unit * s->a.k;

	for (uint32_t r = 0; r < rows->n; r++) {
		struct gt_rat most;
		double about = gt_rat_double(rows->gbs[r]) /
			       gt_rat_double(s->a2a->rate) * (double)units;

		if (gt_rat_div(rows->gbs[r], s->a2a->rate, &most) &&
		    gt_rat_mul(most, GT_RAT(units, 1), &most))
			s->a.most[r] = most.num / most.den;
		else
			s->a.most[r] = (int64_t)(about * (1 + 1e-9));
	}
}

/*
 * Assign paths to k channels, each pair's in each channel by itself, and find
 * the rate; 0 when they do not reach what there is, or the rate needs more than
 * 64 bits.
 */
static int assign_channels(struct gt_assign_search *s, uint32_t k,
			   struct gt_alltoall_channel *channels,
			   struct gt_rat *rate)
{
	struct gt_alltoall model = *s->a2a;

	s->a.k = k;
	set_limits(s);
	assign_first(s);
	if (!gt_assignment_search(&s->a))
		return 0;
	for (uint32_t m = 0; m < s->a.npairs; m++)
		for (uint32_t c = 0; c < k; c++) {
			uint32_t path = s->a.pick[m * k + c];
			uint32_t p = s->pair_of[m];

			s->picked[(size_t)c * s->npairs + p] =
				s->choices[p]
					.paths[path % GT_ASSIGN_CANDIDATES];
		}
	for (uint32_t c = 0; c < k; c++)
		channels[c] = (struct gt_alltoall_channel){
			s->picked + (size_t)c * s->npairs, 1};
	model.nchannels = k;
	model.channels = channels;
	model.denominator = k;
	if (!gt_alltoall_rate(&model, NULL))
		return 0;
	*rate = model.rate;
	return 1;
}

static int take_channels(struct gt_assign_search *s, uint32_t k,
			 struct gt_alltoall_channel *channels,
			 struct gt_rat rate)
{
	struct gt_alltoall *a2a = s->a2a;
	size_t n = s->npairs;

	a2a->channels = gt_arena_array(a2a->arena, k, sizeof(*channels));
	if (!a2a->channels)
		return GT_ESYS;
	for (uint32_t i = 0; i < k; i++) {
		a2a->channels[i].weight = 1;
		a2a->channels[i].paths = gt_arena_array(
			a2a->arena, n, sizeof(*channels[i].paths));
		if (!a2a->channels[i].paths)
			return GT_ESYS;
		memcpy(a2a->channels[i].paths, channels[i].paths,
		       n * sizeof(*channels[i].paths));
	}
	a2a->nchannels = k;
	a2a->denominator = k;
	a2a->rate = rate;
	return GT_OK;
}

/*
 * More channels are only taken for a higher rate, until no more is to be had.
 */
static int try_channel_counts(struct gt_assign_search *s)
{
	struct gt_alltoall_channel channels[GT_ASSIGN_CHANNELS_MAX];
	struct gt_alltoall *a2a = s->a2a;
	struct gt_rat most = a2a->has_bound ? a2a->bound : a2a->rate, rate;
	int rc = GT_OK;

	for (uint32_t k = 1; k <= GT_ASSIGN_CHANNELS_MAX && !rc; k++) {
		int cmp = k <= a2a->nchannels ? 0 : 1;

		if (assign_channels(s, k, channels, &rate) &&
		    gt_rat_cmp(rate, a2a->rate) >= cmp)
			rc = take_channels(s, k, channels, rate);
		if (!gt_rat_cmp(a2a->rate, most) && a2a->nchannels <= k)
			break;
		if (gt_budget_is_spent(a2a->quotient->budget))
			break;
	}
	return rc;
}

int gt_alltoall_assign(struct gt_alltoall *a2a, struct gt_alltoall_lengths *l,
		       const struct gt_alltoall_known_paths *known)
{
	struct gt_assign_search s = {.a2a = a2a, .l = l};
	struct gt_arena *arena = a2a->arena;
	uint32_t n = a2a->quotient->fabric->nranks;

	s.n = n;
	s.npairs = a2a->nclasses * n * n;
	s.choices = gt_arena_array(arena, s.npairs, sizeof(*s.choices));
	s.picked =
		gt_arena_array(arena, (size_t)GT_ASSIGN_CHANNELS_MAX * s.npairs,
			       sizeof(*s.picked));
	s.nearest = gt_arena_array(arena, n, sizeof(*s.nearest));
	if (!s.choices || !s.picked || !s.nearest)
		return GT_ESYS;
	for (uint32_t i = 0; i < n; i++)
		s.nearest[i] = nearest_port(a2a->quotient, i);
	if (find_candidates(&s, known) || list_candidates(&s))
		return GT_ESYS;
	s.a.nrows = a2a->rows.n;
	s.a.budget = a2a->quotient->budget;
	s.a.looks_max =
		GT_ASSIGN_LOOKS + (int64_t)s.a.npairs * GT_ASSIGN_LOOKS_PAIR;
	if (!gt_assignment_init(&s.a, GT_ASSIGN_CHANNELS_MAX, arena))
		return GT_ESYS;
	return try_channel_counts(&s);
}
