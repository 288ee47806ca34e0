/*
 * Meshes add every element in the order of ranks and round its sum once: the
 * bits are those of a loop over the ranks, wherever the element lies and
 * however it is carried.  Rings and trees do not, with the same data.
 */
#include "unit/ring_plan.h"

#include <string.h>

#include "base/err.h"
#include "exec/engine.h"
#include "sums.h"

enum {
	ELEMENTS = 3000, /* of the data that is split */
	MARGIN = 32,
	SPLITS = 24, /* of the data of one plan */
};

/* One set of inputs, what comes of them, and who carries parts of it. */
struct subject {
	struct gt_plan *plan;
	struct gt_engine *engine;
	struct sums sums;
};

/* A part of the data, in one of the ways that a request can be made. */
struct split {
	enum gt_coll coll;
	size_t first, count; /* of the data; blocks: of each */
	uint32_t root;
	int inplace;
	size_t shift;
};

static size_t split_blocks(const struct subject *subject,
			   const struct split *split)
{
	return split->coll == GT_COLL_REDUCESCATTER ? subject->plan->nranks : 1;
}

static struct split draw_split(const struct subject *subject, uint64_t *seed)
{
	static const enum gt_coll colls[] = {
		GT_COLL_ALLREDUCE, GT_COLL_REDUCESCATTER, GT_COLL_REDUCE};
	struct split split = {.coll = colls[draw(seed, 3)]};
	size_t most = ELEMENTS / split_blocks(subject, &split);

	if (subject->plan->select->algo == GT_ALGO_TWO_SHOT &&
	    split.coll == GT_COLL_REDUCESCATTER)
		return draw_split(subject, seed);
	split.count = 1 + draw(seed, (uint32_t)most);
	if (draw(seed, 2))
		split.count = 1 + split.count % 40 % most;
	split.first =
		draw(seed, 1 + ELEMENTS -
				   (uint32_t)(split.count *
					      split_blocks(subject, &split)));
	split.root = draw(seed, subject->plan->nranks);
	split.inplace = (int)draw(seed, 2);
	split.shift = draw(seed, MARGIN);
	return split;
}

static int has_output(const struct split *split, uint32_t rank)
{
	return split->coll != GT_COLL_REDUCE || rank == split->root;
}

/* Compare what a rank has got, bit by bit; how many elements differ. */
static size_t compare(const struct subject *subject, const struct split *split,
		      uint32_t rank, const char *output)
{
	size_t elem = gt_dtype_bytes(subject->sums.dtype), first = split->first;
	size_t n = 0;

	if (split->coll == GT_COLL_REDUCESCATTER)
		first += rank * split->count;
	for (size_t i = 0; has_output(split, rank) && i < split->count; i++)
		n += memcmp(output + i * elem,
			    subject->sums.want + (first + i) * elem, elem) != 0;
	return n;
}

/* How many elements of how many differ, by all ranks. */
static size_t try_split(struct subject *subject, const struct split *split)
{
	size_t differ = 0;

	uint32_t n = subject->plan->nranks;
	size_t elem = gt_dtype_bytes(subject->sums.dtype),
	       blocks = split_blocks(subject, split);
	size_t room = (ELEMENTS + MARGIN) * elem;
	struct gt_exec_request req = {.coll = split->coll,
				      .dtype = subject->sums.dtype,
				      .op = subject->sums.op,
				      .count = split->count,
				      .root = split->root,
				      .inplace = split->inplace,
				      .scalars = subject->sums.scalars};
	struct gt_buffers *buffers = calloc(n, sizeof(*buffers));
	char *memory = malloc(2 * n * room), *in;
	struct gt_err err;
	int64_t ns;

	assert_true(buffers && memory);
	gt_err_init(&err);
	for (uint32_t r = 0; r < n; r++) {
		in = memory + 2 * r * room + split->shift * elem;
		memcpy(in,
		       subject->sums.data +
			       (r * (size_t)ELEMENTS + split->first) * elem,
		       split->count * blocks * elem);
		buffers[r] = (struct gt_buffers){in, in + room};
		if (split->inplace)
			buffers[r].output =
				blocks > 1 ? in + r * split->count * elem : in;
	}
	req.buffers = buffers;
	if (gt_engine_host.run(subject->engine, &req, 1, &ns, &err))
		fail_msg("%s", err.text);
	for (uint32_t r = 0; r < n; r++)
		differ += compare(subject, split, r, buffers[r].output);
	free(buffers);
	free(memory);
	return differ;
}

