/*
 * All-to-alls where no switch joins GPUs, planned at once: of random demands
 * the schedule is right by the check's own count, near the bound that the
 * search for flows proves, and never slower than direct sends; its own bound is
 * one.
 *
 * GTOPO_TEST_MESHED=1000 tries so many matrices a machine, and prints how long
 * it takes to plan them.
 */
#include "unit/test.h"

#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/file.h"
#include "plan/ir/demand.h"
#include "plan/ir/plan.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"
#include "search/problem/request.h"
#include "search/rails/meshed.h"
#include "search/rails/rails.h"
#include "search/search.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"
#include "unit/search/experts.h"

enum { MATRICES = 24, MOST_MATRICES = 10000, SEARCHED = 3 };

/*
 * How much longer a schedule may take than its bound, which is that of its
 * moves; and than the least that the search finds, also by more ranks.
 */
static const double over_bound = 2, over_search = 1.05;

struct kind {
	const char *node, *nets;
	uint32_t count;
	int refused;
};

static const struct kind kinds[] = {
	{"dgx-1v", NULL, 1, 0},
	{"mi250x", NULL, 1, 0},
	{"mi300x", NULL, 1, 0},
	{"dgx-1v", "0-3", 2, 0},
	{"mi250x", "0-3", 2, 0},
	{"pcie-8gpu", "0-1", 2, 0},
	/* A switch gives nobody more than the straight way has. */
	{"dgx-h100", NULL, 1, 1},
	/* More ranks than are looked at. */
	{"dgx-1v", "0-3", 4, 1},
};

enum { NKINDS = sizeof(kinds) / sizeof(*kinds) };

struct machine {
	struct gt_arena *arena;
	struct gt_cluster *cluster;
	struct gt_topo *topo;
	struct gt_paths *paths;
	struct gt_flat_cluster *flat;
	struct gt_search_request request;
	uint32_t gpus[64];
	struct gt_fabric *fabric;
	struct gt_rails *rails;
	struct gt_rails_schedule *schedule;
};

static void read_node(struct machine *m, const char *file)
{
	struct gt_err err;

	gt_err_init(&err);
	if (gt_topo_read(file, GT_RATES_NCCL, &m->topo, &err) ||
	    gt_paths_new(m->topo, &m->paths, &err))
		fail_msg("%s", err.text);
	m->request.topo = m->topo;
	m->request.paths = m->paths;
	m->request.nranks = gt_topo_ngpus(m->topo);
	m->request.gpus = m->gpus;
	for (uint32_t i = 0; i < m->request.nranks; i++)
		m->gpus[i] = gt_topo_gpu(m->topo, i);
	if (gt_search_request_fabric(&m->request, m->arena, &m->fabric, &err))
		fail_msg("%s", err.text);
}

static void read_cluster(struct machine *m, const char *file,
			 const struct kind *kind)
{
	char path[] = "/tmp/test_meshed.XXXXXX", text[8192], cwd[4096] = "";
	int fd = mkstemp(path);
	struct gt_err err;

	gt_err_init(&err);
	assert_true(fd >= 0);
	close(fd);
	if (*file != '/')
		assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(text, sizeof(text),
		 "<cluster version=\"1\"><node file=\"%s%s%.2048s\" "
		 "count=\"%u\" nets=\"%s\"/><fabric><level rail=\"each\"/>"
		 "</fabric></cluster>\n",
		 cwd, *cwd ? "/" : "", file, kind->count, kind->nets);
	if (gt_file_write(path, text, strlen(text), &err) ||
	    gt_cluster_read(path, GT_RATES_NCCL, &m->cluster, &m->topo, &err) ||
	    gt_paths_new(m->cluster->kinds[0].topo, &m->paths, &err) ||
	    gt_flat_new(m->cluster, &m->paths, NULL, m->arena, &m->flat, &err))
		fail_msg("%s", err.text);
	unlink(path);
	m->fabric = &m->flat->fabric;
	m->request.flat = m->flat;
	m->request.nranks = m->fabric->nranks;
}

static void open_machine(struct machine *m, const struct kind *kind)
{
	char path[4096], name[64];
	const char *file;
	struct gt_err err;

	gt_err_init(&err);
	*m = (struct machine){
		.arena = gt_arena_new(),
		.request = {.coll = GT_COLL_ALLTOALL, .rates = GT_RATES_NCCL}};
	assert_non_null(m->arena);
	snprintf(name, sizeof(name), "share/xml/%s.xml", kind->node);
	file = gt_test_path(path, name);
	if (kind->count == 1)
		read_node(m, file);
	else
		read_cluster(m, file, kind);
	if (kind->refused) {
		assert_int_equal(
			gt_meshed_new(m->fabric, m->arena, &m->rails, &err),
			GT_ENO);
		return;
	}
	if (gt_meshed_new(m->fabric, m->arena, &m->rails, &err))
		fail_msg("%s: %s", kind->node, err.text);
	m->schedule = gt_rails_schedule_new(m->rails, m->arena);
	assert_non_null(m->schedule);
}

static void close_machine(struct machine *m)
{
	gt_paths_free(m->paths);
	if (m->cluster)
		gt_cluster_free(m->cluster);
	else
		gt_topo_free(m->topo);
	gt_arena_free(m->arena);
}

/* The processor's time, which other work on the machine adds little to. */
static int64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

struct outcome {
	double over, gain, us, over_search;
};

/*
 * The search, whose blocks go by any ranks in any shares, is no faster than the
 * bound, and little faster than what is planned at once.
 */
