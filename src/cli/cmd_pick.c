/* gtopo pick: which GPUs of a machine or a cluster to take for a job. */
#include "cli/common/command.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/common/opt.h"
#include "cli/common/p2p.h"
#include "cli/pick/print.h"
#include "search/pick/pick.h"
#include "search/pick/several.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/topo.h"

struct gt_pick_opts {
	int64_t n; /* 0: not said */
	const char *taken, *among;
	int to; /* enum gt_pick_to */
	int rates;
	int64_t nodes;
	const char *p2p;
};

enum gt_pick_to {
	GT_PICK_TO_TEXT,
	GT_PICK_TO_CUDA,
	GT_PICK_TO_SLURM,
	GT_PICK_TO_JSON,
};

static const struct gt_opt gt_pick_opts[] = {
	{GT_OPT_INT, 'n', "number", "N", offsetof(struct gt_pick_opts, n),
	 "how many GPUs to take", 1, GT_TOPO_MAX_DEVICES},
	{GT_OPT_TEXT, 0, "taken", "LIST", offsetof(struct gt_pick_opts, taken),
	 "GPUs and ports that others have: GPU0,GPU3,mlx5_0", 0, 0},
	{GT_OPT_TEXT, 0, "among", "LIST", offsetof(struct gt_pick_opts, among),
	 "choose from these GPUs only (all)", 0, 0},
	{GT_OPT_WORD, 0, "to", "text|cuda|slurm|json",
	 offsetof(struct gt_pick_opts, to), "the format to write (text)", 0, 0},
	{GT_OPT_WORD, 0, "rates", "measured|nccl|line",
	 offsetof(struct gt_pick_opts, rates),
	 "which link rates to use (measured)", 0, 0},
	{GT_OPT_INT, 0, "nodes", "N", offsetof(struct gt_pick_opts, nodes),
	 "choose from N copies of the machine on one switch", 1, 1 << 20},
	GT_OPT_P2P(struct gt_pick_opts, p2p),
	GT_OPT_END,
};

static void write_pick(const struct gt_pick_opts *opts,
		       const struct gt_topo *topo, const struct gt_pick *pick,
		       struct gt_buf *text)
{
	switch ((enum gt_pick_to)opts->to) {
	case GT_PICK_TO_TEXT:
		gt_pick_print(topo, pick, text);
		break;
	case GT_PICK_TO_CUDA:
		gt_pick_print_cuda(topo, pick, text);
		break;
	case GT_PICK_TO_SLURM:
		gt_pick_print_slurm(topo, pick, text);
		break;
	case GT_PICK_TO_JSON:
		gt_pick_print_json(topo, (enum gt_rates)opts->rates, pick,
				   text);
		break;
	}
}

static int pick_on(const struct gt_cmd_args *args, const struct gt_topo *topo,
		   struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_pick_opts *opts = args->opts;
	struct gt_pick_query query = {.topo = topo, .n = (uint32_t)opts->n};
	struct gt_buf text = GT_BUF_INIT;
	struct gt_pick pick = {.n = 0};
	int rc = gt_pick_read(opts->among, opts->taken, arena, &query, err);

	if (!rc)
		rc = gt_pick_find(&query, arena, &pick, err);
	if (rc)
		return rc;
	gt_cmd_note(args, "%" PRIu64 " of %" PRIu64 " choice%s bounded exactly",
		    pick.nbounded, pick.nchoices, gt_plural(pick.nchoices));
	write_pick(opts, topo, &pick, &text);
	return gt_cmd_write(args, &text, GT_OK, err);
}

static int pick_machine(const struct gt_cmd_args *args,
			const struct gt_topo *topo, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	int rc;

	for (uint32_t i = 0; i < gt_topo_nwarnings(topo); i++)
		gt_cmd_warn(args, "%s", gt_topo_warning(topo, i));
	rc = arena ? pick_on(args, topo, arena, err) : gt_err_nomem(err);
	gt_arena_free(arena);
	return rc;
}

