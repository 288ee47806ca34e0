/*
 * All-to-all as layers of experts make it: how often an expert is asked for
 * follows Zipf's law, for all ranks alike or for each in its own order.  Plans
 * reach their bound nearly, and carry the bytes in no more time, by what links
 * carry, than when each rank sends straight to each other.
 *
 * GTOPO_TEST_SKEW=1000 tries so many matrices and prints what they reach.
 */
#include "unit/test.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/demand.h"
#include "plan/ir/plan.h"
#include "search/problem/request.h"
#include "search/search.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"
#include "unit/search/experts.h"
#include "unit/search/known_bounds.h"

static const char *const machines[] = {"dgx-h100", "dgx-1v", "mi250x",
				       "pcie-8gpu", "h200-vm-4"};

enum {
	NMACHINES = sizeof(machines) / sizeof(*machines),
	MATRICES = 50,
	MOST_MATRICES = 10000
};

struct machine {
	struct gt_arena *arena;
	struct gt_topo *topo;
	struct gt_paths *paths;
	struct gt_search_request request;
	uint32_t gpus[64];
};

static void open_machine(struct machine *m, const char *name)
{
	char path[4096], file[64];
	struct gt_err err;

	gt_err_init(&err);
	snprintf(file, sizeof(file), "share/xml/%s.xml", name);
	gt_test_path(path, file);
	m->arena = gt_arena_new();
	assert_non_null(m->arena);
	if (gt_topo_read(path, GT_RATES_NCCL, &m->topo, &err) ||
	    gt_paths_new(m->topo, &m->paths, &err))
		fail_msg("%s", err.text);
	m->request =
		(struct gt_search_request){.topo = m->topo,
					   .paths = m->paths,
					   .rates = GT_RATES_NCCL,
					   .coll = GT_COLL_ALLTOALL,
					   .nranks = gt_topo_ngpus(m->topo),
					   .gpus = m->gpus};
	for (uint32_t i = 0; i < m->request.nranks; i++)
		m->gpus[i] = gt_topo_gpu(m->topo, i);
}

static void close_machine(struct machine *m)
{
	gt_paths_free(m->paths);
	gt_topo_free(m->topo);
	gt_arena_free(m->arena);
}

/* What each rank has for each other one's experts. */
static const struct gt_plan_demand *draw_demand(struct gt_random *c, uint32_t n,
						struct gt_arena *arena)
{
	uint64_t *bytes = draw_experts(c, n, arena);
	struct gt_plan_demand *demand;

	gt_demand_round(n, bytes);
	assert_int_equal(gt_demand_new(n, bytes, arena, &demand, NULL), GT_OK);
	return demand;
}

/* The rate of the largest block where all go straight to where they belong. */
static double direct_rate(const struct machine *m, struct gt_fabric *f)
{
	const struct gt_plan_demand *demand = m->request.demand;
	double *load = calloc(f->nlinks, sizeof(*load)), most = 0;
	uint32_t n = f->nranks;

	assert_non_null(load);
	for (uint32_t i = 0; i < n * n; i++) {
		const struct gt_fabric_route *route = &f->routes[i];

		for (uint32_t k = 0; k < route->nlinks; k++) {
			uint32_t link = route->links[k];
			double charge = f->links[link].charged
						? gt_rat_double(route->charge)
						: 1;

			load[link] += charge * demand->units[i] / demand->most;
		}
	}
	for (uint32_t i = 0; i < f->nlinks; i++)
		most = fmax(most, load[i] / gt_rat_double(f->links[i].gbs));
	free(load);
	return 1 / most;
}

struct outcome {
	double reached, gain, ms;
};

static void try_matrix(struct machine *m, struct gt_random *c,
		       struct outcome *out)
{
	struct gt_search_stats stats;
	struct gt_plan_report report;
	struct gt_fabric *fabric = NULL;
	struct gt_plan *plan;
	struct gt_err err;
	int64_t begin;

	gt_err_init(&err);
	m->request.demand = draw_demand(c, m->request.nranks, m->arena);
	begin = gt_clock_ns();
	if (gt_search(&m->request, "auto", &plan, &stats, &err) ||
	    gt_search_request_fabric(&m->request, m->arena, &fabric, &err))
		fail_msg("%s", err.text);
	out->ms = (double)(gt_clock_ns() - begin) / 1e6;
	if (gt_plan_check_report(plan, &report, &err))
		fail_msg("%s: %s", err.where, err.text);
	assert_int_equal(report.bound, GT_BOUND_PROVEN);
	out->reached = gt_rat_double(plan->proof.value) /
		       gt_rat_double(plan->proof.bound);
	out->gain = gt_rat_double(plan->proof.value) / direct_rate(m, fabric);
	gt_plan_free(plan);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(double *values, uint32_t n, double at)
{
	qsort(values, n, sizeof(*values), compare);
	return values[(uint32_t)((n - 1) * at)];
}

static void try_machine(const char *name, uint32_t n)
{
	static double reached[MOST_MATRICES], gain[MOST_MATRICES],
		ms[MOST_MATRICES];
	struct gt_random c = {.state = 7};
	struct outcome out;
	struct machine m;

	for (uint32_t i = 0; i < n; i++) {
		open_machine(&m, name);
		try_matrix(&m, &c, &out);
		close_machine(&m);
		assert_true(out.reached >= 0.95 && out.reached < 1 + 1e-9);
		assert_true(out.gain >= 0.98);
		reached[i] = out.reached;
		gain[i] = out.gain;
		ms[i] = out.ms;
	}
	print_message("%s: %u matrices, value over bound at least %.4f, median "
		      "%.4f; over direct sends %.3f, %.3f, at most %.3f; "
		      "planned in %.2f ms, at most %.2f\n",
		      name, n, quantile(reached, n, 0),
		      quantile(reached, n, 0.5), quantile(gain, n, 0),
		      quantile(gain, n, 0.5), quantile(gain, n, 1),
		      quantile(ms, n, 0.5), quantile(ms, n, 1));
	assert_true(quantile(reached, n, 0.5) >= 0.99);
}

static void test_skew(void **state)
{
	const char *asked = getenv("GTOPO_TEST_SKEW");
	uint32_t n = asked                ? (uint32_t)atoi(asked)
		     : gt_test_is_brief() ? NMACHINES
					  : MATRICES;

	(void)state;
	assert_true(n >= NMACHINES && n <= MOST_MATRICES);
	for (uint32_t i = 0; i < NMACHINES; i++)
		try_machine(machines[i], n / NMACHINES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_skew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
