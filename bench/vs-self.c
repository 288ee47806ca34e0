/*
 * gtopo against itself: ways of libgtopo's take turns, round by round, in one
 * process on the same ranks and buffers, so that whatever else happens to the
 * machine happens to all.
 *
 *     vs-self [-b MIN] [-e MAX] [-f FACTOR] [-r ROUNDS] [-m stream|graph]
 *             [-c COLL] [-t SECONDS] [-d host|cuda] [-S] [-C COMMIT]
 *             PLAN WAY WAY...
 *
 * WAY is a libgtopo.so and what its communicator is asked for:
 *
 *     ./libgtopo.so              as programs get it, to add least to products
 *     ./libgtopo.so:best         the fastest alone; also rows, blocks=16
 *     old/libgtopo.so:best       another build
 *     ./libgtopo.so:invariant    sums in the order of ranks
 *     ./libgtopo.so:rows+plan=tuned.json    by the rows of another plan
 *
 * The first is what the others are compared with: `ratio` is the median over
 * rounds of its time over theirs, above 1 where they are faster, `ratio_p5`
 * the 5th percentile.  Sizes from MIN to MAX bytes (1 KiB to 256 MiB) by
 * FACTOR (4), of all collectives but messages, each measured ROUNDS times (11)
 * launched into streams and as CUDA graphs.  A collective that one of the ways
 * refuses is left out.  Inputs are small whole numbers: all ways must have the
 * same bits, of which up to a MiB at each end is compared.
 *
 * With -S ranks share the GPUs that there are; with -d host they are threads on
 * CPUs, whose times say nothing of GPUs.  No new row begins SECONDS after the
 * start.
 *
 * One JSON object on stdout.  Status: 0 all right, 1 other bits, 2 usage or a
 * way at fault, 3 a failure.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/unit.h"
#include "plan/ir/plan.h"
#include "quantile.h"
#include "self.h"

enum {
	TURNS_WAYS = 8,
	TURNS_COMPARED_BYTES = 1 << 20,
	TURNS_COLLS = (1 << GT_COLL_ALLREDUCE) | (1 << GT_COLL_ALLGATHER) |
		      (1 << GT_COLL_REDUCESCATTER) | (1 << GT_COLL_ALLTOALL) |
		      (1 << GT_COLL_BROADCAST) | (1 << GT_COLL_REDUCE) |
		      (1 << GT_COLL_GATHER) | (1 << GT_COLL_SCATTER),
};

struct turns {
	uint64_t begin, end, factor; /* bytes */
	uint32_t rounds;
	int colls, modes; /* bits; modes: 1 stream, 2 graph */
	int64_t deadline_ns;
	enum gtopo_device device;
	int is_shared;
	const char *commit;

	struct gt_self *ways[TURNS_WAYS];
	int nways;
	struct gt_self_ranks ranks;
	char *expected, *found; /* what is compared of all ranks */
	int rows, differ;
};

/* Times of one row, in microseconds an operation. */
struct row {
	struct gt_self_operation op;
	uint64_t bytes;
	uint32_t times;
	int is_graph;
	double us[TURNS_WAYS][GT_QUANTILE_MOST];
};

/* Small ones are over before a clock has ticked often. */
static uint32_t times_of(uint64_t bytes)
{
	return bytes >= 128 << 20 ? 3 : bytes >= 16 << 20 ? 10 : 50;
}

static int copy(char *to, const char *from, uint64_t bytes, int gpu)
{
	if (gpu >= 0)
		return cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost) ==
		       cudaSuccess;
	memcpy(to, from, bytes);
	return 1;
}

static uint64_t output_bytes(const struct turns *turns, const struct row *row)
{
	switch (row->op.coll) {
	case GT_COLL_REDUCESCATTER:
	case GT_COLL_SCATTER:
		return row->bytes / (uint64_t)turns->ranks.n;
	default:
		return row->bytes;
	}
}

/* Both ends of what the ranks have; roots alone have what is gathered. */
static int collect(const struct turns *turns, const struct row *row, char *to)
{
	uint64_t bytes = output_bytes(turns, row);
	uint64_t part =
		bytes < TURNS_COMPARED_BYTES ? bytes : TURNS_COMPARED_BYTES;
	int only_root = row->op.coll == GT_COLL_GATHER ||
			row->op.coll == GT_COLL_REDUCE;

	memset(to, 0, 2ull * TURNS_COMPARED_BYTES * (uint64_t)turns->ranks.n);
	for (int r = 0; r < (only_root ? 1 : turns->ranks.n); r++) {
		const struct gt_self_rank *rank = &turns->ranks.rank[r];

		if (!copy(to, rank->output, part, rank->gpu) ||
		    !copy(to + part, rank->output + bytes - part, part,
			  rank->gpu))
			return 0;
		to += 2 * part;
	}
	return 1;
}

