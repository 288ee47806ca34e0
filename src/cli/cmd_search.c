#include "cli/common/command.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/common/opt.h"
#include "cli/search/cluster.h"
#include "cli/search/explain.h"
#include "cli/search/progress.h"
#include "cli/search/uneven.h"
#include "plan/ir/plan.h"
#include "plan/json/print.h"
#include "search/cluster/search.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "search/search.h"
#include "search/problem/budget.h"
#include "search/problem/flat_cluster.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/edit.h"
#include "topo/graph/path.h"

struct gt_search_opts {
	int algo;
	int coll;
	int rates;
	const char *gpus;
	int64_t root;
	int64_t max_channels;
	int equal;
	int64_t trees_per_root;
	const char *exclude_link, *exclude_device;
	int64_t budget_ns;
	int explain;
	int64_t nodes;
};

enum gt_search_algo {
	GT_SEARCH_AUTO,
	GT_SEARCH_RING,
	GT_SEARCH_FOREST,
	GT_SEARCH_TREE,
	GT_SEARCH_MESH,
	GT_SEARCH_FLOW,
	GT_SEARCH_ALLTOALL,
	GT_SEARCH_HIER,
};

static const char *const gt_search_algos[] = {
	"auto", "ring", "forest", "tree", "mesh", "flow", "alltoall", "hier"};

