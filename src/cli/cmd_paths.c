/*
 * gtopo paths: the routes between GPUs and ports, or between the nodes of a
 * cluster, as a matrix or one by one.
 */
#include "cli/common/command.h"

#include "base/buf.h"
#include "base/err.h"
#include "cli/common/opt.h"
#include "cli/common/p2p.h"
#include "cli/paths/cluster.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"
#include "topo/view/print.h"
#include "topo/graph/topo.h"

struct gt_paths_opts {
	int json;
	int rates;
	const char *from, *to;
	const char *p2p;
	int bottlenecks;
	int matrix;
};

static const struct gt_opt gt_paths_opts[] = {
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_paths_opts, json),
	 "write JSON, with each route's links", 0, 0},
	{GT_OPT_TEXT, 0, "from", "DEVICE", offsetof(struct gt_paths_opts, from),
	 "explain the route from this GPU or port", 0, 0},
	{GT_OPT_TEXT, 0, "to", "DEVICE", offsetof(struct gt_paths_opts, to),
	 "to this GPU or port, link by link", 0, 0},
	{GT_OPT_FLAG, 0, "bottlenecks", NULL,
	 offsetof(struct gt_paths_opts, bottlenecks),
	 "rank the links that pairs of GPUs share", 0, 0},
	{GT_OPT_FLAG, 0, "matrix", NULL, offsetof(struct gt_paths_opts, matrix),
	 "show every route, as matrices", 0, 0},
	{GT_OPT_WORD, 0, "rates", "measured|nccl|line",
	 offsetof(struct gt_paths_opts, rates),
	 "which link rates to use (measured)", 0, 0},
	GT_OPT_P2P(struct gt_paths_opts, p2p),
	GT_OPT_END,
};

static int gt_paths_usable(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_paths_opts *opts = args->opts;

	if (!opts->from != !opts->to)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--from and --to go together");
	if (opts->bottlenecks && opts->from)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--bottlenecks does not go with --from");
	if (opts->matrix && (opts->json || opts->from || opts->bottlenecks))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--matrix goes with neither --json nor "
				  "--from nor --bottlenecks");
	return GT_OK;
}

static int gt_paths_route(const struct gt_paths_opts *opts,
			  const struct gt_topo *topo,
			  const struct gt_paths *paths, struct gt_buf *text,
			  struct gt_err *err)
{
	const char *const names[2] = {opts->from, opts->to};
	const struct gt_path *path;
	uint32_t ends[2];

	for (int i = 0; i < 2; i++)
		if (!gt_print_find_device(topo, names[i], &ends[i]))
			return gt_err_set(
				err, GT_EINPUT, gt_topo_source(topo),
				"has no GPU or port '%s'; gtopo paths "
				"--matrix names them",
				names[i]);
	if (ends[0] == ends[1])
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--from and --to are both '%s'", names[1]);
	path = gt_paths_get(paths, ends[0], ends[1]);
	if (opts->json)
		gt_print_route_json(topo, path, ends,
				    (enum gt_rates)opts->rates, text);
	else
		gt_print_route(topo, path, ends, text);
	return GT_OK;
}

/*
 * A summary or, if asked for, all; functions without GPUs have matrices only.
 */
static void gt_paths_show(const struct gt_paths_opts *opts,
			  const struct gt_topo *topo,
			  const struct gt_paths *paths, struct gt_buf *text)
{
	gt_print_rates((enum gt_rates)opts->rates, text);
	if (opts->matrix || !gt_topo_ngpus(topo))
		gt_print_paths(topo, paths, text);
	else
		gt_print_summary(topo, paths, text);
}

static int gt_paths_write(const struct gt_cmd_args *args,
			  const struct gt_topo *topo,
			  const struct gt_paths *paths, struct gt_err *err)
{
	const struct gt_paths_opts *opts = args->opts;
	struct gt_buf text = GT_BUF_INIT;
	int rc = GT_OK;

	if (opts->from)
		rc = gt_paths_route(opts, topo, paths, &text, err);
	else if (opts->bottlenecks && opts->json)
		gt_print_bottlenecks_json(topo, paths, &text);
	else if (opts->bottlenecks)
		gt_print_bottlenecks(topo, paths, &text);
	else if (opts->json)
		gt_print_paths_json(topo, paths, (enum gt_rates)opts->rates,
				    &text);
	else
		gt_paths_show(opts, topo, paths, &text);
	return gt_cmd_write(args, &text, rc, err);
}

static int gt_paths_on_topo(const struct gt_cmd_args *args,
			    const struct gt_topo *topo, struct gt_err *err)
{
	struct gt_paths *paths = NULL;
	int rc;

	for (uint32_t i = 0; i < gt_topo_nwarnings(topo); i++)
		gt_cmd_warn(args, "%s", gt_topo_warning(topo, i));
	rc = gt_topo_check(topo, err);
	if (!rc && !gt_topo_ngpus(topo) && !gt_topo_nnets(topo))
		rc = gt_err_set(err, GT_EINPUT, gt_topo_source(topo),
				"has no GPU and no network port");
	if (!rc)
		rc = gt_paths_new(topo, &paths, err);
	if (!rc)
		rc = gt_paths_write(args, topo, paths, err);
	gt_paths_free(paths);
	return rc;
}

static int gt_paths_on_cluster(const struct gt_cmd_args *args,
			       const struct gt_cluster *cluster,
			       struct gt_err *err)
{
	const struct gt_paths_opts *opts = args->opts;
	struct gt_buf text = GT_BUF_INIT;
	int rc;

	if (opts->bottlenecks)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "is a cluster; '--bottlenecks' takes one "
				  "server, gtopo show tells of uplinks");
	rc = gt_paths_cluster(&(struct gt_paths_query){cluster, opts->from,
						       opts->to, opts->json},
			      &text, err);
	return gt_cmd_write(args, &text, rc, err);
}

static int cmd_paths(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_paths_opts *opts = args->opts;
	struct gt_cluster *cluster;
	struct gt_topo *topo;
	int rc = gt_paths_usable(args, err);

	if (!rc)
		rc = gt_cluster_read(args->operands[0],
				     (enum gt_rates)opts->rates, &cluster,
				     &topo, err);
	if (rc)
		return rc;
	rc = gt_cluster_part_gpus(cluster, topo, opts->p2p, err);
	if (!rc)
		rc = cluster ? gt_paths_on_cluster(args, cluster, err)
			     : gt_paths_on_topo(args, topo, err);
	gt_cluster_free(cluster);
	gt_topo_free(topo);
	return rc;
}

const struct gt_cmd gt_cmd_paths = {
	.name = "paths",
	.summary = "show the best route between every two devices",
	.operands = "FILE",
	.operands_min = 1,
	.takes_machines = 1,
	.operands_max = 1,
	.opts = gt_paths_opts,
	.opts_bytes = sizeof(struct gt_paths_opts),
	.run = cmd_paths,
};
