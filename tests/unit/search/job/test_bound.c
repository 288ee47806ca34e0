/*
 * What any assignment of a job's ranks takes at least, compared with all
 * assignments of small jobs to small clusters.
 */
#include "unit/test.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/job/bound.h"
#include "search/job/site.h"
#include "search/job/workload.h"

/* A job of up to 8 ranks that are assigned to nodes in every way. */
struct every {
	const struct gt_workload *w;
	const struct gt_site *site;
	uint32_t place[16], used[16];
	uint64_t n;
	double least;
};

/* GPUs of a node are alike, so only which node a rank is on matters. */
static void try_all(struct every *all, uint32_t rank)
{
	double phase_s[GT_JOB_MAX_TRAFFIC], s;

	if (rank == all->w->nranks) {
		s = gt_job_bound_placed(all->w, all->site, all->place, phase_s);
		all->least = !all->n++ || s < all->least ? s : all->least;
		return;
	}
	for (uint32_t node = 0; node < all->site->nnodes; node++) {
		if (all->used[node] == all->site->ngpus)
			continue;
		all->place[rank] = node * all->site->ngpus + all->used[node]++;
		try_all(all, rank + 1);
		all->used[node]--;
	}
}

/* An axis of 2 to 4 ranks, all of them at most 8 together. */
static void write_axes(FILE *file, uint32_t seed, uint32_t *naxes)
{
	static const uint32_t sizes[][3] = {{2, 2, 2}, {4, 2, 1}, {2, 4, 1},
					    {2, 3, 1}, {3, 2, 1}, {8, 1, 1},
					    {6, 1, 1}, {2, 2, 1}};
	const uint32_t *size = sizes[seed % 8];

	*naxes = size[2] > 1 ? 3 : size[1] > 1 ? 2 : 1;
	fputs("\"axes\": [", file);
	for (uint32_t i = 0; i < *naxes; i++)
		fprintf(file, "%s{\"name\": \"%c\", \"size\": %u}",
			i ? ", " : "", 'a' + (int)i, size[i]);
	fputs("], ", file);
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void write_job(FILE *file, uint32_t seed)
{
	static const char *const colls[] = {"allreduce", "allgather",
					    "reducescatter", "alltoall",
					    "sendrecv"};
	uint32_t naxes, n = 1 + next(&seed) % 4;

	fputs("{\"schema\": \"gtopo.job/1\", ", file);
	write_axes(file, next(&seed), &naxes);
	fputs("\"communication\": [", file);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t axes = 1 + next(&seed) % ((1u << naxes) - 1);
		const char *comma = "";

		fprintf(file,
			"%s{\"name\": \"%u\", \"collective\": \"%s\", "
			"\"bytes\": %u, \"count\": %u, ",
			i ? ", " : "", i, colls[next(&seed) % 5],
			1 + next(&seed) % 1000, 1 + next(&seed) % 9);
		if (next(&seed) % 2)
			fprintf(file, "\"phase\": \"%c\", ",
				'p' + (int)(next(&seed) % 2));
		fputs("\"over\": [", file);
		for (uint32_t a = 0; a < naxes; a++)
			if (axes >> a & 1) {
				fprintf(file, "%s\"%c\"", comma, 'a' + (int)a);
				comma = ", ";
			}
		fputs("]}", file);
	}
	fputs("]}", file);
}

static struct gt_workload *make_job(uint32_t seed, struct gt_arena *arena)
{
	char path[] = "/tmp/gtopo-job-XXXXXX";
	struct gt_workload *w = NULL;
	struct gt_err err;
	int fd = mkstemp(path);
	FILE *file;

	assert_true(fd >= 0);
	file = fdopen(fd, "w");
	assert_non_null(file);
	write_job(file, seed);
	assert_int_equal(fclose(file), 0);
	gt_err_init(&err);
	if (gt_workload_read(path, arena, &w, &err))
		fail_msg("%s: %s", err.where, err.text);
	remove(path);
	return w;
}

/*
 * Nodes in which GPUs talk as fast as the case says, with a narrow way out, and
 * sometimes a place too many.
 */
static void make_site(const struct gt_workload *w, uint32_t seed,
		      struct gt_site *site)
{
	uint32_t nnodes = 2 + next(&seed) % 2;

	*site = (struct gt_site){
		.nnodes = nnodes,
		.ngpus = (w->nranks - 1) / nnodes + 1 + (next(&seed) % 4 == 0),
		.peer_gbs = next(&seed) % 3 ? 1 + next(&seed) % 20 : 0,
		.out_gbs = 1 + next(&seed) % 3,
		.nlevels = 1,
		.levels = {{1, 0}},
	};
	site->gpu_gbs = site->peer_gbs + site->out_gbs;
	site->levels[0].gbs = site->out_gbs * site->ngpus;
}

static void test_all_assignments(void **state)
{
	uint32_t ncases = gt_test_is_brief() ? 100 : 1000, nexact = 0,
		 nnear = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= ncases; seed++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_workload *w = make_job(seed, arena);
		struct gt_site site;
		struct every all = {.w = w, .site = &site};
		double bound = 0;
		int joint = 0;

		make_site(w, seed * 7919, &site);
		try_all(&all, 0);
		assert_int_equal(
			gt_job_bound_any(w, &site, arena, &bound, &joint, NULL),
			GT_OK);
		assert_true(joint);
		if (bound > all.least * (1 + 1e-9))
			fail_msg("seed %u: bound %g s, but %g s are possible",
				 seed, bound, all.least);
		nexact += bound >= all.least * (1 - 1e-9);
		nnear += bound >= all.least * 0.8;
		gt_arena_free(arena);
	}
	print_message("%u of %u bounds are reached, %u within 20%%\n", nexact,
		      ncases, nnear);
	assert_true(nexact >= ncases / 2);
	assert_true(nnear >= ncases * 3 / 4);
}

/* Too many sets of ranks for a node of 64 GPUs: the bound says that. */
static void test_too_many(void **state)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_workload *w = make_job(5, arena);
	struct gt_site site = {.nnodes = 4,
			       .ngpus = 64,
			       .gpu_gbs = 1,
			       .out_gbs = 1,
			       .nlevels = 1,
			       .levels = {{1, 64}}};
	double bound = 0;
	int joint = 1;

	(void)state;
	w->naxes = 4;
	w->nranks = 256;
	for (uint32_t i = 0; i < 4; i++)
		w->axes[i] = (struct gt_job_axis){"x", 4, 1u << 2 * i};
	assert_int_equal(
		gt_job_bound_any(w, &site, arena, &bound, &joint, NULL), GT_OK);
	assert_false(joint);
	assert_true(bound > 0);
	gt_arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_assignments),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
