/*
 * gtopo health: lint, the comparison with an expected machine, and what its
 * GPUs reach, in one answer.
 */
#include "cli/common/command.h"

#include <config.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "cli/detect/xml.h"
#include "cli/diff/fleet.h"
#include "cli/health/prometheus.h"
#include "cli/health/reach.h"
#include "cli/lint/choice.h"
#include "cli/lint/print.h"
#include "cli/common/colour.h"
#include "cli/common/opt.h"
#include "cli/common/p2p.h"
#include "cli/common/reference.h"
#include "topo/diff/device_tree.h"
#include "topo/graph/topo.h"
#include "topo/lint/lint.h"
#include "topo/probe/sysfs.h"

struct gt_health_opts {
	struct gt_detect_source from;
	const char *expect;
	const char *ignore, *p2p;
	int fail_on;
	int64_t tolerance; /* percent */
	int json;
	int format;
	int colour;
};

/* The order is that of the words. */
enum { GT_HEALTH_TEXT, GT_HEALTH_JSON, GT_HEALTH_PROMETHEUS };

static const struct gt_health_opts gt_health_defaults = {
	.fail_on = GT_LINT_FAIL_ON_WARNING,
	.tolerance = GT_REACH_TOLERANCE,
};

static const struct gt_opt gt_health_opts[] = {
	{GT_OPT_TEXT, 0, "expect", "NAME",
	 offsetof(struct gt_health_opts, expect),
	 "compare with this reference machine or file", 0, 0},
	{GT_OPT_TEXT, 0, "ignore", "LIST",
	 offsetof(struct gt_health_opts, ignore),
	 "rules and differences to ignore: firmware,acs,driver,...", 0, 0},
	{GT_OPT_WORD, 0, "fail-on", GT_LINT_FAIL_ON_WORDS,
	 offsetof(struct gt_health_opts, fail_on),
	 "severity that makes the exit status 1 (warning)", 0, 0},
	GT_OPT_P2P(struct gt_health_opts, p2p),
	{GT_OPT_FLAG, 0, "measure", NULL,
	 offsetof(struct gt_health_opts, from.measure),
	 "also measure what the GPUs reach", 0, 0},
	{GT_OPT_INT, 0, "tolerance", "PERCENT",
	 offsetof(struct gt_health_opts, tolerance),
	 "how far below an expected rate is fine (default: 10)", 0, 99},
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_health_opts, json),
	 "write JSON, as --format json", 0, 0},
	{GT_OPT_WORD, 0, "format", "text|json|prometheus",
	 offsetof(struct gt_health_opts, format),
	 "write lines, JSON, or metrics for node_exporter (text)", 0, 0},
	GT_OPT_COLOUR(struct gt_health_opts, colour),
	{GT_OPT_TEXT, 0, "root", "DIR",
	 offsetof(struct gt_health_opts, from.root),
	 "read DIR/sys and DIR/proc instead of this machine's", 0, 0},
	{GT_OPT_TEXT, 0, "nvml", "FILE",
	 offsetof(struct gt_health_opts, from.nvml),
	 "ask this NVML library instead of the driver's", 0, 0},
	GT_OPT_END,
};

static const char gt_health_name[] = "this machine";

enum { GT_HEALTH_HOST_MAX = 256 };

/* The answer has three parts: what lint says, what differs, what is slow. */
struct gt_health {
	const struct gt_cmd_args *args;
	struct gt_arena *arena;
	struct gt_buf machine;         /* XML */
	char host[GT_HEALTH_HOST_MAX]; /* "" if it is not known */
	struct gt_lint lint;
	unsigned may_differ; /* properties that gtopo diff is not to tell */
	int may_lack_gpus;
	const char *files[2];   /* what is expected, this machine; fleet's */
	struct gt_fleet *fleet; /* NULL: nothing is expected */
	struct gt_reach_finding *reach;
};

