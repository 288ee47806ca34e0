/* gtopo page: machines, what is wrong with them, a plan: as one web page. */
#include "cli/common/command.h"

#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/common/opt.h"
#include "cli/common/p2p.h"
#include "cli/common/reference.h"
#include "cli/page/page.h"

struct gt_page_opts {
	const char *plan, *expect, *report, *trace, *p2p;
};

static const struct gt_opt gt_page_opts[] = {
	{GT_OPT_TEXT, 0, "plan", "PLAN", offsetof(struct gt_page_opts, plan),
	 "draw this plan's channels, and tell what it is worth", 0, 0},
	{GT_OPT_TEXT, 0, "report", "FILE",
	 offsetof(struct gt_page_opts, report),
	 "draw what a run measured: its report", 0, 0},
	{GT_OPT_TEXT, 0, "trace", "FILE", offsetof(struct gt_page_opts, trace),
	 "draw what a run recorded: its trace", 0, 0},
	{GT_OPT_TEXT, 0, "expect", "NAME",
	 offsetof(struct gt_page_opts, expect),
	 "compare with this reference machine or file", 0, 0},
	GT_OPT_P2P(struct gt_page_opts, p2p),
	GT_OPT_END,
};

static int is_stdin(const char *path)
{
	return path && !strcmp(path, "-");
}

/* Standard input is there once, but most files are read more than once. */
static int check_stdin(const struct gt_page_query *ask, struct gt_err *err)
{
	uint32_t n = is_stdin(ask->report) + is_stdin(ask->trace);
	uint32_t files = 0;

	for (uint32_t i = 0; i < ask->nfiles; i++)
		files += is_stdin(ask->files[i]);
	if (n + files <= 1 && !is_stdin(ask->plan) &&
	    (!files || (ask->nfiles == 1 && !ask->expect)))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "'-' may be one of a single FILE without --expect, "
			  "--report and --trace; all else is read more than "
			  "once, and has to be a file");
}

/* The page is there, but it is not of all files: name those that are not. */
static int report_unread(const struct gt_cmd_args *args,
			 const struct gt_buf *unread, struct gt_err *err)
{
	const char *line = gt_buf_text(unread);
	int n = (int)strcspn(line, "\n");

	if (!*line)
		return GT_OK;
	for (const char *next = line + n + 1; *next;) {
		int len = (int)strcspn(next, "\n");

		gt_cmd_warn(args, "%.*s", len, next);
		next += len + 1;
	}
	return gt_err_set(err, GT_ENO, NULL,
			  "%.*s; the page says so, and shows the others", n,
			  line);
}

static int cmd_page(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_page_opts *opts = args->opts;
	struct gt_page_query ask = {.files =
					    (const char *const *)args->operands,
				    .nfiles = (uint32_t)args->noperands,
				    .plan = opts->plan,
				    .report = opts->report,
				    .trace = opts->trace,
				    .p2p = opts->p2p};
	struct gt_arena *arena = gt_arena_new();
	struct gt_buf out = GT_BUF_INIT, unread = GT_BUF_INIT;
	int rc = arena ? GT_OK : gt_err_nomem(err);

	if (!rc && opts->expect)
		rc = gt_reference_find(opts->expect, arena, &ask.expect, err);
	if (!rc)
		rc = check_stdin(&ask, err);
	if (!rc && ask.p2p && (ask.nfiles > 1 || ask.expect))
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--p2p is of one machine or cluster; what "
				"differs between several is in their files");
	ask.unread = &unread;
	if (!rc)
		rc = gt_page(&ask, &out, err);
	out.failed |= unread.failed;
	rc = gt_cmd_write(args, &out, rc, err);
	if (!rc)
		rc = report_unread(args, &unread, err);
	gt_buf_release(&unread);
	gt_arena_free(arena);
	return rc;
}

const struct gt_cmd gt_cmd_page = {
	.name = "page",
	.summary = "write a web page: machines, findings, a plan, a run",
	.operands = "FILE...",
	.operands_min = 1,
	.operands_max = -1,
	.takes_machines = 1,
	.opts = gt_page_opts,
	.opts_bytes = sizeof(struct gt_page_opts),
	.run = cmd_page,
};
