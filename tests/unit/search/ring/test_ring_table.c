/*
 * Rings on real machines, against NCCL's own search and against an
 * independent optimum, both from the folder GTOPO_TEST_TOPOLOGIES: every row
 * of its tables is a case.
 */
#include "unit/test.h"

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "search/problem/shape.h"
#include "search/search.h"
#include "topo/graph/path.h"
#include "unit/search/fabrics.h"

enum { MAX_ROWS = 256, MAX_FIELDS = 32, MAX_LINKS = 4096, MAX_GPUS = 16 };

/* What the tables say of one file; below 0: nothing. */
struct row {
	char name[128];
	double nccl, optimum;
};

static struct row rows[MAX_ROWS];
static int nrows;

static struct row *row_of(const char *name)
{
	for (int i = 0; i < nrows; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	assert_true(nrows < MAX_ROWS);
	snprintf(rows[nrows].name, sizeof(rows[nrows].name), "%s", name);
	rows[nrows].nccl = rows[nrows].optimum = -1;
	return &rows[nrows++];
}

static FILE *open_in(const char *dir, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return fopen(path, "r");
}

/* The fields of a table's line; how many. */
static int split(char *line, char *fields[MAX_FIELDS])
{
	int n = 0;

	line[strcspn(line, "\n")] = '\0';
	while (n < MAX_FIELDS && (fields[n] = strsep(&line, "\t")))
		n++;
	return n;
}

static void read_tables(const char *dir)
{
	char line[1 << 16], *f[MAX_FIELDS];
	FILE *file = open_in(dir, "NCCL_ANSWERS.tsv");

	while (file && fgets(line, sizeof(line), file))
		if (split(line, f) > 11 && !strcmp(f[1], "single") &&
		    !strcmp(f[2], "ring") && !strcmp(f[3], f[4]))
			row_of(f[0])->nccl = atof(f[11]);
	if (file)
		fclose(file);
	file = open_in(dir, "RING_OPTIMUM.tsv");
	while (file && fgets(line, sizeof(line), file))
		if (split(line, f) > 6 && strcmp(f[0], "topology"))
			row_of(f[0])->optimum = atof(f[6]);
	if (file)
		fclose(file);
}

/* The tables give three to five digits. */
static int same(double a, double b)
{
	return fabs(a - b) <= 1e-4 * b;
}

static void search_file(const char *path, struct gt_arena *arena,
			struct gt_plan **plan, double *ms)
{
	struct gt_search_request request = {.rates = GT_RATES_NCCL};
	struct gt_topo *topo = NULL;
	struct gt_paths *paths = NULL;
	struct gt_err err;
	int64_t begin;
	int rc;

	gt_err_init(&err);
	rc = gt_topo_read(path, request.rates, &topo, &err);
	if (!rc)
		rc = gt_gpu_list_read(topo, NULL, arena, &request.gpus,
				      &request.nranks, &err);
	if (!rc)
		rc = gt_paths_new(topo, &paths, &err);
	request.topo = topo;
	request.paths = paths;
	begin = gt_clock_ns();
	if (!rc)
		rc = gt_search(&request, "ring", plan, NULL, &err);
	*ms = (double)(gt_clock_ns() - begin) / 1e6;
	if (rc)
		fail_msg("%s: %s", err.where, err.text);
	gt_paths_free(paths);
	gt_topo_free(topo);
}

static const char *figure(double value, char text[16])
{
	if (value < 0)
		return "     -";
	snprintf(text, 16, "%6.1f", value);
	return text;
}

/* No less than NCCL and than the optimum on its routes; proved the best. */
static void test_row(void **state)
{
	const struct row *row = *state;
	struct gt_arena *arena = gt_arena_new();
	struct gt_plan_report report;
	struct gt_plan *plan = NULL;
	char path[4096], text[2][16];
	double ms, value;

	snprintf(path, sizeof(path), "%s/%s.xml",
		 getenv("GTOPO_TEST_TOPOLOGIES"), row->name);
	search_file(path, arena, &plan, &ms);
	value = gt_rat_double(plan->proof.value);
	print_message("%-36s %2u GPUs %6.1f GB/s in %2u channels, NCCL %s, "
		      "optimum on its routes %s, any schedule %6.1f, "
		      "%.1f ms\n",
		      row->name, plan->nranks, value, plan->nchannels,
		      figure(row->nccl, text[0]), figure(row->optimum, text[1]),
		      gt_rat_double(plan->proof.any_bound), ms);
	assert_true(value >= row->nccl);
	assert_true(value >= row->optimum || same(value, row->optimum));
	assert_true(plan->proof.optimal);
	assert_int_equal(gt_plan_check_report(plan, &report, NULL), GT_OK);
	assert_int_equal(report.bound, GT_BOUND_PROVEN);
	assert_int_equal(report.any_bound, GT_BOUND_PROVEN);
	gt_plan_free(plan);
	gt_arena_free(arena);
}

/* NCCL's link model: nodes by name, links renumbered without those inside. */
struct model {
	struct gt_fabric fabric;
	char node[MAX_LINKS][64];
	uint32_t link[MAX_LINKS];
};

static uint32_t node_of(struct model *m, char *name)
{
	if (!strncmp(name, "DEV/", 4))
		memcpy(name, "GPU", 3);
	for (uint32_t i = 0; i < m->fabric.nnodes; i++)
		if (!strcmp(m->node[i], name))
			return i;
	snprintf(m->node[m->fabric.nnodes], sizeof(m->node[0]), "%s", name);
	return m->fabric.nnodes++;
}

static void model_link(struct model *m, char *line)
{
	char kind[16], gbs[32], from[64], to[64];
	struct gt_fabric_link *l = &m->fabric.links[m->fabric.nlinks];
	unsigned id;

	assert_int_equal(sscanf(line, "L %u %15s %31s %63s %63s", &id, kind,
				gbs, from, to),
			 5);
	l->from = node_of(m, from);
	l->to = node_of(m, to);
	l->charged = !strcmp(kind, "PCI");
	assert_true(gt_rat_parse(gbs, &l->gbs));
	m->link[id] = UINT32_MAX;
	if (l->from != l->to)
		m->link[id] = m->fabric.nlinks++;
}

/* Pairs that NCCL would join over the network only have no route. */
static void model_path(struct model *m, struct gt_arena *arena, char *line)
{
	char kind[16], gbs[32];
	uint32_t links[64], n = 0;
	unsigned from, to, over, id;
	struct gt_fabric_route *route;
	int at, step;

	if (sscanf(line, "PATH g%u g%u %15s %31s %u%n", &from, &to, kind, gbs,
		   &over, &at) != 5)
		return;
	for (; sscanf(line + at, "%u%n", &id, &step) == 1; at += step)
		if (m->link[id] != UINT32_MAX)
			links[n++] = m->link[id];
	route = &m->fabric.routes[from * m->fabric.nranks + to];
	route->charge = over ? GT_RAT(6, 5) : GT_RAT(1, 1);
	m->fabric.ranks[from] = m->fabric.links[links[0]].from;
	if (strcmp(kind, "NET"))
		gt_fabric_route(&m->fabric, arena, from, to, links, n);
}

static struct model *read_model(const char *name, struct gt_arena *arena)
{
	struct model *m = gt_arena_alloc(arena, sizeof(*m));
	char line[1 << 14], path[256];
	FILE *file;

