/* Rings and what finds them, compared with all rings of small fabrics. */
#include "unit/test.h"

#include <math.h>
#include <string.h>

#include "base/err.h"
#include "search/bound/bound.h"
#include "search/graph/graph.h"
#include "search/lp/bareiss.h"
#include "search/lp/dictionary.h"
#include "search/lp/lp.h"
#include "search/problem/shape.h"
#include "search/ring/equal_shares.h"
#include "search/ring/pricing.h"
#include "unit/search/fabrics.h"

static struct gt_rat load_of(const struct gt_fabric *f, uint32_t from,
			     uint32_t to, uint32_t link)
{
	const struct gt_fabric_route *r = &f->routes[from * f->nranks + to];

	for (uint32_t i = 0; i < r->nlinks; i++)
		if (r->links[i] == link)
			return f->links[link].charged ? r->charge
						      : GT_RAT(1, 1);
	return GT_RAT(0, 1);
}

/* The channels' rates are positive, add up, and no link carries too much. */
static void expect_fits(const struct gt_fabric *f, const struct gt_proposal *p)
{
	struct gt_rat total = GT_RAT(0, 1), load, one;
	uint32_t n = f->nranks;

	for (uint32_t c = 0; c < p->nchannels; c++) {
		assert_true(p->channels[c].gbs.num > 0);
		assert_int_equal(p->channels[c].order[0], 0);
		assert_true(gt_rat_add(total, p->channels[c].gbs, &total));
	}
	assert_int_equal(gt_rat_cmp(total, p->value), 0);
	for (uint32_t l = 0; l < f->nlinks; l++) {
		load = GT_RAT(0, 1);
		for (uint32_t c = 0; c < p->nchannels; c++)
			for (uint32_t i = 0; i < n; i++) {
				const uint32_t *o = p->channels[c].order;

				one = load_of(f, o[i], o[(i + 1) % n], l);
				assert_true(gt_rat_mul(one, p->channels[c].gbs,
						       &one));
				assert_true(gt_rat_add(load, one, &load));
			}
		assert_true(gt_rat_cmp(load, f->links[l].gbs) <= 0);
	}
}

static struct gt_rat hop_cost(const struct gt_fabric *f,
			      const struct gt_proposal *p, uint32_t from,
			      uint32_t to)
{
	struct gt_rat cost = GT_RAT(0, 1), one;

	for (uint32_t i = 0; i < p->nprices; i++) {
		one = load_of(f, from, to, p->prices[i].link);
		assert_true(gt_rat_mul(one, p->prices[i].price, &one));
		assert_true(gt_rat_add(cost, one, &cost));
	}
	return cost;
}

/* The rate that the links of a hop let through. */
static void hop_room(const struct gt_fabric *f, uint32_t from, uint32_t to,
		     struct gt_rat *room)
{
	const struct gt_fabric_route *r = &f->routes[from * f->nranks + to];
	struct gt_rat one;

	for (uint32_t i = 0; i < r->nlinks; i++) {
		assert_true(gt_rat_div(f->links[r->links[i]].gbs,
				       load_of(f, from, to, r->links[i]),
				       &one));
		if (gt_rat_cmp(one, *room) < 0)
			*room = one;
	}
}

/* The cost of the ring as a channel. */
static struct gt_rat channel_cost(const struct gt_fabric *f,
				  const struct gt_proposal *p,
				  const uint32_t *order)
{
	struct gt_rat room = GT_RAT(INT32_MAX, 1), cost = GT_RAT(0, 1);

	for (uint32_t i = 0; i < f->nranks; i++)
		hop_room(f, order[i], order[(i + 1) % f->nranks], &room);
	if (p->max_channels)
		assert_true(gt_rat_div(p->channel_price, room, &cost));
	return cost;
}

/* The cost of the cheapest ring, by every order of the ranks from `at` on. */
static void cheapest(const struct gt_fabric *f, const struct gt_proposal *p,
		     const struct gt_rat *cost, uint32_t *order, uint32_t at,
		     struct gt_rat *best)
{
	uint32_t n = f->nranks;
	struct gt_rat sum;

