#include "cli/cmd.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/opt.h"
#include "cli/search_cluster.h"
#include "cli/search_explain.h"
#include "cli/search_progress.h"
#include "plan/plan.h"
#include "search/request.h"
#include "search/search.h"
#include "search/watch.h"
#include "topo/cluster.h"
#include "topo/edit.h"
#include "topo/path.h"

struct gt_search_opts {
	int algo;
	int coll;
	int rates;
	const char *gpus;
	int64_t root;
	int64_t max_channels;
	const char *exclude_link, *exclude_device;
	int64_t budget_ns;
	int explain;
	int64_t nodes;
};

enum gt_search_algo {
	GT_SEARCH_AUTO, /* in a cluster: hier */
	GT_SEARCH_RING,
	GT_SEARCH_FOREST,
	GT_SEARCH_TREE,
	GT_SEARCH_MESH,
	GT_SEARCH_HIER,
};

static const char *const gt_search_algos[] = {"auto", "ring", "forest",
					      "tree", "mesh", "hier"};

static const struct gt_opt gt_search_opts[] = {
	{GT_OPT_WORD, 0, "algo", "auto|ring|forest|tree|mesh|hier",
	 offsetof(struct gt_search_opts, algo),
	 "the shape of the channels (default: auto)", 0, 0},
	{GT_OPT_WORD, 0, "coll",
	 "allreduce|allgather|reducescatter|broadcast|reduce",
	 offsetof(struct gt_search_opts, coll),
	 "the collective to plan (default: allreduce)", 0, 0},
	{GT_OPT_TEXT, 0, "gpus", "LIST", offsetof(struct gt_search_opts, gpus),
	 "devs or bus ids, in order of rank (default: all)", 0, 0},
	{GT_OPT_INT, 0, "root", "RANK", offsetof(struct gt_search_opts, root),
	 "of a broadcast or reduce (default: 0)", 0, INT32_MAX},
	{GT_OPT_WORD, 0, "rates", "measured|nccl|line",
	 offsetof(struct gt_search_opts, rates),
	 "which link rates to believe (default: measured)", 0, 0},
	{GT_OPT_INT, 0, "max-channels", "N",
	 offsetof(struct gt_search_opts, max_channels),
	 "use at most N channels (default: as many as help)", 1, 65536},
	{GT_OPT_TEXT, 0, "exclude-link", "LIST",
	 offsetof(struct gt_search_opts, exclude_link),
	 "do without these links: CPU0-CPU1,A>B", 0, 0},
	{GT_OPT_TEXT, 0, "exclude-device", "LIST",
	 offsetof(struct gt_search_opts, exclude_device),
	 "do without these GPUs, switches or CPUs", 0, 0},
	{GT_OPT_TIME, 0, "budget", "TIME",
	 offsetof(struct gt_search_opts, budget_ns),
	 "take the best found in so long, with its gap", 0, 0},
	{GT_OPT_FLAG, 0, "explain", NULL,
	 offsetof(struct gt_search_opts, explain),
	 "say what limits, and what would raise it", 0, 0},
	{GT_OPT_INT, 0, "nodes", "N", offsetof(struct gt_search_opts, nodes),
	 "so many copies of the machine, on one switch", 1, 1 << 20},
	GT_OPT_END,
};

static void gt_search_tell(const struct gt_cmd_args *args,
			   const struct gt_plan *plan,
			   const struct gt_search_stats *stats, int64_t ns)
{
	const struct gt_plan_proof *proof = &plan->proof;
	double value = gt_rat_double(proof->value);
	double bound = gt_rat_double(proof->bound);
	double any = gt_rat_double(proof->any_bound);

	const char *what = proof->class_ == GT_PROOF_RING ? "rings" : "trees";

	gt_cmd_note(args, "%u GPUs: %s of %g GB/s in %u channels", plan->nranks,
		    what, value, gt_plan_main(plan)->nchannels);
	if (proof->class_ == GT_PROOF_ANY)
		what = "schedules";
	if (proof->optimal)
		gt_cmd_note(args, "proved: no %s reach more", what);
	else
		gt_cmd_note(args, "%s reach at most %g GB/s (%.3g%% more)",
			    what, bound, 100 * (bound / value - 1));
	if (proof->has_any_bound)
		gt_cmd_note(args,
			    "no schedule at all reaches more than %g GB/s "
			    "(%.3g%% more)",
			    any, 100 * (any / value - 1));
	gt_cmd_note(args,
		    "%u limiting links, %u %s tried in %u rounds, %.1f ms",
		    stats->nrows, stats->ncolumns,
		    proof->class_ == GT_PROOF_RING ? "rings" : "trees",
		    stats->nrounds, (double)ns / 1e6);
}

static int gt_search_write(const struct gt_cmd_args *args,
			   const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_plan_print(plan, &text, err);

	if (!rc)
		rc = gt_file_write(args->out, text.text, text.len, err);
	gt_buf_release(&text);
	return rc;
}

/* The words go to standard output; the plan only to a file that was named. */
static int gt_search_say(const struct gt_cmd_args *args,
			 const struct gt_explain *explain, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_search_explain(explain, &text, err);

	if (!rc && text.failed)
		rc = gt_err_nomem(err);
	if (!rc && args->out)
		rc = gt_search_write(args, explain->plan, err);
	if (!rc)
		rc = gt_file_write(NULL, text.text, text.len, err);
	gt_buf_release(&text);
	return rc;
}

