/* Probes the machine and writes it as topology XML. */
#include "cli/detect/xml.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/common/command.h"
#include "cli/detect/measure.h"
#include "topo/probe/machine.h"
#include "topo/probe/probe.h"
#include "topo/xml/write.h"

/* Set what hwloc takes from nowhere but the environment. */
static int gt_detect_hwloc(const char *root, struct gt_err *err)
{
	struct stat st;
	char sys[PATH_MAX];

	/* Standard error is for what gtopo says. */
	if (setenv("HWLOC_HIDE_ERRORS", "2", 0))
		return gt_err_nomem(err);
	if (!root)
		return GT_OK;
	if (snprintf(sys, sizeof(sys), "%s/sys", root) >= PATH_MAX ||
	    stat(sys, &st) || !S_ISDIR(st.st_mode))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--root '%s' has no folder sys", root);
	if (setenv("HWLOC_FSROOT", root, 1))
		return gt_err_nomem(err);
	return GT_OK;
}

int gt_detect_xml(const struct gt_cmd_args *args,
		  const struct gt_detect_source *from, struct gt_buf *out,
		  struct gt_err *err)
{
	struct gt_probe_env env = {from->root ? from->root : "", from->nvml,
				   from->all};
	struct gt_machine *machine;
	int n, rc;

	rc = from->measure ? gt_detect_can_measure(from->root, err) : GT_OK;
	if (!rc)
		rc = gt_detect_hwloc(from->root, err);
	if (!rc)
		rc = gt_probe_all(&env, &machine, err);
	if (rc)
		return rc;
	for (struct gt_machine_note *note = machine->notes; note;
	     note = note->next)
		if (note->detail)
			gt_cmd_note(args, "%s", note->text);
		else
			gt_cmd_warn(args, "%s", note->text);
	rc = gt_xml_write(machine, out, &n, err);
	if (!rc && n > GT_XML_NCCL_NODES)
		gt_cmd_warn(args, "%d elements: NCCL takes files of at most %d",
			    n, GT_XML_NCCL_NODES);
	gt_machine_free(machine);
	if (!rc && from->measure)
		rc = gt_detect_measure(args, out, err);
	return rc;
}
