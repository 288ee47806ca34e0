/*
 * One measurement: checks the result first, then takes the median of nine
 * rounds.
 */
#include "cli/tune/measure.h"

#include <math.h>
#include <stdlib.h>

#include "base/err.h"

/*
 * A round is so long that starting it does not show, and the first one does
 * not count.  Before all a machine that was idle has to wake up: without that
 * the first size of the first candidate took 6.8 us instead of 4.2 on H200.
 */
enum {
	GT_TUNE_WAKE_NS = 100000000,
	GT_TUNE_ROUNDS = 9,
	GT_TUNE_ROUND_NS = 1000000,
	GT_TUNE_MAX_ITERS = 200,
};

static int compare_doubles(const void *a, const void *b)
{
	const double *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* Would the engine run the candidate as it is, or choose something else? */
static int is_taken(const struct gt_tuning *t,
		    const struct gt_exec_request *req,
		    const struct gt_plan_select *candidate)
{
	struct gt_algo_choice taken = {.algo = 0};
	struct gt_err none;

	if (!t->sweep->ops->algo_choice)
		return 1;
	gt_err_init(&none);
	if (t->sweep->ops->algo_choice(t->engine, req, &taken, &none))
		return 0;
	if (taken.detour_permille != candidate->detour_permille)
		return 0;
	if (!gt_algo_fits_shape(candidate->algo, GT_SHAPE_MESH))
		return taken.protocol == GT_PROTOCOL_SIMPLE;
	return taken.algo == candidate->algo &&
	       taken.protocol == candidate->protocol;
}

static int check_result(const struct gt_tuning *t,
			const struct gt_exec_request *req, uint64_t *wrong,
			struct gt_err *err)
{
	const struct gt_engine_ops *ops = t->sweep->ops;
	int64_t elapsed_ns;
	int rc = ops->fill(t->engine, req, err);

	if (!rc)
		rc = ops->run(t->engine, req, 1, &elapsed_ns, err);
	return rc ? rc : ops->check(t->engine, req, wrong, err);
}

static int wake_up(struct gt_tuning *t, const struct gt_exec_request *req,
		   struct gt_err *err)
{
	int rc = GT_OK;

	while (!rc && t->awake_ns < GT_TUNE_WAKE_NS) {
		int64_t ns = 0;

		rc = t->sweep->ops->run(t->engine, req, GT_TUNE_MAX_ITERS, &ns,
					err);
		t->awake_ns += ns > 0 ? ns : 1000000;
	}
	return rc;
}

static int time_runs(struct gt_tuning *t, const struct gt_exec_request *req,
		     double *time_us, struct gt_err *err)
{
	const struct gt_engine_ops *ops = t->sweep->ops;
	double us[GT_TUNE_ROUNDS];
	uint32_t iters = 1;
	int64_t ns;
	int rc = wake_up(t, req, err);

	if (!rc)
		rc = ops->run(t->engine, req, 1, &ns, err);
	if (!rc && ns < GT_TUNE_ROUND_NS)
		iters = (uint32_t)(GT_TUNE_ROUND_NS / (ns > 0 ? ns : 1));
	if (iters > GT_TUNE_MAX_ITERS)
		iters = GT_TUNE_MAX_ITERS;
	if (!rc)
		rc = ops->run(t->engine, req, iters, &ns, err);
	for (int i = 0; !rc && i < GT_TUNE_ROUNDS; i++) {
		rc = ops->run(t->engine, req, iters, &ns, err);
		us[i] = (double)ns / iters / 1e3;
	}
	if (rc)
		return rc;
	qsort(us, GT_TUNE_ROUNDS, sizeof(*us), compare_doubles);
	*time_us = us[GT_TUNE_ROUNDS / 2];
	return GT_OK;
}

/* The elements of a block of these bytes, alike for all ranks. */
static uint64_t count_of(const struct gt_tuning *t, enum gt_coll coll,
			 uint64_t bytes)
{
	uint64_t blocks = gt_coll_has_blocks(coll) ? t->plan.nranks : 1;

	return bytes / gt_dtype_bytes(GT_DTYPE_FLOAT) / blocks;
}

uint64_t gt_tune_round(const struct gt_tuning *t, enum gt_coll coll,
		       uint64_t bytes)
{
	uint64_t blocks = gt_coll_has_blocks(coll) ? t->plan.nranks : 1;

	return count_of(t, coll, bytes) * blocks *
	       gt_dtype_bytes(GT_DTYPE_FLOAT);
}

int gt_tune_measure(struct gt_tuning *t, const struct gt_plan_select *use,
		    uint64_t bytes, double *time_us, struct gt_err *err)
{
	const struct gt_tune_sweep *sweep = t->sweep;
	uint64_t wrong = 0;
	struct gt_exec_request req = {
		.coll = use->coll,
		.dtype = GT_DTYPE_FLOAT,
		.op = GT_REDOP_SUM,
		.count = count_of(t, use->coll, bytes),
		.root = t->plan.root,
		.seed = bytes + 1,
	};
	int rc;

	*time_us = INFINITY;
	if (!is_taken(t, &req, use))
		return GT_OK;
	rc = check_result(t, &req, &wrong, err);
	if (!rc && wrong) {
		sweep->refuse(sweep->arg, use, bytes, wrong);
		t->sweep->refused++;
		return GT_ENO;
	}
	/* The run has made what a detour needs, or it cannot be had. */
	if (rc || !is_taken(t, &req, use))
		return rc;
	rc = time_runs(t, &req, time_us, err);
	if (!rc && *time_us <= 0)
		*time_us = 1e-3;
	return rc;
}
