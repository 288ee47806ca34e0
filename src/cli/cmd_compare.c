/* gtopo compare: which of two plans or reports is faster, size by size. */
#include "cli/common/command.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/common/opt.h"
#include "cli/compare/compare.h"

struct gt_compare_opts {
	int json;
};

static const struct gt_opt gt_compare_opts[] = {
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_compare_opts, json),
	 "write JSON", 0, 0},
	GT_OPT_END,
};

static int cmd_compare(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_compare_opts *opts = args->opts;
	const char *const files[2] = {args->operands[0], args->operands[1]};
	struct gt_arena *arena = gt_arena_new();
	struct gt_comparison comparison;
	struct gt_buf out = GT_BUF_INIT;
	int rc = arena ? gt_compare(files, arena, &comparison, err)
		       : gt_err_nomem(err);

	if (!rc && opts->json)
		gt_compare_json(&comparison, &out);
	else if (!rc)
		gt_compare_text(&comparison, &out);
	rc = gt_cmd_write(args, &out, rc, err);
	gt_arena_free(arena);
	return rc;
}

const struct gt_cmd gt_cmd_compare = {
	.name = "compare",
	.summary = "compare two plans or reports: which is faster, by size",
	.operands = "A B",
	.operands_min = 2,
	.operands_max = 2,
	.opts = gt_compare_opts,
	.opts_bytes = sizeof(struct gt_compare_opts),
	.run = cmd_compare,
};
