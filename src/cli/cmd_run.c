/*
 * gtopo run: a plan is read and checked, the processes of a job agree on what
 * they run, and an engine sweeps over collectives, types, operators and sizes.
 */
#include "cli/common/command.h"

#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/err.h"
#include "cli/common/colour.h"
#include "cli/common/opt.h"
#include "cli/run/going.h"
#include "cli/run/local_machine.h"
#include "cli/run/parse.h"
#include "cli/run/sweep.h"
#include "cli/run/trace.h"
#include "cli/run/job.h"
#include "exec/trace/trace.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "plan/simulate/simulate.h"
#include "world/world.h"

struct gt_run_opts {
	const char *plan;
	int device; /* -1: the best one */
	int map;    /* enum gt_device_map */
	int strict, graph, best, overlap, invariant;
	int64_t max_blocks;
	const char *coll;
	int64_t root; /* -1: the plan's */
	uint64_t begin_bytes, end_bytes;
	int64_t factor, iters, warmup;
	const char *dtype, *op;
	int64_t workers, slots;
	int64_t timeout_ns;
	const char *inject;
	const char *trace;
	int64_t procs; /* 0: as the launcher says */
	int link;      /* -1, 0: what connects two processes best */
	const char *p2p;
	const char *trace_links;
	const char *iface;
	int64_t soak_ns; /* -1: measure instead */
	int keep_going, percentiles;
	int json;
	int colour;
};

static const struct gt_run_opts gt_run_defaults = {
	.device = -1,
	.coll = "all",
	.root = -1,
	.begin_bytes = GT_RUN_SIZE_UNSET,
	.end_bytes = GT_RUN_SIZE_UNSET,
	.factor = 2,
	.iters = 20,
	.warmup = 5,
	.dtype = "float",
	.op = "sum",
	.timeout_ns = 30000000000,
	.link = -1,
	.soak_ns = -1,
};

#define GT_RUN_AT(member) offsetof(struct gt_run_opts, member)

