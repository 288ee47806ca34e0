/*
 * Two and four equal nodes of real machines, against the rings that NCCL's own
 * search finds between them: rows of NCCL_ANSWERS.tsv in the folder
 * GTOPO_TEST_TOPOLOGIES.  A ring of v GB/s a hop makes n / (n - 1) * v of an
 * all-gather's output a second on n ranks, and half of that of an all-reduce's.
 */
#include "unit/test.h"

#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "search/cluster/search.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"

enum { MAX_ROWS = 256, MAX_FIELDS = 32 };

struct row {
	char name[128];
	uint32_t nodes;
	double nccl; /* GB/s of all channels between nodes */
};

static struct row rows[MAX_ROWS];
static int nrows;

static void read_row(char *line)
{
	char *f[MAX_FIELDS];
	unsigned nodes;
	int n = 0;

	line[strcspn(line, "\n")] = '\0';
	while (n < MAX_FIELDS && (f[n] = strsep(&line, "\t")))
		n++;
	if (n < 13 || sscanf(f[1], "multi%u", &nodes) != 1 ||
	    strcmp(f[2], "ring") != 0 || strcmp(f[3], f[4]) != 0)
		return;
	assert_true(nrows < MAX_ROWS);
	snprintf(rows[nrows].name, sizeof(rows[nrows].name), "%s", f[0]);
	rows[nrows].nodes = nodes;
	rows[nrows++].nccl = atof(f[12]);
}

static void read_table(const char *dir)
{
	char line[1 << 16], path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/NCCL_ANSWERS.tsv", dir);
	file = fopen(path, "r");
	while (file && fgets(line, sizeof(line), file))
		read_row(line);
	if (file)
		fclose(file);
}

static struct gt_plan *search(const struct row *row, enum gt_coll coll,
			      int rings, double *ms)
{
	struct gt_cluster_request request = {.rates = GT_RATES_NCCL,
					     .coll = coll};
	struct gt_arena *arena = gt_arena_new();
	struct gt_cluster *cluster = NULL;
	struct gt_paths *paths = NULL;
	struct gt_topo *topo = NULL;
	struct gt_plan *plan = NULL;
	int64_t begin = gt_clock_ns();
	char path[4096];
	struct gt_err err;

	gt_err_init(&err);
	snprintf(path, sizeof(path), "%s/%s.xml",
		 getenv("GTOPO_TEST_TOPOLOGIES"), row->name);
	if (gt_topo_read(path, request.rates, &topo, &err) ||
	    gt_cluster_copies(topo, row->nodes, NULL, &cluster, &err) ||
	    gt_gpu_list_read(topo, NULL, arena, &request.gpus, &request.ngpus,
			     &err) ||
	    gt_paths_new(topo, &paths, &err))
		fail_msg("%s: %s", err.where, err.text);
	request.cluster = cluster;
	request.paths = paths;
	if (rings ? gt_cluster_search_rings(&request, &plan, &err)
		  : gt_cluster_search_templates(&request, &plan, &err))
		fail_msg("%s: %s", err.where, err.text);
	*ms = (double)(gt_clock_ns() - begin) / 1e6;
	gt_paths_free(paths);
	gt_cluster_free(cluster);
	gt_topo_free(topo);
	gt_arena_free(arena);
	return plan;
}

static void test_row(void **state)
{
	const struct row *row = *state;
	struct gt_plan_report report;
	double ms, n, value, ring;

	for (int reduce = 0; reduce < 2; reduce++) {
		struct gt_plan *plan = search(
			row, reduce ? GT_COLL_ALLREDUCE : GT_COLL_ALLGATHER, 0,
			&ms);

		n = plan->nranks;
		value = gt_rat_double(plan->proof.value);
		ring = row->nccl * n / (n - 1) / (reduce ? 2 : 1);
		print_message("%-36s %u nodes %-9s %7.2f GB/s in %3u channels, "
			      "NCCL's rings %7.2f, any schedule %7.2f, "
			      "%.1f ms\n",
			      row->name, row->nodes, gt_coll_name(plan->coll),
			      value, plan->nchannels, ring,
			      gt_rat_double(plan->proof.bound), ms);
		assert_true(value >= ring * (1 - 1e-6));
		assert_int_equal(gt_plan_check_report(plan, &report, NULL),
				 GT_OK);
		assert_int_equal(report.bound, GT_BOUND_PROVEN);
		gt_plan_free(plan);
	}
}

/* Rings alone, which are what NCCL has: no fewer GB/s, and proved the most. */
static void test_rings(void **state)
{
	const struct row *row = *state;
	struct gt_plan_report report;
	double ms;
	struct gt_plan *plan = search(row, GT_COLL_ALLREDUCE, 1, &ms);
	double value = gt_rat_double(plan->proof.value);

	print_message("%-36s %u nodes rings %7.2f GB/s in %3u channels, "
		      "NCCL's %7.2f, any ring %7.2f, %.1f ms\n",
		      row->name, row->nodes, value, plan->nchannels, row->nccl,
		      gt_rat_double(plan->proof.bound), ms);
	assert_true(value >= row->nccl * (1 - 1e-6));
	assert_int_equal(gt_plan_check_report(plan, &report, NULL), GT_OK);
	assert_int_equal(report.any_bound, GT_BOUND_PROVEN);
	if (plan->proof.nprices)
		assert_int_equal(report.bound, GT_BOUND_PROVEN);
	gt_plan_free(plan);
}

static void test_no_table(void **state)
{
	(void)state;
	gt_test_topologies();
}

int main(void)
{
	static struct CMUnitTest tests[2 * MAX_ROWS];
	static char names[MAX_ROWS][160];
	const struct CMUnitTest none[] = {cmocka_unit_test(test_no_table)};
	const char *dir = getenv("GTOPO_TEST_TOPOLOGIES");

	if (dir && *dir)
		read_table(dir);
	for (int i = 0; i < nrows; i++) {
		snprintf(names[i], sizeof(names[i]), "%.120s, %u nodes",
			 rows[i].name, rows[i].nodes);
		tests[i] = (struct CMUnitTest){.name = names[i],
					       .test_func = test_row,
					       .initial_state = &rows[i]};
		tests[nrows + i] = tests[i];
		tests[nrows + i].test_func = test_rings;
	}
	if (!nrows)
		return cmocka_run_group_tests(none, NULL, NULL);
	return _cmocka_run_group_tests("nccl", tests, 2 * (size_t)nrows, NULL,
				       NULL);
}