static void compare_with_search(struct machine *m, const uint64_t *bytes,
				struct outcome *out)
{
	struct gt_plan_demand *demand;
	struct gt_plan *plan;
	double largest = 0, ns;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_demand_new(m->rails->n, bytes, m->arena, &demand, &err))
		fail_msg("%s", err.text);
	m->request.demand = demand;
	if (gt_search(&m->request, "auto", &plan, NULL, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < m->rails->n * m->rails->n; i++)
		if (demand->units[i])
			largest = fmax(largest, (double)bytes[i]);
	ns = largest / gt_rat_double(plan->proof.value);
	assert_true(m->schedule->bound_ns < ns * (1 + 1e-6));
	assert_true(m->schedule->ns > ns * (1 - 1e-6));
	assert_true(m->schedule->ns < ns * over_search);
	out->over_search = m->schedule->ns / ns;
	gt_plan_free(plan);
}

static void try_matrix(struct machine *m, struct gt_random *c, int searched,
		       struct outcome *out)
{
	struct gt_arena *arena = gt_arena_new();
	uint64_t *bytes = draw_experts(c, m->rails->n, arena);
	struct gt_rat slowest;
	struct gt_err err;
	int64_t begin;

	gt_err_init(&err);
	gt_demand_round(m->rails->n, bytes);
	begin = processor_ns();
	gt_rails_plan(m->rails, bytes, m->schedule);
	out->us = (double)(processor_ns() - begin) / 1e3;
	if (gt_rails_check(m->rails, bytes, m->schedule, &slowest, &err))
		fail_msg("%s", err.text);
	out->over = m->schedule->ns / m->schedule->bound_ns;
	out->gain = gt_rails_direct_ns(m->rails, bytes, m->schedule) /
		    m->schedule->ns;
	assert_true(out->over > 1 - 1e-9 && out->over < over_bound);
	assert_true(out->gain > 1 - 1e-9);
	if (searched)
		compare_with_search(m, bytes, out);
	gt_arena_free(arena);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void try_machine(const struct kind *kind, uint32_t n)
{
	static double over[MOST_MATRICES], gain[MOST_MATRICES],
		us[MOST_MATRICES];
	struct gt_random c = {.state = 7};
	struct outcome out = {0};
	struct machine m;
	double most = 1;
	uint32_t searched = n > MATRICES ? 20 : SEARCHED;

	open_machine(&m, kind);
	for (uint32_t i = 0; i < n; i++) {
		try_matrix(&m, &c, i < searched, &out);
		over[i] = out.over;
		gain[i] = out.gain;
		us[i] = out.us;
		most = fmax(most, out.over_search);
	}
	close_machine(&m);
	qsort(over, n, sizeof(*over), compare);
	qsort(gain, n, sizeof(*gain), compare);
	qsort(us, n, sizeof(*us), compare);
	print_message("%u %s: %u matrices, at most %.4f times the search; %.4f "
		      "times the bound, at most %.4f; "
		      "direct sends %.2f times as long, %.2f to %.2f; planned "
		      "in %.0f us, at most %.0f\n",
		      kind->count, kind->node, n, most, over[n / 2],
		      over[n - 1], gain[n / 2], gain[0], gain[n - 1], us[n / 2],
		      us[n - 1]);
}

static void test_random(void **state)
{
	const char *asked = getenv("GTOPO_TEST_MESHED");
	uint32_t n = asked                ? (uint32_t)atoi(asked)
		     : gt_test_is_brief() ? MATRICES / 4
					  : MATRICES;

	(void)state;
	assert_true(n && n <= MOST_MATRICES);
	for (uint32_t i = 0; i < NKINDS; i++)
		if (!kinds[i].refused)
			try_machine(&kinds[i], n);
}

static void test_refused(void **state)
{
	struct machine m;

	(void)state;
	for (uint32_t i = 0; i < NKINDS; i++)
		if (kinds[i].refused) {
			open_machine(&m, &kinds[i]);
			close_machine(&m);
		}
}

/* A relay's rail is the rank itself; by where it ends a block goes straight. */
static void test_paths(void **state)
{
	uint32_t ranks[GT_RAILS_MAX_HOPS + 1];
	struct machine m;

	(void)state;
	open_machine(&m, &kinds[0]);
	assert_int_equal(gt_rails_path(m.rails, 1, 6, 6, ranks), 1);
	assert_int_equal(ranks[1], 6);
	assert_int_equal(gt_rails_path(m.rails, 1, 6, 2, ranks), 2);
	assert_int_equal(ranks[0], 1);
	assert_int_equal(ranks[1], 2);
	assert_int_equal(ranks[2], 6);
	close_machine(&m);
}

/*
 * One pair alone: five of the six NVLinks of a GPU lead to the other, by one
 * more at most; what a rank has for itself takes nothing.
 */
static void test_one_pair(void **state)
{
	struct gt_rat slowest;
	struct machine m;
	struct gt_err err;
	uint64_t *bytes;

	(void)state;
	gt_err_init(&err);
	open_machine(&m, &kinds[0]);
	bytes = gt_arena_array(m.arena, 64, sizeof(*bytes));
	bytes[2 * 8 + 2] = 1 << 20;
	bytes[2 * 8 + 5] = 1 << 20;
	gt_rails_plan(m.rails, bytes, m.schedule);
	if (gt_rails_check(m.rails, bytes, m.schedule, &slowest, &err))
		fail_msg("%s", err.text);
	assert_true(m.schedule->ns < 1.21 * m.schedule->bound_ns);
	close_machine(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_one_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