static int gt_health_compare(struct gt_health *health, struct gt_err *err)
{
	const struct gt_health_opts *opts = health->args->opts;
	const char **files = health->files;
	struct gt_fleet_query ask = {
		.files = files, .nfiles = 2, .expected = 1};
	struct gt_reach_query reach = {.machine = &health->machine,
				       .p2p = opts->p2p,
				       .measured = opts->from.measure,
				       .tolerance =
					       (double)opts->tolerance / 100};
	int rc = GT_OK;

	files[1] = *health->host ? health->host : gt_health_name;
	ask.last = &health->machine;
	/* Reach tells of a GPU that is hidden, lint of one that is lost. */
	ask.ignore = health->may_differ | 1u << GT_PROP_VISIBLE;
	if (opts->p2p)
		ask.ignore |= 1u << GT_PROP_P2P;
	if (opts->expect) {
		rc = gt_reference_find(opts->expect, health->arena, &files[0],
				       err);
		if (!rc)
			rc = gt_fleet_compare(&ask, &health->fleet, err);
	}
	reach.expect = files[0];
	if (!rc && (opts->from.measure || opts->expect || opts->p2p))
		rc = gt_reach_find(&reach, health->arena, &health->reach, err);
	return rc;
}

/*
 * Whoever says what a machine should be wants it so: what differs, and what
 * does not reach what it should, is an error.
 */
static int gt_health_is_bad(const struct gt_health *health, int fail_on)
{
	int differs = health->reach ||
		      (health->fleet && gt_fleet_differs(health->fleet));

	return (differs && fail_on != GT_LINT_FAIL_ON_NEVER) ||
	       gt_lint_fails(&health->lint, (enum gt_lint_fail_on)fail_on);
}

/* Words of --ignore after those of properties. */
enum { WORD_NVLINK = GT_NPROPS, WORD_NO_GPU, NWORDS };

static const char *gt_health_word(int i)
{
	if (i == WORD_NO_GPU)
		return "no-gpu";
	return i < GT_NPROPS ? gt_prop_name((enum gt_prop)i) : "nvlink";
}

static void gt_health_may_differ(int i, void *arg)
{
	struct gt_health *health = arg;

	/* gt_fleet_ignore() counts as gt_health_word() does. */
	if (i == WORD_NO_GPU)
		health->may_lack_gpus = 1;
	else
		health->may_differ |= 1u << i;
}

static int gt_health_ignore(struct gt_health *health,
			    char ignored[GT_NLINTRULES], struct gt_err *err)
{
	const struct gt_health_opts *opts = health->args->opts;
	struct gt_lint_words words = {.n = NWORDS,
				      .name = gt_health_word,
				      .take = gt_health_may_differ,
				      .arg = health};

	return gt_lint_ignore(opts->ignore, &words, ignored, err);
}

/* Notes are left out: they are no reason to act. */
static void gt_health_print(const struct gt_health *health, struct gt_buf *out)
{
	const struct gt_health_opts *opts = health->args->opts;
	int colour = gt_colour((enum gt_colour_when)opts->colour, health->args);
	struct gt_lint_style style = {
		.is_each = 1, .is_machine = 1, .colour = colour};

	gt_lint_print(&health->lint, style, out);
	if (health->fleet)
		gt_fleet_print(health->fleet, colour, out);
	gt_reach_print(health->reach, out);
}

/* Tell when this was so, as many files of one server are kept. */
static void gt_health_print_time(struct gt_buf *out)
{
	char text[] = "2026-01-01T00:00:00Z";
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		gt_buf_printf(out, "\"time\": \"%s\",\n", text);
}

static void gt_health_print_json(const struct gt_health *health,
				 struct gt_buf *out)
{
	int bad = gt_health_is_bad(health, GT_LINT_FAIL_ON_WARNING);
	const char *between = "\n ";

	gt_buf_printf(out,
		      "{\"schema\": \"gtopo.health/1\", \"healthy\": %s,\n"
		      "\"gtopo\": \"" PACKAGE_VERSION "\",\n",
		      bad ? "false" : "true");
	gt_health_print_time(out);
	if (*health->host) {
		gt_buf_puts(out, "\"host\": ");
		gt_json_quote(out, health->host);
		gt_buf_puts(out, ",\n");
	}
	gt_buf_puts(out, "\"lint\": [");
	gt_lint_print_json(&health->lint, &between, out);
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

/* The metrics are those of the JSON, and of the machine as a graph. */
static int gt_health_print_metrics(const struct gt_health *health,
				   struct gt_buf *out, struct gt_err *err)
{
	struct gt_buf json = GT_BUF_INIT;
	struct gt_topo *topo;
	int rc = gt_topo_parse(gt_health_name, health->machine.text,
			       health->machine.len, GT_RATES_LINE, &topo, err);

