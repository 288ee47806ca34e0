/*
 * A fair race: gtopo's engine and NCCL's variants take turns, round by round,
 * in one process on the same GPUs, so that whatever else happens to the
 * machine happens to all.
 *
 *     vs-nccl [-b MIN] [-e MAX] [-f FACTOR] [-r ROUNDS] [-m stream|graph]
 *             [-t SECONDS] [-c COLL] [-C COMMIT] [-p] [-k BLOCKS]
 *             [-n PROCS [-l LINK]] [-F] [-S] PLAN
 *
 * With -n as so many processes; with -l as many hosts: gtopo's go over that
 * link, NCCL's over sockets.  Messages go the fastest way that the engine
 * knows; with -p the plan's; with -k by at most so many thread blocks, for
 * which NCCL has NCCL_MAX_CTAS.  Sizes from MIN to MAX bytes (1 KiB to 4 GiB)
 * by FACTOR (4), each measured ROUNDS times (9) launched into a stream and as a
 * CUDA graph.  NCCL is libnccl.so.2, or what the environment's GTOPO_NCCL
 * names; multicast (NVLS) stays off.  No new row begins SECONDS after the
 * start.
 *
 * With -F NCCL's default races against itself with algorithm, protocol and
 * number of channels forced, for `gtopo export --to nccl-tuner`; gtopo is not
 * there.  Each way has buffers of MAX bytes of its own, so that MAX should be
 * 64 MiB or so.
 *
 * With -S ranks share the GPUs that there are, whatever the plan says; NCCL
 * (2.30 on) does so with NCCL_MULTI_RANK_GPU_ENABLE=1 alone.
 *
 * One JSON object on stdout, complete however it ends.  Status: 0 all right,
 * 1 wrong data, 2 usage or plan at fault, 3 a failure or overtime.
 */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/unit.h"
#include "exec/engine.h"
#include "exec/link/process_group.h"
#include "nccl.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "quantile.h"
#include "world/launcher.h"
#include "world/world.h"

enum {
	RACE_ROUNDS = 9,
	RACE_MAX_ROUNDS = GT_QUANTILE_MOST,
	RACE_FEW_ROUNDS = 5, /* above RACE_LARGE_BYTES */
	RACE_LARGE_BYTES = 1 << 30,
	RACE_RUNNERS = GT_NCCL_NVARIANTS + 1, /* the last is gtopo */
	RACE_GTOPO = GT_NCCL_NVARIANTS,
	RACE_MAX_RANKS = 16,
	RACE_GRACE_S = 8,       /* for the last row, or something hangs */
	RACE_ROW_MAX = 1 << 16, /* characters; stdout holds a whole row */
};

struct race {
	struct gt_plan *plan;
	int devices[RACE_MAX_RANKS];
	uint32_t rounds;
	uint64_t begin, end, factor; /* bytes */
	int colls;                   /* bits */
	int modes;                   /* bits: 1 stream, 2 graph */
	unsigned seconds;
	int64_t deadline_ns;
	const char *commit;
	int best;
	uint32_t max_blocks; /* gtopo's; 0: any */
	int forced;          /* NCCL's ways are those that are forced */
	int shared;          /* ranks share GPUs */
	uint32_t procs;
	const char *link;
	struct gt_world *world;

	int graph;
	struct gt_engine *engine;
	struct gt_nccl *nccl[GT_NCCL_NVARIANTS];
	int rows;
};

/* Times of one row, in microseconds an iteration. */
struct row {
	struct gt_exec_request req;
	uint64_t bytes, wrong;
	uint32_t iters, rounds;
	int blocks[GT_NCCL_NVARIANTS]; /* -1: not known */
	double us[RACE_RUNNERS][RACE_MAX_ROUNDS];
};

/* Rows reach stdout whole, so that this always completes the object. */
static void race_overtime(int number)
{
	static const char end[] = "\n]}\n";

	(void)number;
	while (write(STDOUT_FILENO, end, sizeof(end) - 1) < 0 && errno == EINTR)
		continue;
	_exit(3);
}

static int fail(const struct gt_err *err)
{
	fprintf(stderr, "vs-nccl: %s\n", err->text);
	return 3;
}

static uint32_t iters_of(const struct race *race, uint64_t bytes)
{
	if (race->link)
		return bytes >= 16 << 20 ? 5 : 20;
	if (bytes > RACE_LARGE_BYTES)
		return 3;
	return bytes >= 128 << 20 ? 5 : bytes >= 16 << 20 ? 20 : 50;
}

