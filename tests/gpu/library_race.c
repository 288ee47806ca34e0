/*
 * Groups of all-reduces, equal ones and mixed ones: as one, one by one, and by
 * NCCL's groups.  One thread for all ranks; in graphs, where only the GPUs
 * count, and on streams.
 */
#include "gpu/library.h"

#include <stdio.h>
#include <stdlib.h>

#include "../bench/nccl.h"
#include "base/clock.h"

enum {
	RACE_GROUPS = 20, /* one behind the other */
	RACE_ROUNDS = 5,
	RACE_MOST = 64,
	RACE_NCCLS = 2,
	RACE_WAYS = 2 + RACE_NCCLS, /* together, one by one, NCCL's */
};

static const uint64_t RACE_BYTES = 4 << 20; /* of an operation, at most */

struct race {
	struct library *lib;
	struct operation ops[RACE_MOST];
	int n;
	char size[16]; /* of the operations, in words */
	struct gt_nccl *nccl[RACE_NCCLS];
	cudaEvent_t begin[MAX_RANKS], end[MAX_RANKS];
};

static int enqueue_nccl(struct race *race, struct gt_nccl *nccl)
{
	struct gt_exec_request reqs[RACE_MOST];
	void *streams[MAX_RANKS];

	for (int r = 0; r < race->lib->nranks; r++)
		streams[r] = race->lib->ranks[r].stream;
	for (int i = 0; i < race->n; i++)
		reqs[i] = (struct gt_exec_request){.coll = GT_COLL_ALLREDUCE,
						   .dtype = GT_DTYPE_FLOAT,
						   .count = race->ops[i].count,
						   .streams = streams};
	return !gt_nccl_group(nccl, reqs, (uint32_t)race->n);
}

/* A group by a way. */
static int enqueue(struct race *race, int way)
{
	int rc = 0;

	if (way >= 2)
		return enqueue_nccl(race, race->nccl[way - 2]);
	if (!way)
		return !call_together(race->lib, race->ops, race->n);
	for (int i = 0; !rc && i < race->n; i++)
		rc = call_together(race->lib, &race->ops[i], 1);
	return !rc;
}

static int enqueue_groups(struct race *race, int way)
{
	for (int i = 0; i < RACE_GROUPS; i++)
		if (!enqueue(race, way))
			return 0;
	return 1;
}

static int record(struct race *race, cudaEvent_t *events)
{
	for (int r = 0; r < race->lib->nranks; r++) {
		cudaSetDevice(race->lib->ranks[r].gpu);
		if (!cuda_ok(race->lib, "event",
			     cudaEventRecord(events[r],
					     race->lib->ranks[r].stream)))
			return 0;
	}
	return 1;
}

/* Of the rank that began last: then all were there.  Microseconds a group. */
static double elapsed(struct race *race)
{
	float least = -1, ms;

	for (int r = 0; r < race->lib->nranks; r++) {
		cudaSetDevice(race->lib->ranks[r].gpu);
		if (!cuda_ok(race->lib, "synchronize",
			     cudaEventSynchronize(race->end[r])) ||
		    !cuda_ok(race->lib, "elapsed",
			     cudaEventElapsedTime(&ms, race->begin[r],
						  race->end[r])))
			return -1;
		if (least < 0 || ms < least)
			least = ms;
	}
	return (double)least * 1e3 / RACE_GROUPS;
}

/* One round; graphs NULL: on the streams. */
static double time_once(struct race *race, int way, const struct graphs *graphs)
{
	int all = record(race, race->begin);

	all = all && (graphs ? replay(race->lib, graphs, 1)
			     : enqueue_groups(race, way));
	return all && record(race, race->end) ? elapsed(race) : -1;
}

