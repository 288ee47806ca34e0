/* gtopo detect: this machine, or one that --root shows, as topology XML. */
#include "cli/common/command.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/detect/gather.h"
#include "cli/detect/ranks.h"
#include "cli/detect/xml.h"
#include "cli/common/opt.h"

static const struct gt_opt gt_detect_opts[] = {
	{GT_OPT_FLAG, 0, "all", NULL, offsetof(struct gt_detect_source, all),
	 "include virtual interfaces and functions", 0, 0},
	{GT_OPT_FLAG, 0, "all-ranks", NULL,
	 offsetof(struct gt_detect_source, all_ranks),
	 "under a launcher, write one cluster file of all hosts", 0, 0},
	{GT_OPT_TEXT, 0, "gather", "FILE",
	 offsetof(struct gt_detect_source, gather),
	 "write an archive for a report of a fault instead", 0, 0},
	{GT_OPT_FLAG, 0, "measure", NULL,
	 offsetof(struct gt_detect_source, measure),
	 "measure rates between GPUs, and from and to the host", 0, 0},
	{GT_OPT_TEXT, 0, "root", "DIR", offsetof(struct gt_detect_source, root),
	 "read DIR/sys and DIR/proc instead of this machine's", 0, 0},
	{GT_OPT_TEXT, 0, "nvml", "FILE",
	 offsetof(struct gt_detect_source, nvml),
	 "ask this NVML library instead of the driver's", 0, 0},
	GT_OPT_END,
};

/* Does the name promise an archive that is packed, which this one is not? */
static int is_packed(const char *file)
{
	static const char *const ends[] = {".gz",  ".tgz", ".xz",
					   ".bz2", ".zst", ".zip"};
	const char *end = strrchr(file, '.');

	for (size_t i = 0; end && i < sizeof(ends) / sizeof(*ends); i++)
		if (!strcmp(end, ends[i]))
			return 1;
	return 0;
}

/* The archive is whole or not there, as every file that a command writes. */
static int gather(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_detect_source *from = args->opts;
	struct gt_cmd_args into = *args;
	struct gt_buf archive = GT_BUF_INIT;
	int rc;

	if (args->out || from->all_ranks)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--gather goes with neither -o nor "
				  "--all-ranks");
	if (is_packed(from->gather))
		return gt_err_set(err, GT_EINPUT, from->gather,
				  "--gather writes a plain tar archive: name "
				  "it .tar, and pack it afterwards");
	into.out = from->gather;
	rc = gt_detect_gather(args, from, &archive, err);
	return gt_cmd_write(&into, &archive, rc, err);
}

static int cmd_detect(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_detect_source *from = args->opts;
	struct gt_buf text = GT_BUF_INIT;
	int rc;

	if (from->gather)
		return gather(args, err);
	if (from->all_ranks)
		return gt_detect_ranks(args, from, err);
	rc = gt_detect_xml(args, from, &text, err);
	return gt_cmd_write(args, &text, rc, err);
}

const struct gt_cmd gt_cmd_detect = {
	.name = "detect",
	.summary = "write the topology of this machine as XML for NCCL",
	.operands = "",
	.opts = gt_detect_opts,
	.opts_bytes = sizeof(struct gt_detect_source),
	.run = cmd_detect,
};
