/*
 * All-to-all over two levels, planned at once: of random demands the schedule
 * is right by the check's own count, and near the bound that the search for
 * flows proves; what the planner takes for a bound is one.
 *
 * GTOPO_TEST_RAILS=1000 tries so many matrices a machine, and prints how long
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
#include "search/problem/flat_cluster.h"
#include "search/problem/request.h"
#include "search/rails/rails.h"
#include "search/search.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"
#include "unit/search/experts.h"

/*
 * Matrices that are tried if the environment names no other number; the search
 * for flows is asked about a few of few nodes.
 */
enum { MATRICES = 24, MOST_MATRICES = 10000, SEARCHED = 3, SEARCHED_NODES = 4 };

/*
 * How much longer than the bound a schedule may take: of experts, and of a few
 * pairs, where a node's own blocks would have to leave it and come back.
 */
static const double slack[] = {1.05, 1.3};

struct machine {
	struct gt_arena *arena;
	struct gt_cluster *cluster;
	struct gt_topo *topo;
	struct gt_paths *paths;
	struct gt_flat_cluster *flat;
	struct gt_rails *rails;
	struct gt_rails_schedule *schedule;
};

/* Nodes of a kind, with some of their ports, below switches. */
struct kind {
	const char *node, *nets, *fabric;
	uint32_t nrails; /* 0: it has not two levels */
};

static const struct kind kinds[] = {
	{"dgx-h100", "0,3-6,9-11", "<level rail=\"each\"/>", 8},
	{"dgx-h100", "0,3-6,9-11", "<level/>", 8},
	{"dgx-h100", "0,4,6,10", "<level rail=\"each\"/>", 4},
	{"dgx-h100", "3", "<level/>", 1},
	/* Uplinks are several ranks' ways. */
	{"dgx-h100", "0,3-6,9-11",
	 "<level nodes=\"2\" oversubscription=\"2\"/><level/>", 0},
	/* No switch joins the GPUs of a node. */
	{"dgx-1v", "0-3", "<level rail=\"each\"/>", 0},
};

enum { NKINDS = sizeof(kinds) / sizeof(*kinds) };

static void write_cluster(const char *path, const struct kind *kind,
			  uint32_t count)
{
	char text[16384], file[4096], cwd[4096] = "", xml[64];
	struct gt_err err;

	gt_err_init(&err);
	snprintf(xml, sizeof(xml), "share/xml/%s.xml", kind->node);
	if (*gt_test_path(file, xml) != '/')
		assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(text, sizeof(text),
		 "<cluster version=\"1\"><node file=\"%s%s%s\" count=\"%u\" "
		 "nets=\"%s\"/><fabric>%s</fabric></cluster>\n",
		 cwd, *cwd ? "/" : "", file, count, kind->nets, kind->fabric);
	assert_int_equal(gt_file_write(path, text, strlen(text), &err), GT_OK);
}

static void open_machine(struct machine *m, const struct kind *kind,
			 uint32_t count)
{
	char path[] = "/tmp/test_rails.XXXXXX";
	int fd = mkstemp(path);
	struct gt_err err;

	gt_err_init(&err);
	assert_true(fd >= 0);
	close(fd);
	*m = (struct machine){.arena = gt_arena_new()};
	write_cluster(path, kind, count);
	if (gt_cluster_read(path, GT_RATES_NCCL, &m->cluster, &m->topo, &err) ||
	    gt_paths_new(m->cluster->kinds[0].topo, &m->paths, &err) ||
	    gt_flat_new(m->cluster, &m->paths, NULL, m->arena, &m->flat, &err))
		fail_msg("%s", err.text);
	unlink(path);
	if (!kind->nrails) {
		assert_int_equal(gt_rails_new(&m->flat->fabric, m->arena,
					      &m->rails, &err),
				 GT_ENO);
		return;
	}
	if (gt_rails_new(&m->flat->fabric, m->arena, &m->rails, &err))
		fail_msg("%s", err.text);
	m->schedule = gt_rails_schedule_new(m->rails, m->arena);
	assert_non_null(m->schedule);
	assert_int_equal(m->rails->nrails, kind->nrails);
	assert_int_equal(m->rails->nnodes, count);
}