	snprintf(path, sizeof(path), "nccl-models/%s.model", name);
	file = open_in(getenv("GTOPO_TEST_TOPOLOGIES"), path);
	if (!file || !fgets(line, sizeof(line), file) ||
	    sscanf(line, "S gpus=%u", &m->fabric.nranks) != 1)
		fail_msg("%s cannot be read", path);
	m->fabric.links =
		gt_arena_array(arena, MAX_LINKS, sizeof(*m->fabric.links));
	m->fabric.ranks = gt_arena_array(arena, MAX_GPUS, sizeof(uint32_t));
	m->fabric.routes = gt_arena_array(arena, MAX_GPUS * MAX_GPUS,
					  sizeof(*m->fabric.routes));
	while (fgets(line, sizeof(line), file))
		if (line[0] == 'L')
			model_link(m, line);
		else
			model_path(m, arena, line);
	fclose(file);
	return m;
}

/* On NCCL's links and routes exactly what the other program found. */
static void test_model(void **state)
{
	const struct row *row = *state;
	struct gt_arena *arena = gt_arena_new();
	struct model *m = read_model(row->name, arena);
	struct gt_shape_args args = {.fabric = &m->fabric, .arena = arena};
	struct gt_proposal p;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_shape_ring.propose(&args, &p, &err))
		fail_msg("%s", err.text);
	assert_int_equal(gt_rat_cmp(p.value, p.bound), 0);
	if (!same(gt_rat_double(p.value), row->optimum))
		fail_msg("%g GB/s, not %g", gt_rat_double(p.value),
			 row->optimum);
	gt_arena_free(arena);
}

static void test_no_tables(void **state)
{
	(void)state;
	gt_test_topologies();
	fail_msg("the tables are empty");
}

int main(void)
{
	static struct CMUnitTest tests[2 * MAX_ROWS];
	const char *dir = getenv("GTOPO_TEST_TOPOLOGIES");
	static char names[2 * MAX_ROWS][160];
	size_t n = 0;

	if (dir && *dir)
		read_tables(dir);
	for (int i = 0; i < nrows; i++) {
		snprintf(names[n], sizeof(names[n]), "%.120s", rows[i].name);
		tests[n].name = names[n];
		tests[n].initial_state = &rows[i];
		tests[n++].test_func = test_row;
	}
	for (int i = 0; i < nrows; i++) {
		if (rows[i].optimum < 0)
			continue;
		snprintf(names[n], sizeof(names[n]), "%.120s on NCCL's routes",
			 rows[i].name);
		tests[n].name = names[n];
		tests[n].initial_state = &rows[i];
		tests[n++].test_func = test_model;
	}
	if (!n) {
		tests[0].name = "tables";
		tests[n++].test_func = test_no_tables;
	}
	return _cmocka_run_group_tests("ring_table", tests, n, NULL, NULL);
}
