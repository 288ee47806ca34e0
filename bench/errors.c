/*
 * How far sums are from exact ones: all-reduces by gtopo's algorithms, run by
 * ranks on CPUs, which give the bits that GPUs give, beside models of NCCL's
 * kernels.  NCCL itself is not run.
 *
 *     errors [ELEMENTS]
 *
 * For each type and 2 to 64 ranks a line a way: the largest error and the root
 * of the mean square, in units of the last place (ulp) of the exact sum, over
 * all elements.  Rounding an exact sum gives at most 0.5, and 0.289 if what is
 * rounded away is uniform.  `model ring` is NCCL's default: rings, of which
 * each hop adds and rounds to the type.  `model symmetric` are its symmetric
 * kernels since 2.27: floats, rounded once; the rank that adds begins with its
 * own.
 *
 * The few sums that almost cancel decide about both columns.  So `ratio`
 * compares with a model by other units, ulp of the sum of magnitudes: one-shot
 * and two-shot with the symmetric one, ring and tree with the ring.  Status 1
 * if one is above WORSE.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "exec/engine.h"
#include "plan/ir/plan.h"
#include "sums.h"

enum { MAX_RANKS = 64, ELEMENTS = 1 << 15, TIMEOUT_S = 60 };

/* Two samples of 4096 equal errors differ by as much, seldom. */
static const double WORSE = 1.05;

struct errors {
	double max, square;
	double plain; /* sum of squares in ulp of the sum of magnitudes */
	size_t n;
};

/* What all have to be compared with, and whether one was worse. */
struct table {
	struct errors ring, symmetric;
	int is_worse;
};