static void close_machine(struct machine *m)
{
	gt_paths_free(m->paths);
	gt_cluster_free(m->cluster);
	gt_arena_free(m->arena);
}

/* ---- demands ------------------------------------------------------------ */

/* Some pairs have something, or all have something for one rank. */
static uint64_t *draw_few(struct gt_random *c, uint32_t n,
			  struct gt_arena *arena)
{
	uint64_t *bytes = gt_arena_array(arena, (size_t)n * n, sizeof(*bytes));
	uint32_t hot = gt_random(c, n), pairs = 1 + gt_random(c, 3 * n);

	assert_non_null(bytes);
	for (uint32_t i = 0; i < pairs; i++)
		bytes[gt_random(c, n) * n +
		      (gt_random(c, 3) ? gt_random(c, n) : hot)] +=
			1 + gt_random(c, RANK_BYTES);
	bytes[hot * n + (hot + 1 + gt_random(c, n - 1)) % n] += 1;
	return bytes;
}

/* ---- a matrix ----------------------------------------------------------- */

struct outcome {
	double over, us;
};

/* The processor's time, which other work on the machine adds little to. */
static int64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The proved bound on the time, and that of the plan that was found. */
static void search_times(struct machine *m, const uint64_t *bytes,
			 double *bound_ns, double *ns)
{
	struct gt_search_request request = {
		.coll = GT_COLL_ALLTOALL,
		.rates = GT_RATES_NCCL,
		.flat = m->flat,
		.nranks = m->flat->fabric.nranks,
	};
	struct gt_plan_demand *demand;
	struct gt_plan *plan;
	double largest = 0;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_demand_new(request.nranks, bytes, m->arena, &demand, &err))
		fail_msg("%s", err.text);
	request.demand = demand;
	if (gt_search(&request, "auto", &plan, NULL, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < request.nranks * request.nranks; i++)
		if (demand->units[i])
			largest = fmax(largest, (double)bytes[i]);
	*bound_ns = largest / gt_rat_double(plan->proof.bound);
	*ns = largest / gt_rat_double(plan->proof.value);
	gt_plan_free(plan);
}

/* The bound is below what the search reaches, the schedule above its bound. */
static void compare_with_search(struct machine *m, const uint64_t *bytes,
				double most)
{
	double bound_ns, ns;

	search_times(m, bytes, &bound_ns, &ns);
	assert_true(m->schedule->bound_ns < ns * (1 + 1e-6));
	assert_true(m->schedule->ns > bound_ns * (1 - 1e-6));
	assert_true(m->schedule->ns < most * ns);
}

static void try_matrix(struct machine *m, struct gt_random *c, int few,
		       int searched, struct outcome *out)
{
	struct gt_arena *arena = gt_arena_new();
	uint32_t n = m->rails->n;
	uint64_t *bytes =
		few ? draw_few(c, n, arena) : draw_experts(c, n, arena);
	struct gt_rat slowest;
	struct gt_err err;
	int64_t begin;

	gt_err_init(&err);
	gt_demand_round(n, bytes);
	begin = processor_ns();
	gt_rails_plan(m->rails, bytes, m->schedule);
	out->us = (double)(processor_ns() - begin) / 1e3;
	if (gt_rails_check(m->rails, bytes, m->schedule, &slowest, &err))
		fail_msg("%s", err.text);
	out->over = m->schedule->ns / m->schedule->bound_ns;
	assert_true(out->over > 1 - 1e-9);
	if (out->over > slack[few])
		fail_msg("%g times the bound", out->over);
	if (searched)
		compare_with_search(m, bytes, slack[few]);
	gt_arena_free(arena);
}