static const struct gt_opt gt_search_opts[] = {
	{GT_OPT_WORD, 0, "algo",
	 "auto|ring|forest|tree|mesh|flow|alltoall|hier",
	 offsetof(struct gt_search_opts, algo),
	 "the shape of the channels (default: auto)", 0, 0},
	{GT_OPT_WORD, 0, "coll",
	 "allreduce|allgather|reducescatter|broadcast|reduce|alltoall|gather|"
	 "scatter|sendrecv",
	 offsetof(struct gt_search_opts, coll),
	 "the collective to plan (default: allreduce; of flows: alltoall)", 0,
	 0},
	{GT_OPT_TEXT, 0, "gpus", "LIST", offsetof(struct gt_search_opts, gpus),
	 "devs or bus ids, in order of rank (default: all)", 0, 0},
	{GT_OPT_INT, 0, "root", "RANK", offsetof(struct gt_search_opts, root),
	 "of a broadcast, reduce, gather or scatter (default: 0)", 0,
	 INT32_MAX},
	{GT_OPT_WORD, 0, "rates", "measured|nccl|line",
	 offsetof(struct gt_search_opts, rates),
	 "which link rates to believe (default: measured)", 0, 0},
	{GT_OPT_INT, 0, "max-channels", "N",
	 offsetof(struct gt_search_opts, max_channels),
	 "use at most N channels (default: as many as help)", 1, 65536},
	{GT_OPT_FLAG, 0, "equal", NULL, offsetof(struct gt_search_opts, equal),
	 "give all channels the same share, as NCCL does", 0, 0},
	{GT_OPT_INT, 0, "trees-per-root", "K",
	 offsetof(struct gt_search_opts, trees_per_root),
	 "forests: at most K trees a root, of equal shares", 1, 1024},
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

static const struct gt_search_opts gt_search_defaults = {.coll = -1};

/* The one that was named, or the first that the algorithm does. */
static enum gt_coll gt_search_coll(const struct gt_search_opts *opts)
{
	if (opts->coll >= 0)
		return (enum gt_coll)opts->coll;
	return opts->algo == GT_SEARCH_FLOW || opts->algo == GT_SEARCH_ALLTOALL
		       ? GT_COLL_ALLTOALL
		       : GT_COLL_ALLREDUCE;
}

static void gt_search_tell_equal(const struct gt_cmd_args *args,
				 const struct gt_plan *plan,
				 const struct gt_search_stats *stats)
{
	double value = gt_rat_double(plan->proof.value);
	double most = gt_rat_double(stats->equal_bound);

	if (!stats->max_equal || plan->proof.optimal)
		return;
	if (gt_rat_cmp(plan->proof.value, stats->equal_bound) < 0)
		gt_cmd_note(args,
			    "up to %u equal channels reach at most %g GB/s "
			    "(%.3g%% more)",
			    stats->max_equal, most, 100 * (most / value - 1));
	else
		gt_cmd_note(args, "no %u or fewer equal channels reach more",
			    stats->max_equal);
}

static void gt_search_tell(const struct gt_cmd_args *args,
			   const struct gt_plan *plan,
			   const struct gt_search_stats *stats, int64_t ns)
{
	const struct gt_plan_proof *proof = &plan->proof;
	double value = gt_rat_double(proof->value);
	double bound = gt_rat_double(proof->bound);
	double any = gt_rat_double(proof->any_bound);

	const char *found = proof->class_ == GT_PROOF_RING   ? "rings"
			    : gt_coll_only_moves(plan->coll) ? "flows"
							     : "trees";
	const char *what = proof->class_ == GT_PROOF_ANY ? "schedules" : found;
	char limited[48];

	gt_cmd_note(args, "%u GPUs: %s of %g GB/s%s in %u channels",
		    plan->nranks, found, value,
		    gt_coll_only_moves(plan->coll) ? " a pair" : "",
		    gt_plan_main_row(plan)->nchannels);
	if (proof->max_channels) {
		snprintf(limited, sizeof(limited),
			 "%" PRIu32 " ring%s or fewer", proof->max_channels,
			 proof->max_channels > 1 ? "s" : "");
		what = limited;
	}
	if (proof->optimal)
		gt_cmd_note(args, "proved: no %s reach more", what);
	else
		gt_cmd_note(args, "%s reach at most %g GB/s (%.3g%% more)",
			    what, bound, 100 * (bound / value - 1));
	if (proof->max_channels)
		gt_cmd_note(args, "without --max-channels at most %g GB/s",
			    gt_rat_double(stats->unlimited));
	gt_search_tell_equal(args, plan, stats);
	if (proof->has_any_bound)
		gt_cmd_note(args,
			    "no schedule at all reaches more than %g GB/s "
			    "(%.3g%% more)",
			    any, 100 * (any / value - 1));
	gt_cmd_note(args,
		    "%u limiting links, %u %s tried in %u rounds, %.1f ms",
		    stats->nrows, stats->ncolumns, found, stats->nrounds,
		    (double)ns / 1e6);
}

static int gt_search_write(const struct gt_cmd_args *args,
			   const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_plan_print(plan, &text, err);

	return gt_cmd_write(args, &text, rc, err);
}

/*
 * Words, where some were wanted, go to standard output; the plan then only to
 * a file that was named.
 */
static int gt_search_out(const struct gt_cmd_args *args,
			 const struct gt_plan *plan, const struct gt_buf *words,
			 struct gt_err *err)
{
	int rc = GT_OK;

	if (words && words->failed)
		return gt_err_nomem(err);
	if (!words || args->out)
		rc = gt_search_write(args, plan, err);
	if (!rc && words)
		rc = gt_file_write(NULL, words->text, words->len, err);
	return rc;
}

static struct gt_search_cluster gt_search_cluster_of(
	const struct gt_search_opts *opts, const struct gt_budget *watch)
{
	return (struct gt_search_cluster){
		.rates = (enum gt_rates)opts->rates,
		.coll = gt_search_coll(opts),
		.gpus = opts->gpus,
		.watch = watch,
		.algo = gt_search_algos[opts->algo],
		.root = (uint32_t)opts->root,
		.max_channels = (uint32_t)opts->max_channels,
	};
}

/*
 * A plan by templates takes the plan's place if it is better; GT_ENO or
 * GT_EINPUT: it is not, or there is none.
 */
static int gt_search_template(const struct gt_cmd_args *args,
			      const struct gt_cluster *cluster,
			      struct gt_search_cluster *search,
			      struct gt_plan **plan, struct gt_err *err)
{
	struct gt_plan *better;
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	search->rival = *plan;
	rc = gt_search_cluster(args, search, cluster, &better, &why);
	if (rc == GT_ESYS)
		return gt_err_set(err, rc, why.where, "%s", why.text);
	if (!rc) {
		gt_plan_free(*plan);
		*plan = better;
	}
	return rc;
}

/* `nodes`: what the machine stands for, if templates may be tried; or NULL. */
static int gt_search_plan(const struct gt_cmd_args *args, struct gt_topo *topo,
			  const struct gt_request *request,
			  const struct gt_cluster *nodes, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	const char *algo = gt_search_algos[opts->algo];
	struct gt_explain explain = {topo, request, algo, NULL};
	struct gt_search_cluster search =
		gt_search_cluster_of(opts, request->watch);
	struct gt_buf words = GT_BUF_INIT;
	struct gt_search_stats stats;
	struct gt_plan *plan;
	int64_t begin = gt_clock_ns(), ns;
	int rc = gt_search(request, algo, &plan, &stats, err);

	if (rc)
		return rc;
	ns = gt_clock_ns() - begin;
	search.explain = opts->explain ? &words : NULL;
	rc = nodes ? gt_search_template(args, nodes, &search, &plan, err)
		   : GT_ENO;
	explain.plan = plan;
	if (rc == GT_ENO || rc == GT_EINPUT) {
		gt_search_tell(args, plan, &stats, ns);
		rc = opts->explain ? gt_search_explain(&explain, &words, err)
				   : GT_OK;
	}
	if (!rc)
		rc = gt_search_out(args, plan, search.explain, err);
	gt_buf_release(&words);
	gt_plan_free(plan);
	return rc;
}

/* Until when, and who is told meanwhile. */
static struct gt_budget gt_search_watch(const struct gt_cmd_args *args,
					struct gt_progress *progress)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_budget watch = {0};

	if (opts->budget_ns)
		watch.deadline_ns = gt_clock_ns() + opts->budget_ns;
	if (!args->quiet)
		gt_progress_start(progress, &watch);
	return watch;
}