/* Nothing of what another way has left may pass for this one's. */
static int forget(const struct turns *turns, const struct row *row)
{
	for (int r = 0; r < turns->ranks.n; r++) {
		const struct gt_self_rank *rank = &turns->ranks.rank[r];

		if (rank->gpu < 0)
			memset(rank->output, 0xff, row->bytes);
		else if (cudaSetDevice(rank->gpu) != cudaSuccess ||
			 cudaMemset(rank->output, 0xff, row->bytes) !=
				 cudaSuccess ||
			 cudaDeviceSynchronize() != cudaSuccess)
			return 0;
	}
	return 1;
}

static void say_other(struct turns *turns, const struct row *row, int w)
{
	fprintf(stderr,
		"vs-self: %s of %llu bytes: %s has other bits than %s\n",
		gt_coll_name((enum gt_coll)row->op.coll),
		(unsigned long long)row->bytes, gt_self_name(turns->ways[w]),
		gt_self_name(turns->ways[0]));
	turns->differ = 1;
}

/* Each way once: 0, or the status where one of them does not do it. */
static int compare(struct turns *turns, struct row *row)
{
	uint64_t room = 2ull * TURNS_COMPARED_BYTES * (uint64_t)turns->ranks.n;

	for (int w = 0; w < turns->nways; w++) {
		int64_t ns;

		gt_self_use(turns->ways[w], &turns->ranks);
		if (!forget(turns, row))
			return 3;
		ns = gt_self_run(turns->ways[w], &turns->ranks, &row->op, 1, 0);
		if (ns < 0)
			return ns == GTOPO_EINPUT ? 2 : 3;
		if (!collect(turns, row, w ? turns->found : turns->expected))
			return 3;
		if (w && memcmp(turns->found, turns->expected, room))
			say_other(turns, row, w);
	}
	return 0;
}

/* Every way in each round; the first starts one later in the next round. */
static int measure(struct turns *turns, struct row *row)
{
	for (uint32_t round = 0; round < turns->rounds + 1; round++)
		for (int i = 0; i < turns->nways; i++) {
			int w = (i + (int)round) % turns->nways;
			int64_t ns;

			gt_self_use(turns->ways[w], &turns->ranks);
			ns = gt_self_run(turns->ways[w], &turns->ranks,
					 &row->op, row->times, row->is_graph);
			if (ns < 0)
				return 3;
			if (round) /* the first warms up */
				row->us[w][round - 1] =
					(double)ns / row->times / 1e3;
		}
	return 0;
}

static void print_way(const struct turns *turns, const struct row *row, int w)
{
	double ratios[GT_QUANTILE_MOST];

	printf("%s\n   {\"way\": \"%s\", \"time_us\": %.2f", w ? "," : "",
	       gt_self_name(turns->ways[w]),
	       gt_quantile(row->us[w], turns->rounds, 0.5));
	for (uint32_t i = 0; i < turns->rounds; i++)
		ratios[i] = row->us[0][i] / row->us[w][i];
	if (w)
		printf(", \"ratio\": %.3f, \"ratio_p5\": %.3f",
		       gt_quantile(ratios, turns->rounds, 0.5),
		       gt_quantile(ratios, turns->rounds, 0.05));
	printf("}");
}

static void print_row(struct turns *turns, const struct row *row)
{
	printf("%s\n  {\"coll\": \"%s\", \"bytes\": %llu, \"graph\": %s, "
	       "\"ways\": [",
	       turns->rows++ ? "," : "",
	       gt_coll_name((enum gt_coll)row->op.coll),
	       (unsigned long long)row->bytes,
	       row->is_graph ? "true" : "false");
	for (int w = 0; w < turns->nways; w++)
		print_way(turns, row, w);
	printf("]}");
	fflush(stdout);
}

static int turn_row(struct turns *turns, int coll, uint64_t bytes, int is_graph)
{
	static struct row row;
	uint64_t blocks = gt_coll_has_blocks((enum gt_coll)coll)
				  ? (uint64_t)turns->ranks.n
				  : 1;
	int rc;

	memset(&row, 0, sizeof(row));
	row.op = (struct gt_self_operation){.coll = coll,
					    .count = bytes / sizeof(float) /
						     blocks,
					    .type = GTOPO_FLOAT};
	row.bytes = row.op.count * sizeof(float) * blocks;
	row.times = times_of(bytes);
	row.is_graph = is_graph;
	if (!row.op.count)
		return 0;
	rc = compare(turns, &row);
	if (!rc)
		rc = measure(turns, &row);
	if (!rc)
		print_row(turns, &row);
	return rc;
}