	if (rc)
		return rc;
	gt_health_print_json(health, &json);
	rc = gt_prometheus(&json, topo, health->arena, out, err);
	gt_buf_release(&json);
	gt_topo_free(topo);
	return rc;
}

/*
 * Whoever asks whether a server is fit for jobs of GPUs has GPUs there, unless
 * the expected machine says otherwise; lint tells of those on the bus that do
 * not answer.
 */
static int gt_health_miss_gpus(struct gt_health *health, struct gt_err *err)
{
	const struct gt_health_opts *opts = health->args->opts;
	struct gt_reach_finding *finding;
	struct gt_topo *topo;
	struct gt_err why;
	int has, rc;

	if (opts->expect || health->may_lack_gpus ||
	    gt_lint_worst(&health->lint) == GT_LINT_ERROR)
		return GT_OK;
	gt_err_init(&why);
	rc = gt_topo_parse(gt_health_name, health->machine.text,
			   health->machine.len, GT_RATES_LINE, &topo, &why);
	if (rc == GT_ESYS)
		return gt_err_set(err, rc, why.where, "%s", why.text);
	if (rc) /* Lint has said why. */
		return GT_OK;
	has = gt_topo_ngpus(topo) > 0;
	gt_topo_free(topo);
	if (has)
		return GT_OK;
	finding = gt_arena_alloc(health->arena, sizeof(*finding));
	if (!finding)
		return gt_err_nomem(err);
	*finding = (struct gt_reach_finding){
		.next = health->reach,
		.kind = "no-gpu",
		.from = "host",
		.to = "host",
		.text = gt_arena_printf(
			health->arena,
			"%s: no GPU is there, neither on the PCI bus nor for "
			"the driver; look at its power and cables, or say "
			"--ignore no-gpu of a server without",
			*health->host ? health->host : gt_health_name)};
	health->reach = finding;
	return finding->text ? GT_OK : gt_err_nomem(err);
}

/* Write it in the format that is asked for. */
static int gt_health_write(const struct gt_health *health, struct gt_err *err)
{
	const struct gt_health_opts *opts = health->args->opts;
	struct gt_buf out = GT_BUF_INIT;
	int rc = GT_OK;

	if (opts->format == GT_HEALTH_PROMETHEUS)
		rc = gt_health_print_metrics(health, &out, err);
	else if (opts->json || opts->format == GT_HEALTH_JSON)
		gt_health_print_json(health, &out);
	else
		gt_health_print(health, &out);
	if (!rc && out.failed)
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_file_write(health->args->out, out.text ? out.text : "",
				   out.len, err);
	gt_buf_release(&out);
	return rc;
}

static int gt_health_look(struct gt_health *health, struct gt_err *err)
{
	const struct gt_health_opts *opts = health->args->opts;
	char ignored[GT_NLINTRULES] = {0};
	int rc = gt_health_ignore(health, ignored, err);

	if (!rc && opts->json && opts->format == GT_HEALTH_PROMETHEUS)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--json and --format prometheus do not go "
				"together");
	if (!rc)
		rc = gt_detect_xml(health->args, &opts->from, &health->machine,
				   err);
	if (!rc)
		rc = gt_lint_text(gt_health_name, health->machine.text,
				  health->machine.len, health->arena,
				  &health->lint, err);
	if (rc)
		return rc;
	gt_sysfs_text(opts->from.root ? opts->from.root : "", health->host,
		      sizeof(health->host), "/proc/sys/kernel/hostname");
	if (*health->host)
		health->lint.host = health->host;
	if (opts->p2p)
		ignored[GT_LINT_P2P_RULE] = ignored[GT_LINT_NO_P2P_RULE] = 1;
	gt_lint_leave_out(&health->lint, ignored);
	gt_lint_sort(&health->lint);
	rc = gt_health_compare(health, err);
	if (!rc)
		rc = gt_health_miss_gpus(health, err);
	if (rc)
		return rc;
	rc = gt_health_write(health, err);
	return !rc && gt_health_is_bad(health, opts->fail_on) ? GT_ENO : rc;
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
	.summary = "find what is wrong with this machine, for a job's prolog",
	.operands = "",
	.opts = gt_health_opts,
	.defaults = &gt_health_defaults,
	.opts_bytes = sizeof(struct gt_health_opts),
	.run = cmd_health,
};
