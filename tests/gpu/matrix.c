/*
 * The CUDA engine alone, without a plan file: one ring over devices 0 to
 * RANKS - 1.
 *
 *     matrix check|large|stress|small|blocks|fault|bits RANKS SECONDS
 *
 * check: every collective, type, operator, in and out of place, odd counts
 * and addresses.  large: more elements than 31 bits count.  stress: 100000
 * operations of random kinds and sizes.  small: a few moves of every kind, for
 * tools that make them slow.  blocks: every collective in every way, and as the
 * engine chooses, with 1, 2, 3, 8 and 16 thread blocks, from 1 KiB to 64 MiB.
 * fault: a rank that stops is named in time, and the process can run again.
 * bits: 100000 random sums, in every way, have the bits of a loop over the
 * ranks.
 * With GTOPO_P2P=off all of it goes through the host's memory.
 *
 * Prints one line of what was done and a line for each of the first faults.
 * Status: 0 all right; 1 wrong, failed or out of time; 2 usage; 77 fewer
 * GPUs than RANKS.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "exec/engine.h"
#include "gpu/matrix.h"
#include "kernels/pattern.h"

enum {
	STRESS_OPERATIONS = 100000,
	FAULTS_SHOWN = 20,
};

/* All ways that bytes can go. */
const struct gt_algo_choice ways[] = {
	{.algo = GT_ALGO_RING, .protocol = GT_PROTOCOL_SIMPLE},
	{.algo = GT_ALGO_ONE_SHOT, .protocol = GT_PROTOCOL_LL},
	{.algo = GT_ALGO_ONE_SHOT, .protocol = GT_PROTOCOL_LL128},
	{.algo = GT_ALGO_TWO_SHOT, .protocol = GT_PROTOCOL_LL},
	{.algo = GT_ALGO_TWO_SHOT, .protocol = GT_PROTOCOL_LL128},
	{.algo = GT_ALGO_ONE_SHOT, .protocol = GT_PROTOCOL_DIRECT},
	{.algo = GT_ALGO_TWO_SHOT, .protocol = GT_PROTOCOL_DIRECT},
	{.algo = GT_ALGO_ONE_SHOT, .protocol = GT_PROTOCOL_CE},
	{.algo = GT_ALGO_TWO_SHOT, .protocol = GT_PROTOCOL_CE},
	/* With barriers in kernels of their own. */
	{.algo = GT_ALGO_ONE_SHOT,
	 .protocol = GT_PROTOCOL_DIRECT,
	 .waits_apart = 1},
	{.algo = GT_ALGO_TWO_SHOT,
	 .protocol = GT_PROTOCOL_DIRECT,
	 .waits_apart = 1},
	{.algo = GT_ALGO_ONE_SHOT,
	 .protocol = GT_PROTOCOL_CE,
	 .waits_apart = 1},
	{.algo = GT_ALGO_TWO_SHOT,
	 .protocol = GT_PROTOCOL_CE,
	 .waits_apart = 1},
	/* With much of it through the host's memory. */
	{.algo = GT_ALGO_ONE_SHOT,
	 .protocol = GT_PROTOCOL_DIRECT,
	 .detour_permille = 300},
	{.algo = GT_ALGO_ONE_SHOT,
	 .protocol = GT_PROTOCOL_CE,
	 .detour_permille = 300},
	{.algo = GT_ALGO_TWO_SHOT,
	 .protocol = GT_PROTOCOL_CE,
	 .detour_permille = 500},
};

_Static_assert(WAYS == sizeof(ways) / sizeof(ways[0]), "all of them");

static void ring_plan(struct gt_plan *plan, uint32_t nranks)
{
	static uint32_t order[MAX_RANKS];
	static struct gt_plan_rank ranks[MAX_RANKS];
	static struct gt_plan_channel channel;
	static struct gt_plan_select row;
	static uint32_t all[1];

	for (uint32_t r = 0; r < nranks; r++) {
		order[r] = r;
		ranks[r] = (struct gt_plan_rank){.node = "n0", .device = "-"};
	}
	channel = (struct gt_plan_channel){.shape = GT_SHAPE_RING,
					   .norder = nranks,
					   .order = order,
					   .share = GT_RAT(1, 1)};
	row = (struct gt_plan_select){
		.max_bytes = UINT64_MAX, .nchannels = 1, .channels = all};
	*plan = (struct gt_plan){.nranks = nranks,
				 .nchannels = 1,
				 .nselect = 1,
				 .ranks = ranks,
				 .channels = &channel,
				 .select = &row,
				 .fifo_slots = 8,
				 .fifo_slice_bytes = 524288};
}