static const struct gt_opt gt_run_opts[] = {
	{GT_OPT_TEXT, 0, "plan", "FILE", GT_RUN_AT(plan),
	 "run this plan; - is standard input", 0, 0},
	{GT_OPT_WORD, 0, "device", "host|cuda", GT_RUN_AT(device),
	 "where ranks run (default: cuda if there is one)", 0, 0},
	{GT_OPT_WORD, 0, "map", "id|index|share", GT_RUN_AT(map),
	 "rank to GPU by bus id, by number, or several to one, to test "
	 "(default: id)",
	 0, 0},
	{GT_OPT_FLAG, 0, "strict", NULL, GT_RUN_AT(strict),
	 "refuse a machine that is not the plan's", 0, 0},
	{GT_OPT_FLAG, 0, "graph", NULL, GT_RUN_AT(graph),
	 "launch on GPUs through CUDA graphs", 0, 0},
	{GT_OPT_FLAG, 0, "best", NULL, GT_RUN_AT(best),
	 "on GPUs, the fastest way known, not the plan's", 0, 0},
	{GT_OPT_FLAG, 0, "overlap", NULL, GT_RUN_AT(overlap),
	 "on GPUs, as libgtopo does beside a program's kernels", 0, 0},
	{GT_OPT_FLAG, 0, "invariant", NULL, GT_RUN_AT(invariant),
	 "add up in the order of ranks, whatever the size", 0, 0},
	{GT_OPT_INT, 0, "max-blocks", "N", GT_RUN_AT(max_blocks),
	 "thread blocks of a rank on its GPU at a time (default: any)", 1,
	 1024},
	{GT_OPT_TEXT, 0, "coll", "NAME", GT_RUN_AT(coll),
	 "collective, or all that the plan can do (default: all)", 0, 0},
	{GT_OPT_INT, 'r', "root", "RANK", GT_RUN_AT(root),
	 "of broadcast, reduce ... (default: the plan's)", 0, INT64_MAX},
	{GT_OPT_BYTES, 'b', "begin", "SIZE", GT_RUN_AT(begin_bytes),
	 "smallest size in bytes (default: 1K)", 0, 0},
	{GT_OPT_BYTES, 'e', "end", "SIZE", GT_RUN_AT(end_bytes),
	 "largest size (default: 16M)", 0, 0},
	{GT_OPT_INT, 'f', "factor", "N", GT_RUN_AT(factor),
	 "from one size to the next (default: 2)", 0, INT64_MAX},
	{GT_OPT_INT, 'n', "iters", "N", GT_RUN_AT(iters),
	 "iterations that are timed together (default: 20)", 1, 1000000000},
	{GT_OPT_INT, 'w', "warmup", "N", GT_RUN_AT(warmup),
	 "iterations before those (default: 5)", 0, 1000000000},
	{GT_OPT_TEXT, 0, "dtype", "NAME", GT_RUN_AT(dtype),
	 "element type, or all (default: float)", 0, 0},
	{GT_OPT_TEXT, 0, "op", "NAME", GT_RUN_AT(op),
	 "reduction, or all (default: sum)", 0, 0},
	{GT_OPT_INT, 0, "workers", "N", GT_RUN_AT(workers),
	 "workers per channel (default: the engine's choice)", 1, 1024},
	{GT_OPT_INT, 0, "slots", "N", GT_RUN_AT(slots),
	 "slots of a FIFO (default: the plan's)", 1, 65536},
	{GT_OPT_TIME, 0, "timeout", "TIME", GT_RUN_AT(timeout_ns),
	 "give up after this long without progress (default: 30s)", 0, 0},
	{GT_OPT_TEXT, 0, "inject", "FAULT", GT_RUN_AT(inject),
	 "stop a rank on purpose: stall:RANK[:SLICES], exit:...", 0, 0},
	{GT_OPT_TEXT, 0, "trace", "FILE", GT_RUN_AT(trace),
	 "time each step of one more run, for a trace viewer", 0, 0},
	{GT_OPT_INT, 0, "procs", "N", GT_RUN_AT(procs),
	 "start N processes on this host, without a launcher", 1, 65536},
	{GT_OPT_WORD, 0, "link", "auto|shm|tcp|verbs|null", GT_RUN_AT(link),
	 "between processes (default: shm on a host, else RDMA or tcp)", 0, 0},
	{GT_OPT_TEXT, 0, "p2p", "off|PAIRS", GT_RUN_AT(p2p),
	 "GPUs without peer access, all or pairs of ranks 0-1,2-3", 0, 0},
	{GT_OPT_TEXT, 0, "trace-links", "FILE", GT_RUN_AT(trace_links),
	 "log what goes between processes, in FILE.PROCESS", 0, 0},
	{GT_OPT_TEXT, 0, "iface", "NAMES", GT_RUN_AT(iface),
	 "network interfaces to use, as in NCCL_SOCKET_IFNAME", 0, 0},
	{GT_OPT_TIME, 0, "soak", "TIME", GT_RUN_AT(soak_ns),
	 "run random operations for this long, and check them all", 0, 0},
	{GT_OPT_FLAG, 0, "keep-going", NULL, GT_RUN_AT(keep_going),
	 "with --soak: without processes that are gone", 0, 0},
	{GT_OPT_FLAG, 0, "percentiles", NULL, GT_RUN_AT(percentiles),
	 "p50, p99 and maximum of operations one by one", 0, 0},
	{GT_OPT_FLAG, 0, "json", NULL, GT_RUN_AT(json), "write JSON", 0, 0},
	GT_OPT_COLOUR(struct gt_run_opts, colour),
	{GT_OPT_FOREIGN, 'd', "", NULL, 0, "is --dtype here", 0, 0},
	{GT_OPT_FOREIGN, 'g', "", NULL, 0,
	 "is not needed: the plan says how many GPUs; --procs is for processes",
	 0, 0},
	{GT_OPT_FOREIGN, 't', "", NULL, 0,
	 "is not needed: the plan says how many GPUs; --procs is for processes",
	 0, 0},
	{GT_OPT_FOREIGN, 'c', "", NULL, 0,
	 "is not needed: every element is always checked", 0, 0},
	GT_OPT_END,
};

/* Find the wanted collectives that the plan serves. */
static int choose_colls(const struct gt_run_opts *opts,
			const struct gt_plan *plan, unsigned *colls,
			struct gt_err *err)
{
	int coll, rc = gt_run_parse_coll(opts->coll, &coll, err);

	if (rc)
		return rc;
	*colls = 0;
	for (int c = 0; c < GT_NCOLLS; c++)
		if (coll == c ||
		    (coll < 0 && gt_plan_row(plan, (enum gt_coll)c, 0)))
			*colls |= 1u << c;
	return GT_OK;
}

