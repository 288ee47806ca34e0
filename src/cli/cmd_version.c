/* gtopo version: the version, and what this program was built with. */
#include "cli/common/command.h"

#include <config.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"

#ifdef HAVE_CUDA
#define GT_VERSION_CUDA "yes"
#else
#define GT_VERSION_CUDA "no"
#endif

#ifdef HAVE_VERBS
#define GT_VERSION_VERBS "yes"
#else
#define GT_VERSION_VERBS "no"
#endif

static int cmd_version(const struct gt_cmd_args *args, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;

	gt_buf_puts(&text, "gtopo " PACKAGE_VERSION "\n");
	if (args->verbose)
		gt_buf_puts(&text, "cuda " GT_VERSION_CUDA "\n"
				   "verbs " GT_VERSION_VERBS "\n");
	return gt_cmd_write(args, &text, GT_OK, err);
}

const struct gt_cmd gt_cmd_version = {
	.name = "version",
	.summary = "print the version; with -v also what is built in",
	.operands = "",
	.run = cmd_version,
};
