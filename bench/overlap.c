/*
 * Collectives beside products, as training has them: what they add to the time
 * of products, and how long all of it takes.  libgtopo and NCCL's variants
 * take turns, round by round.
 *
 *     overlap [-k beside|alone|fsdp|ddp] [-c COLL,...] [-b MIN] [-e MAX]
 *             [-f FACTOR] [-i OPERATIONS] [-s SIZE] [-d WIDTH,...] [-l LAYERS]
 *             [-T TOKENS] [-r ROUNDS] [-m stream|graph] [-p normal|high]
 *             [-w WAY,...] [-x BLOCKS] [-n PROCS] [-t SECONDS] [-C COMMIT]
 *             [-o FILE] PLAN
 *
 * -k beside: OPERATIONS (50) products of SIZE x SIZE matrices (8192) on one
 * stream of each GPU, so many collectives of MIN to MAX bytes (1M to 1G) by
 * FACTOR (4) on another one.  -k alone: collectives without products; all nine
 * of them, unless -c says which.  -k fsdp, -k ddp: 3 steps of training a model
 * of LAYERS (8) layers of WIDTH (2048,4096,8192) with TOKENS (4096) a rank
 * (overlap_model.c).
 *
 * Types are bf16.  One process with a thread a GPU, or PROCS processes; only
 * then libgtopo's ways that register buffers differ from those that do not, and
 * are there.  A way that the plan has no schedule for is left out of the row.
 * Everything is launched one by one and as graphs, on streams of both
 * priorities, by all ways, unless -m, -p and -w say which.  BLOCKS: what
 * NCCL_MIN_CTAS, NCCL_MAX_CTAS and libgtopo's max_blocks say.  NVLS, NCCL's
 * multicast, is always off.  cuBLAS and NCCL are looked for at run time
 * (GTOPO_CUBLAS, GTOPO_NCCL).  Ranks share GPUs where there are too few,
 * without NCCL.
 *
 * A line of the table, in microseconds: all products without collectives, all
 * collectives without products; what they add to the time until the products
 * are done (median, 5th and 95th percentile of rounds), until all is done; what
 * is added in percent of the products, and more than by NCCL's best; NCCL's
 * best time until all is done / this one's; elements that were wrong.  FILE has
 * it as JSON and is complete at any time.
 *
 * No new row begins SECONDS (440) after the start.  Status: 0 all right, 1
 * wrong data, 2 usage or plan at fault, 3 a failure or overtime, 77 no GPUs.
 */
#include "overlap.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "nccl.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "world/world.h"

enum {
	OVERLAP_GRACE_S = 40, /* for the last row, or something hangs */
	OVERLAP_END_S = 15,   /* for communicators to end */
};

static void overtime(int number)
{
	static const char text[] = "overlap: out of time: something hangs, or "
				   "-t leaves too little for a row\n";

	(void)number;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(3);
	_exit(3);
}

/* How many ranks has the plan, and are there as many GPUs? */
static int look_at_plan(struct overlap *o, int gpus)
{
	struct gt_plan *plan;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_plan_read(o->options.plan, &plan, &err))
		return gt_overlap_err(&err);
	o->nranks = plan->nranks;
	gt_plan_free(plan);
	if (o->nranks < 2 || o->nranks > OVERLAP_RANKS) {
		gt_overlap_fail(o->options.plan, "has not 2 to 16 ranks");
		return GT_EINPUT;
	}
	o->shares = (uint32_t)gpus < o->nranks;
	/* Ranks that share a GPU wait for each other: a queue for each. */
	if (o->shares)
		setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	return GT_OK;
}

static int open_base(struct overlap *o)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	char message[512];
	int first, count, rc;

	config.plan = o->options.plan;
	config.device = GTOPO_CUDA;
	config.flags = (o->world ? GTOPO_LAUNCHED : 0) |
		       (o->shares ? GTOPO_MAP_SHARE : 0);
	rc = gtopo_comm_create(&config, &o->base, message, sizeof(message));
	if (rc) {
		gt_overlap_fail("libgtopo", message);
		return rc == GTOPO_EINPUT ? GT_EINPUT : GT_ESYS;
	}
	gtopo_comm_local(o->base, &first, &count);
	o->first = (uint32_t)first;
	o->end = (uint32_t)(first + count);
	return GT_OK;
}

static int open_json(struct overlap *o)
{
	if (!o->options.file || (o->world && gt_world_rank(o->world)))
		return GT_OK;
	o->json = fopen(o->options.file, "w");
	if (o->json)
		return GT_OK;
	gt_overlap_fail(o->options.file, "cannot be written; -o names it");
	return GT_EINPUT;
}

/* Bytes of the largest buffer. */
static uint64_t room_of(const struct overlap_options *options)
{
	uint64_t room = 0, bytes;

	if (options->mode < OVERLAP_FSDP)
		return options->end;
	for (int i = 0; i < OVERLAP_HIDDENS && options->hidden[i]; i++) {
		bytes = gt_overlap_model_bytes(options->hidden[i]);
		room = bytes > room ? bytes : room;
	}
	return room;
}