static int gt_search_watched(const struct gt_cmd_args *args,
			     struct gt_topo *topo, struct gt_request *request,
			     const struct gt_cluster *nodes, struct gt_err *err)
{
	struct gt_progress progress;
	struct gt_budget watch = gt_search_watch(args, &progress);
	int rc;

	request->watch = &watch;
	rc = gt_search_plan(args, topo, request, nodes, err);
	if (!args->quiet)
		gt_progress_end(&progress);
	return rc;
}

static int gt_search_root(const struct gt_request *request, struct gt_err *err)
{
	if (request->root < request->nranks)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, "--root",
			  "there is no rank '%u', only %u of them",
			  request->root, request->nranks);
}

static int gt_search_on(const struct gt_cmd_args *args, struct gt_topo *topo,
			struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_request request = {
		.topo = topo,
		.rates = (enum gt_rates)opts->rates,
		.coll = gt_search_coll(opts),
		.root = (uint32_t)opts->root,
		.max_channels = (uint32_t)opts->max_channels,
		.equal = opts->equal,
		.trees_per_root = (uint32_t)opts->trees_per_root,
	};
	struct gt_paths *paths;
	int rc = gt_gpu_list_read(topo, opts->gpus, arena, &request.gpus,
				  &request.nranks, err);

	if (!rc)
		rc = gt_search_root(&request, err);
	if (!rc)
		rc = gt_paths_new(topo, &paths, err);
	if (rc)
		return rc;
	request.paths = paths;
	rc = gt_search_watched(args, topo, &request, NULL, err);
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
	if (opts->trees_per_root && opts->algo != GT_SEARCH_AUTO &&
	    opts->algo != GT_SEARCH_FOREST && opts->algo != GT_SEARCH_TREE)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--trees-per-root is for --algo forest");
	arena = gt_arena_new();
	if (!arena)
		return gt_err_nomem(err);
	rc = gt_search_on(args, topo, arena, err);
	gt_arena_free(arena);
	return rc;
}