/* Put the options into the plan: what is verified must be what runs. */
static int override_plan(const struct gt_run_opts *opts, struct gt_plan *plan,
			 struct gt_err *err)
{
	if (opts->root >= (int64_t)plan->nranks)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--root '%" PRId64 "': the plan has ranks 0 "
				  "to %" PRIu32,
				  opts->root, plan->nranks - 1);
	if (opts->root >= 0)
		plan->root = (uint32_t)opts->root;
	if (!opts->slots)
		return GT_OK;
	plan->fifo_slots = (uint32_t)opts->slots;
	for (uint32_t i = 0; i < plan->nselect; i++)
		plan->select[i].slots = 0;
	return GT_OK;
}

/* Refuse a wrong plan.  It is an input here, so at fault: status 2. */
static int check_plan(const struct gt_plan *plan, unsigned colls,
		      struct gt_err *err)
{
	int rc = gt_plan_need_forwarding(plan, "gtopo run", err);

	if (!rc)
		rc = gt_plan_check(plan, err);
	for (int coll = 0; !rc && coll < GT_NCOLLS; coll++)
		if (colls >> coll & 1)
			rc = gt_simulate(plan, coll, err);
	if (rc != GT_ENO)
		return rc;
	err->code = GT_EINPUT;
	return GT_EINPUT;
}

static int digest_plan(const struct gt_plan *plan,
		       char text[GT_DIGEST_TEXT_MAX], struct gt_err *err)
{
	struct gt_buf buf = GT_BUF_INIT;
	int rc = gt_plan_print(plan, &buf, err);

	if (!rc && !gt_digest_text(buf.text, buf.len, text))
		rc = gt_err_set(err, GT_ESYS, NULL, "cannot compute SHA-256");
	gt_buf_release(&buf);
	return rc;
}

static int set_placement(const struct gt_run_opts *opts,
			 struct gt_run_sweep *sweep, struct gt_err *err)
{
	sweep->config.map = opts->map;
	sweep->config.graph = opts->graph;
	sweep->config.best = opts->best;
	sweep->config.overlap = opts->overlap;
	sweep->config.invariant = opts->invariant;
	sweep->config.max_blocks = (uint32_t)opts->max_blocks;
	sweep->config.p2p = opts->p2p;
	if (gt_run_parse_p2p(opts->p2p, sweep->config.plan->nranks, err))
		return GT_EINPUT;
	if (opts->best && opts->overlap)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--best and --overlap exclude each other");
	if (!strcmp(sweep->ops->name, "cuda") ||
	    (!opts->map && !opts->graph && !opts->best && !opts->overlap &&
	     !opts->max_blocks && !opts->p2p))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "%s is for GPUs; engine '%s' needs none",
			  opts->map == GT_DEVICE_SHARED     ? "--map share"
			  : opts->map == GT_DEVICE_BY_INDEX ? "--map index"
			  : opts->graph                     ? "--graph"
			  : opts->best                      ? "--best"
			  : opts->overlap                   ? "--overlap"
			  : opts->p2p                       ? "--p2p"
							    : "--max-blocks",
			  sweep->ops->name);
}

/*
 * CPU ranks run any machine's plan, and so do ranks that share GPUs; else GPUs
 * had better be the plan's.
 */
static int check_machine(const struct gt_cmd_args *args,
			 const struct gt_run_sweep *sweep, struct gt_err *err)
{
	const struct gt_run_opts *opts = args->opts;
	int cuda = !strcmp(sweep->ops->name, "cuda");
	int other = !cuda || opts->map == GT_DEVICE_SHARED;
	struct gt_machine_policy want = {.map_index = opts->map || !cuda,
					 .strict = opts->strict,
					 .world = sweep->config.world};

	if (other && !opts->strict)
		return GT_OK;
	return gt_local_machine_check(args, &want, sweep->config.plan, err);
}

/* Process 0 gathers the traces of all processes and writes them. */
static int write_trace(const struct gt_cmd_args *args,
		       const struct gt_run_sweep *sweep,
		       const struct gt_exec_request *req, struct gt_err *err)
{
	const struct gt_run_opts *opts = args->opts;
	struct gt_world *world = sweep->config.world;
	int rc = world ? gt_trace_gather(sweep->trace, world, err) : GT_OK;

	if (rc || (world && gt_world_rank(world)))
		return rc;
	return gt_run_trace_write(args, opts->trace, sweep->config.plan, req,
				  sweep->trace, err);
}

