/* Judges a plan: it is checked, simulated, and compared with a machine. */
#include "cli/verify/verify.h"

#include "base/err.h"
#include "cli/run/parse.h"
#include "plan/simulate/simulate.h"

/* By default verify what the plan names, with "all" whatever it can do. */
static int gt_verify_colls(const char *name, const struct gt_plan *plan,
			   unsigned *colls, struct gt_err *err)
{
	int coll = -1, rc = GT_OK;

	*colls = 1u << plan->coll;
	if (name)
		rc = gt_run_parse_coll(name, &coll, err);
	if (rc)
		return rc;
	if (coll >= 0)
		*colls = 1u << coll;
	for (uint32_t i = 0; i < plan->nselect && !name; i++)
		*colls |= 1u << plan->select[i].coll;
	for (int c = 0; c < GT_NCOLLS && name && coll < 0; c++)
		if (gt_plan_row(plan, (enum gt_coll)c, 0))
			*colls |= 1u << c;
	return GT_OK;
}

int gt_verdict_make(const struct gt_plan *plan, const char *coll_name,
		    const struct gt_verify_machine *machine,
		    struct gt_verdict *verdict, struct gt_err *err)
{
	int rc;

	verdict->plan = plan;
	verdict->machine = *machine;
	verdict->nrows = 0;
	rc = gt_verify_colls(coll_name, plan, &verdict->colls, err);
	if (!rc)
		rc = gt_plan_check_report(plan, &verdict->report, err);
	for (int coll = 0; coll < GT_NCOLLS && !rc; coll++)
		if (verdict->colls >> coll & 1)
			rc = gt_simulate(plan, (enum gt_coll)coll, err);
	if (!rc && !machine->path &&
	    (machine->exclude_link || machine->exclude_device || machine->p2p))
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--exclude-link, --exclude-device and --p2p "
				"are of the machine that --topology names");
	if (!rc && machine->path)
		rc = gt_verify_topology(plan, machine, err);
	return rc ? rc : gt_verdict_rows(verdict, err);
}