int late(const struct matrix *m)
{
	return gt_clock_ns() > m->deadline_ns;
}

/* A fresh engine; false with a line when there is none. */
int engine_open(struct matrix *m)
{
	struct gt_err err;

	gt_err_init(&err);
	gt_engine_cuda.close(m->engine);
	m->engine = NULL;
	if (!gt_engine_cuda.open(&m->config, &m->engine, &err))
		return 1;
	printf("# open: %s\n", err.text);
	m->bad++;
	return 0;
}

/* Can the request go its way? */
int possible(const struct matrix *m, const struct gt_exec_request *req)
{
	struct gt_algo_choice way;
	struct gt_err err;

	gt_err_init(&err);
	return !gt_engine_cuda.algo_choice(m->engine, req, &way, &err);
}

/* Fill, run, compare.  Wrong elements, or -1 and words in err. */
static int64_t once(struct matrix *m, const struct gt_exec_request *req,
		    uint32_t iters, struct gt_err *err)
{
	uint64_t wrong = 0;
	int64_t ns;

	gt_err_init(err);
	m->runs++;
	m->operations += iters;
	if (gt_engine_cuda.fill(m->engine, req, err) ||
	    gt_engine_cuda.run(m->engine, req, iters, &ns, err) ||
	    gt_engine_cuda.check(m->engine, req, &wrong, err))
		return -1;
	return (int64_t)wrong;
}

/* The same, counted; after a failure the engine is a new one. */
static int tally(struct matrix *m, const struct gt_exec_request *req,
		 uint32_t iters)
{
	struct gt_err err;
	int64_t wrong = once(m, req, iters, &err);

	if (!wrong)
		return 1;
	if (m->bad++ < FAULTS_SHOWN)
		printf("# %s %s: %s %s %s count %llu inplace %d shift %u: "
		       "%lld wrong %s\n",
		       gt_algo_name(req->choice->algo),
		       gt_protocol_name(req->choice->protocol),
		       gt_coll_name(req->coll), gt_dtype_name(req->dtype),
		       gt_redop_name(req->op), (unsigned long long)req->count,
		       req->inplace, req->shift, (long long)wrong,
		       wrong < 0 ? err.text : "");
	return wrong > 0 || engine_open(m);
}

static int check_some(struct matrix *m, struct gt_exec_request req)
{
	static const uint64_t counts[] = {1, 0, 3, 1000, 4096, 65537, 1048579};
	size_t n = sizeof(counts) / sizeof(counts[0]);

	for (size_t i = 0; i < n * 4; i++) {
		req.count = counts[i / 4];
		req.inplace = i % 2;
		req.shift = i % 4 > 1 ? 1 + (uint32_t)i % 3 : 0;
		req.root = (uint32_t)(i / 4) % m->plan.nranks;
		req.seed++;
		if (late(m))
			return 0;
		if (possible(m, &req) && !tally(m, &req, 1))
			return 0;
	}
	return 1;
}

static int check_way(struct matrix *m, const struct gt_algo_choice *way)
{
	struct gt_exec_request req = {.seed = 1, .choice = way};

	for (int c = 0; c < GT_NCOLLS; c++)
		for (int t = 0; t < GT_NDTYPES; t++)
			for (int o = 0; o < GT_NREDOPS; o++) {
				if (o && !gt_pattern_reduces((uint32_t)c))
					continue;
				req.coll = (enum gt_coll)c;
				req.dtype = (enum gt_dtype)t;
				req.op = (enum gt_redop)o;
				if (!check_some(m, req))
					return 0;
			}
	return 1;
}

static int check(struct matrix *m)
{
	m->config.max_bytes = 64 << 20;
	if (!engine_open(m))
		return 0;
	for (int w = 0; w < WAYS; w++)
		if (!check_way(m, &ways[w]))
			return 0;
	return 1;
}

/* Every way that carries so many. */
static int large(struct matrix *m)
{
	static const enum gt_coll colls[] = {
		GT_COLL_ALLREDUCE, GT_COLL_ALLGATHER, GT_COLL_REDUCESCATTER,
		GT_COLL_ALLTOALL, GT_COLL_BROADCAST};
	const uint64_t most = (1ull << 31) + 4099;
	struct gt_exec_request req = {.dtype = GT_DTYPE_INT8};

	m->config.max_bytes = most + MAX_RANKS;
	if (!engine_open(m))
		return 0;
	for (int i = 0; i < WAYS * 5; i++) {
		req.coll = colls[i % 5];
		req.choice = &ways[i / 5];
		req.inplace = i % 2;
		req.seed++;
		req.count = gt_coll_has_blocks(req.coll)
				    ? most / m->plan.nranks + 1
				    : most;
		if (late(m))
			return 0;
		if (possible(m, &req) && !tally(m, &req, 1))
			return 0;
	}
	return 1;
}

