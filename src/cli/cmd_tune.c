/*
 * gtopo tune: every way to use a plan's channels is measured on this machine,
 * and the plan's rows choose among them.
 */
#include "cli/common/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/common/opt.h"
#include "cli/common/use_text.h"
#include "cli/run/local_machine.h"
#include "cli/run/parse.h"
#include "cli/tune/sweep.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "plan/simulate/simulate.h"

struct gt_tune_opts {
	const char *plan;
	int device; /* -1: the best one */
	int map;    /* enum gt_device_map */
	int strict;
	const char *coll; /* NULL: those that rows name */
	uint64_t begin_bytes, end_bytes;
	int64_t factor;
	int64_t max_blocks;
	int any_blocks;
	const char *p2p;
	int64_t timeout_ns;
};

static const struct gt_tune_opts gt_tune_defaults = {
	.device = -1,
	.begin_bytes = 1 << 10,
	.end_bytes = GT_RUN_SIZE_UNSET,
	.factor = 4,
	.timeout_ns = 30000000000,
};

#define GT_TUNE_AT(member) offsetof(struct gt_tune_opts, member)

static const struct gt_opt gt_tune_opts[] = {
	{GT_OPT_TEXT, 0, "plan", "FILE", GT_TUNE_AT(plan),
	 "tune this plan; - is standard input", 0, 0},
	{GT_OPT_WORD, 0, "device", "host|cuda", GT_TUNE_AT(device),
	 "where ranks run (default: cuda if there is one)", 0, 0},
	{GT_OPT_WORD, 0, "map", "id|index", GT_TUNE_AT(map),
	 "rank to GPU by bus id, or by number (default: id)", 0, 0},
	{GT_OPT_FLAG, 0, "strict", NULL, GT_TUNE_AT(strict),
	 "refuse GPUs of a machine that is not the plan's", 0, 0},
	{GT_OPT_TEXT, 0, "coll", "NAME", GT_TUNE_AT(coll),
	 "collective, or all that the plan can do (default: its rows')", 0, 0},
	{GT_OPT_BYTES, 'b', "begin", "SIZE", GT_TUNE_AT(begin_bytes),
	 "smallest size in bytes (default: 1K)", 0, 0},
	{GT_OPT_BYTES, 'e', "end", "SIZE", GT_TUNE_AT(end_bytes),
	 "largest size (default: 1G on GPUs, 16M on CPUs)", 0, 0},
	{GT_OPT_INT, 'f', "factor", "N", GT_TUNE_AT(factor),
	 "from one size to the next (default: 4)", 2, INT64_MAX},
	{GT_OPT_INT, 0, "max-blocks", "N", GT_TUNE_AT(max_blocks),
	 "thread blocks of a rank on its GPU at a time (default: any)", 1,
	 1024},
	{GT_OPT_FLAG, 0, "any-blocks", NULL, GT_TUNE_AT(any_blocks),
	 "on GPUs, do not look for the fewest that will do", 0, 0},
	{GT_OPT_TEXT, 0, "p2p", "off|PAIRS", GT_TUNE_AT(p2p),
	 "GPUs without peer access, all or pairs of ranks 0-1,2-3", 0, 0},
	{GT_OPT_TIME, 0, "timeout", "TIME", GT_TUNE_AT(timeout_ns),
	 "give up after this long without progress (default: 30s)", 0, 0},
	GT_OPT_END,
};

enum {
	GT_TUNE_HOST_BYTES = 16 << 20,
	GT_TUNE_CUDA_BYTES = 1 << 30,
	GT_TUNE_BAR = 24, /* characters */
	GT_TUNE_EVERY_NS = 100000000,
};

/* The state of the progress line, for what the sweep calls back. */
struct gt_tune_talk {
	const struct gt_cmd_args *args;
	int shows; /* is there a terminal? */
	int warned;
	int64_t next_ns;
};

static void gt_tune_tell(void *arg, const struct gt_plan_select *row,
			 uint64_t bytes, uint32_t done, uint32_t all)
{
	static const char full[] = "########################";
	struct gt_tune_talk *talk = arg;
	int64_t now_ns = gt_clock_ns();
	char extra[GT_USE_TEXT_MAX];
	int n = (int)((uint64_t)GT_TUNE_BAR * done / all);

	if (!talk->shows || now_ns < talk->next_ns)
		return;
	talk->next_ns = now_ns + GT_TUNE_EVERY_NS;
	fprintf(stderr,
		"\r[%.*s%*s] %" PRIu32 "/%" PRIu32 " %s %s %s%s, %" PRIu64
		" bytes\033[K",
		n, full, GT_TUNE_BAR - n, "", done, all,
		gt_coll_name(row->coll), gt_algo_name(row->algo),
		gt_protocol_name(row->protocol), gt_use_text(row, extra),
		bytes);
}

