/* gtopo diff: what differs between servers or clusters, and what it costs. */
#include "cli/common/command.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/diff/cluster.h"
#include "cli/diff/fleet.h"
#include "cli/common/colour.h"
#include "cli/common/opt.h"
#include "cli/common/reference.h"
#include "topo/cluster/cluster.h"

struct gt_diff_opts {
	int json, all;
	int colour;
	const char *expect;
	const char *ignore;
	int64_t nodes;
};

static const struct gt_opt gt_diff_opts[] = {
	{GT_OPT_TEXT, 0, "expect", "NAME",
	 offsetof(struct gt_diff_opts, expect),
	 "compare with this reference machine or file", 0, 0},
	{GT_OPT_TEXT, 0, "ignore", "LIST",
	 offsetof(struct gt_diff_opts, ignore),
	 "differences to ignore: firmware,driver,...", 0, 0},
	{GT_OPT_FLAG, 0, "all", NULL, offsetof(struct gt_diff_opts, all),
	 "tell all findings of a different kind of machine, too", 0, 0},
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_diff_opts, json),
	 "write JSON", 0, 0},
	GT_OPT_COLOUR(struct gt_diff_opts, colour),
	{GT_OPT_INT, 0, "nodes", "N", offsetof(struct gt_diff_opts, nodes),
	 "what a finding costs a job of N nodes (default: as many as there "
	 "are)",
	 2, GT_CLUSTER_MAX_NODES},
	GT_OPT_END,
};

static int gt_diff_has_colour(const struct gt_cmd_args *args)
{
	const struct gt_diff_opts *opts = args->opts;

	return gt_colour((enum gt_colour_when)opts->colour, args);
}

static int gt_diff_write(const struct gt_cmd_args *args,
			 const struct gt_fleet *fleet, struct gt_err *err)
{
	const struct gt_diff_opts *opts = args->opts;
	struct gt_buf text = GT_BUF_INIT;

	if (opts->json)
		gt_fleet_print_json(fleet, &text);
	else
		gt_fleet_print(fleet, gt_diff_has_colour(args), &text);
	return gt_cmd_write(args, &text, GT_OK, err);
}

/* List the files, that of the norm first if one was named. */
static int gt_diff_files(const struct gt_cmd_args *args, struct gt_arena *arena,
			 const char **files, struct gt_err *err)
{
	const struct gt_diff_opts *opts = args->opts;
	int first = opts->expect != NULL;

	if (args->noperands + first < 2)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "nothing to compare '%s' with; name another "
				  "file or '--expect'",
				  args->operands[0]);
	for (int i = 0; i < args->noperands; i++)
		files[first + i] = args->operands[i];
	return first ? gt_reference_find(opts->expect, arena, &files[0], err)
		     : GT_OK;
}

static int gt_diff_on_clusters(const struct gt_cmd_args *args,
			       const char *const *files, uint32_t n,
			       unsigned ignore, struct gt_err *err)
{
	const struct gt_diff_opts *opts = args->opts;
	struct gt_diff_clusters ask = {files,      n,
				       ignore,     (uint32_t)opts->nodes,
				       opts->json, gt_diff_has_colour(args),
				       opts->all};
	struct gt_buf text = GT_BUF_INIT;
	uint32_t nfindings = 0;
	int rc = gt_diff_clusters(&ask, &text, &nfindings, err);

	rc = gt_cmd_write(args, &text, rc, err);
	if (!rc && nfindings)
		rc = GT_ENO;
	return rc;
}

static int gt_diff_on(const struct gt_cmd_args *args, struct gt_arena *arena,
		      struct gt_err *err)
{
	const struct gt_diff_opts *opts = args->opts;
	uint32_t n = (uint32_t)args->noperands + (opts->expect != NULL);
	const char **files = gt_arena_array(arena, n, sizeof(*files));
	struct gt_fleet *fleet;
	unsigned ignore = 0;
	int rc;

	if (!files)
		return gt_err_nomem(err);
	rc = gt_diff_files(args, arena, files, err);
	if (!rc)
		rc = gt_fleet_ignore(opts->ignore, &ignore, err);
	if (rc)
		return rc;
	if (gt_diff_is_cluster(files[0]))
		return gt_diff_on_clusters(args, files, n, ignore, err);
	rc = gt_fleet_compare(
		&(struct gt_fleet_query){.files = files,
					 .nfiles = n,
					 .expected = opts->expect != NULL,
					 .ignore = ignore,
					 .all = opts->all,
					 .nnodes = (uint32_t)opts->nodes},
		&fleet, err);
	if (rc)
		return rc;
	rc = gt_diff_write(args, fleet, err);
	if (!rc && gt_fleet_differs(fleet))
		rc = GT_ENO;
	gt_fleet_free(fleet);
	return rc;
}

static int cmd_diff(const struct gt_cmd_args *args, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	int rc = arena ? gt_diff_on(args, arena, err) : gt_err_nomem(err);

	gt_arena_free(arena);
	return rc;
}

const struct gt_cmd gt_cmd_diff = {
	.name = "diff",
	.summary = "compare servers: which of them differ, and what it costs",
	.operands = "FILE...",
	.operands_min = 1,
	.takes_machines = 1,
	.operands_max = -1,
	.opts = gt_diff_opts,
	.opts_bytes = sizeof(struct gt_diff_opts),
	.run = cmd_diff,
};
