/* gtopo exec: run a program whose NCCL is gtopo's. */
#include "cli/common/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "cli/process.h"

static const char gt_exec_library[] = "libnccl.so.2";

/*
 * The library in a folder that is known from this program's: a build tree, or
 * an installation that was moved or packed.  Returns whether it is there.
 */
static int gt_exec_near(char path[PATH_MAX])
{
	static const char *const folders[] = {".", "../lib/gtopo",
					      "../lib64/gtopo"};
	char program[PATH_MAX], near[PATH_MAX + 64];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	char *slash;

	program[len > 0 ? len : 0] = '\0';
	slash = strrchr(program, '/');
	for (size_t i = 0; slash && i < sizeof(folders) / sizeof(*folders);
	     i++) {
		*slash = '\0';
		snprintf(near, sizeof(near), "%s/%s/%s", program, folders[i],
			 gt_exec_library);
		if (realpath(near, path))
			return 1;
	}
	return 0;
}

/* The library near this program, or where configure said it installs. */
static int gt_exec_find(char path[PATH_MAX], struct gt_err *err)
{
	if (gt_exec_near(path))
		return GT_OK;
	snprintf(path, PATH_MAX, "%s/%s", GT_PKGLIBDIR, gt_exec_library);
	if (!access(path, R_OK))
		return GT_OK;
	return gt_err_set(err, GT_ESYS, path,
			  "there is none, nor is one beside gtopo");
}

/* The loader parts names at blanks and colons, and knows no other way. */
static int gt_exec_check(const char *path, struct gt_err *err)
{
	return path[strcspn(path, ": \t\n")]
		       ? gt_err_set(err, GT_ESYS, path,
				    "LD_PRELOAD can name no file with a blank "
				    "or a colon in its path; install gtopo "
				    "elsewhere")
		       : GT_OK;
}

/* What else the user wants to be loaded first stays behind it. */
static int gt_exec_preload(const char *path, struct gt_err *err)
{
	const char *others = getenv("LD_PRELOAD");
	char *all = NULL;
	int rc;

	if (asprintf(&all, "%s%s%s", path, others && *others ? ":" : "",
		     others ? others : "") < 0)
		return gt_err_nomem(err);
	rc = setenv("LD_PRELOAD", all, 1) ||
	     setenv("VLLM_NCCL_SO_PATH", path, 1);
	free(all);
	return rc ? gt_err_nomem(err) : GT_OK;
}

static int cmd_exec(const struct gt_cmd_args *args, struct gt_err *err)
{
	char path[PATH_MAX];
	int rc = gt_exec_find(path, err);

	if (!rc)
		rc = gt_exec_check(path, err);
	if (!rc)
		rc = gt_exec_preload(path, err);
	if (rc)
		return rc;
	gt_cmd_note(args, "%s is loaded first", path);
	fflush(NULL);
	gt_process_restore();
	/* What is behind the operands is argv's own end. */
	args->operands[args->noperands] = NULL;
	execvp(args->operands[0], args->operands);
	return gt_err_set(err, GT_EINPUT, args->operands[0],
			  "cannot run it: %s", strerror(errno));
}

const struct gt_cmd gt_cmd_exec = {
	.name = "exec",
	.summary = "run a program with gtopo in place of NCCL",
	.operands = "COMMAND...",
	.operands_min = 1,
	.operands_max = -1,
	.run = cmd_exec,
};