static const struct way {
	const char *name;
	enum gt_algo algo;
	enum gt_shape shape;
} ways[] = {
	{"one-shot", GT_ALGO_ONE_SHOT, GT_SHAPE_MESH},
	{"two-shot", GT_ALGO_TWO_SHOT, GT_SHAPE_MESH},
	{"ring", GT_ALGO_RING, GT_SHAPE_RING},
	{"tree", GT_ALGO_TREE, GT_SHAPE_TREE},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

/* Bits of the fraction with the leading one, and the smallest exponent. */
static void type_of(enum gt_dtype dtype, int *bits, int *least)
{
	static const struct {
		enum gt_dtype dtype;
		int bits, least;
	} types[] = {{GT_DTYPE_HALF, 11, -14},   {GT_DTYPE_BF16, 8, -126},
		     {GT_DTYPE_FLOAT, 24, -126}, {GT_DTYPE_DOUBLE, 53, -1022},
		     {GT_DTYPE_FP8_E4M3, 4, -6}, {GT_DTYPE_FP8_E5M2, 3, -14}};
	size_t i = 0;

	while (types[i].dtype != dtype)
		i++;
	*bits = types[i].bits;
	*least = types[i].least;
}

/* The distance of the type's numbers around this one. */
static double ulp_of(enum gt_dtype dtype, double exact)
{
	int bits, least, exponent;

	type_of(dtype, &bits, &least);
	frexp(exact, &exponent); /* exact = [0.5, 1) * 2^exponent */
	exponent--;
	return ldexp(1, (exponent < least ? least : exponent) - bits + 1);
}

/* All inputs are multiples of 2^-41 below 2^6, so doubles hold their sums. */
static double exact_at(const struct sums *sums, size_t i)
{
	double total = 0;

	for (uint32_t r = 0; r < sums->nranks; r++)
		total += sums_input(sums, r, i);
	return total;
}

static void tally(struct errors *errors, const struct sums *sums, size_t i,
		  double got)
{
	double exact = exact_at(sums, i), ulps, size = 0;

	for (uint32_t r = 0; r < sums->nranks; r++)
		size += fabs(sums_input(sums, r, i));
	if (exact == 0)
		return;
	ulps = fabs(got - exact) / ulp_of(sums->dtype, size);
	errors->plain += ulps * ulps;
	ulps = fabs(got - exact) / ulp_of(sums->dtype, exact);
	errors->max = fmax(errors->max, ulps);
	errors->square += ulps * ulps;
	errors->n++;
}

static void print_line(struct table *table, const struct sums *sums,
		       const char *way, const struct errors *errors,
		       const struct errors *model)
{
	double ratio = sqrt(errors->plain / model->plain);

	printf("%-8s %5u  %-15s %12.3f %10.4f %7.3f\n",
	       gt_dtype_name(sums->dtype), sums->nranks, way, errors->max,
	       sqrt(errors->square / (double)errors->n), ratio);
	table->is_worse |= !(ratio <= WORSE);
}

/* ---- models of NCCL's kernels ------------------------------------------ */

/* The rank with which the sum of an element begins: chunks go around. */
static uint32_t first_rank(const struct sums *sums, size_t i)
{
	return (uint32_t)(i * sums->nranks / sums->count);
}

static double model_at(const struct sums *sums, size_t i, int rounds)
{
	uint32_t n = sums->nranks, first = first_rank(sums, i);
	double total = sums_input(sums, first, i);

	for (uint32_t k = 1; k < n; k++) {
		total = (float)(total + sums_input(sums, (first + k) % n, i));
		if (rounds)
			total = sums_decode(sums->dtype,
					    sums_encode(sums->dtype, total));
	}
	return sums_decode(sums->dtype, sums_encode(sums->dtype, total));
}

static void try_model(struct table *table, const struct sums *sums, int rounds)
{
	struct errors *errors = rounds ? &table->ring : &table->symmetric;

	*errors = (struct errors){0};
	for (size_t i = 0; i < sums->count; i++)
		tally(errors, sums, i, model_at(sums, i, rounds));
	print_line(table, sums, rounds ? "model ring" : "model symmetric",
		   errors, errors);
}

/* ---- gtopo's algorithms ------------------------------------------------ */

/* A plan of one channel: ranks in their order, a tree of twos. */
struct small_plan {
	struct gt_plan plan;
	struct gt_plan_rank ranks[MAX_RANKS];
	struct gt_plan_channel channel;
	struct gt_plan_select row;
	uint32_t order[MAX_RANKS], channels[1];
	int32_t parent[MAX_RANKS];
};

static void make_plan(struct small_plan *small, uint32_t n,
		      const struct way *way)
{
	*small = (struct small_plan){.channels = {0}};
	for (uint32_t r = 0; r < n; r++) {
		small->order[r] = r;
		small->parent[r] = r ? (int32_t)(r - 1) / 2 : -1;
		small->ranks[r] =
			(struct gt_plan_rank){.node = "n0", .device = "-"};
	}
	small->channel = (struct gt_plan_channel){.shape = way->shape,
						  .norder = n,
						  .order = small->order,
						  .parent = small->parent,
						  .share = GT_RAT(1, 1)};
	small->row = (struct gt_plan_select){.max_bytes = UINT64_MAX,
					     .algo = way->algo,
					     .nchannels = 1,
					     .channels = small->channels,
					     .workers = 1};
	small->plan = (struct gt_plan){.nranks = n,
				       .nchannels = 1,
				       .nselect = 1,
				       .ranks = small->ranks,
				       .channels = &small->channel,
				       .select = &small->row,
				       .fifo_slots = 4,
				       .fifo_slice_bytes = 65536};
}

static int run_way(const struct sums *sums, const struct way *way, char *output,
		   struct gt_err *err)
{
	size_t bytes = sums->count * gt_dtype_bytes(sums->dtype);
	struct gt_buffers buffers[MAX_RANKS];
	struct gt_engine_config config = {.timeout_ns =
						  TIMEOUT_S * 1000000000ll};
	struct gt_exec_request req = {.dtype = sums->dtype,
				      .op = sums->op,
				      .count = sums->count,
				      .buffers = buffers};
	struct small_plan small;
	struct gt_engine *engine;
	int64_t ns;
	int rc;

	make_plan(&small, sums->nranks, way);
	config.plan = &small.plan;
	for (uint32_t r = 0; r < sums->nranks; r++)
		buffers[r] = (struct gt_buffers){sums->data + r * bytes,
						 output + r * bytes};
	rc = gt_engine_host.open(&config, &engine, err);
	if (rc)
		return rc;
	rc = gt_engine_host.run(engine, &req, 1, &ns, err);
	gt_engine_host.close(engine);
	return rc;
}

static int try_way(struct table *table, const struct sums *sums,
		   const struct way *way)
{
	size_t elem = gt_dtype_bytes(sums->dtype);
	char *output = malloc(sums->nranks * sums->count * elem);
	struct errors errors = {0};
	struct gt_err err;
	int rc;

	gt_err_init(&err);
	rc = output ? run_way(sums, way, output, &err) : gt_err_nomem(&err);
	for (size_t i = 0; !rc && i < sums->count; i++) {
		uint64_t bits = 0;

		memcpy(&bits, output + i * elem, elem);
		tally(&errors, sums, i, sums_decode(sums->dtype, bits));
	}
	if (rc)
		fprintf(stderr, "errors: %s: %s\n", way->name, err.text);
	else
		print_line(table, sums, way->name, &errors,
			   way->shape == GT_SHAPE_MESH ? &table->symmetric
						       : &table->ring);
	free(output);
	return rc;
}

static int try_ranks(struct table *table, enum gt_dtype dtype, uint32_t nranks,
		     size_t count)
{
	struct sums sums = {.dtype = dtype,
			    .op = GT_REDOP_SUM,
			    .nranks = nranks,
			    .count = count};
	uint64_t state = dtype * 100 + nranks;
	int rc = 0;

	if (!sums_make(&sums, &state)) {
		fprintf(stderr, "errors: out of memory\n");
		return 1;
	}
	try_model(table, &sums, 1);
	try_model(table, &sums, 0);
	for (int w = 0; !rc && w < WAYS; w++)
		rc = try_way(table, &sums, &ways[w]);
	sums_free(&sums);
	return rc;
}

int main(int argc, char **argv)
{
	enum { RANKS = 11 };
	static const uint32_t ranks[RANKS] = {2,  3,  4,  6,  8,        12,
					      16, 24, 32, 48, MAX_RANKS};
	long count = argc > 1 ? atol(argv[1]) : ELEMENTS;
	struct table table = {.is_worse = 0};
	int rc = 0;

	if (argc > 2 || count < MAX_RANKS || count > 1 << 24) {
		fprintf(stderr, "usage: errors [ELEMENTS]: %d to %d\n",
			MAX_RANKS, 1 << 24);
		return 2;
	}
	printf("# ranks on CPUs; %ld elements, error of sums in ulp\n", count);
	printf("%-8s %5s  %-15s %12s %10s %7s\n", "type", "ranks", "way", "max",
	       "rms", "ratio");
	for (int t = 0; t < SUMS_DTYPES; t++)
		for (int i = 0; !rc && i < RANKS; i++)
			if (sums_dtypes[t] != GT_DTYPE_DOUBLE)
				rc = try_ranks(&table, sums_dtypes[t], ranks[i],
					       (size_t)count);
	return rc ? 3 : table.is_worse;
}