static void gt_tune_clear(const struct gt_tune_talk *talk)
{
	if (talk->shows)
		fputs("\r\033[K", stderr);
}

static void gt_tune_refuse(void *arg, const struct gt_plan_select *row,
			   uint64_t bytes, uint64_t wrong)
{
	const struct gt_tune_talk *talk = arg;
	char extra[GT_USE_TEXT_MAX];

	gt_tune_clear(talk);
	gt_cmd_warn(talk->args,
		    "%s by %s with %s%s is refused: %" PRIu64
		    " elements of %" PRIu64 " bytes are wrong",
		    gt_coll_name(row->coll), gt_algo_name(row->algo),
		    gt_protocol_name(row->protocol), gt_use_text(row, extra),
		    wrong, bytes);
}

/* Every candidate opens an engine, and each says the same: tell it once. */
static void gt_tune_notice(void *arg, int warning, const char *text)
{
	struct gt_tune_talk *talk = arg;

	if (!warning || talk->warned)
		return;
	talk->warned = 1;
	gt_tune_clear(talk);
	gt_cmd_warn(talk->args, "%s", text);
}

/* Take the collectives that rows name, or those asked for that it serves. */
static int gt_tune_colls(const struct gt_tune_opts *opts,
			 const struct gt_plan *plan, unsigned *colls,
			 struct gt_err *err)
{
	int coll = -1, rc = GT_OK;

	*colls = 0;
	if (opts->coll)
		rc = gt_run_parse_coll(opts->coll, &coll, err);
	for (uint32_t i = 0; !opts->coll && i < plan->nselect; i++)
		*colls |= 1u << plan->select[i].coll;
	for (int c = 0; opts->coll && c < GT_NCOLLS; c++)
		if ((coll == c || coll < 0) &&
		    gt_plan_row(plan, (enum gt_coll)c, 0))
			*colls |= 1u << c;
	if (!rc && !*colls)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--coll '%s': the plan has nothing for it",
				opts->coll);
	return rc;
}

/* Refuse a wrong plan: it never runs. */
static int gt_tune_verify(const struct gt_plan *plan, struct gt_err *err)
{
	int rc = gt_plan_check(plan, err);

	for (uint32_t i = 0; !rc && i < plan->nselect; i++)
		if (!i || plan->select[i].coll != plan->select[i - 1].coll)
			rc = gt_simulate(plan, plan->select[i].coll, err);
	if (rc == GT_ENO)
		rc = err->code = GT_EINPUT;
	return rc;
}

/* Name the machine: "cuda: 4 x NVIDIA H200", "host: 4 ranks on 2 CPUs". */
static const char *gt_tune_machine(const struct gt_plan *plan,
				   const struct gt_engine_ops *ops)
{
	const char *name = plan->ranks[0].name;

	if (!strcmp(ops->name, "host"))
		return gt_arena_printf(
			plan->arena, "host: %u ranks on %ld CPUs", plan->nranks,
			sysconf(_SC_NPROCESSORS_ONLN));
	for (uint32_t i = 1; name && i < plan->nranks; i++)
		if (!plan->ranks[i].name || strcmp(plan->ranks[i].name, name))
			name = NULL;
	return gt_arena_printf(plan->arena, "%s: %u x %s", ops->name,
			       plan->nranks, name ? name : "GPU");
}

static int gt_tune_where(const struct gt_cmd_args *args,
			 const struct gt_plan *plan,
			 struct gt_tune_sweep *sweep, struct gt_err *err)
{
	const struct gt_tune_opts *opts = args->opts;
	const struct gt_machine_policy want = {opts->map, opts->strict, NULL};
	int host = !strcmp(sweep->ops->name, "host");

	if (sweep->end_bytes == GT_RUN_SIZE_UNSET)
		sweep->end_bytes =
			host ? GT_TUNE_HOST_BYTES : GT_TUNE_CUDA_BYTES;
	if (sweep->begin_bytes < 4 || sweep->begin_bytes > sweep->end_bytes)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "-b '%" PRIu64 "' is not within 4 and -e "
				  "'%" PRIu64 "'",
				  sweep->begin_bytes, sweep->end_bytes);
	sweep->config.map = opts->map;
	sweep->config.p2p = opts->p2p;
	if (gt_run_parse_p2p(opts->p2p, plan->nranks, err))
		return GT_EINPUT;
	if (!host)
		return gt_local_machine_check(args, &want, plan, err);
	if (opts->map || opts->strict || opts->max_blocks || opts->any_blocks ||
	    opts->p2p)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%s is for GPUs; engine 'host' needs none",
				  opts->map          ? "--map index"
				  : opts->strict     ? "--strict"
				  : opts->max_blocks ? "--max-blocks"
				  : opts->any_blocks ? "--any-blocks"
						     : "--p2p");
	return GT_OK;
}

