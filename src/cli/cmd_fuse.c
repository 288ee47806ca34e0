/* gtopo fuse: the topologies of several hosts become one cluster file. */
#include "cli/common/command.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/rat.h"
#include "base/utf8.h"
#include "cli/diff/fleet.h"
#include "cli/common/opt.h"
#include "topo/synth/fuse.h"

struct gt_fuse_opts {
	const char *name, *nets, *over, *ignore;
	int rails;
	int64_t leaf, nvlink;
};

static const struct gt_opt gt_fuse_opts[] = {
	{GT_OPT_TEXT, 0, "name", "NAME", offsetof(struct gt_fuse_opts, name),
	 "the cluster's name", 0, 0},
	{GT_OPT_TEXT, 0, "nets", "LIST", offsetof(struct gt_fuse_opts, nets),
	 "the ports in the fabric, a rail each (those near GPUs)", 0, 0},
	{GT_OPT_FLAG, 0, "rails", NULL, offsetof(struct gt_fuse_opts, rails),
	 "each rail has switches of its own", 0, 0},
	{GT_OPT_INT, 0, "leaf", "NODES", offsetof(struct gt_fuse_opts, leaf),
	 "nodes per leaf switch, with a spine above", 1, 1 << 20},
	{GT_OPT_TEXT, 0, "oversubscription", "RATIO",
	 offsetof(struct gt_fuse_opts, over),
	 "of the leaf switches, such as 2 or 3/2", 0, 0},
	{GT_OPT_INT, 0, "nvlink", "NODES",
	 offsetof(struct gt_fuse_opts, nvlink),
	 "nodes per NVLink domain, in the order given", 1, 1 << 20},
	{GT_OPT_TEXT, 0, "ignore", "LIST",
	 offsetof(struct gt_fuse_opts, ignore),
	 "differences to ignore: driver,subsystem,...", 0, 0},
	GT_OPT_END,
};

/* Check the name and the list of ports, which go into the file as they are. */
static int gt_fuse_usable(const struct gt_fuse_opts *opts, struct gt_err *err)
{
	struct gt_rat rat;

	if (opts->name &&
	    (strpbrk(opts->name, "\"&<") || !gt_utf8_is_valid(opts->name)))
		return gt_err_set(err, GT_EINPUT, "--name",
				  "'%s' cannot be written", opts->name);
	if (opts->nets && (!*opts->nets || strpbrk(opts->nets, "\"&< ") ||
			   !gt_utf8_is_valid(opts->nets)))
		return gt_err_set(
			err, GT_EINPUT, "--nets",
			"'%s' is no list such as '0,3-6' or 'mlx5_0,mlx5_3'",
			opts->nets);
	if (opts->over && !opts->leaf)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--oversubscription needs --leaf");
	if (opts->over && (!gt_rat_parse(opts->over, &rat) || rat.num <= 0))
		return gt_err_set(err, GT_EINPUT, "--oversubscription",
				  "'%s' is no ratio such as '3/2'", opts->over);
	return GT_OK;
}

/* What is left out is told at once, and counted for the end. */
struct skipping {
	const struct gt_cmd_args *args;
	uint32_t n;
	struct gt_err first;
};

static void tell_skipped(void *arg, const struct gt_err *why)
{
	struct skipping *skipping = arg;
	char words[sizeof(why->where) + sizeof(why->text)];

	gt_err_words(why, words, sizeof(words));
	gt_cmd_warn(skipping->args, "%s", words);
	if (!skipping->n++)
		skipping->first = *why;
}

static int cmd_fuse(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_fuse_opts *opts = args->opts;
	struct skipping skipping = {.args = args};
	struct gt_fuse fuse = {
		.skipped = tell_skipped,
		.arg = &skipping,
		.files = (const char *const *)args->operands,
		.nfiles = (uint32_t)args->noperands,
		.beside = args->out,
		.name = opts->name,
		.nets = opts->nets,
		.rails = opts->rails,
		.leaf = (int)opts->leaf,
		.over = opts->over,
		.nvlink = (int)opts->nvlink,
	};
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_fuse_usable(opts, err);

	if (!rc)
		rc = gt_fleet_ignore(opts->ignore, &fuse.ignore, err);
	if (!rc)
		rc = gt_fuse_write(&fuse, &text, err);
	rc = gt_cmd_write(args, &text, rc, err);
	if (!rc && skipping.n)
		rc = gt_err_set(err, GT_ENO, skipping.first.where,
				"cannot be read; %u of %u files are left out "
				"of the cluster, which has the others",
				skipping.n, fuse.nfiles);
	return rc;
}

const struct gt_cmd gt_cmd_fuse = {
	.name = "fuse",
	.summary = "make a cluster file of the nodes' topology files",
	.operands = "FILE...",
	.operands_min = 1,
	.operands_max = -1,
	.takes_machines = 1,
	.opts = gt_fuse_opts,
	.opts_bytes = sizeof(struct gt_fuse_opts),
	.run = cmd_fuse,
};