	for (uint32_t i = at; i < n; i++) {
		uint32_t t = order[at];

		order[at] = order[i];
		order[i] = t;
		cheapest(f, p, cost, order, at + 1, best);
		order[i] = order[at];
		order[at] = t;
	}
	if (at < n)
		return;
	sum = channel_cost(f, p, order);
	for (uint32_t i = 0; i < n; i++)
		assert_true(gt_rat_add(
			sum, cost[order[i] * n + order[(i + 1) % n]], &sum));
	if (gt_rat_cmp(sum, *best) < 0)
		*best = sum;
}

/* By trying all rings: none costs less than 1, and capacities cost bound. */
static void expect_proof(const struct gt_fabric *f, const struct gt_proposal *p)
{
	struct gt_rat cost[64], sum = GT_RAT(0, 1), one;
	struct gt_rat best = GT_RAT(INT32_MAX, 1);
	uint32_t order[8], n = f->nranks;

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t i = 0; i < n * n; i++)
		cost[i] = hop_cost(f, p, i / n, i % n);
	cheapest(f, p, cost, order, 1, &best);
	assert_true(gt_rat_cmp(best, GT_RAT(1, 1)) >= 0);
	for (uint32_t i = 0; i < p->nprices; i++) {
		assert_true(p->prices[i].price.num > 0);
		assert_true(gt_rat_mul(p->prices[i].price,
				       f->links[p->prices[i].link].gbs, &one));
		assert_true(gt_rat_add(sum, one, &sum));
	}
	if (p->max_channels) {
		assert_true(gt_rat_mul(p->channel_price,
				       GT_RAT(p->max_channels, 1), &one));
		assert_true(gt_rat_add(sum, one, &sum));
	}
	assert_int_equal(gt_rat_cmp(sum, p->bound), 0);
}

static void search(const struct gt_fabric *f, struct gt_arena *arena,
		   uint32_t max_channels, struct gt_proposal *p)
{
	struct gt_shape_args args = {
		.fabric = f, .max_channels = max_channels, .arena = arena};
	struct gt_err err;

	gt_err_init(&err);
	if (gt_shape_ring.propose(&args, p, &err))
		fail_msg("%s", err.text);
}

static void test_random_machines(void **state)
{
	struct gt_random c = {1};

	(void)state;
	for (int seed = 0; seed < 300; seed++) {
		struct gt_arena *arena = gt_arena_new();
		uint32_t n = 2 + gt_random(&c, 5);
		struct gt_fabric *f = gt_fabric_random(arena, &c, n);
		struct gt_proposal p;
		struct gt_bound bound;

		search(f, arena, 0, &p);
		expect_fits(f, &p);
		expect_proof(f, &p);
		/* optimal: what the channels carry is what the prices allow */
		assert_int_equal(gt_rat_cmp(p.value, p.bound), 0);
		for (int coll = 0; coll < TEST_NCOLLS; coll++) {
			struct gt_bound_query ask = {f, (enum gt_coll)coll, 0};

			gt_bound_find(&ask, arena, &bound, NULL);
			assert_true(bound.found);
			assert_true(gt_rat_cmp(bound.value, p.value) >= 0);
		}
		gt_arena_free(arena);
	}
}

static void test_few_channels(void **state)
{
	struct gt_random c = {2};
	int proved = 0;

	(void)state;
	for (int seed = 0; seed < 100; seed++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_fabric *f = gt_fabric_random(arena, &c, 6);
		struct gt_proposal all, few;

		search(f, arena, 0, &all);
		search(f, arena, 2, &few);
		assert_in_range(few.nchannels, 1, 2);
		expect_fits(f, &few);
		expect_proof(f, &few);
		assert_true(gt_rat_cmp(few.value, all.value) <= 0);
		assert_true(gt_rat_cmp(few.value, few.bound) <= 0);
		assert_true(gt_rat_cmp(few.bound, all.bound) <= 0);
		proved += !gt_rat_cmp(few.value, few.bound);
		gt_arena_free(arena);
	}
	print_message("%d of 100 proved the best of two rings\n", proved);
}

/* The largest share of all choices of `left` more rings of `order`s. */
struct tried {
	const struct gt_fabric *f;
	struct gt_proposal_channel rings[24];
	uint32_t nrings;
	struct gt_rat load[64], best;
};

