/* Groups: what is launched as one is right, and has the bits of one by one. */
#include "gpu/library.h"

#include <stdlib.h>
#include <string.h>

#include "base/dtype.h"

enum {
	GROUP_MOST = 160, /* operations: more than one launch takes */
	GROUP_ROUNDS = 150,
	GROUP_REPLAYS = 50,
	PLACE_BYTES = 256,
	REAL_OPERATIONS = 16,
};

static const uint64_t ROOM = 256 << 20;

/* Mostly small; some that are not packets any more. */
static uint64_t draw_count(uint64_t *state)
{
	uint32_t bits = draw(state, 16) ? 13 : draw(state, 8) ? 18 : 22;

	return draw(state, 2u << draw(state, bits));
}

/* Of a group of middle-sized ones: most go through scratch together. */
static void draw_middle(uint64_t *state, struct operation *op)
{
	if (draw(state, 4))
		op->coll = GT_COLL_ALLREDUCE;
	if (draw(state, 4))
		op->type = GTOPO_FLOAT;
	op->count = draw(state, 2u << (13 + draw(state, 8)));
	/* Where packs are. */
	if (draw(state, 4))
		op->shift = 0;
}

static struct operation draw_operation(const struct library *lib,
				       uint64_t *state, int middle)
{
	struct operation op = {
		.coll = (enum gt_coll)draw(state, GT_COLL_SENDRECV),
		.type = (enum gtopo_type)draw(state, GT_NDTYPES),
		.op = (enum gtopo_op)draw(state, GT_NREDOPS),
		.inplace = !draw(state, 3),
		.shift = draw(state, 2) * draw(state, 16),
		.seed = draw(state, 1u << 30),
		.root = (int)draw(state, (uint32_t)lib->nranks)};

	op.count = draw_count(state);
	if (middle)
		draw_middle(state, &op);
	return op;
}

/* Operations that lie one behind the other; how many there is room for. */
static int draw_group(const struct library *lib, uint64_t *state,
		      struct operation *ops, int most)
{
	int n = 0, middle = !draw(state, 4);
	uint64_t at = 0;

	while (n < most) {
		struct operation *op = &ops[n];

		*op = draw_operation(lib, state, middle);
		op->at = at;
		if (!fits(lib, op))
			break;
		at += op->count * (uint64_t)lib->nranks *
			      gt_dtype_bytes((enum gt_dtype)op->type) +
		      16 * sizeof(double);
		at = (at + PLACE_BYTES - 1) / PLACE_BYTES * PLACE_BYTES;
		n++;
	}
	return n;
}

static int random_groups(struct library *lib, int rounds)
{
	struct operation ops[GROUP_MOST];
	uint64_t state = 20261122;

	for (int i = 0; i < rounds && !late(lib); i++) {
		int most = 1 + (int)draw(&state, 2u << draw(&state, 7));
		int n = draw_group(lib, &state, ops,
				   most < GROUP_MOST ? most : GROUP_MOST);

		if (n && !run_all(lib, ops, n))
			return 0;
		if (i % 10 == 9 && sum_wrong(lib)) {
			complain(lib, "groups", "wrong elements");
			return 0;
		}
	}
	if (sum_wrong(lib))
		complain(lib, "groups", "wrong elements");
	return !late(lib);
}

static int graph_of_groups(struct library *lib)
{
	struct operation ops[GROUP_MOST];
	struct graphs graphs = {0};
	uint64_t state = 7, captured = lib->operations;
	int all = capture_begin(lib);

	for (int i = 0; all && i < 5; i++)
		all = run_all(lib, ops,
			      draw_group(lib, &state, ops, 1 + 30 * i));
	all = capture_end(lib, &graphs) && all;
	captured = lib->operations - captured;
	/* Graphs and plain calls take turns on the streams. */
	all = all && random_groups(lib, 2) &&
	      replay(lib, &graphs, GROUP_REPLAYS) && random_groups(lib, 2);
	lib->operations += captured * GROUP_REPLAYS;
	drop(lib, &graphs);
	return all;
}

/* Numbers whose sums are not exact. */
static int fill_real(struct library *lib, uint64_t bytes, float *host)
{
	uint64_t state = 99;
	int all = 1;

	for (int r = 0; r < lib->nranks; r++) {
		struct rank *me = &lib->ranks[r];

		for (uint64_t i = 0; i < bytes / sizeof(float); i++)
			host[i] = (float)draw(&state, 1u << 30) / 1e6f - 500;
		if (r < lib->first || r >= lib->end)
			continue;
		cudaSetDevice(me->gpu);
		all &= cuda_ok(lib, "inputs",
			       cudaMemcpy(me->input, host, bytes,
					  cudaMemcpyHostToDevice));
	}
	return all;
}

static int read_real(struct library *lib, int rank, uint64_t bytes, float *host)
{
	cudaSetDevice(lib->ranks[rank].gpu);
	return cuda_ok(lib, "outputs",
		       cudaMemcpy(host, lib->ranks[rank].output, bytes,
				  cudaMemcpyDeviceToHost));
}

static int real_done(struct library *lib, int rc)
{
	if (rc || gtopo_wait(lib->comm, GTOPO_ALL_RANKS, 30000)) {
		complain(lib, "groups", "a call failed");
		return 0;
	}
	return 1;
}

static int same_bits_with(struct library *lib, const struct operation *ops,
			  int n, uint64_t bytes, float *host[2])
{
	if (!fill_real(lib, bytes, host[0]) ||
	    !real_done(lib, call_together(lib, ops, n)) ||
	    !read_real(lib, lib->first, bytes, host[0]))
		return 0;
	for (int i = 0; i < n; i++)
		if (!real_done(lib, call_together(lib, &ops[i], 1)))
			return 0;
	for (int r = lib->first; r < lib->end; r++) {
		if (!read_real(lib, r, bytes, host[1]))
			return 0;
		if (memcmp(host[0], host[1], bytes))
			complain(lib, "groups", "not the bits of one by one");
	}
	lib->operations += 2 * (uint64_t)n;
	return 1;
}

/* All-reduces of numbers that are rounded, in a group and one by one. */
static int same_bits(struct library *lib)
{
	static const enum gtopo_type types[] = {GTOPO_FLOAT, GTOPO_BF16,
						GTOPO_HALF};
	struct operation ops[REAL_OPERATIONS];
	uint64_t at = 0, bytes;
	float *host[2];
	int all;

	for (int i = 0; i < REAL_OPERATIONS; i++) {
		ops[i] = (struct operation){.coll = GT_COLL_ALLREDUCE,
					    .type = types[i % 3],
					    .op = i % 2 ? GTOPO_AVG : GTOPO_SUM,
					    .count = 100ull << i,
					    .at = at};
		at += ops[i].count * gt_dtype_bytes((enum gt_dtype)ops[i].type);
	}
	bytes = at;
	host[0] = malloc(bytes);
	host[1] = malloc(bytes);
	all = host[0] && host[1] &&
	      same_bits_with(lib, ops, REAL_OPERATIONS, bytes, host);
	free(host[0]);
	free(host[1]);
	return all;
}

int part_groups(struct library *lib)
{
	int all = open_ranks(lib, ROOM) && open_comm(lib, GTOPO_BEST, 10000) &&
		  graph_of_groups(lib) && same_bits(lib) &&
		  random_groups(lib, GROUP_ROUNDS);

	close_comm(lib);
	return all;
}
