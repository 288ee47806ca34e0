/* gtopo lint: the faults of topology files, told or repaired. */
#include "cli/common/command.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/lint/print.h"
#include "cli/common/opt.h"
#include "topo/lint/lint.h"

struct gt_lint_opts {
	int fix;
	int json;
};

static const struct gt_opt gt_lint_opts[] = {
	{GT_OPT_FLAG, 0, "fix", NULL, offsetof(struct gt_lint_opts, fix),
	 "write the repaired file, findings go to standard error", 0, 0},
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_lint_opts, json),
	 "write JSON", 0, 0},
	GT_OPT_END,
};

/* Add the findings of all files to out; *worst is the worst severity. */
static int gt_lint_all(const struct gt_cmd_args *args, struct gt_arena *arena,
		       struct gt_buf *out, int *worst, struct gt_err *err)
{
	const struct gt_lint_opts *opts = args->opts;
	struct gt_lint lint;
	int rc = GT_OK, first = 1;

	for (int i = 0; i < args->noperands && !rc; i++) {
		rc = gt_lint_file(args->operands[i], arena, &lint, err);
		if (rc)
			return rc;
		for (uint32_t k = 0; k < lint.nfindings; k++) {
			if (opts->json) {
				gt_lint_print_json(&lint, &lint.findings[k],
						   first, out);
				first = 0;
				continue;
			}
			gt_lint_print(&lint.findings[k], out);
			gt_buf_puts(out, "\n");
		}
		if (gt_lint_worst(&lint) > *worst)
			*worst = gt_lint_worst(&lint);
	}
	return rc;
}

static int gt_lint_show(const struct gt_cmd_args *args, struct gt_arena *arena,
			struct gt_buf *out, int *worst, struct gt_err *err)
{
	const struct gt_lint_opts *opts = args->opts;
	int rc;

	if (opts->json)
		gt_buf_puts(out, "{\"schema\": \"gtopo.lint/1\", "
				 "\"findings\": [");
	rc = gt_lint_all(args, arena, out, worst, err);
	if (opts->json)
		gt_buf_puts(out, "\n]}\n");
	return rc;
}

/* Repair, and tell what is left; places are those in the product. */
static int gt_lint_repair(const struct gt_cmd_args *args,
			  struct gt_arena *arena, struct gt_buf *out,
			  int *worst, struct gt_err *err)
{
	struct gt_buf line = GT_BUF_INIT;
	struct gt_lint lint;
	int rc;

	if (args->noperands > 1)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--fix takes one file, '%s' is another",
				  args->operands[1]);
	rc = gt_lint_file(args->operands[0], arena, &lint, err);
	if (rc)
		return rc;
	gt_lint_fix(&lint, out);
	if (out->failed)
		return gt_err_nomem(err);
	rc = gt_lint_text(lint.name, out->text ? out->text : "", out->len,
			  arena, &lint, err);
	for (uint32_t i = 0; i < lint.nfindings && !rc; i++) {
		line.len = 0;
		gt_lint_print(&lint.findings[i], &line);
		gt_cmd_warn(args, "%s", gt_buf_text(&line) ? line.text : "");
	}
	*worst = gt_lint_worst(&lint);
	gt_buf_release(&line);
	return rc;
}

static int cmd_lint(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_lint_opts *opts = args->opts;
	struct gt_arena *arena = gt_arena_new();
	struct gt_buf out = GT_BUF_INIT;
	int rc, worst = -1;

	if (!arena)
		return gt_err_nomem(err);
	rc = opts->fix ? gt_lint_repair(args, arena, &out, &worst, err)
		       : gt_lint_show(args, arena, &out, &worst, err);
	rc = gt_cmd_write(args, &out, rc, err);
	if (!rc && worst >= GT_LINT_WARNING)
		rc = GT_ENO;
	gt_arena_free(arena);
	return rc;
}

const struct gt_cmd gt_cmd_lint = {
	.name = "lint",
	.summary = "tell what NCCL would reject or misread in a topology file",
	.operands = "FILE...",
	.operands_min = 1,
	.operands_max = -1,
	.opts = gt_lint_opts,
	.opts_bytes = sizeof(struct gt_lint_opts),
	.run = cmd_lint,
};