/* ---- machines ----------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void try_machine(const struct kind *kind, uint32_t count, int few,
			uint32_t n)
{
	static double over[MOST_MATRICES], us[MOST_MATRICES];
	struct gt_random c = {.state = count};
	uint32_t searched = count > SEARCHED_NODES ? 0 : SEARCHED;
	struct outcome out;
	struct machine m;

	open_machine(&m, kind, count);
	for (uint32_t i = 0; i < n; i++) {
		try_matrix(&m, &c, few, i < searched, &out);
		over[i] = out.over;
		us[i] = out.us;
	}
	close_machine(&m);
	qsort(over, n, sizeof(*over), compare);
	qsort(us, n, sizeof(*us), compare);
	print_message("%u %s, %u rails: %u matrices of %s, %.4f times the "
		      "bound, at most %.4f; planned in %.0f us, at most %.0f\n",
		      count, kind->node, kind->nrails, n,
		      few ? "few pairs" : "experts", over[n / 2], over[n - 1],
		      us[n / 2], us[n - 1]);
}

static void test_random(void **state)
{
	const char *asked = getenv("GTOPO_TEST_RAILS");
	uint32_t n = asked                ? (uint32_t)atoi(asked)
		     : gt_test_is_brief() ? MATRICES / 4
					  : MATRICES;

	(void)state;
	assert_true(n && n <= MOST_MATRICES);
	for (uint32_t i = 0; i < NKINDS; i++)
		for (uint32_t count = 2; kinds[i].nrails && count <= 8;
		     count *= 2)
			for (int few = 0; few < 2; few++)
				try_machine(&kinds[i], count, few, n);
}

/* ---- beside straight sends ----------------------------------------------- */

/*
 * Straight over planned, for experts of one exponent that all ranks ask for in
 * one order: the median, the least and the most.
 */
static double gain_of(struct machine *m, double skew, uint32_t n,
		      double *median)
{
	static double gain[MOST_MATRICES];
	struct gt_random c = {.state = 12};

	for (uint32_t i = 0; i < n; i++) {
		struct gt_arena *arena = gt_arena_new();
		uint64_t *bytes = draw_skewed(&c, m->rails->n, skew, 0, arena);

		gt_rails_plan(m->rails, bytes, m->schedule);
		gain[i] = gt_rails_direct_ns(m->rails, bytes, m->schedule) /
			  m->schedule->ns;
		gt_arena_free(arena);
	}
	qsort(gain, n, sizeof(*gain), compare);
	*median = gain[n / 2];
	print_message("  exponent %.1f: %.2f, %.2f to %.2f\n", skew,
		      gain[n / 2], gain[0], gain[n - 1]);
	return gain[0];
}

/* Where the hot rank's card is full, others of its node have theirs. */
static void test_gain(void **state)
{
	static const double skews[] = {0, 0.4, 0.8, 1.2, 1.5};
	const char *asked = getenv("GTOPO_TEST_RAILS");
	uint32_t n = asked ? (uint32_t)atoi(asked) : MATRICES / 4;
	struct machine m;

	(void)state;
	assert_true(n && n <= MOST_MATRICES);
	for (uint32_t kind = 0; kind < 2; kind++)
		for (uint32_t count = 2; count <= 8; count *= 2) {
			open_machine(&m, &kinds[kind], count);
			print_message("%u %s, %s\n", count, kinds[kind].node,
				      kinds[kind].fabric);
			for (uint32_t i = 0; i < 5; i++) {
				double median;
				double least =
					gain_of(&m, skews[i], n, &median);

				/* Never slower; and faster where it is due. */
				assert_true(least > 1 - 1e-6);
				assert_true(skews[i] < 1 || median > 1.3);
			}
			close_machine(&m);
		}
}

/* Fabrics of other levels are refused. */
static void test_refused(void **state)
{
	struct machine m;

	(void)state;
	for (uint32_t i = 0; i < NKINDS; i++)
		if (!kinds[i].nrails) {
			open_machine(&m, &kinds[i], 4);
			close_machine(&m);
		}
}

/* ---- the check ---------------------------------------------------------- */