/* Large messages take long, and the same every time. */
static uint32_t rounds_of(const struct race *race, uint64_t bytes)
{
	return bytes > RACE_LARGE_BYTES && race->rounds > RACE_FEW_ROUNDS
		       ? RACE_FEW_ROUNDS
		       : race->rounds;
}

/* Negative: it failed. */
static double run_one(const struct race *race, const struct row *row, int who)
{
	struct gt_err err;
	int64_t ns;

	if (who != RACE_GTOPO) {
		if (!race->nccl[who] ||
		    !gt_nccl_does((enum gt_nccl_variant)who, row->req.coll))
			return -1;
		ns = gt_nccl_run(race->nccl[who], &row->req, row->iters,
				 race->graph);
		return (double)ns / row->iters / 1e3;
	}
	gt_err_init(&err);
	if (gt_engine_cuda.run(race->engine, &row->req, row->iters, &ns,
			       &err)) {
		fail(&err);
		return -1;
	}
	return (double)ns / row->iters / 1e3;
}

/* Fill, run once, compare every element. */
static int check_row(const struct race *race, struct row *row)
{
	const struct gt_engine_ops *ops = &gt_engine_cuda;
	struct gt_err err;
	int64_t ns;

	gt_err_init(&err);
	if (ops->fill(race->engine, &row->req, &err) ||
	    ops->run(race->engine, &row->req, 1, &ns, &err) ||
	    ops->check(race->engine, &row->req, &row->wrong, &err))
		return fail(&err);
	return 0;
}

/*
 * NCCL connects ranks at first use, which it cannot while it is captured.  A
 * graph then tells how many blocks it takes.
 */
static void connect_row(struct race *race, struct row *row)
{
	for (int v = 0; v < GT_NCCL_NVARIANTS; v++) {
		row->blocks[v] = -1;
		if (!race->nccl[v] || (race->link && !race->graph) ||
		    !gt_nccl_does((enum gt_nccl_variant)v, row->req.coll) ||
		    gt_nccl_run(race->nccl[v], &row->req, 1, 0) < 0 ||
		    gt_nccl_run(race->nccl[v], &row->req, 1, 1) < 0)
			continue;
		row->blocks[v] = gt_nccl_blocks(race->nccl[v]);
	}
}

/* Everyone in each round; the first starts one later in the next round. */
static int measure_row(const struct race *race, struct row *row)
{
	int runners = race->forced ? RACE_GTOPO : RACE_RUNNERS;

	for (uint32_t round = 0; round < row->rounds + 1; round++)
		for (int i = 0; i < runners; i++) {
			int who = (i + (int)round) % runners;
			double us = run_one(race, row, who);

			if (us < 0 && who == RACE_GTOPO)
				return 3;
			if (round) /* the first warms up */
				row->us[who][round - 1] = us;
		}
	return 0;
}

static double busbw(const struct race *race, const struct row *row, double us)
{
	double n = race->plan->nranks;
	double factor = row->req.coll == GT_COLL_ALLREDUCE  ? 2 * (n - 1) / n
			: gt_coll_has_blocks(row->req.coll) ? (n - 1) / n
							    : 1;

	return (double)row->bytes / us / 1e3 * factor;
}

/* NCCL's variant whose median is the smallest; -1: none ran. */
static int best_of(const struct row *row)
{
	double least = 0;
	int best = -1;

	for (int v = 0; v < GT_NCCL_NVARIANTS; v++) {
		double us = gt_quantile(row->us[v], row->rounds, 0.5);

		if (us > 0 && (best < 0 || us < least)) {
			best = v;
			least = us;
		}
	}
	return best;
}

static void print_ratio(const struct row *row, const char *name, int variant)
{
	double ratios[RACE_MAX_ROUNDS];

	for (uint32_t i = 0; i < row->rounds; i++)
		ratios[i] = row->us[variant][i] / row->us[RACE_GTOPO][i];
	printf(", \"%s\": %.3f, \"%s_p5\": %.3f", name,
	       gt_quantile(ratios, row->rounds, 0.5), name,
	       gt_quantile(ratios, row->rounds, 0.05));
}

static void print_gtopo(const struct race *race, const struct row *row)
{
	double us = gt_quantile(row->us[RACE_GTOPO], row->rounds, 0.5);
	struct gt_algo_choice choice = {.algo = 0};
	struct gt_err err;

	gt_err_init(&err);
	gt_engine_cuda.algo_choice(race->engine, &row->req, &choice, &err);
	printf(",\n   \"gtopo\": {\"time_us\": "
	       "%.2f, "
	       "\"busbw_gbs\": %.2f, \"wrong\": %llu, \"algo\": \"%s\", "
	       "\"protocol\": \"%s\", \"blocks\": %u, "
	       "\"detour_permille\": %u}",
	       us, busbw(race, row, us), (unsigned long long)row->wrong,
	       gt_algo_name(choice.algo), gt_protocol_name(choice.protocol),
	       choice.blocks, choice.detour_permille);
}

