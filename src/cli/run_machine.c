#include "cli/run_machine.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/cmd.h"
#include "plan/plan.h"
#include "topo/machine.h"
#include "topo/probe.h"
#include "topo/topo.h"
#include "topo/xml_write.h"

/* By way of the XML, so that digests are those of detected files. */
static int gt_run_detect(struct gt_topo **topo, struct gt_err *err)
{
	struct gt_probe_env env = {.root = ""};
	struct gt_buf text = GT_BUF_INIT;
	struct gt_machine *machine;
	int rc = gt_probe_all(&env, &machine, err);

	if (rc)
		return rc;
	rc = gt_xml_write(machine, &text, NULL, err);
	gt_machine_free(machine);
	if (!rc)
		rc = gt_topo_parse("this machine", text.text, text.len,
				   GT_RATES_MEASURED, topo, err);
	gt_buf_release(&text);
	return rc;
}

/* NULL: it is this machine; else why not. */
static const char *gt_run_other(const struct gt_run_machine *want,
				const struct gt_plan *plan,
				const struct gt_topo *topo)
{
	const char *shape = gt_topo_shape_digest(topo);

	if (!plan->digest || (want->map_index && !plan->shape_digest))
		return "the plan does not say for which machine it is";
	if (!strcmp(plan->digest, gt_topo_digest(topo)))
		return NULL;
	if (!plan->shape_digest || strcmp(plan->shape_digest, shape))
		return "the plan is for another machine";
	return want->map_index ? NULL
			       : "the plan is for an equal machine with other "
				 "bus ids; --map index allows that";
}

int gt_run_machine_check(const struct gt_cmd_args *args,
			 const struct gt_run_machine *want,
			 const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_err why;
	struct gt_topo *topo = NULL;
	const char *other;
	int rc = GT_OK;

	gt_err_init(&why);
	if (gt_run_detect(&topo, want->strict ? err : &why)) {
		if (want->strict)
			return err->code;
		gt_cmd_warn(args, "cannot compare the machine: %s", why.text);
		return GT_OK;
	}
	other = gt_run_other(want, plan, topo);
	if (other && want->strict)
		rc = gt_err_set(err, GT_EINPUT, NULL, "%s", other);
	else if (other && plan->digest)
		gt_cmd_warn(args, "%s", other);
	gt_topo_free(topo);
	return rc;
}
