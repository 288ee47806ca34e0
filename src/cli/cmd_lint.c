/* gtopo lint: the faults of topology files, told or repaired. */
#include "cli/common/command.h"

#include <config.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/lint/choice.h"
#include "cli/lint/print.h"
#include "cli/common/colour.h"
#include "cli/common/opt.h"
#include "topo/lint/lint.h"

struct gt_lint_opts {
	int fix;
	int all;
	const char *ignore;
	int fail_on;
	int json;
	int colour;
};

static const struct gt_lint_opts gt_lint_defaults = {
	.fail_on = GT_LINT_FAIL_ON_WARNING,
};

static const struct gt_opt gt_lint_opts[] = {
	{GT_OPT_FLAG, 0, "fix", NULL, offsetof(struct gt_lint_opts, fix),
	 "write the repaired file, findings go to standard error", 0, 0},
	{GT_OPT_FLAG, 0, "all", NULL, offsetof(struct gt_lint_opts, all),
	 "show every finding, repeated ones too", 0, 0},
	{GT_OPT_TEXT, 0, "ignore", "LIST",
	 offsetof(struct gt_lint_opts, ignore),
	 "leave out findings of these rules: firmware,acs,...", 0, 0},
	{GT_OPT_WORD, 0, "fail-on", GT_LINT_FAIL_ON_WORDS,
	 offsetof(struct gt_lint_opts, fail_on),
	 "severity that makes the exit status 1 (warning)", 0, 0},
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_lint_opts, json),
	 "write JSON", 0, 0},
	GT_OPT_COLOUR(struct gt_lint_opts, colour),
	GT_OPT_END,
};

/* A file that was told of, for nodes of clusters may share theirs. */
struct gt_lint_told {
	const struct gt_lint_told *before;
	const char *file;
};

/* A run of the command gathers its output here, and whether it is to fail. */
struct gt_lint_run {
	const struct gt_cmd_args *args;
	const struct gt_lint_opts *opts;
	struct gt_arena *arena;
	struct gt_buf out;
	char ignored[GT_NLINTRULES];
	const char *between; /* as gt_lint_print_json() */
	const struct gt_lint_told *told;
	int fails;
};

/* Returns whether a node's file is told of anyway, or was already. */
static int gt_lint_is_told(const struct gt_lint_run *run, const char *file)
{
	for (int i = 0; i < run->args->noperands; i++)
		if (!strcmp(run->args->operands[i], file))
			return 1;
	for (const struct gt_lint_told *at = run->told; at; at = at->before)
		if (!strcmp(at->file, file))
			return 1;
	return 0;
}

/* Look at a file and tell of it. */
static int gt_lint_tell(struct gt_lint_run *run, const char *file,
			struct gt_lint *lint, struct gt_err *err)
{
	const struct gt_lint_opts *opts = run->opts;
	struct gt_lint_style style = {
		.is_each = opts->all,
		.colour = gt_colour((enum gt_colour_when)opts->colour,
				    run->args)};
	int rc = gt_lint_file(file, run->arena, lint, err);

	if (rc)
		return rc;
	gt_lint_leave_out(lint, run->ignored);
	if (opts->json)
		gt_lint_print_json(lint, &run->between, &run->out);
	else
		gt_lint_print(lint, style, &run->out);
	run->fails |= gt_lint_fails(lint, (enum gt_lint_fail_on)opts->fail_on);
	return GT_OK;
}

/* A cluster is as good as its nodes. */
static int gt_lint_tell_nodes(struct gt_lint_run *run,
			      const struct gt_lint *cluster, struct gt_err *err)
{
	struct gt_lint_told *told;
	struct gt_lint node;
	int rc = GT_OK;

	for (uint32_t i = 0; i < cluster->nnode_files && !rc; i++) {
		if (gt_lint_is_told(run, cluster->node_files[i]))
			continue;
		told = gt_arena_alloc(run->arena, sizeof(*told));
		if (!told)
			return gt_err_nomem(err);
		*told = (struct gt_lint_told){run->told,
					      cluster->node_files[i]};
		run->told = told;
		rc = gt_lint_tell(run, told->file, &node, err);
	}
	return rc;
}

/* Look at all files, one after the other. */
static int gt_lint_show(struct gt_lint_run *run, struct gt_err *err)
{
	struct gt_lint lint;
	int rc = GT_OK;

	run->between = "\n ";
	if (run->opts->json)
		gt_buf_puts(&run->out, "{\"schema\": \"gtopo.lint/1\", "
				       "\"gtopo\": \"" PACKAGE_VERSION "\", "
				       "\"findings\": [");
	for (int i = 0; i < run->args->noperands && !rc; i++) {
		rc = gt_lint_tell(run, run->args->operands[i], &lint, err);
		if (!rc)
			rc = gt_lint_tell_nodes(run, &lint, err);
	}
	if (!rc && run->opts->json)
		gt_buf_puts(&run->out, "\n]}\n");
	return rc;
}

/* Say the lines of a text on standard error, one by one. */
static void gt_lint_say(const struct gt_cmd_args *args, struct gt_buf *lines)
{
	char *rest = lines->len && !lines->failed ? lines->text : NULL;
	char *line;

	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			gt_cmd_warn(args, "%s", line);
}

/* Repair, and tell what is left; places are those in the product. */
static int gt_lint_repair(struct gt_lint_run *run, struct gt_err *err)
{
	const struct gt_cmd_args *args = run->args;
	struct gt_lint_style style = {.is_each = run->opts->all};
	struct gt_buf lines = GT_BUF_INIT;
	struct gt_lint lint;
	int rc;

	if (args->noperands > 1)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--fix takes one file, '%s' is another",
				  args->operands[1]);
	rc = gt_lint_file(args->operands[0], run->arena, &lint, err);
	if (rc)
		return rc;
	gt_lint_fix(&lint, &run->out);
	if (run->out.failed)
		return gt_err_nomem(err);
	rc = gt_lint_text(lint.name, run->out.text ? run->out.text : "",
			  run->out.len, run->arena, &lint, err);
	if (rc)
		return rc;
	gt_lint_leave_out(&lint, run->ignored);
	gt_lint_print(&lint, style, &lines);
	gt_lint_say(args, &lines);
	run->fails =
		gt_lint_fails(&lint, (enum gt_lint_fail_on)run->opts->fail_on);
	gt_buf_release(&lines);
	return GT_OK;
}

static int cmd_lint(const struct gt_cmd_args *args, struct gt_err *err)
{
	struct gt_lint_run run = {.args = args,
				  .opts = args->opts,
				  .arena = gt_arena_new(),
				  .out = GT_BUF_INIT};
	int rc = run.arena ? GT_OK : gt_err_nomem(err);

	if (!rc)
		rc = gt_lint_ignore(run.opts->ignore, NULL, run.ignored, err);
	if (!rc)
		rc = run.opts->fix ? gt_lint_repair(&run, err)
				   : gt_lint_show(&run, err);
	rc = gt_cmd_write(args, &run.out, rc, err);
	if (!rc && run.fails)
		rc = GT_ENO;
	gt_arena_free(run.arena);
	return rc;
}

const struct gt_cmd gt_cmd_lint = {
	.name = "lint",
	.summary = "find what NCCL would reject or misread in a topology file",
	.operands = "FILE...",
	.operands_min = 1,
	.takes_machines = 1,
	.operands_max = -1,
	.opts = gt_lint_opts,
	.defaults = &gt_lint_defaults,
	.opts_bytes = sizeof(struct gt_lint_opts),
	.run = cmd_lint,
};