/*
 * Sizes are uniform in their logarithm.  Operations out of place leave their
 * inputs alone, so several run back to back before the comparison.
 */
static int stress(struct matrix *m)
{
	uint64_t state = 2026;

	m->config.max_bytes = 8 << 20;
	if (!engine_open(m))
		return 0;
	while (m->operations < STRESS_OPERATIONS) {
		struct gt_exec_request req = {
			.coll = (enum gt_coll)draw(&state, GT_NCOLLS),
			.dtype = (enum gt_dtype)draw(&state, GT_NDTYPES),
			.op = (enum gt_redop)draw(&state, GT_NREDOPS),
			.inplace = !draw(&state, 4),
			.shift = draw(&state, 2) * draw(&state, 16),
			.seed = draw(&state, 1u << 30),
			.root = draw(&state, m->plan.nranks),
			.choice = &ways[draw(&state, WAYS)]};

		req.count = draw(&state, 2u << draw(&state, 17));
		if (late(m))
			return 0;
		if (possible(m, &req) &&
		    !tally(m, &req, req.inplace ? 1 : 1 + draw(&state, 24)))
			return 0;
	}
	return 1;
}

static int small(struct matrix *m)
{
	struct gt_exec_request req = {.dtype = GT_DTYPE_FLOAT, .seed = 3};

	m->config.max_bytes = 4 << 20;
	m->config.workers = 4;
	m->config.threads = 128;
	m->config.slice_bytes = 16384;
	m->config.timeout_ns = 20000000000;
	if (!engine_open(m))
		return 0;
	for (int i = 0; i < 2 * GT_NCOLLS * WAYS; i++) {
		req.coll = (enum gt_coll)(i / 2 % GT_NCOLLS);
		req.choice = &ways[i / 2 / GT_NCOLLS];
		req.inplace = i % 2;
		req.count = i % 2 ? 9001 : 131072;
		if (late(m))
			return 0;
		if (possible(m, &req) && !tally(m, &req, 1))
			return 0;
	}
	return 1;
}

/*
 * One request that is limited to so many blocks; the engine's choice is taken
 * if the request names none.
 */
static int limited(struct matrix *m, struct gt_exec_request req, uint32_t most)
{
	struct gt_algo_choice way;
	struct gt_err err;

	gt_err_init(&err);
	if (late(m))
		return 0;
	if (gt_engine_cuda.algo_choice(m->engine, &req, &way, &err)) {
		/* It cannot go so, or the plan has no row for it. */
		if (req.choice || !m->config.best)
			return 1;
		printf("# no choice: %s\n", err.text);
		m->bad++;
		return 1;
	}
	if (!req.choice)
		req.choice = &way;
	if (!tally(m, &req, 1))
		return 0;
	if (!gt_engine_cuda.algo_choice(m->engine, &req, &way, &err) &&
	    way.blocks <= most)
		return 1;
	if (m->bad++ < FAULTS_SHOWN)
		printf("# %s %s: %s: %u blocks, %u are allowed\n",
		       gt_algo_name(way.algo), gt_protocol_name(way.protocol),
		       gt_coll_name(req.coll), way.blocks, most);
	return 1;
}

/* All ways, then the plan's own and the fastest; types and operators in turn */
static int blocks_of(struct matrix *m, uint32_t most)
{
	static const enum gt_dtype types[] = {GT_DTYPE_FLOAT, GT_DTYPE_BF16,
					      GT_DTYPE_INT8, GT_DTYPE_DOUBLE};
	struct gt_exec_request req = {.seed = most};

	for (int i = 0; i < (WAYS + 2) * GT_NCOLLS * 5; i++) {
		int way = i / 5 / GT_NCOLLS, best = way == WAYS + 1;

		if (i && best != m->config.best) {
			m->config.best = best;
			if (!engine_open(m))
				return 0;
		}
		req.coll = (enum gt_coll)(i / 5 % GT_NCOLLS);
		req.dtype = types[i % 4];
		req.op = (enum gt_redop)(i % GT_NREDOPS);
		req.count = (1024u << i % 5 * 4) / gt_dtype_bytes(req.dtype);
		if (gt_coll_has_blocks(req.coll))
			req.count /= m->plan.nranks;
		req.inplace = i / 5 % 2;
		req.root = (uint32_t)i % m->plan.nranks;
		req.choice = way < WAYS ? &ways[way] : NULL;
		req.seed++;
		if (!gt_pattern_reduces((uint32_t)req.coll))
			req.op = GT_REDOP_SUM;
		/* The plan's trees and rings know one root. */
		if (way == WAYS)
			req.root = 0;
		if (!limited(m, req, most))
			return 0;
	}
	return 1;
}