/* Write what was traced; wrong data are no reason to keep the trace back. */
static int finish_trace(const struct gt_cmd_args *args,
			const struct gt_run_sweep *sweep, int rc,
			struct gt_err *err)
{
	int written;

	if (!rc || (rc == GT_ENO && !err->code)) {
		written = write_trace(args, sweep, sweep->traced, err);
		rc = written ? written : rc;
	}
	gt_trace_free(sweep->trace);
	return rc;
}

static void pass_notice(void *arg, int warning, const char *text)
{
	if (warning)
		gt_cmd_warn(arg, "%s", text);
	else
		gt_cmd_note(arg, "%s", text);
}

enum { GT_RUN_LINK_NULL = 4 };

static const char *const link_names[] = {NULL, "shm", "tcp",
					 "verbs", [GT_RUN_LINK_NULL] = "null"};

/* Choose what goes between the processes, and see that all run the same. */
static int set_links(const struct gt_run_opts *opts, struct gt_run_sweep *sweep,
		     struct gt_world *world, struct gt_err *err)
{
	struct gt_engine_config *config = &sweep->config;

	config->world = world;
	config->iface = opts->iface;
	config->link = opts->link < 0 ? NULL : link_names[opts->link];
	config->trace_links = opts->trace_links;
	if (!world)
		return opts->trace_links
			       ? gt_err_set(err, GT_EINPUT, NULL,
					    "--trace-links: one process alone "
					    "has no links")
			       : GT_OK;
	sweep->quiet = gt_world_rank(world) > 0;
	sweep->unchecked = opts->link == GT_RUN_LINK_NULL;
	return gt_run_job_check_same(world, sweep, err);
}

/* Run as one process or as the many of a job. */
static int run_in_job(const struct gt_cmd_args *args,
		      struct gt_run_sweep *sweep, struct gt_err *err)
{
	const struct gt_run_opts *opts = args->opts;
	const struct gt_run_job_options options = {
		opts->procs, opts->iface, opts->timeout_ns, opts->keep_going,
		sweep->config.interrupt};
	struct gt_run_going going = {0};
	const struct gt_notice notice = {pass_notice, (void *)(uintptr_t)args};
	struct gt_exec_request traced = {.count = 0};
	int parent, rc;

	if (opts->procs > (int64_t)sweep->config.plan->nranks)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--procs '%" PRId64 "': the plan has %u "
				  "ranks, and each process at least one",
				  opts->procs, sweep->config.plan->nranks);
	rc = gt_run_job_open(&options, &going.world, &parent, err);
	if (rc || parent)
		return rc;
	sweep->config.notice = &notice;
	rc = set_links(opts, sweep, going.world, err);
	if (!rc)
		rc = check_machine(args, sweep, err);
	sweep->traced = &traced;
	if (!rc && opts->trace && opts->soak_ns < 0)
		rc = gt_trace_new(sweep->config.plan->nranks, &sweep->trace,
				  err);
	if (!rc && opts->soak_ns >= 0)
		rc = gt_run_soak(sweep, opts->soak_ns,
				 opts->keep_going ? &going : NULL, err);
	else if (!rc)
		rc = gt_run_sweep(sweep, err);
	if (sweep->trace)
		rc = finish_trace(args, sweep, rc, err);
	rc = gt_run_job_close(going.world, rc, err);
	gt_run_going_free(&going);
	return rc;
}

/* Refuse options that make no sense, or none together. */
static int check_options(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_run_opts *opts = args->opts;

	if (!opts->soak_ns)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--soak '0' leaves no time");
	if (opts->soak_ns > 0 && (opts->trace || opts->json || args->out))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--soak neither measures nor traces; leave "
				  "--json, --trace and -o out");
	if (opts->soak_ns > 0 && opts->link == GT_RUN_LINK_NULL)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--soak checks data, and --link null carries "
				  "none");
	if (opts->percentiles && opts->soak_ns > 0)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--soak does not measure; leave "
				  "--percentiles out");
	if (opts->keep_going && opts->soak_ns < 0)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--keep-going is for --soak TIME: rows of a "
				  "sweep are all of the same ranks");
	if (!opts->timeout_ns)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--timeout '0' leaves no time");
	if (args->out && gt_redop_find(args->out) >= 0)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "-o '%s' is the file to write; the operator "
				  "is --op %s",
				  args->out, args->out);
	return GT_OK;
}

