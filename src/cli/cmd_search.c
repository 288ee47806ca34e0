/*
 * gtopo search: a topology or a cluster and a request become a plan, by the
 * planner's policy (search/planner/planner.h), which is written and told of.
 */
#include "cli/common/command.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/common/opt.h"
#include "cli/common/p2p.h"
#include "cli/search/job.h"
#include "cli/search/mixed.h"
#include "cli/search/tell.h"
#include "plan/ir/demand.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "search/planner/planner.h"
#include "search/planner/request.h"
#include "search/problem/budget.h"
#include "search/whatif/whatif.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/edit.h"

struct gt_search_opts {
	int algo; /* enum gt_planner_algo */
	int coll; /* enum gt_coll; -1: it was not given */
	int rates;
	const char *gpus;
	int64_t root;
	const char *demand;
	int64_t max_channels;
	int equal, invariant;
	int64_t trees_per_root;
	const char *exclude_link, *exclude_device, *p2p;
	int64_t budget_ns;
	int islands, explain;
	int64_t nodes;
	const char *job;
	int by_node;
	int json;
};

#define SEARCH_AT(member) offsetof(struct gt_search_opts, member)

static const struct gt_opt gt_search_opts[] = {
	{GT_OPT_WORD, 0, "algo",
	 "auto|ring|forest|tree|mesh|flow|alltoall|hier|nvls|"
	 "collnet",
	 SEARCH_AT(algo), "the shape of the channels (default: auto)", 0, 0},
	{GT_OPT_WORD, 0, "coll",
	 "allreduce|allgather|reducescatter|broadcast|reduce|alltoall|gather|"
	 "scatter|sendrecv",
	 SEARCH_AT(coll),
	 "the collective to plan (default: allreduce; of flows: alltoall)", 0,
	 0},
	{GT_OPT_TEXT, 0, "gpus", "LIST", SEARCH_AT(gpus),
	 "0-3, GPU0,GPU2 or bus ids, in order of rank (all)", 0, 0},
	{GT_OPT_INT, 0, "root", "RANK", SEARCH_AT(root),
	 "of a broadcast, reduce, gather or scatter (default: 0)", 0,
	 INT32_MAX},
	{GT_OPT_TEXT, 0, "demand", "FILE", SEARCH_AT(demand),
	 "of alltoall: the bytes of each pair, CSV or JSON", 0, 0},
	{GT_OPT_WORD, 0, "rates", "measured|nccl|line", SEARCH_AT(rates),
	 "which link rates to use (default: measured)", 0, 0},
	{GT_OPT_INT, 0, "max-channels", "N", SEARCH_AT(max_channels),
	 "use at most N channels (default: as many as help)", 1, 65536},
	{GT_OPT_FLAG, 0, "equal", NULL, SEARCH_AT(equal),
	 "give all channels the same share, as NCCL does", 0, 0},
	{GT_OPT_FLAG, 0, "invariant", NULL, SEARCH_AT(invariant),
	 "add up in the order of ranks, whatever the size", 0, 0},
	{GT_OPT_INT, 0, "trees-per-root", "K", SEARCH_AT(trees_per_root),
	 "forests: at most K trees a root, of equal shares", 1, 1024},
	{GT_OPT_TEXT, 0, "exclude-link", "LIST", SEARCH_AT(exclude_link),
	 "do without these links: CPU0-CPU1,A>B", 0, 0},
	{GT_OPT_TEXT, 0, "exclude-device", "LIST", SEARCH_AT(exclude_device),
	 "do without these devices: GPU6-7,mlx5_0,CPU1", 0, 0},
	GT_OPT_P2P(struct gt_search_opts, p2p),
	{GT_OPT_FLAG, 0, "islands", NULL, SEARCH_AT(islands),
	 "use access that only some GPUs have, as engines do not", 0, 0},
	{GT_OPT_TIME, 0, "budget", "TIME", SEARCH_AT(budget_ns),
	 "stop after this time with the best found, and its gap", 0, 0},
	{GT_OPT_FLAG, 0, "explain", NULL, SEARCH_AT(explain),
	 "explain what limits the plan, and what would raise it", 0, 0},
	{GT_OPT_INT, 0, "nodes", "N", SEARCH_AT(nodes),
	 "plan for N copies of the machine on one switch", 1, 1 << 20},
	{GT_OPT_TEXT, 0, "job", "JOB", SEARCH_AT(job),
	 "plan all that a job's ranks say in a step, and their places; -o "
	 "names "
	 "a folder",
	 0, 0},
	{GT_OPT_FLAG, 0, "json", NULL, SEARCH_AT(json),
	 "with --job: report as JSON", 0, 0},
	{GT_OPT_FLAG, 0, "by-node", NULL, SEARCH_AT(by_node),
	 "with --job: by number ranks go to nodes in turn, as with srun -m "
	 "cyclic",
	 0, 0},
	GT_OPT_END,
};