static int open_all(struct overlap *o, int gpus)
{
	int rc = look_at_plan(o, gpus);

	if (!rc)
		rc = open_base(o);
	if (rc)
		return rc;
	o->room = room_of(&o->options);
	rc = gt_overlap_ranks_open(o);
	if (!rc)
		rc = gt_overlap_ways_open(o);
	o->nccl_version = o->shares ? 0 : gt_nccl_version();
	return rc ? rc : open_json(o);
}

/* Everyone is late, or nobody. */
static int is_late(const struct overlap *o)
{
	int late = gt_overlap_most(o, gt_clock_ns() > o->deadline_ns) != 0;

	if (late)
		fprintf(stderr, "overlap: out of time: further rows are left "
				"out\n");
	return late;
}

/* The worse of two results: wrong data are better than a failure. */
static int worse(int worst, int rc)
{
	return rc < worst ? rc : worst;
}

static int size_row(struct overlap *o, enum gt_coll coll, uint64_t bytes,
		    int graph)
{
	const struct overlap_row_name name = {
		.what = gt_coll_name(coll), .bytes = bytes, .graph = graph};
	const struct gt_exec_request req = {
		.coll = coll,
		.dtype = GT_DTYPE_BF16,
		.count = bytes / gt_dtype_bytes(GT_DTYPE_BF16) /
			 (gt_coll_has_blocks(coll) ? o->nranks : 1)};
	struct overlap_load load = {.items = NULL};
	int size = o->options.size, rc;

	for (int i = 0; i < o->options.operations; i++) {
		gt_overlap_load_product(&load, size, size, size);
		gt_overlap_load_collective(&load, &req);
	}
	rc = gt_overlap_row(o, &name, &load);
	gt_overlap_load_free(&load);
	return rc;
}

static int size_rows(struct overlap *o, int graph)
{
	const struct overlap_options *options = &o->options;
	int worst = GT_OK;

	for (int c = 0; c < GT_NCOLLS; c++)
		for (uint64_t bytes = options->begin;
		     bytes <= options->end && options->colls & 1 << c;
		     bytes *= (uint64_t)options->factor) {
			if (is_late(o))
				return worst;
			worst = worse(worst, size_row(o, (enum gt_coll)c, bytes,
						      graph));
			if (worst < GT_ENO)
				return worst;
		}
	return worst;
}

static int model_rows(struct overlap *o, int graph)
{
	const struct overlap_options *options = &o->options;
	int worst = GT_OK;

	for (int i = 0; i < OVERLAP_HIDDENS && options->hidden[i]; i++) {
		int hidden = options->hidden[i];
		const struct overlap_row_name name = {
			.what = gt_overlap_mode_name(options->mode),
			.bytes = gt_overlap_layer_bytes(hidden),
			.hidden = hidden,
			.graph = graph};
		struct overlap_load load = {.items = NULL};

		if (is_late(o))
			return worst;
		gt_overlap_model(o, hidden, &load);
		worst = worse(worst, gt_overlap_row(o, &name, &load));
		gt_overlap_load_free(&load);
		if (worst < GT_ENO)
			return worst;
	}
	return worst;
}

static int all_rows(struct overlap *o)
{
	int worst = GT_OK;

	for (int graph = 0; graph < 2 && worst >= GT_ENO; graph++)
		if (o->options.launches & 1 << graph)
			worst = worse(worst, o->options.mode >= OVERLAP_FSDP
						     ? model_rows(o, graph)
						     : size_rows(o, graph));
	return worst;
}

/* From here on, overtime ends the process. */
static void limit(struct overlap *o, int64_t begin_ns)
{
	unsigned seconds = (unsigned)o->options.seconds;

	o->deadline_ns = begin_ns + seconds * 1000000000ll;
	signal(SIGALRM, overtime);
	alarm(seconds + OVERLAP_GRACE_S);
}

/* After a failure others are not waited for. */
static void close_all(struct overlap *o, int rc)
{
	int failed = rc < GT_ENO;

	alarm(OVERLAP_END_S);
	for (int w = 0; failed && w < OVERLAP_WAYS; w++)
		if (o->ways[w].comm)
			gtopo_comm_abort(o->ways[w].comm);
	if (failed && o->base)
		gtopo_comm_abort(o->base);
	gt_overlap_ways_close(o);
	gtopo_comm_destroy(o->base);
	if (failed && o->world)
		gt_world_abort(o->world, "bench/overlap has failed");
	gt_world_close(o->world);
}

int main(int argc, char **argv)
{
	struct overlap o = {.world = NULL};
	int64_t begin_ns = gt_clock_ns();
	int rc = gt_overlap_parse(&o.options, argc, argv);
	int gpus = 0;

	if (!rc)
		rc = gt_overlap_fork(&o);
	if (rc)
		return -rc;
	if (cudaGetDeviceCount(&gpus) != cudaSuccess || !gpus) {
		printf("no GPU here\n");
		return 77;
	}
	limit(&o, begin_ns);
	rc = open_all(&o, gpus);
	if (!rc) {
		gt_overlap_print_head(&o);
		rc = all_rows(&o);
	}
	if ((o.json && fclose(o.json)) || ferror(stdout))
		rc = worse(rc, gt_overlap_fail("output", "is not whole"));
	close_all(&o, rc);
	fflush(stdout);
	/* Ending NCCL's communicators takes seconds and could only hang. */
	_exit(-rc);
}