/*
 * Sizes are of all ranks together and rounded down, as in nccl-tests, so that a
 * row may be of nothing.
 */
static void warn_of_nothing(const struct gt_cmd_args *args,
			    const struct gt_run_sweep *sweep,
			    const struct gt_plan *plan)
{
	const unsigned divided = 1u << GT_COLL_ALLGATHER |
				 1u << GT_COLL_REDUCESCATTER |
				 1u << GT_COLL_ALLTOALL | 1u << GT_COLL_GATHER |
				 1u << GT_COLL_SCATTER;
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < GT_NDTYPES; i++)
		if (sweep->dtypes >> i & 1 &&
		    gt_dtype_bytes((enum gt_dtype)i) < least)
			least = gt_dtype_bytes((enum gt_dtype)i);
	least *= plan->nranks;
	if (sweep->colls & divided && sweep->end_bytes &&
	    sweep->end_bytes < least)
		gt_cmd_warn(args,
			    "-e '%" PRIu64 "' is less than an element for "
			    "each of %" PRIu32 " ranks, %" PRIu64 " bytes: "
			    "collectives that divide bytes among ranks move "
			    "none",
			    sweep->end_bytes, plan->nranks, least);
}

/* Read the plan as the options have it, and make sure that it is right. */
static int read_plan(const struct gt_cmd_args *args, struct gt_run_sweep *sweep,
		     char digest[GT_DIGEST_TEXT_MAX], struct gt_plan **plan,
		     struct gt_err *err)
{
	const struct gt_run_opts *opts = args->opts;
	const char *file;
	int rc = gt_run_parse_plan(args, opts->plan, &file, err);

	if (!rc)
		rc = gt_plan_read(file, plan, err);

	if (rc)
		return rc;
	sweep->config.plan = *plan;
	sweep->plan_digest = digest;
	rc = choose_colls(opts, *plan, &sweep->colls, err);
	if (!rc)
		rc = gt_run_parse_fault(opts->inject, &sweep->config, err);
	if (!rc)
		rc = digest_plan(*plan, digest, err);
	if (!rc)
		rc = override_plan(opts, *plan, err);
	if (!rc)
		rc = check_plan(*plan, sweep->colls, err);
	if (!rc)
		rc = set_placement(opts, sweep, err);
	if (rc)
		return rc;
	warn_of_nothing(args, sweep, *plan);
	gt_cmd_note(args, "the plan is right; engine '%s'", sweep->ops->name);
	return GT_OK;
}

static int cmd_run(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_run_opts *opts = args->opts;
	const char *device = gt_run_parse_device(opts->device);
	struct gt_run_sweep sweep = {
		.ops = !device && opts->procs > 1 ? gt_engine_find_in_child()
						  : gt_engine_find(device),
		.config = {.workers = (uint32_t)opts->workers,
			   .timeout_ns = opts->timeout_ns},
		.iters = (uint32_t)opts->iters,
		.warmup = (uint32_t)opts->warmup,
		.percentiles = opts->percentiles,
		.json = opts->json,
		.colour = gt_colour((enum gt_colour_when)opts->colour, args),
		.out = args->out,
	};
	char digest[GT_DIGEST_TEXT_MAX];
	struct gt_plan *plan = NULL;
	int rc = gt_run_parse_engine(device, sweep.ops, err);

	if (!rc)
		rc = check_options(args, err);
	if (!rc)
		rc = gt_run_parse_sizes(&sweep, opts->begin_bytes,
					opts->end_bytes, opts->factor, err);
	if (!rc)
		rc = gt_run_parse_types(&sweep, opts->dtype, opts->op, err);
	if (!rc)
		rc = read_plan(args, &sweep, digest, &plan, err);
	if (!rc) {
		sweep.config.interrupt = gt_interrupt_catch();
		rc = run_in_job(args, &sweep, err);
	}
	gt_plan_free(plan);
	return rc;
}

const struct gt_cmd gt_cmd_run = {
	.name = "run",
	.summary = "run a plan's collectives, check every element, measure",
	.operands = "[PLAN]",
	.operands_max = 1,
	.opts = gt_run_opts,
	.defaults = &gt_run_defaults,
	.opts_bytes = sizeof(struct gt_run_opts),
	.run = cmd_run,
};
