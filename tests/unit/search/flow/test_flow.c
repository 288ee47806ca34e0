/*
 * Flows: what only moves, at one rate for all pairs.  Against a linear program
 * that is put differently (flows of each sender over hops, no paths), and
 * against what is known.
 */
#include "unit/test.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "plan/ir/demand.h"
#include "plan/ir/plan.h"
#include "search/lp/lp.h"
#include "search/problem/shape.h"
#include "unit/search/known_bounds.h"

static const enum gt_coll colls[] = {GT_COLL_ALLTOALL, GT_COLL_GATHER,
				     GT_COLL_SCATTER, GT_COLL_SENDRECV};

enum { NCOLLS = sizeof(colls) / sizeof(colls[0]), ALL_CHANNELS = 1000 };

static void search(const struct gt_shape_args *args, struct gt_proposal *p)
{
	struct gt_err err;

	gt_err_init(&err);
	if (gt_shape_flow.propose(args, p, &err))
		fail_msg("%s", err.text);
}

/* What a rank has for another one, of most() that some pair has. */
static int pairs(const struct gt_shape_args *args, uint32_t from, uint32_t to)
{
	if (args->demand)
		return (int)
			args->demand->units[from * args->fabric->nranks + to];
	return gt_coll_has_pair(args->coll, args->fabric->nranks, args->root,
				from, to);
}

static int64_t most(const struct gt_shape_args *args)
{
	return args->demand ? args->demand->most : 1;
}

/* All pairs have a way, over routes from rank to rank. */
static void expect_channel(const struct gt_shape_args *args,
			   const struct gt_proposal_channel *c,
			   struct gt_rat *load)
{
	const struct gt_fabric *f = args->fabric;
	uint32_t n = f->nranks;
	unsigned char *met = calloc((size_t)n * n, 1);

	for (uint32_t i = 0; i < c->npaths; i++) {
		const struct gt_proposal_path *path = &c->paths[i];
		uint32_t from = path->ranks[0], to = path->ranks[path->nhops];
		struct gt_rat gbs = GT_RAT(pairs(args, from, to), most(args));

		assert_true(gt_rat_mul(c->gbs, gbs, &gbs));
		met[from * n + to]++;
		for (uint32_t k = 0; k < path->nhops; k++) {
			expect_route(f, path->routes[k], path->ranks[k],
				     path->ranks[k + 1]);
			add_load(f, path->routes[k], gbs, load);
		}
	}
	for (uint32_t i = 0; i < n * n; i++)
		assert_int_equal(met[i], pairs(args, i / n, i % n) > 0);
	free(met);
}

static void expect_fits(const struct gt_shape_args *args,
			const struct gt_proposal *p)
{
	const struct gt_fabric *f = args->fabric;
	struct gt_rat *load = calloc(f->nlinks, sizeof(*load));
	struct gt_rat all = GT_RAT(0, 1);

	for (uint32_t i = 0; i < f->nlinks; i++)
		load[i] = GT_RAT(0, 1);
	for (uint32_t i = 0; i < p->nchannels; i++) {
		assert_true(p->channels[i].gbs.num > 0);
		assert_true(gt_rat_add(all, p->channels[i].gbs, &all));
		expect_channel(args, &p->channels[i], load);
	}
	for (uint32_t i = 0; i < f->nlinks; i++)
		assert_true(gt_rat_cmp(load[i], f->links[i].gbs) <= 0);
	expect_equal(all, p->value);
	free(load);
}

/*
 * What flows go over: an open fabric's links, or hops between ranks along the
 * fixed routes.
 */
struct hop {
	uint32_t from, to;
	const struct gt_fabric_route *route; /* NULL: the link alone */
	uint32_t link;
};

static uint32_t list_hops(const struct gt_fabric *f, struct hop *hops)
{
	uint32_t n = 0;

	for (uint32_t i = 0; f->open && i < f->nlinks; i++)
		hops[n++] = (struct hop){.from = f->links[i].from,
					 .to = f->links[i].to,
					 .link = i};
	for (uint32_t i = 0; !f->open && i < f->nranks * f->nranks; i++)
		if (f->routes[i].nlinks)
			hops[n++] = (struct hop){.from = i / f->nranks,
						 .to = i % f->nranks,
						 .route = &f->routes[i]};
	return n;
}

/* Charges are 6/5 at most, so fifths are whole. */
enum { FIFTHS = 5 };

static void load_hop(const struct gt_fabric *f, const struct hop *hop,
		     int32_t *entries)
{
	if (!hop->route)
		entries[hop->link] = FIFTHS;
	for (uint32_t k = 0; hop->route && k < hop->route->nlinks; k++) {
		uint32_t link = hop->route->links[k];

		entries[link] +=
			f->links[link].charged
				? (int32_t)(FIFTHS * hop->route->charge.num /
					    hop->route->charge.den)
				: FIFTHS;
	}
}

