#include "cli/tune/candidates.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/detour.h"
#include "plan/ir/measured.h"
#include "plan/simulate/simulate.h"

/*
 * Of the bytes, for a detour.  Measured on H200: NVLink moves 392 GB/s each
 * way, and PCIe 35 to 45 GB/s beside it.
 */
static const uint32_t gt_tune_detours[] = {50, 80, 110};

enum { GT_TUNE_NDETOURS = sizeof(gt_tune_detours) / sizeof(*gt_tune_detours) };

struct gt_tune_finding {
	const struct gt_plan *plan;
	struct gt_tune_candidates *ways;
	int gpus;
	enum gt_coll coll;
};

/* Alone, or before the plan's last row, whose channels the shares are of. */
static int gt_tune_is_right(const struct gt_plan *plan,
			    const struct gt_plan_select *way,
			    struct gt_err *err)
{
	struct gt_plan_select rows[] = {*way, *gt_plan_main_row(plan)};
	struct gt_plan copy = *plan;
	int rc;

	if (way->coll == plan->coll)
		rows[0].max_bytes = 0;
	copy.select = rows;
	copy.nselect = 2;
	copy.nmeasured = 0;
	/* Proven once; it is about the last row only. */
	copy.has_proof = 0;
	rc = gt_plan_check(&copy, err);
	/* A detour changes nothing in the programs. */
	if (!rc && !way->detour_permille)
		rc = gt_simulate(&copy, way->coll, err);
	return rc;
}

/* *added: it is a way, and a new one.  GT_OK also when it is not. */
static int gt_tune_add(struct gt_tune_finding *f,
		       const struct gt_plan_select *way, int *added,
		       struct gt_err *err)
{
	struct gt_err why;
	int rc;

	*added = 0;
	for (uint32_t i = 0; i < f->ways->n; i++)
		if (gt_plan_measured_same(&f->ways->rows[i], way))
			return GT_OK;
	gt_err_init(&why);
	rc = gt_tune_is_right(f->plan, way, &why);
	*added = !rc;
	if (!rc)
		f->ways->rows[f->ways->n++] = *way;
	return rc == GT_ESYS ? gt_err_set(err, rc, NULL, "%s", why.text)
			     : GT_OK;
}

/* Without a detour, and then with each, if it can have one. */
static int gt_tune_try(struct gt_tune_finding *f, struct gt_plan_select way,
		       struct gt_err *err)
{
	int added, rc;

	way.coll = f->coll;
	way.max_bytes = UINT64_MAX;
	way.detour_permille = 0;
	rc = gt_tune_add(f, &way, &added, err);
	if (!added || !f->gpus ||
	    !gt_detour_is_possible(way.algo, way.protocol, f->coll))
		return rc;
	for (int i = 0; i < GT_TUNE_NDETOURS && !rc; i++) {
		way.detour_permille = gt_tune_detours[i];
		rc = gt_tune_add(f, &way, &added, err);
	}
	return rc;
}

static int gt_tune_algo(struct gt_tune_finding *f, struct gt_plan_select way,
			struct gt_err *err)
{
	int mesh = gt_algo_fits_shape(way.algo, GT_SHAPE_MESH), rc = GT_OK;

	way.protocol = GT_PROTOCOL_SIMPLE;
	if (!mesh || !f->gpus)
		return gt_tune_try(f, way, err);
	for (int p = 0; p < GT_NPROTOCOLS && !rc; p++) {
		way.protocol = (enum gt_protocol)p;
		rc = gt_tune_try(f, way, err);
	}
	return rc;
}

/* Other ways to use the channels of a row or of a measurement. */
static int gt_tune_use(struct gt_tune_finding *f,
		       const struct gt_plan_select *use, struct gt_err *err)
{
	struct gt_plan_select way = *use;
	int rc = GT_OK;

	/* Trees and steps are made for one collective. */
	if (use->coll != f->coll &&
	    (use->algo == GT_ALGO_TREE || use->algo == GT_ALGO_STEPS))
		return GT_OK;
	for (int a = 0; a < GT_NALGOS && !rc; a++) {
		enum gt_shape shape = f->plan->channels[use->channels[0]].shape;

		way.algo = (enum gt_algo)a;
		if (gt_algo_fits_shape(way.algo, shape) &&
		    gt_algo_supports(way.algo, f->coll))
			rc = gt_tune_algo(f, way, err);
	}
	return rc;
}

static int gt_tune_coll(struct gt_tune_finding *f, struct gt_err *err)
{
	const struct gt_plan *plan = f->plan;
	int rc = GT_OK;

	for (uint32_t i = 0; i < plan->nselect && !rc; i++)
		rc = gt_tune_use(f, &plan->select[i], err);
	for (uint32_t i = 0; i < plan->nmeasured && !rc; i++)
		rc = gt_tune_use(f, &plan->measured[i].use, err);
	return rc;
}

int gt_tune_candidates_find(const struct gt_plan *plan, unsigned colls,
			    int gpus, struct gt_arena *arena,
			    struct gt_tune_candidates *ways, struct gt_err *err)
{
	uint32_t uses = plan->nselect + plan->nmeasured;
	struct gt_tune_finding f = {.plan = plan, .ways = ways, .gpus = gpus};
	int rc = GT_OK;

	ways->n = 0;
	/* A shape has at most two algorithms. */
	ways->rows =
		gt_arena_array(arena,
			       (size_t)uses * GT_NCOLLS * 2 * GT_NPROTOCOLS *
				       (1 + GT_TUNE_NDETOURS),
			       sizeof(*ways->rows));
	if (!ways->rows)
		return gt_err_nomem(err);
	for (int c = 0; c < GT_NCOLLS && !rc; c++) {
		f.coll = (enum gt_coll)c;
		if (colls >> c & 1)
			rc = gt_tune_coll(&f, err);
	}
	return rc;
}