static void expect_fault(struct machine *m, const uint64_t *bytes,
			 const char *words)
{
	struct gt_rat slowest;
	struct gt_err err;

	gt_err_init(&err);
	assert_int_equal(
		gt_rails_check(m->rails, bytes, m->schedule, &slowest, &err),
		GT_EINPUT);
	assert_non_null(strstr(err.text, words));
}

static void test_faults(void **state)
{
	struct gt_random c = {.state = 5};
	struct gt_rails_schedule *s;
	struct gt_rat slowest;
	struct machine m;
	struct gt_err err;
	uint64_t *bytes;
	uint32_t nrails;

	(void)state;
	gt_err_init(&err);
	open_machine(&m, &kinds[0], 2);
	s = m.schedule;
	nrails = m.rails->nrails;
	bytes = draw_experts(&c, m.rails->n, m.arena);
	gt_rails_plan(m.rails, bytes, s);
	assert_int_equal(gt_rails_check(m.rails, bytes, s, &slowest, &err),
			 GT_OK);
	/* A part too much, of a pair of two nodes; one within a node. */
	s->share[15 * nrails]++;
	expect_fault(&m, bytes, "from 0 to 15 ");
	s->share[15 * nrails]--;
	s->share[7 * nrails]++;
	expect_fault(&m, bytes, "from 0 to 7 1 parts go, of 0");
	s->share[7 * nrails]--;
	/* Bytes that nobody planned for. */
	bytes[15 * m.rails->n] += 1u << 30;
	expect_fault(&m, bytes, "a link is full for ");
	bytes[15 * m.rails->n] -= 1u << 30;
	s->ns *= 0.999;
	expect_fault(&m, bytes, "a link is full for ");
	s->ns = INFINITY;
	bytes[15 * m.rails->n] = UINT64_MAX / 2;
	expect_fault(&m, bytes, "more than 62 bits");
	close_machine(&m);
}

/* What it takes of a relay that is not where the path begins. */
static void test_paths(void **state)
{
	uint32_t ranks[GT_RAILS_MAX_HOPS + 1];
	struct machine m;

	(void)state;
	open_machine(&m, &kinds[0], 2);
	assert_int_equal(gt_rails_path(m.rails, 1, 12, 2, ranks), 3);
	assert_int_equal(ranks[0], 1);
	assert_int_equal(ranks[1], 2);
	assert_int_equal(ranks[2], 10);
	assert_int_equal(ranks[3], 12);
	assert_int_equal(gt_rails_path(m.rails, 1, 12, 1, ranks), 2);
	assert_int_equal(gt_rails_path(m.rails, 1, 9, 1, ranks), 1);
	close_machine(&m);
}

/* Blocks stay whole on the senders' rails if that is as good as can be. */
static void test_whole(void **state)
{
	uint32_t n, nrails;
	uint64_t *bytes;
	struct machine m;

	(void)state;
	open_machine(&m, &kinds[0], 4);
	n = m.rails->n;
	nrails = m.rails->nrails;
	bytes = gt_arena_array(m.arena, (size_t)n * n, sizeof(*bytes));
	assert_non_null(bytes);
	for (uint32_t i = 0; i < n * n; i++)
		bytes[i] = 1 + i % n;
	gt_rails_plan(m.rails, bytes, m.schedule);
	assert_int_equal(m.schedule->parts, 1);
	assert_int_equal(m.schedule->share[(3 * n + 20) * nrails + 3], 1);
	/* What one sender has more of than others does not fit its rail. */
	bytes[3 * n + 20] = 1000;
	gt_rails_plan(m.rails, bytes, m.schedule);
	assert_true(m.schedule->parts > 1);
	/* Of as much for each receiver the receivers' rails are full alike. */
	for (uint32_t i = 0; i < n * n; i++)
		bytes[i] = 1 + i / n;
	gt_rails_plan(m.rails, bytes, m.schedule);
	assert_int_equal(m.schedule->parts, 1);
	assert_int_equal(m.schedule->share[(3 * n + 20) * nrails + 4], 1);
	close_machine(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),  cmocka_unit_test(test_gain),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_faults),
		cmocka_unit_test(test_paths),   cmocka_unit_test(test_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
