/*
 * gtopo export: a plan as a file for other libraries or as a picture, machines
 * and clusters as files for schedulers, a machine as one for a virtual one.
 */
#include "cli/common/command.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/common/opt.h"
#include "cli/run/parse.h"
#include "plan/check/check.h"
#include "plan/interop/export.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "report/nccl_tuner.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/topo.h"
#include "topo/interop/interop.h"

struct gt_export_opts {
	const char *plan;
	int to; /* -1: not said */
	const char *map;
};

static const struct gt_export_opts gt_export_defaults = {.to = -1};

/* The writers stand in the order of the option's words. */
static int (*const gt_exports[])(const struct gt_plan *plan, struct gt_buf *out,
				 struct gt_err *err) = {
	gt_export_nccl,
	gt_export_msccl,
	gt_export_mscclpp,
	gt_export_dot,
};

enum { GT_EXPORT_PLANS = sizeof(gt_exports) / sizeof(gt_exports[0]) };

/* Words of machines, and of what is neither, follow those of plans. */
enum {
	GT_EXPORT_SLURM_CONF = GT_EXPORT_PLANS,
	GT_EXPORT_SLURM_YAML,
	GT_EXPORT_K8S,
	GT_EXPORT_NCCL_TUNER, /* of a race, not of a plan */
	GT_EXPORT_VM,
};

static const struct gt_opt gt_export_opts[] = {
	{GT_OPT_TEXT, 0, "plan", "FILE", offsetof(struct gt_export_opts, plan),
	 "the plan; it may be an operand instead", 0, 0},
	{GT_OPT_WORD, 0, "to",
	 "nccl-graph|msccl|mscclpp|dot|slurm-topology|slurm-topology-yaml|"
	 "k8s-labels|nccl-tuner|vm",
	 offsetof(struct gt_export_opts, to), "the format to write", 0, 0},
	{GT_OPT_TEXT, 0, "map", "FILE", offsetof(struct gt_export_opts, map),
	 "vm: the host's devices, and what they are there", 0, 0},
	GT_OPT_END,
};

enum { GT_EXPORT_MAX_BYTES = 64 << 20 };

/* A loss that the file's digits explain is none. */
#define GT_EXPORT_LOSS_PART 1e-5

/* NCCL's graph names ranks, between which NCCL takes routes of its own. */
static void gt_export_tell_relays(const struct gt_cmd_args *args,
				  const struct gt_plan *plan)
{
	const struct gt_plan_select *row = gt_plan_main_row(plan);
	uint32_t relayed = 0;

	for (uint32_t i = 0; i < row->nchannels; i++) {
		const struct gt_plan_channel *channel =
			&plan->channels[row->channels[i]];

		if (channel->shape == GT_SHAPE_RING)
			relayed += channel->nhops - channel->norder;
	}
	if (relayed)
		gt_cmd_warn(args,
			    "%" PRIu32 " hop%s of the plan's rings go%s by way "
			    "of another rank, which the graph file cannot say: "
			    "NCCL takes its own route there",
			    relayed, gt_plural(relayed),
			    relayed == 1 ? "es" : "");
}

/*
 * NCCL's channels are all alike, so that not all of a plan may fit into them.
 */
static void gt_export_tell_loss(const struct gt_cmd_args *args,
				const struct gt_plan *plan)
{
	struct gt_export_nccl_loss loss;
	double busbw = gt_plan_busbw(plan, plan->proof.value);

	gt_export_tell_relays(args, plan);
	gt_export_nccl_loss(plan, &loss);
	gt_cmd_note(args, "%" PRIu32 " channel%s of %g GB/s", loss.nchannels,
		    gt_plural(loss.nchannels), loss.channel_gbs);
	if (loss.part < GT_EXPORT_LOSS_PART)
		return;
	if (plan->has_proof)
		gt_cmd_warn(
			args,
			"of %g GB/s busbw the graph file carries %g (%.2g%% "
			"less): NCCL's channels are all alike, and 16 at "
			"most",
			busbw, busbw * (1 - loss.part), 100 * loss.part);
	else
		gt_cmd_warn(args,
			    "the graph file carries %.2g%% less than the plan: "
			    "NCCL's channels are all alike, and 16 at most; "
			    "'gtopo search --algo ring --equal --max-channels "
			    "16' plans such",
			    100 * loss.part);
}

/* Write what was measured of NCCL's ways as a table for its example tuner. */
static int export_tuner(const struct gt_cmd_args *args, struct gt_buf *out,
			struct gt_err *err)
{
	struct gt_nccl_tuner_stats stats;
	struct gt_json_doc *doc;
	struct gt_json race;
	int rc = gt_json_open(args->operands[0], &doc, err);

	if (rc)
		return rc;
	race = gt_json_root(doc);
	rc = gt_nccl_tuner_write(&race, out, &stats, err);
	gt_json_close(doc);
	if (rc)
		return rc;
	gt_cmd_note(args, "%" PRIu32 " size%s, %" PRIu32 " line%s", stats.nrows,
		    gt_plural(stats.nrows), stats.nlines,
		    gt_plural(stats.nlines));
	if (stats.nmissed)
		gt_cmd_warn(args,
			    "at %" PRIu32 " of %" PRIu32
			    " sizes NCCL's default is faster than every way "
			    "that was forced; the table makes it slower there",
			    stats.nmissed, stats.nrows);
	return GT_OK;
}

