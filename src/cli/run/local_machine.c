/*
 * Compares this machine with the one that a plan names, and warns or refuses.
 */
#include "cli/run/local_machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "cli/common/command.h"
#include "plan/ir/plan.h"
#include "topo/probe/machine.h"
#include "topo/probe/probe.h"
#include "topo/graph/topo.h"
#include "topo/xml/write.h"
#include "world/world.h"

enum { GT_RUN_REASON_MAX = 256, GT_RUN_WHY_MAX = 512 };

/* Detect by way of the XML, so that digests are those of detected files. */
static int gt_local_machine_detect(struct gt_topo **topo, struct gt_err *err)
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

/* Return NULL if the plan is for this machine, else why it is not. */
static const char *gt_local_machine_mismatch(
	const struct gt_machine_policy *want, const struct gt_plan *plan,
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

/* A process finds this out about its own machine and sends it to all. */
struct gt_local_machine {
	char why[GT_RUN_REASON_MAX]; /* it is not the plan's, or "" */
	char shape[GT_DIGEST_TEXT_MAX];
};

static int gt_local_machine_find(const struct gt_machine_policy *want,
				 const struct gt_plan *plan,
				 struct gt_local_machine *seen,
				 struct gt_err *err)
{
	struct gt_topo *topo = NULL;
	struct gt_err why;
	const char *other = NULL;

	memset(seen, 0, sizeof(*seen));
	gt_err_init(&why);
	if (gt_local_machine_detect(&topo, want->strict ? err : &why)) {
		snprintf(seen->why, sizeof(seen->why),
			 "cannot compare the machine: %.200s", why.text);
		return want->strict ? err->code : GT_OK;
	}
	snprintf(seen->shape, sizeof(seen->shape), "%s",
		 gt_topo_shape_digest(topo));
	if (!want->world || !plan->cluster)
		other = gt_local_machine_mismatch(want, plan, topo);
	if (other && (want->strict || plan->digest))
		snprintf(seen->why, sizeof(seen->why), "%s", other);
	gt_topo_free(topo);
	return GT_OK;
}

/* Say which is the first process that is on a wrong machine, and why. */
static void gt_local_machine_judge(struct gt_world *world,
				   const struct gt_plan *plan,
				   const struct gt_local_machine *seen,
				   const struct gt_world_part *parts,
				   char why[GT_RUN_WHY_MAX])
{
	const struct gt_local_machine *first = parts[0].bytes, *one;

	for (uint32_t p = 0; p < gt_world_size(world); p++) {
		one = parts[p].bytes;
		if (parts[p].len != sizeof(*seen))
			snprintf(why, GT_RUN_WHY_MAX, "%s is another version",
				 gt_world_name(world, p));
		else if (*one->why)
			snprintf(why, GT_RUN_WHY_MAX, "%s: %.*s",
				 gt_world_name(world, p),
				 (int)sizeof(one->why) - 1, one->why);
		else if (plan->cluster &&
			 memcmp(one->shape, first->shape, sizeof(one->shape)))
			snprintf(why, GT_RUN_WHY_MAX,
				 "%s is on another machine than %s",
				 gt_world_name(world, p),
				 gt_world_name(world, 0));
		if (*why)
			return;
	}
}

static int gt_local_machine_compare(struct gt_world *world,
				    const struct gt_plan *plan,
				    const struct gt_local_machine *seen,
				    char why[GT_RUN_WHY_MAX],
				    struct gt_err *err)
{
	struct gt_world_part *parts;
	int rc;

	snprintf(why, GT_RUN_WHY_MAX, "%s", seen->why);
	if (!world)
		return GT_OK;
	parts = calloc(gt_world_size(world), sizeof(*parts));
	if (!parts)
		return gt_err_nomem(err);
	*why = '\0';
	rc = gt_world_allgather(world, seen, sizeof(*seen), parts, err);
	if (!rc)
		gt_local_machine_judge(world, plan, seen, parts, why);
	free(parts);
	/* Nobody gives up before all have heard. */
	if (!rc)
		rc = gt_world_allgather(world, NULL, 0, NULL,
					*why ? NULL : err);
	return *why ? GT_OK : rc;
}

int gt_local_machine_check(const struct gt_cmd_args *args,
			   const struct gt_machine_policy *want,
			   const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_local_machine seen;
	char why[GT_RUN_WHY_MAX];
	int rc = gt_local_machine_find(want, plan, &seen, err);

	if (!rc)
		rc = gt_local_machine_compare(want->world, plan, &seen, why,
					      err);
	if (rc || !*why)
		return rc;
	if (want->strict)
		return gt_err_set(err, GT_EINPUT, NULL, "%s", why);
	if (!want->world || gt_world_reports_failure(want->world))
		gt_cmd_warn(args, "%s", why);
	return GT_OK;
}