/* The same of what only moves: all-to-all, which is alike for all nodes. */
static int gt_search_nodes_move(const struct gt_search_opts *opts,
				struct gt_err *err)
{
	enum gt_coll coll = gt_search_coll(opts);

	if (coll != GT_COLL_ALLTOALL)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--coll %s is for one machine, or up to %d "
				  "GPUs; of more, alltoall is planned",
				  gt_coll_name(coll), GT_FLAT_MAX_RANKS);
	if (opts->algo != GT_SEARCH_AUTO && opts->algo != GT_SEARCH_HIER &&
	    opts->algo != GT_SEARCH_FLOW && opts->algo != GT_SEARCH_ALLTOALL)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--algo %s cannot do alltoall of more than "
				  "%d GPUs; auto, flow and hier can",
				  gt_search_algos[opts->algo],
				  GT_FLAT_MAX_RANKS);
	if (opts->equal || opts->trees_per_root || opts->max_channels)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--%s is not for alltoall of more than %d "
				  "GPUs",
				  opts->equal            ? "equal"
				  : opts->trees_per_root ? "trees-per-root"
							 : "max-channels",
				  GT_FLAT_MAX_RANKS);
	return GT_OK;
}

/* What a cluster's search cannot do. */
static int gt_search_nodes_can(const struct gt_search_opts *opts,
			       struct gt_err *err)
{
	enum gt_coll coll = gt_search_coll(opts);

	if (gt_coll_only_moves(coll))
		return gt_search_nodes_move(opts, err);
	if (opts->algo != GT_SEARCH_AUTO && opts->algo != GT_SEARCH_HIER &&
	    opts->algo != GT_SEARCH_RING && opts->algo != GT_SEARCH_TREE)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--algo %s is for one machine, or up to %d "
				  "GPUs",
				  gt_search_algos[opts->algo],
				  GT_FLAT_MAX_RANKS);
	if (opts->algo == GT_SEARCH_TREE && gt_coll_has_blocks(coll))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--coll %s: trees of several nodes do "
				  "allreduce, broadcast and reduce; take "
				  "--algo hier",
				  gt_coll_name(coll));
	if (opts->equal || opts->trees_per_root)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--%s is for one machine",
				  opts->equal ? "equal" : "trees-per-root");
	if (opts->max_channels && opts->algo != GT_SEARCH_RING)
		return gt_err_set(
			err, GT_EINPUT, NULL,
			"--max-channels of several nodes is for "
			"--algo ring; templates need as many channels "
			"as their trees have shares");
	if (opts->explain &&
	    (opts->algo == GT_SEARCH_RING || gt_coll_is_rooted(coll)))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--explain of several nodes is about trees, "
				  "of allreduce, allgather and reducescatter, "
				  "and about alltoall");
	if (opts->algo == GT_SEARCH_HIER && gt_coll_is_rooted(coll))
		return gt_err_set(
			err, GT_EINPUT, NULL,
			"--coll %s: templates do allreduce, allgather "
			"and reducescatter; take --algo ring",
			gt_coll_name(coll));
	return GT_OK;
}

/* By templates or rings; `uneven` is what the cluster stands for, or NULL. */
static int gt_search_nodes(const struct gt_cmd_args *args,
			   const struct gt_cluster *cluster,
			   const struct gt_cluster *uneven, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_progress progress;
	struct gt_budget watch = gt_search_watch(args, &progress);
	struct gt_buf words = GT_BUF_INIT;
	struct gt_search_cluster search = gt_search_cluster_of(opts, &watch);
	struct gt_plan *plan = NULL;
	int rc = gt_search_nodes_can(opts, err);

	search.explain = opts->explain ? &words : NULL;
	search.uneven = uneven;
	if (!rc)
		rc = gt_search_cluster(args, &search, cluster, &plan, err);
	if (!args->quiet)
		gt_progress_end(&progress);
	if (!rc)
		rc = gt_search_out(args, plan, search.explain, err);
	gt_plan_free(plan);
	gt_buf_release(&words);
	return rc;
}