static int gt_export_plan(const struct gt_cmd_args *args, struct gt_buf *out,
			  struct gt_err *err)
{
	const struct gt_export_opts *opts = args->opts;
	struct gt_plan *plan;
	const char *file;
	int rc = gt_run_parse_plan(args, opts->plan, &file, err);

	if (!rc)
		rc = gt_plan_read(file, &plan, err);
	if (rc)
		return rc;
	rc = gt_plan_need_even(plan, "gtopo export", err);
	if (!rc && gt_exports[opts->to] != gt_export_nccl)
		rc = gt_plan_need_forwarding(plan, "that program", err);
	if (!rc)
		rc = gt_plan_check(plan, err);
	if (!rc)
		rc = gt_exports[opts->to](plan, out, err);
	if (!rc && gt_exports[opts->to] == gt_export_nccl)
		gt_export_tell_loss(args, plan);
	gt_plan_free(plan);
	return rc;
}

/* Slurm's files are about several nodes, labels about one as well. */
static int gt_export_cluster(const struct gt_cluster *cluster, int to,
			     struct gt_buf *out, struct gt_err *err)
{
	if (to == GT_EXPORT_K8S)
		return gt_k8s_cluster(cluster, out, err);
	if (to == GT_EXPORT_SLURM_YAML)
		return gt_slurm_yaml(cluster, out, err);
	return gt_slurm_conf(cluster, out, err);
}

static int gt_export_machine(const struct gt_cmd_args *args, struct gt_buf *out,
			     struct gt_err *err)
{
	const struct gt_export_opts *opts = args->opts;
	struct gt_cluster *cluster;
	struct gt_topo *topo;
	int rc = gt_cluster_read(args->operands[0], GT_RATES_LINE, &cluster,
				 &topo, err);

	if (rc)
		return rc;
	if (cluster)
		rc = gt_export_cluster(cluster, opts->to, out, err);
	else if (opts->to == GT_EXPORT_K8S)
		gt_k8s_machine(topo, out);
	else
		rc = gt_err_set(err, GT_EINPUT, gt_topo_source(topo),
				"is one server; Slurm's topology is of a "
				"cluster, which gtopo fuse makes of several");
	gt_cluster_free(cluster);
	gt_topo_free(topo);
	return rc;
}

/* Write the topology of a virtual machine on the host that the file shows. */
static int export_vm(const struct gt_cmd_args *args, struct gt_buf *out,
		     struct gt_err *err)
{
	const struct gt_export_opts *opts = args->opts;
	struct gt_buf text = GT_BUF_INIT;
	struct gt_topo *topo = NULL;
	int rc;

	if (!opts->map)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--to vm needs --map FILE: lines of a bus id "
				  "of the host and one of the virtual machine");
	rc = gt_file_read(args->operands[0], GT_EXPORT_MAX_BYTES, &text, err);
	if (!rc)
		rc = gt_topo_parse(args->operands[0], gt_buf_text(&text),
				   text.len, GT_RATES_LINE, &topo, err);
	if (!rc)
		rc = gt_vm_topology(&text, opts->map, out, err);
	gt_topo_free(topo);
	gt_buf_release(&text);
	return rc;
}

/* --plan names plans alone: machines, clusters and races are operands. */
static int check_options(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_export_opts *opts = args->opts;

	if (opts->to < 0)
		return gt_err_set(err, GT_EINPUT, NULL, "--to is missing");
	if (opts->map && opts->to != GT_EXPORT_VM)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--map '%s' is for --to vm", opts->map);
	if (opts->to < GT_EXPORT_PLANS)
		return GT_OK;
	if (opts->plan)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--plan '%s': this format is not of a plan",
				  opts->plan);
	if (!args->noperands)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "FILE is missing; see 'gtopo help export'");
	return GT_OK;
}

static int cmd_export(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_export_opts *opts = args->opts;
	struct gt_buf out = GT_BUF_INIT;
	int rc = check_options(args, err);

	if (rc)
		return rc;
	if (opts->to == GT_EXPORT_VM)
		rc = export_vm(args, &out, err);
	else if (opts->to < GT_EXPORT_PLANS)
		rc = gt_export_plan(args, &out, err);
	else if (opts->to == GT_EXPORT_NCCL_TUNER)
		rc = export_tuner(args, &out, err);
	else
		rc = gt_export_machine(args, &out, err);
	return gt_cmd_write(args, &out, rc, err);
}

const struct gt_cmd gt_cmd_export = {
	.name = "export",
	.summary = "write a plan or a cluster in the format of another program",
	.operands = "[FILE]",
	.takes_machines = 1,
	.operands_max = 1,
	.opts = gt_export_opts,
	.defaults = &gt_export_defaults,
	.opts_bytes = sizeof(struct gt_export_opts),
	.run = cmd_export,
};