/* A collective that a way does not do at the smallest size is left out. */
static int turn_sizes(struct turns *turns, int coll, int is_graph)
{
	int rc;

	for (uint64_t bytes = turns->begin; bytes <= turns->end;
	     bytes *= turns->factor) {
		if (gt_clock_ns() > turns->deadline_ns) {
			fprintf(stderr, "vs-self: out of time\n");
			return 0;
		}
		rc = turn_row(turns, coll, bytes, is_graph);
		if (rc)
			return rc == 2 ? 0 : rc;
	}
	return 0;
}

static int turn_all(struct turns *turns)
{
	int rc = 0;

	printf("{\"commit\": \"%s\", \"ranks\": %d, \"device\": \"%s\", "
	       "\"rounds\": %u,\n \"rows\": [",
	       turns->commit, turns->ranks.n,
	       turns->ranks.rank[0].gpu < 0 ? "host" : "cuda", turns->rounds);
	for (int graph = 0; graph < 2; graph++)
		for (int c = 0; c < GT_NCOLLS && !rc; c++)
			if (turns->modes & 1 << graph && turns->colls & 1 << c)
				rc = turn_sizes(turns, c, graph);
	printf("\n]}\n");
	return rc;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: vs-self [-b MIN] [-e MAX] [-f FACTOR] [-r ROUNDS]\n"
		"               [-m stream|graph] [-c COLL] [-t SECONDS]\n"
		"               [-d host|cuda] [-S] [-C COMMIT] PLAN WAY "
		"WAY...\n");
	return 2;
}

static int parse_option(struct turns *turns, int c)
{
	int coll;

	switch (c) {
	case 'b':
		return gt_unit_bytes(optarg, &turns->begin);
	case 'e':
		return gt_unit_bytes(optarg, &turns->end);
	case 'f':
		turns->factor = strtoull(optarg, NULL, 10);
		return turns->factor > 1;
	case 'r':
		turns->rounds = (uint32_t)strtoul(optarg, NULL, 10);
		return turns->rounds && turns->rounds <= GT_QUANTILE_MOST;
	case 'm':
		turns->modes = strcmp(optarg, "graph") ? 1 : 2;
		return 1;
	case 'c':
		coll = gt_coll_find(optarg);
		turns->colls = coll < 0 ? 0 : 1 << coll & TURNS_COLLS;
		return turns->colls != 0;
	case 't':
		turns->deadline_ns =
			gt_clock_ns() + strtoll(optarg, NULL, 10) * 1000000000;
		return 1;
	case 'd':
		turns->device =
			strcmp(optarg, "host") ? GTOPO_CUDA : GTOPO_HOST;
		return 1;
	case 'S':
		turns->is_shared = 1;
		return 1;
	case 'C':
		turns->commit = optarg;
		return 1;
	}
	return 0;
}

static int parse(struct turns *turns, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "b:e:f:r:m:c:t:d:SC:")) != -1)
		if (!parse_option(turns, c))
			return usage();
	turns->nways = argc - optind - 1;
	if (turns->device == GTOPO_HOST)
		turns->modes &= 1;
	if (turns->nways < 2 || turns->nways > TURNS_WAYS || !turns->begin ||
	    turns->begin > turns->end || !turns->modes)
		return usage();
	return 0;
}

static int open_all(struct turns *turns, char **argv)
{
	int rc;

	/* Ranks that share a GPU wait for each other: a queue for each. */
	if (turns->is_shared)
		setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	for (int w = 0; w < turns->nways; w++) {
		turns->ways[w] = gt_self_open(argv[w + 1], argv[0],
					      turns->device, turns->is_shared);
		if (!turns->ways[w])
			return 2;
	}
	rc = gt_self_ranks_open(&turns->ranks, turns->ways[0], turns->end);
	turns->expected =
		malloc(2ull * TURNS_COMPARED_BYTES * (uint64_t)turns->ranks.n);
	turns->found =
		malloc(2ull * TURNS_COMPARED_BYTES * (uint64_t)turns->ranks.n);
	return rc || !turns->expected || !turns->found ? 3 : 0;
}

int main(int argc, char **argv)
{
	struct turns turns = {.begin = 1024,
			      .end = 256 << 20,
			      .factor = 4,
			      .rounds = 11,
			      .colls = TURNS_COLLS,
			      .modes = 3,
			      .deadline_ns = INT64_MAX,
			      .device = GTOPO_CUDA,
			      .commit = "unknown"};
	int rc = parse(&turns, argc, argv);

	if (rc)
		return rc;
	rc = open_all(&turns, argv + optind);
	if (!rc)
		rc = turn_all(&turns);
	for (int w = 0; w < turns.nways; w++)
		gt_self_close(turns.ways[w]);
	gt_self_ranks_close(&turns.ranks);
	free(turns.expected);
	free(turns.found);
	return rc ? rc : turns.differ;
}