static const struct gt_search_opts gt_search_defaults = {.coll = -1};

/* Write the plan where -o says. */
static int write_plan(const struct gt_cmd_args *args,
		      const struct gt_plan *plan, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_plan_print(plan, &text, err);

	return gt_cmd_write(args, &text, rc, err);
}

/*
 * An explanation goes to standard output, and the plan then only to a file that
 * was named.
 */
static int write_explained(const struct gt_cmd_args *args,
			   const struct gt_plan *plan,
			   const struct gt_whatif *whatif, struct gt_err *err)
{
	struct gt_buf words = GT_BUF_INIT;
	int rc = GT_OK;

	gt_explain_print(plan, whatif, &words);
	if (words.failed)
		rc = gt_err_nomem(err);
	if (!rc && args->out)
		rc = write_plan(args, plan, err);
	if (!rc)
		rc = gt_file_write(NULL, words.text, words.len, err);
	gt_buf_release(&words);
	return rc;
}

/* Say what was found, explain it if that was asked for, and write it. */
static int report_plan(const struct gt_cmd_args *args,
		       const struct gt_planner *planner, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	const struct gt_plan *plan = gt_planner_result(planner)->plan;
	struct gt_whatif *whatif;
	int rc = gt_search_tell_loss(args, planner, err);

	if (rc)
		return rc;
	gt_search_tell(args, planner);
	if (!opts->explain) {
		rc = write_plan(args, plan, err);
		if (!rc)
			gt_search_tell_written(args, plan);
		return rc;
	}
	rc = gt_planner_explain(planner, &whatif, err);
	if (rc)
		return rc;
	rc = write_explained(args, plan, whatif, err);
	gt_whatif_free(whatif);
	return rc;
}

/*
 * Read the demand.  One with more units than can be planned for is rounded up.
 */
static int read_demand(const struct gt_cmd_args *args, struct gt_arena *arena,
		       struct gt_planner_request *request, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_plan_demand *demand;
	uint64_t *bytes, unit;
	int rc = gt_demand_read(opts->demand, arena, &request->demand_ranks,
				&bytes, err);

	if (rc)
		return rc;
	unit = gt_demand_round(request->demand_ranks, bytes);
	if (unit > 1)
		gt_cmd_warn(args,
			    "%s: planned for whole multiples of %" PRIu64
			    " bytes, to which the demand is rounded up",
			    opts->demand, unit);
	rc = gt_demand_new(request->demand_ranks, bytes, arena, &demand, err);
	if (!rc)
		request->demand = demand;
	return rc;
}

/* Plan for a cluster or, where that is NULL, for one machine. */
static int plan_request(const struct gt_cmd_args *args, struct gt_topo *topo,
			const struct gt_cluster *cluster,
			struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_budget budget = {0};
	struct gt_planner_request request = {
		.algo = (enum gt_planner_algo)opts->algo,
		.coll = opts->coll,
		.rates = (enum gt_rates)opts->rates,
		.gpus = opts->gpus,
		.root = (uint32_t)opts->root,
		.max_channels = (uint32_t)opts->max_channels,
		.trees_per_root = (uint32_t)opts->trees_per_root,
		.equal = opts->equal,
		.invariant = opts->invariant,
		.explain = opts->explain,
		.as_engines = !opts->islands,
		.budget = &budget,
	};
	struct gt_progress progress;
	struct gt_planner *planner = NULL;
	int rc = GT_OK;

	if (opts->demand)
		rc = read_demand(args, arena, &request, err);
	if (rc)
		return rc;
	if (opts->budget_ns)
		budget.deadline_ns = gt_clock_ns() + opts->budget_ns;
	if (!args->quiet)
		gt_progress_start(&progress, &budget);
	rc = cluster ? gt_planner_cluster(&request, cluster, &planner, err)
		     : gt_planner_machine(&request, topo, &planner, err);
	if (!args->quiet)
		gt_progress_end(&progress);
	budget.tell = NULL; /* An explanation writes no progress. */
	if (!rc)
		rc = report_plan(args, planner, err);
	if (!rc && !cluster && !args->quiet)
		gt_search_tell_mixed(args, &request, gt_planner_result(planner),
				     topo);
	gt_planner_free(planner);
	return rc;
}