static void print_row(struct race *race, const struct row *row)
{
	int best = best_of(row), n = 0;
	double other;

	printf("%s\n  {\"ranks\": %u, \"coll\": \"%s\", \"dtype\": \"%s\", "
	       "\"op\": \"%s\", \"inplace\": false, \"bytes\": %llu, "
	       "\"graph\": %s, \"rounds\": %u",
	       race->rows++ ? "," : "", race->plan->nranks,
	       gt_coll_name(row->req.coll), gt_dtype_name(row->req.dtype),
	       gt_redop_name(row->req.op), (unsigned long long)row->bytes,
	       race->graph ? "true" : "false", row->rounds);
	if (!race->forced)
		print_gtopo(race, row);
	if (best >= 0) {
		other = gt_quantile(row->us[best], row->rounds, 0.5);
		printf(",\n   \"nccl\": {\"best\": \"%s\", \"time_us\": %.2f, "
		       "\"busbw_gbs\": %.2f, ",
		       gt_nccl_name((enum gt_nccl_variant)best), other,
		       busbw(race, row, other));
		if (row->blocks[best] >= 0)
			printf("\"blocks\": %d, ", row->blocks[best]);
		printf("\"variants_us\": {");
		for (int v = 0; v < GT_NCCL_NVARIANTS; v++) {
			other = gt_quantile(row->us[v], row->rounds, 0.5);
			if (other > 0)
				printf("%s\"%s\": %.2f", n++ ? ", " : "",
				       gt_nccl_name((enum gt_nccl_variant)v),
				       other);
		}
		printf("}}");
		if (!race->forced)
			print_ratio(row, "ratio", best);
		if (!race->forced && race->nccl[GT_NCCL_RING])
			print_ratio(row, "ratio_ring", GT_NCCL_RING);
	}
	printf("}");
	fflush(stdout);
}

static int race_row(struct race *race, enum gt_coll coll, enum gt_dtype dtype,
		    uint64_t bytes)
{
	static struct row row;
	uint32_t n = race->plan->nranks;
	int rc;

	memset(&row, 0, sizeof(row));
	row.bytes = bytes;
	row.iters = iters_of(race, bytes);
	row.rounds = rounds_of(race, bytes);
	row.req = (struct gt_exec_request){
		.coll = coll,
		.dtype = dtype,
		.count = bytes / gt_dtype_bytes(dtype) /
			 (gt_coll_has_blocks(coll) ? n : 1),
		.seed = bytes};
	rc = race->forced ? 0 : check_row(race, &row);
	connect_row(race, &row);
	if (!rc)
		rc = measure_row(race, &row);
	if (!rc)
		print_row(race, &row);
	return rc ? rc : row.wrong ? 1 : 0;
}

static int race_sizes(struct race *race, enum gt_coll coll, enum gt_dtype dtype)
{
	int worst = 0, rc;

	for (uint64_t bytes = race->begin; bytes <= race->end;
	     bytes *= race->factor) {
		uint64_t late = gt_clock_ns() > race->deadline_ns;

		if (race->world && gt_world_max(race->world, &late, NULL))
			return 3;
		if (late) {
			fprintf(stderr, "vs-nccl: out of time\n");
			return worst;
		}
		rc = race_row(race, coll, dtype, bytes);
		worst = rc > worst ? rc : worst;
		if (rc == 3)
			return rc;
	}
	return worst;
}

/*
 * Bytes that are moved know no types; all-reduce has a second one, but where
 * NCCL's ways are forced, since its tuner is not told the type.
 */
static int race_colls(struct race *race)
{
	int worst = 0, rc;

	for (int c = 0; c < GT_NCOLLS && worst < 3; c++) {
		if (!(race->colls & 1 << c))
			continue;
		rc = race_sizes(race, (enum gt_coll)c, GT_DTYPE_FLOAT);
		worst = rc > worst ? rc : worst;
		if (c == GT_COLL_ALLREDUCE && !race->forced && worst < 3)
			rc = race_sizes(race, (enum gt_coll)c, GT_DTYPE_BF16);
		worst = rc > worst ? rc : worst;
	}
	return worst;
}