static void try_rings(struct tried *t, uint32_t first, uint32_t left)
{
	uint32_t n = t->f->nranks;
	struct gt_rat before[64], one, share = GT_RAT(INT32_MAX, 1);

	for (uint32_t l = 0; !left && l < t->f->nlinks; l++)
		if (t->load[l].num &&
		    gt_rat_div(t->f->links[l].gbs, t->load[l], &one) &&
		    gt_rat_cmp(one, share) < 0)
			share = one;
	if (!left && gt_rat_cmp(share, t->best) > 0)
		t->best = share;
	for (uint32_t i = first; left && i < t->nrings; i++) {
		const uint32_t *o = t->rings[i].order;

		memcpy(before, t->load, sizeof(before));
		for (uint32_t k = 0; k < n; k++)
			for (uint32_t l = 0; l < t->f->nlinks; l++) {
				one = load_of(t->f, o[k], o[(k + 1) % n], l);
				gt_rat_add(t->load[l], one, &t->load[l]);
			}
		try_rings(t, i, left - 1);
		memcpy(t->load, before, sizeof(before));
	}
}

/* Try every order of the ranks from `at` on. */
static void all_rings(struct tried *t, uint32_t *order, uint32_t at,
		      struct gt_arena *arena)
{
	uint32_t n = t->f->nranks;

	for (uint32_t i = at; i < n; i++) {
		uint32_t v = order[at];

		order[at] = order[i];
		order[i] = v;
		all_rings(t, order, at + 1, arena);
		order[i] = order[at];
		order[at] = v;
	}
	if (at < n)
		return;
	t->rings[t->nrings].order = gt_arena_array(arena, n, sizeof(*order));
	memcpy(t->rings[t->nrings++].order, order, n * sizeof(*order));
}

/* Equal channels: as good as the best of all choices of up to three rings. */
static void test_equal_channels(void **state)
{
	struct gt_random c = {7};

	(void)state;
	for (int seed = 0; seed < 60; seed++) {
		struct gt_arena *arena = gt_arena_new();
		uint32_t order[] = {0, 1, 2, 3, 4}, n = 3 + gt_random(&c, 3);
		struct gt_fabric *f = gt_fabric_random(arena, &c, n);
		struct gt_shape_args args = {.fabric = f, .arena = arena};
		struct gt_equal_query ask = {&args, &gt_shape_ring,       1,
					     1,     1 + gt_random(&c, 3), NULL};
		struct gt_rat best = GT_RAT(0, 1), total, most;
		struct tried t = {.f = f};
		struct gt_proposal p;

		all_rings(&t, order, 1, arena);
		for (uint32_t k = 1; k <= ask.max; k++) {
			t.best = GT_RAT(0, 1);
			for (uint32_t l = 0; l < 64; l++)
				t.load[l] = GT_RAT(0, 1);
			try_rings(&t, 0, k);
			gt_rat_mul(t.best, GT_RAT(k, 1), &total);
			if (gt_rat_cmp(total, best) > 0)
				best = total;
		}
		search(f, arena, 0, &p);
		assert_int_equal(gt_equal_shares(&ask, &p, &most, NULL), GT_OK);
		expect_fits(f, &p);
		assert_in_range(p.nchannels, 1, ask.max);
		assert_int_equal(gt_rat_cmp(p.value, best), 0);
		assert_int_equal(gt_rat_cmp(most, best), 0);
		gt_arena_free(arena);
	}
}

/*
 * Rates whose shares 64 bits do not hold: rounded, they still fit and come
 * close; what cannot be proved in 64 bits is not claimed.
 */
static void test_fine_rates(void **state)
{
	struct gt_random c = {6};

	(void)state;
	for (int seed = 0; seed < 50; seed++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_fabric *f = gt_fabric_random(arena, &c, 5);
		struct gt_proposal p;

		for (uint32_t i = 0; i < f->nlinks; i++) {
			int64_t den = 1 + gt_random(&c, 2000);

			f->links[i].gbs.num *= 2000;
			assert_true(gt_rat_make(f->links[i].gbs.num - 1, den,
						&f->links[i].gbs));
		}
		search(f, arena, 0, &p);
		expect_fits(f, &p);
		if (p.has_bound) {
			assert_true(gt_rat_cmp(p.value, p.bound) <= 0);
			assert_true(gt_rat_double(p.bound) <=
				    gt_rat_double(p.value) * (1 + 1e-9));
		}
		gt_arena_free(arena);
	}
}

