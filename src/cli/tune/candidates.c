/* Lists the schedules that a plan's channels allow and an engine can run. */
#include "cli/tune/sweep.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/detour.h"
#include "plan/ir/measured.h"
#include "plan/simulate/simulate.h"

/*
 * These fractions of the bytes are tried for a detour.  Measured on H200:
 * NVLink moves 392 GB/s each way, and PCIe 35 to 45 GB/s beside it.
 */
static const uint32_t detour_permilles[] = {50, 80, 110};

enum {
	GT_TUNE_NDETOURS = sizeof(detour_permilles) / sizeof(*detour_permilles)
};

struct finding {
	const struct gt_plan *plan;
	struct gt_tune_candidates *candidates;
	int gpus;
	enum gt_coll coll;
};

/*
 * Check the row alone, or before the plan's last row, whose channels the shares
 * are of.
 */
static int is_right(const struct gt_plan *plan,
		    const struct gt_plan_select *candidate, struct gt_err *err)
{
	struct gt_plan_select rows[] = {*candidate, *gt_plan_main_row(plan)};
	struct gt_plan copy = *plan;
	int rc;

	if (candidate->coll == plan->coll)
		rows[0].max_bytes = 0;
	copy.select = rows;
	copy.nselect = 2;
	copy.nmeasured = 0;
	/* The proof was checked before, and is about the last row only. */
	copy.has_proof = 0;
	rc = gt_plan_check(&copy, err);
	/* A detour changes nothing in the programs. */
	if (!rc && !candidate->detour_permille)
		rc = gt_simulate(&copy, candidate->coll, err);
	return rc;
}

/* Add the row if it is right and new, which *added says; that is no failure. */
static int add_row(struct finding *f, const struct gt_plan_select *candidate,
		   int *added, struct gt_err *err)
{
	struct gt_err why;
	int rc;

	*added = 0;
	for (uint32_t i = 0; i < f->candidates->n; i++)
		if (gt_plan_measured_same(&f->candidates->rows[i], candidate))
			return GT_OK;
	gt_err_init(&why);
	rc = is_right(f->plan, candidate, &why);
	*added = !rc;
	if (!rc)
		f->candidates->rows[f->candidates->n++] = *candidate;
	return rc == GT_ESYS ? gt_err_set(err, rc, NULL, "%s", why.text)
			     : GT_OK;
}

/* Try the row without a detour, and then with each if it can have one. */
static int try_row(struct finding *f, struct gt_plan_select candidate,
		   struct gt_err *err)
{
	int added, rc;

	candidate.coll = f->coll;
	candidate.max_bytes = UINT64_MAX;
	candidate.detour_permille = 0;
	candidate.max_blocks = 0;
	rc = add_row(f, &candidate, &added, err);
	if (!added || !f->gpus ||
	    !gt_detour_is_possible(candidate.algo, candidate.protocol, f->coll))
		return rc;
	for (int i = 0; i < GT_TUNE_NDETOURS && !rc; i++) {
		candidate.detour_permille = detour_permilles[i];
		rc = add_row(f, &candidate, &added, err);
	}
	return rc;
}

static int try_protocols(struct finding *f, struct gt_plan_select candidate,
			 struct gt_err *err)
{
	int mesh = gt_algo_fits_shape(candidate.algo, GT_SHAPE_MESH);
	int rc = GT_OK;

	candidate.protocol = GT_PROTOCOL_SIMPLE;
	if (!mesh || !f->gpus)
		return try_row(f, candidate, err);
	for (int p = 0; p < GT_NPROTOCOLS && !rc; p++) {
		candidate.protocol = (enum gt_protocol)p;
		rc = try_row(f, candidate, err);
	}
	return rc;
}

/* Try all algorithms for the channels of a row or of a measurement. */
static int try_algos(struct finding *f, const struct gt_plan_select *use,
		     struct gt_err *err)
{
	struct gt_plan_select candidate = *use;
	int rc = GT_OK;

	/* Trees and steps are made for one collective. */
	if (use->coll != f->coll &&
	    (use->algo == GT_ALGO_TREE || use->algo == GT_ALGO_STEPS))
		return GT_OK;
	for (int a = 0; a < GT_NALGOS && !rc; a++) {
		enum gt_shape shape = f->plan->channels[use->channels[0]].shape;

		candidate.algo = (enum gt_algo)a;
		if (gt_algo_fits_shape(candidate.algo, shape) &&
		    gt_algo_supports(candidate.algo, f->coll))
			rc = try_protocols(f, candidate, err);
	}
	return rc;
}

static int try_coll(struct finding *f, struct gt_err *err)
{
	const struct gt_plan *plan = f->plan;
	int rc = GT_OK;

	for (uint32_t i = 0; i < plan->nselect && !rc; i++)
		rc = try_algos(f, &plan->select[i], err);
	for (uint32_t i = 0; i < plan->nmeasured && !rc; i++)
		rc = try_algos(f, &plan->measured[i].use, err);
	return rc;
}

int gt_tune_candidates_find(const struct gt_plan *plan, unsigned colls,
			    int gpus, struct gt_arena *arena,
			    struct gt_tune_candidates *candidates,
			    struct gt_err *err)
{
	uint32_t uses = plan->nselect + plan->nmeasured;
	struct finding f = {
		.plan = plan, .candidates = candidates, .gpus = gpus};
	int rc = GT_OK;

	candidates->n = 0;
	/* A shape has at most two algorithms. */
	candidates->rows =
		gt_arena_array(arena,
			       (size_t)uses * GT_NCOLLS * 2 * GT_NPROTOCOLS *
				       (1 + GT_TUNE_NDETOURS),
			       sizeof(*candidates->rows));
	if (!candidates->rows)
		return gt_err_nomem(err);
	for (int c = 0; c < GT_NCOLLS && !rc; c++) {
		f.coll = (enum gt_coll)c;
		if (colls >> c & 1)
			rc = try_coll(&f, err);
	}
	return rc;
}