static int race_modes(struct race *race)
{
	int worst = 0, rc;

	for (int graph = 0; graph < 2 && worst < 3; graph++) {
		struct gt_engine_config config = {
			.plan = race->plan,
			.max_bytes = race->end,
			.graph = graph,
			.best = race->best,
			.max_blocks = race->max_blocks,
			.world = race->world,
			.link = race->link,
			.map = race->shared ? GT_DEVICE_SHARED
					    : GT_DEVICE_BY_ID,
			.timeout_ns = 5000000000};
		struct gt_err err;

		if (!(race->modes & 1 << graph))
			continue;
		gt_err_init(&err);
		race->graph = graph;
		if (!race->forced &&
		    gt_engine_cuda.open(&config, &race->engine, &err))
			return fail(&err);
		rc = race_colls(race);
		worst = rc > worst ? rc : worst;
		gt_engine_cuda.close(race->engine);
		race->engine = NULL;
	}
	return worst;
}

/* The kernel driver's version, "unknown" without it. */
static void driver_version(char text[32])
{
	FILE *file = fopen("/sys/module/nvidia/version", "r");

	strcpy(text, "unknown");
	if (!file)
		return;
	if (fscanf(file, "%31[0-9.]", text) != 1)
		strcpy(text, "unknown");
	fclose(file);
}

static void print_machine(const struct race *race)
{
	char version[32];
	struct cudaDeviceProp prop;
	int driver = 0, runtime = 0;

	memset(&prop, 0, sizeof(prop));
	cudaGetDeviceProperties(&prop, race->devices[0]);
	cudaDriverGetVersion(&driver);
	cudaRuntimeGetVersion(&runtime);
	driver_version(version);
	printf("{\"machine\": {\"gpu\": \"%s\", \"gpus\": %u, "
	       "\"driver\": \"%s\", \"cuda_driver\": %d, \"cuda_runtime\": %d, "
	       "\"nccl\": %d, "
	       "\"nvls\": false, \"processes\": %u, \"link\": \"%s\"},\n "
	       "\"commit\": \"%s\", \"rounds\": %u,\n"
	       " \"rows\": [",
	       prop.name, race->plan->nranks, version, driver, runtime,
	       gt_nccl_version(), race->procs, race->link ? race->link : "peer",
	       race->commit, race->rounds);
	fflush(stdout);
}

static int race_device(struct race *race, uint32_t rank)
{
	int gpus = 0;

	if (race->shared && cudaGetDeviceCount(&gpus) == cudaSuccess && gpus) {
		race->devices[rank] = (int)rank % gpus;
		return 0;
	}
	if (cudaDeviceGetByPCIBusId(&race->devices[rank],
				    race->plan->ranks[rank].device) ==
	    cudaSuccess)
		return 0;
	fprintf(stderr, "vs-nccl: no GPU '%s'\n",
		race->plan->ranks[rank].device);
	return 2;
}

/* NCCL gets the same GPUs in the same order as the plan's ranks. */
static int race_open(struct race *race, const char *path)
{
	struct gt_err err;

	gt_err_init(&err);
	if (gt_plan_read(path, &race->plan, &err) ||
	    gt_plan_check(race->plan, &err)) {
		fail(&err);
		return 2;
	}
	if (race->plan->nranks > RACE_MAX_RANKS) {
		fprintf(stderr, "vs-nccl: more than %d ranks\n",
			RACE_MAX_RANKS);
		return 2;
	}
	for (uint32_t r = 0; r < race->plan->nranks; r++)
		if (race_device(race, r))
			return 2;
	return 0;
}

/* A variant that does not start does not take part. */
static void race_nccl(struct race *race)
{
	uint32_t n = race->plan->nranks;
	uint32_t self = race->world ? gt_world_rank(race->world) : 0;
	const struct gt_nccl_ranks ranks = {
		.nranks = n,
		.first = gt_process_group_first(self, race->procs, n),
		.end = gt_process_group_first(self + 1, race->procs, n),
		.devices = race->devices,
		.world = race->world};
	/* Windows are for GPUs that reach each other. */
	int end = race->link ? GT_NCCL_SYMMETRIC : GT_NCCL_FORCED;
	char host[16];

	if (race->link) {
		snprintf(host, sizeof(host), "host%u", self);
		setenv("NCCL_HOSTID", host, 1);
		setenv("NCCL_NET", "Socket", 1);
	}
	for (int v = 0; v < GT_NCCL_NVARIANTS; v++)
		if (v == GT_NCCL_DEFAULT ||
		    (race->forced ? v >= GT_NCCL_FORCED : v < end))
			race->nccl[v] = gt_nccl_open((enum gt_nccl_variant)v,
						     &ranks, race->end);
}