/* The cluster as one machine; `nodes` is NULL where they are not alike. */
static int gt_search_uneven(const struct gt_cmd_args *args,
			    const struct gt_cluster *cluster,
			    const struct gt_cluster *nodes, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_request request = {
		.rates = (enum gt_rates)opts->rates,
		.coll = gt_search_coll(opts),
		.root = (uint32_t)opts->root,
		.max_channels = (uint32_t)opts->max_channels,
		.equal = opts->equal,
		.trees_per_root = (uint32_t)opts->trees_per_root,
	};
	struct gt_uneven uneven;
	int rc;

	rc = gt_uneven_open(&uneven, cluster, opts->gpus, err);
	if (!rc) {
		request.whole = uneven.whole;
		request.nranks = uneven.whole->fabric.nranks;
		rc = gt_search_root(&request, err);
	}
	if (!rc)
		rc = gt_search_watched(args, NULL, &request, nodes, err);
	gt_uneven_close(&uneven);
	return rc;
}

/* Few enough GPUs for that? */
static int gt_search_few(const struct gt_search_opts *opts,
			 const struct gt_cluster *cluster)
{
	uint32_t named = 1;
	uint64_t n = 0;

	for (const char *c = opts->gpus; c && *c; c++)
		named += *c == ',';
	for (uint32_t i = 0; i < cluster->nkinds; i++)
		n += (uint64_t)cluster->kinds[i].nnodes *
		     (opts->gpus ? named
				 : gt_topo_ngpus(cluster->kinds[i].topo));
	return n <= GT_FLAT_MAX_RANKS;
}

/* With what all nodes have, when these are too many to be searched at once. */
static int gt_search_common(const struct gt_cmd_args *args,
			    const struct gt_cluster *cluster,
			    struct gt_err *err)
{
	struct gt_cluster *even;
	int rc = gt_cluster_homogenize(cluster, GT_INTERSECTION, &even, err);

	if (rc)
		return rc;
	rc = gt_search_nodes(args, even, cluster, err);
	gt_cluster_free(even);
	return rc;
}

/* Collectives and shapes that nodes which are alike have no plans of. */
static int gt_search_other(const struct gt_search_opts *opts)
{
	enum gt_coll coll = gt_search_coll(opts);

	if (opts->algo == GT_SEARCH_TREE)
		return gt_coll_has_blocks(coll);
	return gt_coll_only_moves(coll) ||
	       (opts->algo != GT_SEARCH_AUTO && opts->algo != GT_SEARCH_RING);
}

/* Templates where nodes are alike, and for what they do. */
static int gt_search_several(const struct gt_cmd_args *args,
			     const struct gt_cluster *cluster,
			     struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	int few = gt_search_few(opts, cluster) && opts->algo != GT_SEARCH_HIER;
	int alike, other = gt_search_other(opts), both;
	struct gt_err why;

	gt_err_init(&why);
	alike = gt_cluster_search_accepts(cluster, &why) != GT_EINPUT;
	both = alike && opts->algo == GT_SEARCH_AUTO && !opts->max_channels &&
	       gt_search_coll(opts) == GT_COLL_ALLTOALL;
	if (few && (other || !alike))
		return gt_search_uneven(args, cluster, both ? cluster : NULL,
					err);
	return alike ? gt_search_nodes(args, cluster, NULL, err)
		     : gt_search_common(args, cluster, err);
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
	rc = gt_search_several(args, cluster, err);
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
	return gt_search_several(args, cluster, err);
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
	.defaults = &gt_search_defaults,
	.opts_bytes = sizeof(struct gt_search_opts),
	.run = gt_search_run,
};
