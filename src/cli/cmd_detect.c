#include "cli/cmd.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/opt.h"
#include "topo/machine.h"
#include "topo/probe.h"
#include "topo/xml_write.h"

struct gt_detect_opts {
	const char *root;
	const char *nvml;
};

static const struct gt_opt gt_detect_opts[] = {
	{GT_OPT_TEXT, 0, "root", "DIR", offsetof(struct gt_detect_opts, root),
	 "read DIR/sys and DIR/proc instead of this machine's", 0, 0},
	{GT_OPT_TEXT, 0, "nvml", "FILE", offsetof(struct gt_detect_opts, nvml),
	 "ask this NVML library instead of the driver's", 0, 0},
	GT_OPT_END,
};

static int gt_detect_write(const struct gt_cmd_args *args,
			   const struct gt_machine *machine, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	int n, rc;

	for (struct gt_machine_note *note = machine->notes; note;
	     note = note->next)
		gt_cmd_warn(args, "%s", note->text);
	rc = gt_xml_write(machine, &text, &n, err);
	if (!rc)
		rc = gt_file_write(args->out, text.text, text.len, err);
	if (!rc && n > GT_XML_NCCL_NODES)
		gt_cmd_warn(args, "%d elements: NCCL takes files of at most %d",
			    n, GT_XML_NCCL_NODES);
	gt_buf_release(&text);
	return rc;
}

/* What hwloc takes from nowhere but the environment. */
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

static int gt_detect_run(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_detect_opts *opts = args->opts;
	struct gt_probe_env env = {opts->root ? opts->root : "", opts->nvml};
	struct gt_machine *machine;
	int rc;

	rc = gt_detect_hwloc(opts->root, err);
	if (rc)
		return rc;
	rc = gt_probe_all(&env, &machine, err);
	if (rc)
		return rc;
	rc = gt_detect_write(args, machine, err);
	gt_machine_free(machine);
	return rc;
}

const struct gt_cmd gt_cmd_detect = {
	.name = "detect",
	.summary = "write the topology of this machine as XML for NCCL",
	.operands = "",
	.opts = gt_detect_opts,
	.opts_bytes = sizeof(struct gt_detect_opts),
	.run = gt_detect_run,
};