static void test_same_again(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_random c = {3};
	struct gt_fabric *f = gt_fabric_random(arena, &c, 6);
	struct gt_proposal a, b;

	(void)state;
	search(f, arena, 0, &a);
	search(f, arena, 0, &b);
	assert_int_equal(a.nchannels, b.nchannels);
	for (uint32_t i = 0; i < a.nchannels; i++) {
		assert_int_equal(
			gt_rat_cmp(a.channels[i].gbs, b.channels[i].gbs), 0);
		assert_memory_equal(a.channels[i].order, b.channels[i].order,
				    6 * sizeof(uint32_t));
	}
	gt_arena_free(arena);
}

/* n ranks on one switch, all links alike. */
static struct gt_fabric *star(struct gt_arena *arena, uint32_t n)
{
	struct gt_fabric *f = gt_fabric_bare(arena, n, 1);

	for (uint32_t i = 0; i < n; i++)
		gt_fabric_both(f, i, n, GT_RAT(1854, 5));
	for (uint32_t i = 0; i < n * n; i++) {
		uint32_t route[2] = {2 * (i / n), 2 * (i % n) + 1};

		if (i / n != i % n)
			gt_fabric_route(f, arena, i / n, i % n, route, 2);
	}
	return f;
}

static void test_stars(void **state)
{
	static const uint32_t sizes[] = {2, 3, 8, 16, 17, 72};

	(void)state;
	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_fabric *f = star(arena, sizes[i]);
		struct gt_proposal p;

		search(f, arena, 0, &p);
		assert_int_equal(p.nchannels, 1);
		assert_int_equal(gt_rat_cmp(p.value, GT_RAT(1854, 5)), 0);
		assert_int_equal(gt_rat_cmp(p.bound, p.value), 0);
		for (uint32_t k = 0; k < sizes[i]; k++)
			assert_int_equal(p.channels[0].order[k], k);
		gt_arena_free(arena);
	}
}

/* Two switches of ten, a thin link between: too many ranks to try all rings,
 * but a spanning tree from one side to the other proves the best. */
static void test_islands(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_fabric *f = gt_fabric_bare(arena, 20, 2);
	struct gt_proposal p;

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		gt_fabric_both(f, i, 20 + i / 10, GT_RAT(24, 1));
	gt_fabric_both(f, 20, 21, GT_RAT(10, 1));
	for (uint32_t i = 0; i < 400; i++) {
		uint32_t a = i / 20, b = i % 20, len = 0, route[3];

		route[len++] = 2 * a;
		if (a / 10 != b / 10)
			route[len++] = 40 + a / 10;
		route[len++] = 2 * b + 1;
		if (a != b)
			gt_fabric_route(f, arena, a, b, route, len);
	}
	search(f, arena, 0, &p);
	expect_fits(f, &p);
	assert_int_equal(gt_rat_cmp(p.value, GT_RAT(10, 1)), 0);
	assert_int_equal(gt_rat_cmp(p.bound, p.value), 0);
	gt_arena_free(arena);
}

static void test_one_rank(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_proposal p;

	(void)state;
	search(gt_fabric_bare(arena, 1, 0), arena, 0, &p);
	assert_int_equal(p.nchannels, 1);
	assert_int_equal(p.value.num, 0);
	gt_arena_free(arena);
}

static void test_no_ring(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_fabric *f = gt_fabric_bare(arena, 3, 0);
	struct gt_shape_args args = {.fabric = f, .arena = arena};
	struct gt_proposal p;
	struct gt_err err;
	uint32_t link = gt_fabric_link(f, 0, 1, GT_RAT(1, 1));

	(void)state;
	gt_fabric_route(f, arena, 0, 1, &link, 1);
	gt_err_init(&err);
	assert_int_equal(gt_shape_ring.propose(&args, &p, &err), GT_ENO);
	assert_string_equal(err.text, "no ring joins all 3 GPUs: there are no "
				      "routes for one");
	gt_arena_free(arena);
}