static void complain(const struct subject *subject, const struct split *split)
{
	fail_msg("%s %s of %u ranks, %s: element %zu, count %zu",
		 gt_dtype_name(subject->sums.dtype),
		 gt_redop_name(subject->sums.op), subject->plan->nranks,
		 gt_coll_name(split->coll), split->first, split->count);
}

/* Parts of the same data; how many elements differ, which those of meshes must
 * not. */
static size_t try_splits(struct subject *subject, uint64_t *seed)
{
	int is_mesh = subject->plan->select->algo > GT_ALGO_TREE;
	struct split split;
	size_t differ = 0, n;

	for (int i = 0; i < SPLITS; i++) {
		split = draw_split(subject, seed);
		if (!is_mesh) {
			split.coll = GT_COLL_ALLREDUCE;
			split.first %= 1 + ELEMENTS - split.count;
		}
		n = try_split(subject, &split);
		if (n && is_mesh)
			complain(subject, &split);
		differ += n;
	}
	return differ;
}

/* One plan, one type, one operator; how many elements differ. */
static size_t try_plan(uint32_t n, enum gt_algo algo, enum gt_dtype dtype,
		       enum gt_redop op, uint64_t *seed)
{
	struct gt_engine_config config = {.timeout_ns = 60000000000};
	struct subject subject = {.sums = {.dtype = dtype,
					   .op = op,
					   .nranks = n,
					   .count = ELEMENTS}};
	struct gt_err err;
	size_t differ;

	gt_err_init(&err);
	subject.plan = test_shape_plan(n, algo, GT_COLL_ALLREDUCE, seed);
	assert_true(sums_make(&subject.sums, seed));
	config.plan = subject.plan;
	config.workers = 1 + draw(seed, 3);
	config.slots = 2 + draw(seed, 3);
	config.slice_bytes = 8 + draw(seed, 3000);
	if (gt_engine_host.open(&config, &subject.engine, &err))
		fail_msg("%s", err.text);
	differ = try_splits(&subject, seed);
	gt_engine_host.close(subject.engine);
	sums_free(&subject.sums);
	gt_plan_free(subject.plan);
	return differ;
}

/* Random splits of the same data, by ranks from 3 to 64. */
static void test_splits(void **state)
{
	static const uint32_t ranks[] = {3, 4, 5, 8, 13};
	uint64_t seed = 21;

	(void)state;
	for (int i = 0; i < 5 * 6 * 3 * 2; i++)
		try_plan(ranks[i % 5],
			 i / 5 % 2 ? GT_ALGO_ONE_SHOT : GT_ALGO_TWO_SHOT,
			 sums_dtypes[i / 10 % SUMS_DTYPES], sums_ops[i / 60],
			 &seed);
}

static void test_many_ranks(void **state)
{
	uint64_t seed = 22;

	(void)state;
	for (int i = 0; i < 4; i++)
		try_plan(i % 2 ? 64 : 32,
			 i < 2 ? GT_ALGO_ONE_SHOT : GT_ALGO_TWO_SHOT,
			 sums_dtypes[i], sums_ops[i % SUMS_OPS], &seed);
}

/* If these had the same bits, the data would show nothing. */
static void test_rings_and_trees_differ(void **state)
{
	static const uint32_t ranks[] = {3, 4, 8, 13};
	uint64_t seed = 23;

	(void)state;
	for (int i = 0; i < SUMS_DTYPES * 2; i++) {
		enum gt_algo algo = i % 2 ? GT_ALGO_RING : GT_ALGO_TREE;
		enum gt_dtype dtype = sums_dtypes[i / 2];
		size_t differ = 0;

		for (int n = 0; n < 4; n++)
			differ += try_plan(ranks[n], algo, dtype, GT_REDOP_SUM,
					   &seed);
		if (!differ)
			fail_msg("%s by %s has the bits of a loop",
				 gt_dtype_name(dtype), gt_algo_name(algo));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rings_and_trees_differ),
		cmocka_unit_test(test_splits),
		cmocka_unit_test(test_many_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