static int gt_search_plan(const struct gt_cmd_args *args, struct gt_topo *topo,
			  const struct gt_request *request, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	const char *algo = gt_search_algos[opts->algo];
	struct gt_explain explain = {topo, request, algo, NULL};
	struct gt_search_stats stats;
	struct gt_plan *plan;
	int64_t begin = gt_clock_ns();
	int rc = gt_search(request, algo, &plan, &stats, err);

	if (rc)
		return rc;
	gt_search_tell(args, plan, &stats, gt_clock_ns() - begin);
	explain.plan = plan;
	rc = opts->explain ? gt_search_say(args, &explain, err)
			   : gt_search_write(args, plan, err);
	gt_plan_free(plan);
	return rc;
}

/* Until when, and who is told meanwhile. */
static int gt_search_watched(const struct gt_cmd_args *args,
			     struct gt_topo *topo, struct gt_request *request,
			     struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_progress progress;
	struct gt_watch watch = {0};
	int rc;

	if (opts->budget_ns)
		watch.deadline_ns = gt_clock_ns() + opts->budget_ns;
	if (!args->quiet)
		gt_progress_watch(&progress, &watch);
	request->watch = &watch;
	rc = gt_search_plan(args, topo, request, err);
	if (!args->quiet)
		gt_progress_end(&progress);
	return rc;
}

static int gt_search_on(const struct gt_cmd_args *args, struct gt_topo *topo,
			struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_request request = {
		.topo = topo,
		.rates = (enum gt_rates)opts->rates,
		.coll = (enum gt_coll)opts->coll,
		.root = (uint32_t)opts->root,
		.max_channels = (uint32_t)opts->max_channels,
	};
	struct gt_paths *paths;
	int rc = gt_request_gpus(topo, opts->gpus, arena, &request.gpus,
				 &request.nranks, err);

	if (!rc && request.root >= request.nranks)
		rc = gt_err_set(err, GT_EINPUT, "--root",
				"there is no rank '%u', only %u of them",
				request.root, request.nranks);
	if (!rc)
		rc = gt_paths_new(topo, &paths, err);
	if (rc)
		return rc;
	request.paths = paths;
	rc = gt_search_watched(args, topo, &request, err);
	gt_paths_free(paths);
	return rc;
}

static int gt_search_machine(const struct gt_cmd_args *args,
			     struct gt_topo *topo, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_arena *arena;
	int rc;

	if (opts->algo == GT_SEARCH_HIER)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--algo hier needs a cluster file, or "
				  "--nodes");
	arena = gt_arena_new();
	if (!arena)
		return gt_err_nomem(err);
	rc = gt_search_on(args, topo, arena, err);
	gt_arena_free(arena);
	return rc;
}

static int gt_search_nodes(const struct gt_cmd_args *args,
			   const struct gt_cluster *cluster, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_search_cluster search = {
		.rates = (enum gt_rates)opts->rates,
		.coll = (enum gt_coll)opts->coll,
		.gpus = opts->gpus,
	};
	struct gt_plan *plan;
	int rc;

	if (opts->explain)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--explain is for one machine");
	if (opts->algo != GT_SEARCH_AUTO && opts->algo != GT_SEARCH_HIER)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--algo %s is for one machine",
				  gt_search_algos[opts->algo]);
	if (search.coll == GT_COLL_BROADCAST || search.coll == GT_COLL_REDUCE)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--coll %s is for one machine; templates do "
				  "allreduce, allgather and reducescatter",
				  gt_coll_name(search.coll));
	rc = gt_search_cluster(args, &search, cluster, &plan, err);
	if (rc)
		return rc;
	rc = gt_search_write(args, plan, err);
	gt_plan_free(plan);
	return rc;
}

static int gt_search_topo(const struct gt_cmd_args *args, struct gt_topo *topo,
			  struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_cluster *cluster;
	int rc = GT_OK;

	for (uint32_t i = 0; i < gt_topo_nwarnings(topo); i++)
		gt_cmd_warn(args, "%s", gt_topo_warning(topo, i));
	if (opts->exclude_link)
		rc = gt_topo_exclude_links(topo, opts->exclude_link, err);
	if (!rc && opts->exclude_device)
		rc = gt_topo_exclude_devices(topo, opts->exclude_device, err);
	if (rc || opts->nodes < 2)
		return rc ? rc : gt_search_machine(args, topo, err);
	rc = gt_cluster_copies(topo, (uint32_t)opts->nodes, &cluster, err);
	if (rc)
		return rc;
	rc = gt_search_nodes(args, cluster, err);
	gt_cluster_free(cluster);
	return rc;
}

/* What is said of one machine is not said of a cluster's. */
static int gt_search_file(const struct gt_cmd_args *args,
			  const struct gt_cluster *cluster, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;

	if (opts->nodes)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "a cluster file has its own number of nodes; "
				  "leave out --nodes");
	if (opts->exclude_link || opts->exclude_device)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--exclude-link and --exclude-device are for "
				  "one machine");
	return gt_search_nodes(args, cluster, err);
}

static int gt_search_run(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_cluster *cluster;
	struct gt_topo *topo;
	int rc = gt_cluster_read(args->operands[0], (enum gt_rates)opts->rates,
				 &cluster, &topo, err);

	if (rc)
		return rc;
	rc = cluster ? gt_search_file(args, cluster, err)
		     : gt_search_topo(args, topo, err);
	gt_cluster_free(cluster);
	gt_topo_free(topo);
	return rc;
}

const struct gt_cmd gt_cmd_search = {
	.name = "search",
	.summary = "find the best way to move bytes on a machine, as a plan",
	.operands = "FILE",
	.operands_min = 1,
	.operands_max = 1,
	.opts = gt_search_opts,
	.opts_bytes = sizeof(struct gt_search_opts),
	.run = gt_search_run,
};