/* Every ring of the pricer costs what it says, and none is cheaper. */
static void test_pricer(void **state)
{
	struct gt_random c = {4};
	int64_t w[36], best;
	uint32_t order[6];

	(void)state;
	for (int seed = 0; seed < 200; seed++) {
		uint32_t n = 2 + gt_random(&c, 5);
		struct gt_pricer *pricer = gt_pricer_new(n, NULL, 0);
		int64_t least = INT64_MAX;

		for (uint32_t i = 0; i < n * n; i++)
			w[i] = gt_random(&c, 100);
		gt_pricer_run(pricer, w);
		best = gt_pricer_bound(pricer, w);
		for (uint32_t i = 0; i < gt_pricer_nrings(pricer); i++) {
			int64_t cost = gt_pricer_ring(pricer, i, order),
				sum = 0;
			uint32_t seen = 0;

			for (uint32_t k = 0; k < n; k++) {
				sum += w[order[k] * n + order[(k + 1) % n]];
				seen |= 1u << order[k];
			}
			assert_int_equal(seen, (1u << n) - 1);
			assert_int_equal(sum, cost);
			least = cost < least ? cost : least;
		}
		assert_int_equal(least, best);
		gt_pricer_free(pricer);
	}
}

/* Try every choice of one arc into each node but the root. */
static int64_t least_tree(const int64_t *w, uint32_t n, uint32_t *into,
			  uint32_t v)
{
	int64_t best = INT64_MAX, sum = 0;

	if (v < n) {
		for (into[v] = 0; into[v] < n; into[v]++) {
			sum = least_tree(w, n, into, v + 1);
			best = sum < best ? sum : best;
		}
		return best;
	}
	for (v = 1; v < n; v++) {
		uint32_t up = v, steps = 0;

		while (up && steps++ < n)
			up = into[up];
		if (up)
			return INT64_MAX;
		sum += w[into[v] * n + v];
	}
	return sum;
}

static void test_arborescence(void **state)
{
	struct gt_random c = {5};
	uint32_t into[5];
	int64_t w[25];

	(void)state;
	for (int seed = 0; seed < 300; seed++) {
		uint32_t n = 2 + gt_random(&c, 4);

		for (uint32_t i = 0; i < n * n; i++)
			w[i] = gt_random(&c, 30);
		assert_int_equal(gt_arborescence(n, w, 0, NULL),
				 least_tree(w, n, into, 1));
	}
}

static void test_systems(void **state)
{
	struct gt_bareiss system;
	mpq_t x[2];

	(void)state;
	mpq_inits(x[0], x[1], NULL);
	for (int singular = 0; singular < 2; singular++) {
		assert_int_equal(gt_bareiss_init(&system, 2), GT_OK);
		/* y = 3, 2x + y = 4; or twice the first */
		mpz_set_ui(gt_bareiss_at(&system, 0, 1), 1);
		mpz_set_ui(gt_bareiss_at(&system, 0, 2), 3);
		mpz_set_ui(gt_bareiss_at(&system, 1, 0), singular ? 0 : 2);
		mpz_set_ui(gt_bareiss_at(&system, 1, 1), 1);
		mpz_set_ui(gt_bareiss_at(&system, 1, 2), 4);
		assert_int_equal(gt_bareiss_solve(&system, x), !singular);
		gt_bareiss_release(&system);
	}
	assert_int_equal(mpq_cmp_si(x[0], 1, 2), 0);
	assert_int_equal(mpq_cmp_si(x[1], 3, 1), 0);
	mpq_clears(x[0], x[1], NULL);
}

enum { SYSTEM = 7 };

/* Put what is found into the equations, of which many numbers are 0. */
static void test_random_systems(void **state)
{
	struct gt_random c = {11};
	uint32_t regular = 0;
	mpq_t x[SYSTEM], sum, one;

	(void)state;
	mpq_inits(sum, one, NULL);
	for (uint32_t i = 0; i < SYSTEM; i++)
		mpq_init(x[i]);
	for (int seed = 0; seed < 500; seed++) {
		int a[SYSTEM][SYSTEM + 1];
		uint32_t n = 1 + gt_random(&c, SYSTEM);
		struct gt_bareiss system;

		assert_int_equal(gt_bareiss_init(&system, n), GT_OK);
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t j = 0; j <= n; j++) {
				a[i][j] = (int)gt_random(&c, 2) *
					  ((int)gt_random(&c, 9) - 4);
				mpz_set_si(gt_bareiss_at(&system, i, j),
					   a[i][j]);
			}
		if (gt_bareiss_solve(&system, x)) {
			regular++;
			for (uint32_t i = 0; i < n; i++) {
				mpq_set_si(sum, -a[i][n], 1);
				for (uint32_t j = 0; j < n; j++) {
					mpq_set_si(one, a[i][j], 1);
					mpq_mul(one, one, x[j]);
					mpq_add(sum, sum, one);
				}
				assert_int_equal(mpq_sgn(sum), 0);
			}
		}
		gt_bareiss_release(&system);
	}
	assert_in_range(regular, 200, 499);
	for (uint32_t i = 0; i < SYSTEM; i++)
		mpq_clear(x[i]);
	mpq_clears(sum, one, NULL);
}