/* At a node there comes out of a sender's flow what is for it, or more. */
static void add_flows(const struct gt_fabric *f, const struct hop *hops,
		      uint32_t nhops, struct gt_lp *lp, int32_t *entries)
{
	uint32_t nodes = f->open ? f->nnodes : f->nranks;

	for (uint32_t s = 0; s < f->nranks; s++)
		for (uint32_t i = 0; i < nhops; i++) {
			int32_t *at = entries + f->nlinks + s * nodes;

			memset(entries, 0,
			       (f->nlinks + f->nranks * nodes) *
				       sizeof(*entries));
			load_hop(f, &hops[i], entries);
			at[hops[i].from] = hops[i].from != s;
			at[hops[i].to] = -(hops[i].to != s);
			gt_lp_add(lp, 0, entries);
		}
}

static double best_rate(const struct gt_shape_args *args)
{
	const struct gt_fabric *f = args->fabric;
	uint32_t nodes = f->open ? f->nnodes : f->nranks, nhops;
	uint32_t nrows = f->nlinks + f->nranks * nodes;
	struct hop *hops =
		calloc(f->nlinks + f->nranks * f->nranks, sizeof(*hops));
	double *upper = calloc(nrows, sizeof(*upper)), best;
	int32_t *entries = calloc(nrows, sizeof(*entries));
	struct gt_lp *lp;

	for (uint32_t i = 0; i < f->nlinks; i++)
		upper[i] = FIFTHS * gt_rat_double(f->links[i].gbs);
	lp = gt_lp_new(nrows, upper);
	for (uint32_t i = 0; i < f->nranks * f->nranks; i++)
		entries[f->nlinks + i / f->nranks * nodes + i % f->nranks] =
			pairs(args, i / f->nranks, i % f->nranks);
	gt_lp_add(lp, 1, entries);
	nhops = list_hops(f, hops);
	add_flows(f, hops, nhops, lp, entries);
	assert_int_equal(gt_lp_solve(lp), 0);
	best = gt_lp_values(lp)[0] * (double)most(args);
	gt_lp_free(lp);
	free(hops);
	free(upper);
	free(entries);
	return best;
}

/* What the prices make of a hop. */
static double cost(const struct gt_fabric *f, const struct hop *hop,
		   const double *price)
{
	double sum = hop->route ? 0 : price[hop->link];

	for (uint32_t k = 0; hop->route && k < hop->route->nlinks; k++) {
		uint32_t link = hop->route->links[k];

		sum += price[link] *
		       (f->links[link].charged
				? gt_rat_double(hop->route->charge)
				: 1);
	}
	return sum;
}

/* Lengths are worth the bound, and all pairs are 1 apart together. */
static void expect_lengths(const struct gt_shape_args *args,
			   const struct gt_proposal *p)
{
	const struct gt_fabric *f = args->fabric;
	uint32_t n = f->open ? f->nnodes : f->nranks, nhops;
	struct hop *hops =
		calloc(f->nlinks + f->nranks * f->nranks, sizeof(*hops));
	double *price = calloc(f->nlinks, sizeof(*price));
	double *far = calloc((size_t)n * n, sizeof(*far));
	double worth = 0, sum = 0;

	for (uint32_t i = 0; i < p->nprices; i++) {
		uint32_t link = p->prices[i].link;

		price[link] = gt_rat_double(p->prices[i].price);
		worth += price[link] * gt_rat_double(f->links[link].gbs);
	}
	for (uint32_t i = 0; i < n * n; i++)
		far[i] = i / n == i % n ? 0 : HUGE_VAL;
	nhops = list_hops(f, hops);
	for (uint32_t i = 0; i < nhops; i++) {
		double *at = &far[hops[i].from * n + hops[i].to];

		if ((!hops[i].route && f->links[hops[i].link].gbs.num) ||
		    hops[i].route)
			*at = fmin(*at, cost(f, &hops[i], price));
	}
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < n * n; i++)
			far[i] = fmin(far[i],
				      far[i / n * n + k] + far[k * n + i % n]);
	for (uint32_t i = 0; i < f->nranks * f->nranks; i++)
		if (pairs(args, i / f->nranks, i % f->nranks))
			sum += far[i / f->nranks * n + i % f->nranks] *
			       pairs(args, i / f->nranks, i % f->nranks) /
			       (double)most(args);
	assert_true(sum > 1 - 1e-9);
	assert_true(worth < gt_rat_double(p->bound) * (1 + 1e-9));
	free(hops);
	free(price);
	free(far);
}

/*
 * The best rate, reached and proved; a limit of channels costs, but not more.
 */