/* As several processes: 0 in each of them, or how they ended. */
static int race_fork(struct race *race)
{
	struct gt_world_config config = {.listen_fd = -1,
					 .timeout_ns = 20000000000};
	struct gt_err err;
	int parent = 0, rc;

	if (race->procs < 2)
		return 0;
	gt_err_init(&err);
	fflush(stdout);
	rc = gt_fork_job(race->procs, &config, &parent, &err);
	if (parent)
		_exit(-rc);
	if (rc || gt_world_open(&config, &race->world, &err))
		return fail(&err);
	/* One of them reports. */
	if (gt_world_rank(race->world) && !freopen("/dev/null", "w", stdout))
		return 3;
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: vs-nccl [-b MIN] [-e MAX] [-f FACTOR] [-r ROUNDS]\n"
		"               [-m stream|graph] [-t SECONDS] [-c COLL] "
		"[-C COMMIT] [-p]\n"
		"               [-k BLOCKS] [-n PROCS [-l LINK]] [-F] [-S] "
		"PLAN\n");
	return 2;
}

static int race_parse(struct race *race, int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "b:e:f:r:m:t:c:C:pk:n:l:FS")) != -1)
		switch (c) {
		case 'b':
			if (!gt_unit_bytes(optarg, &race->begin))
				return usage();
			break;
		case 'e':
			if (!gt_unit_bytes(optarg, &race->end))
				return usage();
			break;
		case 'f':
			race->factor = strtoull(optarg, NULL, 0);
			break;
		case 'r':
			race->rounds = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'm':
			race->modes = strcmp(optarg, "graph") ? 1 : 2;
			break;
		case 't':
			race->seconds = (unsigned)atoi(optarg);
			break;
		case 'c':
			if (gt_coll_find(optarg) < 0)
				return usage();
			race->colls = 1 << gt_coll_find(optarg);
			break;
		case 'C':
			race->commit = optarg;
			break;
		case 'p':
			race->best = 0;
			break;
		case 'k':
			race->max_blocks = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'n':
			race->procs = (uint32_t)strtoul(optarg, NULL, 0);
			break;
		case 'l':
			race->link = optarg;
			break;
		case 'F':
			race->forced = 1;
			break;
		case 'S':
			race->shared = 1;
			break;
		default:
			return usage();
		}
	if (argc - optind != 1 || race->factor < 2 || !race->begin ||
	    race->begin > race->end || !race->procs ||
	    (race->link && race->procs < 2) || race->rounds < 1 ||
	    race->rounds > RACE_MAX_ROUNDS)
		return usage();
	return 0;
}

/* From here on, overtime ends the process. */
static void race_limit(struct race *race, int64_t begin_ns)
{
	int64_t used_s = (gt_clock_ns() - begin_ns) / 1000000000;

	if (!race->seconds)
		return;
	race->deadline_ns = begin_ns + race->seconds * 1000000000ll;
	signal(SIGALRM, race_overtime);
	alarm(used_s < race->seconds
		      ? race->seconds - (unsigned)used_s + RACE_GRACE_S
		      : RACE_GRACE_S);
}

int main(int argc, char **argv)
{
	struct race race = {.rounds = RACE_ROUNDS,
			    .begin = 1024,
			    .end = 4ull << 30,
			    .factor = 4,
			    .colls = (1 << GT_NCOLLS) - 1,
			    .modes = 3,
			    .deadline_ns = INT64_MAX,
			    .commit = "unknown",
			    .procs = 1,
			    .best = 1};
	int64_t begin_ns = gt_clock_ns();
	int rc = race_parse(&race, argc, argv);

	if (rc)
		return rc;
	rc = race_fork(&race);
	if (rc)
		return rc;
	setvbuf(stdout, NULL, _IOFBF, RACE_ROW_MAX);
	rc = race_open(&race, argv[optind]);
	if (rc)
		return rc;
	print_machine(&race);
	race_limit(&race, begin_ns);
	race_nccl(&race);
	rc = race_modes(&race);
	alarm(0);
	printf("\n]}\n");
	fflush(stdout);
	if (race.world && gt_world_allgather(race.world, NULL, 0, NULL, NULL))
		rc = 3;
	gt_world_close(race.world); /* or others do not hear the last words */
	/* Ending communicators takes seconds and could only hang. */
	_exit(ferror(stdout) ? 3 : rc);
}