enum { FACE_ROWS = 5, FACE_COLUMNS = 7 };

/* The same program, made at random, for both. */
static struct gt_lp *random_program(struct gt_random *c, struct gt_face *face)
{
	double upper[FACE_ROWS];
	int32_t entries[FACE_COLUMNS][FACE_ROWS];
	struct gt_lp *lp;

	assert_true(gt_dictionary_init(face, FACE_ROWS, FACE_COLUMNS));
	for (uint32_t r = 0; r < FACE_ROWS; r++)
		face->value[r] = upper[r] = 1 + gt_random(c, 4);
	lp = gt_lp_new(FACE_ROWS, upper);
	for (uint32_t i = 0; i < FACE_COLUMNS; i++) {
		for (uint32_t r = 0; r < FACE_ROWS; r++)
			gt_dictionary_row(face, r)[i] = entries[i][r] =
				(int32_t)gt_random(c, 3);
		entries[i][i % FACE_ROWS] = 1;
		gt_dictionary_row(face, i % FACE_ROWS)[i] = 1;
		gt_lp_add(lp, 0, entries[i]);
	}
	return lp;
}

/* The value that the program reaches with these gains. */
static double reached(struct gt_lp *lp, const double *gains)
{
	double sum = 0;

	gt_lp_set_gains(lp, gains);
	assert_int_equal(gt_lp_solve(lp), GT_OK);
	for (uint32_t i = 0; i < FACE_COLUMNS; i++)
		sum += gains[i] * gt_lp_values(lp)[i];
	return sum;
}

/* The largest value on a face, also once that is fixed, is that of CLP. */
static void test_face(void **state)
{
	struct gt_random c = {7};

	(void)state;
	for (int seed = 0; seed < 200; seed++) {
		double gains[FACE_COLUMNS], sum = 0, only, most;
		struct gt_face face;
		struct gt_lp *lp = random_program(&c, &face);

		for (uint32_t i = 0; i < FACE_COLUMNS; i++)
			gains[i] = gt_random(&c, 9);
		gt_dictionary_maximize(&face, gains);
		for (uint32_t i = 0; i < face.nrows; i++)
			if (face.basic[i] < FACE_COLUMNS)
				sum += gains[face.basic[i]] * face.value[i];
		assert_true(fabs(sum - reached(lp, gains)) < 1e-6);
		for (uint32_t i = 0; i < face.nrows;) {
			uint32_t column = face.basic[i];

			if (column >= FACE_COLUMNS) {
				i++;
				continue;
			}
			memset(gains, 0, sizeof(gains));
			gains[column] = 1;
			most = reached(lp, gains);
			only = gt_dictionary_fix_at_max(&face, i);
			assert_true(fabs(only - most) < 1e-6);
			gt_lp_set_bounds(lp, column, fmax(only - 1e-9, 0),
					 HUGE_VAL);
			i = 0;
		}
		gt_lp_free(lp);
		gt_dictionary_release(&face);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_systems),
		cmocka_unit_test(test_random_systems),
		cmocka_unit_test(test_face),
		cmocka_unit_test(test_pricer),
		cmocka_unit_test(test_random_machines),
		cmocka_unit_test(test_few_channels),
		cmocka_unit_test(test_equal_channels),
		cmocka_unit_test(test_fine_rates),
		cmocka_unit_test(test_same_again),
		cmocka_unit_test(test_stars),
		cmocka_unit_test(test_islands),
		cmocka_unit_test(test_arborescence),
		cmocka_unit_test(test_one_rank),
		cmocka_unit_test(test_no_ring),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
