/*
 * Any bytes as an algorithm of MSCCL or MSCCL++: what is imported is read again
 * as the same plan, and checked and simulated, whatever it computes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/interop/import.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "plan/simulate/simulate.h"
#include "round_trip.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* All pairs of so many ranks, over a link each. */
static struct gt_plan *mesh(uint32_t nranks)
{
	struct gt_buf text = GT_BUF_INIT;
	const char *comma = "";
	struct gt_plan *plan;

	gt_buf_puts(&text, "{\"schema\": \"gtopo.plan/1\", "
			   "\"collective\": \"allreduce\", \"ranks\": [");
	for (uint32_t r = 0; r < nranks; r++)
		gt_buf_printf(&text,
			      "%s{\"rank\": %u, \"node\": \"n0\", "
			      "\"device\": \"%u\"}",
			      r ? ", " : "", r, r);
	gt_buf_puts(&text, "], \"links\": [");
	for (uint32_t i = 0; i < nranks * nranks; i++)
		gt_buf_printf(&text,
			      "%s{\"id\": \"%u\", \"kind\": \"NVL\", "
			      "\"gbs\": \"20\"}",
			      i ? ", " : "", i);
	gt_buf_puts(&text, "], \"channels\": [{\"shape\": \"mesh\", "
			   "\"share\": \"1\", \"gbs\": \"20\", "
			   "\"hops\": [");
	for (uint32_t i = 0; i < nranks * nranks; i++) {
		if (i / nranks == i % nranks)
			continue;
		gt_buf_printf(&text,
			      "%s{\"from\": %u, \"to\": %u, "
			      "\"transport\": \"peer\", "
			      "\"route\": [\"%u\"]}",
			      comma, i / nranks, i % nranks, i);
		comma = ", ";
	}
	gt_buf_puts(&text, "]}]}");
	if (gt_plan_parse("mesh", text.text, text.len, &plan, NULL))
		abort();
	gt_buf_release(&text);
	return plan;
}

static void look(struct gt_plan *plan, struct gt_err *err)
{
	round_trip(plan);
	if (!gt_plan_check(plan, err))
		gt_simulate(plan, plan->coll, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	for (uint32_t nranks = 2; nranks <= 4; nranks++) {
		struct gt_plan *plan = mesh(nranks);
		struct gt_err err;

		gt_err_init(&err);
		if (!gt_import_parse("fuzz", (const char *)bytes, len, plan,
				     &err))
			look(plan, &err);
		else if (!err.text[0] || strchr(err.text, '\n'))
			abort();
		gt_plan_free(plan);
	}
	return 0;
}