static int blocks(struct matrix *m)
{
	static const uint32_t limits[] = {1, 2, 3, 8, 16};

	m->config.max_bytes = 64 << 20;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		m->config.max_blocks = limits[i];
		m->config.best = 0;
		if (!engine_open(m) || !blocks_of(m, limits[i]))
			return 0;
	}
	return 1;
}

/*
 * One rank stops: it is named, and all can go on.  Rings after so many slices;
 * with 2 ranks, nobody waits for what a rank does after 5.
 */
static int fault_of(struct matrix *m, enum gt_fault kind, uint32_t rank,
		    const struct gt_algo_choice *way)
{
	struct gt_exec_request req = {
		.dtype = GT_DTYPE_FLOAT, .count = 64 << 10, .choice = way};
	uint32_t slices = kind == GT_FAULT_EXIT ? 2 : 2 + 3 * (rank % 2);
	int64_t begin = gt_clock_ns(), wrong;
	char name[32];
	struct gt_err err;

	if (way->algo == GT_ALGO_RING)
		req.count = 4 << 20;
	m->config.fault = kind;
	m->config.fault_rank = rank;
	m->config.fault_step = slices;
	snprintf(name, sizeof(name), "rank %u (", rank);
	if (late(m) || !engine_open(m))
		return 0;
	wrong = once(m, &req, 1, &err);
	begin = (gt_clock_ns() - begin) / 1000000;
	m->bad += wrong >= 0 || strncmp(err.text, name, strlen(name)) ||
		  begin > 5000;
	printf("# %s %s: %s of rank %u: %s (%lld ms)\n",
	       gt_algo_name(way->algo), gt_protocol_name(way->protocol),
	       kind == GT_FAULT_EXIT ? "exit" : "stall", rank,
	       wrong < 0 ? err.text : "nobody noticed", (long long)begin);
	m->config.fault = GT_FAULT_NONE;
	return engine_open(m) && tally(m, &req, 1);
}

static int fault(struct matrix *m)
{
	struct gt_exec_request req = {.dtype = GT_DTYPE_FLOAT,
				      .count = 64 << 10};

	m->config.max_bytes = 16 << 20;
	m->config.timeout_ns = 500000000;
	if (!engine_open(m))
		return 0;
	for (uint32_t i = 0; i < WAYS * m->plan.nranks; i++) {
		req.choice = &ways[i / m->plan.nranks];
		if (possible(m, &req) &&
		    (!fault_of(m, GT_FAULT_STALL, i % m->plan.nranks,
			       req.choice) ||
		     !fault_of(m, GT_FAULT_EXIT, i % m->plan.nranks,
			       req.choice)))
			return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(struct matrix *m);
	} parts[] = {{"check", check},   {"large", large},   {"stress", stress},
		     {"small", small},   {"blocks", blocks}, {"fault", fault},
		     {"bits", part_bits}};
	const size_t n = sizeof(parts) / sizeof(parts[0]);
	int nranks = argc == 4 ? atoi(argv[2]) : 0, gpus = 0, all = 0;
	struct matrix m = {.engine = NULL};
	size_t i = 0;

	while (i < n && nranks && strcmp(argv[1], parts[i].name))
		i++;
	if (nranks < 2 || nranks > MAX_RANKS || i == n) {
		fprintf(stderr, "usage: matrix check|large|stress|small|blocks|"
				"fault|bits RANKS SECONDS\n");
		return 2;
	}
	/* Ranks that share a GPU wait for each other: a queue for each. */
	setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
	if (cudaGetDeviceCount(&gpus) != cudaSuccess || !gpus) {
		printf("no GPU here\n");
		return 77;
	}
	ring_plan(&m.plan, (uint32_t)nranks);
	m.config = (struct gt_engine_config){
		.plan = &m.plan,
		.timeout_ns = 2000000000,
		.map = gpus < nranks ? GT_DEVICE_SHARED : GT_DEVICE_BY_INDEX};
	m.deadline_ns = gt_clock_ns() + atoi(argv[3]) * 1000000000ll;
	all = parts[i].run(&m);
	gt_engine_cuda.close(m.engine);
	printf("%s of %d ranks: %llu operations, %llu compared, %llu bad%s\n",
	       argv[1], nranks, (unsigned long long)m.operations,
	       (unsigned long long)m.runs, (unsigned long long)m.bad,
	       all ? "" : ", not finished");
	return all && !m.bad ? 0 : 1;
}