static int gt_tune_write(const struct gt_cmd_args *args,
			 const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_buf out = GT_BUF_INIT;
	int rc = gt_tune_verify(plan, err);

	if (!rc)
		rc = gt_plan_print(plan, &out, err);
	return gt_cmd_write(args, &out, rc, err);
}

/* Words what was done, for a terminal whose progress is gone by now. */
static void gt_tune_tell_written(const struct gt_tune_talk *talk,
				 const struct gt_tune_sweep *sweep)
{
	const struct gt_cmd_args *args = talk->args;
	uint32_t rows = sweep->plan->nselect;

	if (talk->shows && args->out && !args->verbose)
		fprintf(stderr,
			"%" PRIu32 " way%s measured on %s, %" PRIu32
			" row%s kept -> %s\n",
			sweep->candidates.n, gt_plural(sweep->candidates.n),
			sweep->machine, rows, gt_plural(rows), args->out);
}

static int gt_tune_plan(const struct gt_cmd_args *args, struct gt_plan *plan,
			struct gt_tune_sweep *sweep, struct gt_err *err)
{
	const struct gt_tune_opts *opts = args->opts;
	struct gt_tune_talk talk = {
		.args = args, .shows = !args->quiet && isatty(STDERR_FILENO)};
	const struct gt_notice notice = {gt_tune_notice, &talk};
	unsigned colls;
	int rc = gt_tune_verify(plan, err);

	sweep->plan = plan;
	sweep->arg = &talk;
	sweep->config.notice = &notice;
	sweep->max_blocks = (uint32_t)opts->max_blocks;
	sweep->knees = sweep->ops->algo_choice && !opts->any_blocks;
	if (!rc)
		rc = gt_tune_where(args, plan, sweep, err);
	if (!rc)
		rc = gt_tune_colls(opts, plan, &colls, err);
	if (!rc)
		rc = gt_tune_candidates_find(
			plan, colls, sweep->ops->algo_choice != NULL,
			plan->arena, &sweep->candidates, err);
	if (rc)
		return rc;
	sweep->machine = gt_tune_machine(plan, sweep->ops);
	if (!sweep->machine)
		return gt_err_nomem(err);
	gt_cmd_note(args, "%u ways on %s", sweep->candidates.n, sweep->machine);
	sweep->config.interrupt = gt_interrupt_catch();
	rc = gt_tune_sweep(sweep, err);
	gt_tune_clear(&talk);
	if (!rc)
		rc = gt_tune_write(args, plan, err);
	if (!rc)
		gt_tune_tell_written(&talk, sweep);
	/* Candidates were refused, and a warning has said why. */
	return !rc && sweep->refused ? GT_ENO : rc;
}

static int cmd_tune(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_tune_opts *opts = args->opts;
	const char *device = gt_run_parse_device(opts->device);
	struct gt_tune_sweep sweep = {
		.ops = gt_engine_find(device),
		.config = {.timeout_ns = opts->timeout_ns},
		.begin_bytes = opts->begin_bytes,
		.end_bytes = opts->end_bytes,
		.factor = (uint64_t)opts->factor,
		.tell = gt_tune_tell,
		.refuse = gt_tune_refuse,
	};
	struct gt_plan *plan;
	const char *file;
	int rc;

	rc = gt_run_parse_engine(device, sweep.ops, err);
	if (!rc)
		rc = gt_run_parse_plan(args, opts->plan, &file, err);
	if (rc)
		return rc;
	if (!opts->timeout_ns)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--timeout '0' leaves no time");
	rc = gt_plan_read(file, &plan, err);
	if (rc)
		return rc;
	rc = gt_plan_need_even(plan, "gtopo tune", err);
	if (!rc)
		rc = gt_plan_need_forwarding(plan, "gtopo tune", err);
	if (!rc)
		rc = gt_tune_plan(args, plan, &sweep, err);
	gt_plan_free(plan);
	return rc;
}

const struct gt_cmd gt_cmd_tune = {
	.name = "tune",
	.summary = "measure all ways to run a plan here, and keep the fastest",
	.operands = "[PLAN]",
	.operands_max = 1,
	.opts = gt_tune_opts,
	.defaults = &gt_tune_defaults,
	.opts_bytes = sizeof(struct gt_tune_opts),
	.run = cmd_tune,
};