static int write_several(const struct gt_cmd_args *args,
			 const struct gt_cluster *cluster,
			 const struct gt_pick_several *pick, struct gt_err *err)
{
	const struct gt_pick_opts *opts = args->opts;
	struct gt_buf text = GT_BUF_INIT;
	int rc = GT_OK;

	switch ((enum gt_pick_to)opts->to) {
	case GT_PICK_TO_TEXT:
		gt_pick_several_print(cluster, pick, &text);
		break;
	case GT_PICK_TO_CUDA:
		gt_pick_several_print_cuda(cluster, pick, &text);
		break;
	case GT_PICK_TO_SLURM:
		rc = gt_pick_several_print_slurm(cluster, pick, &text, err);
		break;
	case GT_PICK_TO_JSON:
		gt_pick_several_print_json(cluster, (enum gt_rates)opts->rates,
					   pick, &text);
		break;
	}
	return gt_cmd_write(args, &text, rc, err);
}

static int pick_several(const struct gt_cmd_args *args,
			const struct gt_cluster *cluster,
			struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_pick_opts *opts = args->opts;
	struct gt_pick_several_query query = {.cluster = cluster,
					      .n = (uint32_t)opts->n};
	struct gt_pick_several pick;
	int rc = gt_pick_several_read(opts->among, opts->taken, arena, &query,
				      err);

	if (!rc)
		rc = gt_pick_several_find(&query, arena, &pick, err);
	if (rc)
		return rc;
	gt_cmd_note(args, "%" PRIu64 " of %" PRIu64 " choice%s bounded exactly",
		    pick.nbounded, pick.nways, gt_plural(pick.nways));
	if (!pick.complete)
		gt_cmd_warn(args, "there are more choices than were compared; "
				  "--among makes them fewer");
	return write_several(args, cluster, &pick, err);
}

static int pick_cluster(const struct gt_cmd_args *args,
			const struct gt_cluster *cluster, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	int rc = arena ? pick_several(args, cluster, arena, err)
		       : gt_err_nomem(err);

	gt_arena_free(arena);
	return rc;
}

/* Choose from one machine, or from copies of it. */
static int pick_copies(const struct gt_cmd_args *args, struct gt_topo *topo,
		       struct gt_err *err)
{
	const struct gt_pick_opts *opts = args->opts;
	struct gt_cluster *cluster;
	int rc;

	if (opts->nodes < 2)
		return pick_machine(args, topo, err);
	rc = gt_cluster_copies(topo, (uint32_t)opts->nodes, NULL, &cluster,
			       err);
	if (rc)
		return rc;
	rc = pick_cluster(args, cluster, err);
	gt_cluster_free(cluster);
	return rc;
}

static int cmd_pick(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_pick_opts *opts = args->opts;
	struct gt_cluster *cluster;
	struct gt_topo *topo;
	int rc;

	if (!opts->n)
		return gt_err_set(err, GT_EINPUT, NULL, "-n is missing");
	rc = gt_cluster_read(args->operands[0], (enum gt_rates)opts->rates,
			     &cluster, &topo, err);
	if (rc)
		return rc;
	rc = gt_cluster_part_gpus(cluster, topo, opts->p2p, err);
	if (!rc && cluster && opts->nodes)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"a cluster file has its own number of nodes; "
				"leave out --nodes");
	else if (!rc)
		rc = cluster ? pick_cluster(args, cluster, err)
			     : pick_copies(args, topo, err);
	gt_cluster_free(cluster);
	gt_topo_free(topo);
	return rc;
}

const struct gt_cmd gt_cmd_pick = {
	.name = "pick",
	.summary = "choose the GPUs that a job should take",
	.operands = "FILE",
	.operands_min = 1,
	.takes_machines = 1,
	.operands_max = 1,
	.opts = gt_pick_opts,
	.opts_bytes = sizeof(struct gt_pick_opts),
	.run = cmd_pick,
};
