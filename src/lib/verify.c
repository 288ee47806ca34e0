/* gtopo_verify() and gtopo_predict(): what is known of a plan as text. */
#include <string.h>

#include "base/err.h"
#include "gtopo.h"
#include "lib/answer.h"
#include "plan/check/check.h"
#include "plan/cost/cost.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "plan/simulate/simulate.h"

static int read_plan(const char *text, struct gt_plan **plan,
		     struct gt_err *err)
{
	if (!text)
		return gt_err_set(err, GT_EINPUT, NULL, "there is no plan");
	return gt_plan_parse("plan", text, strlen(text), plan, err);
}

/* Simulates the plan's own collective and those of its rows. */
static int simulate(const struct gt_plan *plan, struct gt_err *err)
{
	unsigned colls = 1u << plan->coll;
	int rc = GT_OK;

	for (uint32_t i = 0; i < plan->nselect; i++)
		colls |= 1u << plan->select[i].coll;
	for (int coll = 0; coll < GT_NCOLLS && !rc; coll++)
		if (colls >> coll & 1)
			rc = gt_simulate(plan, (enum gt_coll)coll, err);
	return rc;
}

static void tell(const struct gt_plan *plan,
		 const struct gt_plan_report *report,
		 struct gtopo_verdict *verdict)
{
	const struct gt_plan_proof *proof = &plan->proof;
	int proven = report->bound == GT_BOUND_PROVEN;

	*verdict = (struct gtopo_verdict){.size = sizeof(*verdict),
					  .ranks = (int)plan->nranks,
					  .channels = (int)plan->nchannels};
	if (!plan->has_proof)
		return;
	verdict->busbw_gbs = gt_plan_busbw(plan, proof->value);
	verdict->algbw_gbs = gt_plan_algbw(plan, proof->value);
	if (proven)
		verdict->bound_gbs = gt_plan_busbw(plan, proof->bound);
	if (report->any_bound == GT_BOUND_PROVEN)
		verdict->any_bound_gbs = gt_plan_busbw(plan, proof->any_bound);
	verdict->optimal = proven && proof->optimal;
}

int gtopo_verify(const char *text, struct gtopo_verdict *verdict, char *message,
		 size_t size)
{
	const struct gt_answer answer = {message, size};
	struct gt_plan *plan = NULL;
	struct gt_plan_report report;
	struct gt_err err;
	int rc = GT_OK;

	gt_err_init(&err);
	gt_answer_init(&answer);
	if (verdict && verdict->size != sizeof(*verdict))
		rc = gt_err_set(&err, GT_EINPUT, NULL,
				"the verdict is not this version's");
	if (!rc)
		rc = read_plan(text, &plan, &err);
	if (!rc)
		rc = gt_plan_check_report(plan, &report, &err);
	if (!rc)
		rc = simulate(plan, &err);
	if (!rc && verdict)
		tell(plan, &report, verdict);
	gt_plan_free(plan);
	return gt_answer_code(&answer, rc, &err);
}

/* The sizes to price, and where the times go. */
struct prices {
	const uint64_t *bytes;
	double *times_us;
	size_t n;
};

static int price(const struct gt_plan *plan, enum gt_coll coll,
		 const struct prices *prices, struct gt_err *err)
{
	struct gt_cost_model *model = NULL;
	struct gt_cost cost;
	int rc = gt_cost_new(plan, coll, &model, err);

	for (size_t i = 0; i < prices->n && !rc; i++) {
		rc = gt_cost_expect(model, prices->bytes[i], &cost, err);
		if (!rc)
			prices->times_us[i] = cost.time_us;
	}
	gt_cost_free(model);
	return rc;
}

int gtopo_predict(const char *text, const char *coll_name,
		  const uint64_t *bytes, double *times_us, size_t n,
		  char *message, size_t size)
{
	const struct gt_answer answer = {message, size};
	const struct prices prices = {bytes, times_us, n};
	int coll = coll_name ? gt_coll_meant(coll_name) : -1, rc;
	struct gt_plan *plan = NULL;
	struct gt_err err;

	gt_err_init(&err);
	gt_answer_init(&answer);
	rc = read_plan(text, &plan, &err);
	if (!rc && coll_name && coll < 0)
		rc = gt_err_set(&err, GT_EINPUT, NULL,
				"coll '%.32s' is no collective", coll_name);
	if (!rc && n && (!bytes || !times_us))
		rc = gt_err_set(&err, GT_EINPUT, NULL,
				"there are no sizes, or no place for times");
	if (!rc)
		rc = gt_plan_check(plan, &err);
	if (!rc)
		rc = price(plan, coll < 0 ? plan->coll : (enum gt_coll)coll,
			   &prices, &err);
	gt_plan_free(plan);
	return gt_answer_code(&answer, rc, &err);
}
