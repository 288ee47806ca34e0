/*
 * gtopo health: lint, the comparison with an expected machine, and what its
 * GPUs reach, in one answer.
 */
#include "cli/common/command.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/detect/xml.h"
#include "cli/diff/fleet.h"
#include "cli/health/reach.h"
#include "cli/lint/print.h"
#include "cli/common/opt.h"
#include "cli/common/reference.h"
#include "topo/diff/device_tree.h"
#include "topo/lint/lint.h"

struct gt_health_opts {
	struct gt_detect_source from;
	const char *expect;
	const char *ignore;
	int64_t tolerance; /* percent */
	int json;
};

static const struct gt_health_opts gt_health_defaults = {
	.tolerance = GT_REACH_TOLERANCE,
};

static const struct gt_opt gt_health_opts[] = {
	{GT_OPT_TEXT, 0, "expect", "NAME",
	 offsetof(struct gt_health_opts, expect),
	 "compare with this reference machine or file", 0, 0},
	{GT_OPT_TEXT, 0, "ignore", "LIST",
	 offsetof(struct gt_health_opts, ignore),
	 "what may differ: firmware,driver,...", 0, 0},
	{GT_OPT_FLAG, 0, "measure", NULL,
	 offsetof(struct gt_health_opts, from.measure),
	 "time what the GPUs reach, too", 0, 0},
	{GT_OPT_INT, 0, "tolerance", "PERCENT",
	 offsetof(struct gt_health_opts, tolerance),
	 "what may be missing of an expected rate (default: 10)", 0, 99},
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_health_opts, json),
	 "write JSON", 0, 0},
	{GT_OPT_TEXT, 0, "root", "DIR",
	 offsetof(struct gt_health_opts, from.root),
	 "read DIR/sys and DIR/proc instead of this machine's", 0, 0},
	{GT_OPT_TEXT, 0, "nvml", "FILE",
	 offsetof(struct gt_health_opts, from.nvml),
	 "ask this NVML library instead of the driver's", 0, 0},
	GT_OPT_END,
};

static const char gt_health_name[] = "this machine";

/* The answer has three parts: what lint says, what differs, what is slow. */
struct gt_health {
	const struct gt_cmd_args *args;
	struct gt_arena *arena;
	struct gt_buf machine; /* XML */
	struct gt_lint lint;
	struct gt_fleet *fleet; /* NULL: nothing is expected */
	struct gt_reach_finding *reach;
};

static int gt_health_compare(struct gt_health *health, struct gt_err *err)
{
	const struct gt_health_opts *opts = health->args->opts;
	const char *files[] = {NULL, gt_health_name};
	struct gt_fleet_query ask = {
		.files = files, .nfiles = 2, .expected = 1};
	struct gt_reach_query reach = {.machine = &health->machine,
				       .measured = opts->from.measure,
				       .tolerance =
					       (double)opts->tolerance / 100};
	int rc = gt_fleet_ignore(opts->ignore, &ask.ignore, err);

	ask.last = &health->machine;
	/* Reach tells of a GPU that is hidden, lint of one that is lost. */
	ask.ignore |= 1u << GT_PROP_VISIBLE;
	if (!rc && opts->expect) {
		rc = gt_reference_find(opts->expect, health->arena, &files[0],
				       err);
		if (!rc)
			rc = gt_fleet_compare(&ask, &health->fleet, err);
	}
	reach.expect = files[0];
	if (!rc && (opts->from.measure || opts->expect))
		rc = gt_reach_find(&reach, health->arena, &health->reach, err);
	return rc;
}

static int gt_health_is_bad(const struct gt_health *health)
{
	return gt_lint_worst(&health->lint) >= GT_LINT_WARNING ||
	       (health->fleet && gt_fleet_differs(health->fleet)) ||
	       health->reach;
}

/* Notes are left out: they are no reason to act. */
static void gt_health_print(const struct gt_health *health, struct gt_buf *out)
{
	const struct gt_lint *lint = &health->lint;

	for (uint32_t i = 0; i < lint->nfindings; i++) {
		if (gt_lint_rule_severity(lint->findings[i].rule) ==
		    GT_LINT_NOTE)
			continue;
		gt_lint_print(&lint->findings[i], out);
		gt_buf_puts(out, "\n");
	}
	if (health->fleet)
		gt_fleet_print(health->fleet, out);
	gt_reach_print(health->reach, out);
}

static void gt_health_print_json(const struct gt_health *health,
				 struct gt_buf *out)
{
	const struct gt_lint *lint = &health->lint;

	gt_buf_printf(out,
		      "{\"schema\": \"gtopo.health/1\", \"healthy\": %s,\n"
		      "\"lint\": [",
		      gt_health_is_bad(health) ? "false" : "true");
	for (uint32_t i = 0; i < lint->nfindings; i++)
		gt_lint_print_json(lint, &lint->findings[i], !i, out);
	gt_buf_puts(out, "],\n\"diff\": ");
	if (health->fleet)
		gt_fleet_print_json(health->fleet, out);
	else
		gt_buf_puts(out, "null\n");
	gt_buf_puts(out, ",\"reach\": [");
	gt_reach_print_json(health->reach, out);
	gt_buf_puts(out, "]");
	gt_buf_puts(out, "}\n");
}

static int gt_health_look(struct gt_health *health, struct gt_err *err)
{
	const struct gt_health_opts *opts = health->args->opts;
	struct gt_buf out = GT_BUF_INIT;
	int rc =
		gt_detect_xml(health->args, &opts->from, &health->machine, err);

	if (!rc)
		rc = gt_lint_text(gt_health_name, health->machine.text,
				  health->machine.len, health->arena,
				  &health->lint, err);
	if (!rc)
		rc = gt_health_compare(health, err);
	if (rc)
		return rc;
	if (opts->json)
		gt_health_print_json(health, &out);
	else
		gt_health_print(health, &out);
	rc = out.failed ? gt_err_nomem(err)
			: gt_file_write(health->args->out,
					out.text ? out.text : "", out.len, err);
	gt_buf_release(&out);
	return !rc && gt_health_is_bad(health) ? GT_ENO : rc;
}

static int cmd_health(const struct gt_cmd_args *args, struct gt_err *err)
{
	struct gt_health health = {.args = args, .arena = gt_arena_new()};
	int rc =
		health.arena ? gt_health_look(&health, err) : gt_err_nomem(err);

	gt_fleet_free(health.fleet);
	gt_buf_release(&health.machine);
	gt_arena_free(health.arena);
	return rc;
}

const struct gt_cmd gt_cmd_health = {
	.name = "health",
	.summary = "tell what is wrong with this machine, for a job's prolog",
	.operands = "",
	.opts = gt_health_opts,
	.defaults = &gt_health_defaults,
	.opts_bytes = sizeof(struct gt_health_opts),
	.run = cmd_health,
};