static int capture(struct race *race, int way, struct graphs *graphs)
{
	int all = capture_begin(race->lib);

	all = all && enqueue_groups(race, way);
	return capture_end(race->lib, graphs) && all;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The median of rounds that take turns; of NCCL's ways, the best. */
static int race_one(struct race *race, int graph)
{
	double us[RACE_WAYS][RACE_ROUNDS], nccl = 0;
	struct graphs graphs[RACE_WAYS] = {{{0}, {0}}};
	int all = 1;

	for (int w = 0; all && w < RACE_WAYS; w++)
		if (w < 2 || race->nccl[w - 2])
			all = enqueue(race, w) &&
			      time_once(race, w, NULL) > 0 &&
			      (!graph || capture(race, w, &graphs[w]));
	for (int i = 0; i < RACE_ROUNDS; i++)
		for (int w = 0; all && w < RACE_WAYS; w++) {
			if (w >= 2 && !race->nccl[w - 2])
				continue;
			us[w][i] =
				time_once(race, w, graph ? &graphs[w] : NULL);
			all = us[w][i] > 0;
		}
	for (int w = 0; all && w < RACE_WAYS; w++) {
		double *median = &us[w][RACE_ROUNDS / 2];

		if (w >= 2 && !race->nccl[w - 2])
			continue;
		qsort(us[w], RACE_ROUNDS, sizeof(double), compare_doubles);
		if (w >= 2 && (!nccl || *median < nccl))
			nccl = *median;
	}
	if (all)
		printf("%-6s %4d %8s %10.2f %10.2f %6.2f %10.2f %6.2f\n",
		       graph ? "graph" : "stream", race->n, race->size,
		       us[0][RACE_ROUNDS / 2], us[1][RACE_ROUNDS / 2],
		       us[1][RACE_ROUNDS / 2] / us[0][RACE_ROUNDS / 2], nccl,
		       nccl / us[0][RACE_ROUNDS / 2]);
	for (int w = 0; w < RACE_WAYS; w++)
		drop(race->lib, &graphs[w]);
	fflush(stdout);
	return all;
}

/* n operations of this many bytes; of 0: of 256 KiB to 4 MiB. */
static void set_group(struct race *race, int n, uint64_t bytes)
{
	uint64_t at = 0, here;

	race->n = n;
	snprintf(race->size, sizeof(race->size), bytes ? "%llu" : "mixed",
		 (unsigned long long)bytes);
	for (int k = 0; k < n; k++) {
		here = bytes ? bytes : RACE_BYTES >> k % 5;
		race->ops[k] = (struct operation){.coll = GT_COLL_ALLREDUCE,
						  .type = GTOPO_FLOAT,
						  .count = here / sizeof(float),
						  .at = at};
		at += here;
	}
}

static int race_all(struct race *race)
{
	static const int counts[] = {1, 4, 16, 64};
	static const uint64_t bytes[] = {1 << 10, 16 << 10, 64 << 10, 256 << 10,
					 1 << 20, 4 << 20,  0};
	const int n = 4 * (int)(sizeof(bytes) / sizeof(bytes[0]));

	printf("%-6s %4s %8s %10s %10s %6s %10s %6s\n", "#", "ops", "bytes",
	       "group us", "single us", "ratio", "nccl us", "ratio");
	for (int graph = 1; graph >= 0; graph--)
		for (int i = 0; i < n; i++) {
			set_group(race, counts[i % 4], bytes[i / 4]);
			if (late(race->lib) || !race_one(race, graph))
				return 0;
			race->lib->operations += (uint64_t)race->n;
		}
	return 1;
}

static void open_nccl(struct race *race)
{
	static const enum gt_nccl_variant variants[] = {GT_NCCL_DEFAULT,
							GT_NCCL_SYMMETRIC};
	int devices[MAX_RANKS];
	struct gt_nccl_ranks ranks = {.nranks = (uint32_t)race->lib->nranks,
				      .end = (uint32_t)race->lib->nranks,
				      .devices = devices};

	for (int r = 0; r < race->lib->nranks; r++)
		devices[r] = race->lib->ranks[r].gpu;
	for (int i = 0; i < RACE_NCCLS; i++)
		race->nccl[i] = gt_nccl_open(variants[i], &ranks,
					     RACE_MOST * RACE_BYTES);
}

int part_race(struct library *lib)
{
	struct race race = {.lib = lib};
	int all = open_ranks(lib, RACE_MOST * RACE_BYTES) &&
		  open_comm(lib, GTOPO_BEST, 10000);

	if (!all)
		return 0;
	if (!lib->map)
		open_nccl(&race);
	for (int r = 0; all && r < lib->nranks; r++) {
		cudaSetDevice(lib->ranks[r].gpu);
		all = cuda_ok(lib, "event", cudaEventCreate(&race.begin[r])) &&
		      cuda_ok(lib, "event", cudaEventCreate(&race.end[r]));
	}
	all = all && race_all(&race);
	for (int r = 0; r < lib->nranks; r++) {
		cudaSetDevice(lib->ranks[r].gpu);
		if (race.begin[r])
			cudaEventDestroy(race.begin[r]);
		if (race.end[r])
			cudaEventDestroy(race.end[r]);
	}
	for (int i = 0; i < RACE_NCCLS; i++)
		gt_nccl_close(race.nccl[i]);
	close_comm(lib);
	return all;
}