static void expect_best(struct gt_shape_args *args)
{
	struct gt_proposal p, few;
	double best = best_rate(args);

	args->max_channels = ALL_CHANNELS;
	search(args, &p);
	expect_fits(args, &p);
	assert_true(p.has_bound);
	expect_equal(p.value, p.bound);
	expect_lengths(args, &p);
	assert_true(fabs(gt_rat_double(p.value) / best - 1) < 1e-7);
	args->max_channels = 1;
	search(args, &few);
	expect_fits(args, &few);
	assert_int_equal(few.nchannels, 1);
	assert_true(gt_rat_cmp(few.value, p.value) <= 0);
	expect_equal(few.bound, p.bound);
	if (p.nchannels == 1)
		expect_equal(few.value, p.value);
}

static void test_fixed_routes(void **state)
{
	(void)state;
	fabrics_each(&(struct fabrics){random_fabric, 5, 60, colls, NCOLLS},
		     expect_best);
}

static void test_open_routes(void **state)
{
	(void)state;
	fabrics_each(
		&(struct fabrics){random_open_fabric, 17, 60, colls, NCOLLS},
		expect_best);
}

/* Some pairs have nothing, some much; small numbers or large ones. */
static const struct gt_plan_demand *random_demand(const struct gt_fabric *f,
						  struct gt_random *c,
						  struct gt_arena *arena)
{
	uint32_t n = f->nranks, largest = gt_random(c, 2) ? 9 : 20000;
	uint64_t *bytes = gt_arena_array(arena, n * n, sizeof(*bytes));
	struct gt_plan_demand *demand;

	for (uint32_t i = 0; i < n * n; i++)
		if (gt_random(c, 4))
			bytes[i] = 512 * gt_random(c, largest);
	bytes[1] += 512;
	assert_int_equal(gt_demand_new(n, bytes, arena, &demand, NULL), GT_OK);
	return demand;
}

/* Reached and proved, but for rounding: prices have 64 bits. */
static void expect_demand(struct gt_shape_args *args)
{
	static struct gt_random c = {41};
	struct gt_proposal p;
	double best;

	args->demand = random_demand(args->fabric, &c, args->arena);
	args->max_channels = ALL_CHANNELS;
	best = best_rate(args);
	search(args, &p);
	expect_fits(args, &p);
	assert_true(p.has_bound);
	expect_lengths(args, &p);
	assert_true(fabs(gt_rat_double(p.value) / best - 1) < 1e-6);
	assert_true(fabs(gt_rat_double(p.bound) / best - 1) < 1e-6);
}

static const enum gt_coll alltoall[] = {GT_COLL_ALLTOALL};

static void test_demands(void **state)
{
	(void)state;
	fabrics_each(&(struct fabrics){random_fabric, 23, 60, alltoall, 1},
		     expect_demand);
	fabrics_each(&(struct fabrics){random_open_fabric, 29, 40, alltoall, 1},
		     expect_demand);
}

/* What is the same for all is an all-to-all, exactly. */
static void expect_alike(struct gt_shape_args *args)
{
	uint32_t n = args->fabric->nranks;
	uint64_t *bytes = gt_arena_array(args->arena, n * n, sizeof(*bytes));
	struct gt_plan_demand *demand;
	struct gt_proposal with, without;

	for (uint32_t i = 0; i < n * n; i++)
		bytes[i] = 4096;
	assert_int_equal(gt_demand_new(n, bytes, args->arena, &demand, NULL),
			 GT_OK);
	search(args, &without);
	args->demand = demand;
	search(args, &with);
	expect_fits(args, &with);
	expect_equal(with.value, without.value);
	expect_equal(with.bound, without.bound);
}

static void test_demand_of_one_size(void **state)
{
	(void)state;
	fabrics_each(&(struct fabrics){random_fabric, 31, 30, alltoall, 1},
		     expect_alike);
}

/* Bytes of the result over time: n blocks at a pair's rate. */
static void expect_row(const struct gt_fabric *f, struct gt_arena *arena,
		       enum gt_coll coll, const char *want)
{
	struct gt_shape_args args = {.fabric = f, .coll = coll, .arena = arena};
	char text[GT_RAT_TEXT_MAX];
	int64_t begin = gt_clock_ns();
	struct gt_proposal p;
	struct gt_rat all;

	if (!gt_coll_only_moves(coll))
		return;
	search(&args, &p);
	expect_fits(&args, &p);
	print_message("%s: %u channels, %u columns in %u rounds, %.1f ms\n",
		      gt_coll_name(coll), p.nchannels, p.ncolumns, p.nrounds,
		      (double)(gt_clock_ns() - begin) / 1e6);
	assert_int_equal(p.class_, GT_PROOF_ANY);
	assert_true(gt_rat_mul(p.bound, GT_RAT(f->nranks, 1), &all));
	assert_string_equal(gt_rat_print(all, text), want);
	expect_equal(p.value, p.bound);
	expect_lengths(&args, &p);
}

static void test_known(void **state)
{
	(void)state;
	bounds_each(expect_row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_routes),
		cmocka_unit_test(test_open_routes),
		cmocka_unit_test(test_demands),
		cmocka_unit_test(test_demand_of_one_size),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