/* Plan a whole job, which leaves nothing to say of a single collective. */
static int plan_job(const struct gt_cmd_args *args, struct gt_topo *topo,
		    const struct gt_cluster *cluster, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_job_words words = {.json = opts->json,
				     .explain = opts->explain,
				     .by_node = opts->by_node,
				     .budget_ns = opts->budget_ns};

	if (opts->algo || opts->coll >= 0 || opts->gpus || opts->root ||
	    opts->demand || opts->max_channels || opts->equal ||
	    opts->trees_per_root || opts->invariant || opts->islands)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--job plans all collectives of its file; "
				  "with it go --nodes, --rates, --budget, "
				  "--explain, --json, --by-node, --p2p, "
				  "--exclude-link and --exclude-device");
	if (words.json && words.explain)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--explain is for people; the JSON has all "
				  "links and what is on them");
	return gt_search_job(args, opts->job, &words, topo, cluster,
			     (enum gt_rates)opts->rates, err);
}

static int plan_for(const struct gt_cmd_args *args, struct gt_topo *topo,
		    const struct gt_cluster *cluster, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_arena *arena;
	int rc;

	if (opts->job)
		return plan_job(args, topo, cluster, err);
	if (opts->json)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--json is for --job; a plan is JSON anyway");
	if (opts->by_node)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--by-node is for --job");
	arena = gt_arena_new();
	rc = arena ? plan_request(args, topo, cluster, arena, err)
		   : gt_err_nomem(err);
	gt_arena_free(arena);
	return rc;
}

/* Leave out what the options exclude, and plan for the machine or copies of it.
 */
static int search_topo(const struct gt_cmd_args *args, struct gt_topo *topo,
		       struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_cluster *cluster;
	int rc;

	for (uint32_t i = 0; i < gt_topo_nwarnings(topo); i++)
		gt_cmd_warn(args, "%s", gt_topo_warning(topo, i));
	rc = gt_topo_exclude_links(topo, opts->exclude_link, err);
	if (!rc)
		rc = gt_topo_exclude_devices(topo, opts->exclude_device, err);
	if (rc || opts->nodes < 2)
		return rc ? rc : plan_for(args, topo, NULL, err);
	rc = gt_cluster_copies(topo, (uint32_t)opts->nodes, NULL, &cluster,
			       err);
	if (rc)
		return rc;
	rc = plan_for(args, topo, cluster, err);
	gt_cluster_free(cluster);
	return rc;
}

/* Refuse what is said of one machine, and plan for a cluster file's nodes. */
static int search_cluster(const struct gt_cmd_args *args,
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
	return plan_for(args, cluster->topos[0], cluster, err);
}

static int cmd_search(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_search_opts *opts = args->opts;
	struct gt_cluster *cluster;
	struct gt_topo *topo;
	int rc = gt_cluster_read(args->operands[0], (enum gt_rates)opts->rates,
				 &cluster, &topo, err);

	if (rc)
		return rc;
	rc = gt_cluster_part_gpus(cluster, topo, opts->p2p, err);
	if (!rc)
		rc = cluster ? search_cluster(args, cluster, err)
			     : search_topo(args, topo, err);
	gt_cluster_free(cluster);
	gt_topo_free(topo);
	return rc;
}

const struct gt_cmd gt_cmd_search = {
	.name = "search",
	.summary = "find the best way to move bytes on a machine, as a plan",
	.operands = "FILE",
	.operands_min = 1,
	.takes_machines = 1,
	.operands_max = 1,
	.opts = gt_search_opts,
	.defaults = &gt_search_defaults,
	.opts_bytes = sizeof(struct gt_search_opts),
	.run = cmd_search,
};
