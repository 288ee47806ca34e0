/* gtopo show: a topology or a cluster as a tree of text or as a picture. */
#include "cli/common/command.h"

#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/draw.h"
#include "base/err.h"
#include "base/file.h"
#include "base/xml.h"
#include "cli/common/colour.h"
#include "cli/common/opt.h"
#include "cli/common/p2p.h"
#include "cli/common/reference.h"
#include "cli/show/plan.h"
#include "topo/cluster/make.h"
#include "topo/lint/lint.h"
#include "topo/view/dot.h"
#include "topo/view/print.h"
#include "topo/view/show.h"
#include "topo/graph/topo.h"

enum { GT_SHOW_MAX_BYTES = 64 << 20 };

struct gt_show_opts {
	int rates;
	int dot, svg, png, json, list;
	int colour;
	const char *plan, *p2p;
};

static const struct gt_show_opts gt_show_defaults = {.rates = GT_RATES_LINE};

static const struct gt_opt gt_show_opts[] = {
	{GT_OPT_FLAG, 0, "dot", NULL, offsetof(struct gt_show_opts, dot),
	 "write a graph for Graphviz", 0, 0},
	{GT_OPT_FLAG, 0, "svg", NULL, offsetof(struct gt_show_opts, svg),
	 "draw a picture: SVG", 0, 0},
	{GT_OPT_FLAG, 0, "png", NULL, offsetof(struct gt_show_opts, png),
	 "draw a picture: PNG", 0, 0},
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_show_opts, json),
	 "write JSON: nodes and links", 0, 0},
	{GT_OPT_TEXT, 0, "plan", "PLAN", offsetof(struct gt_show_opts, plan),
	 "draw the channels of this plan into the picture", 0, 0},
	{GT_OPT_WORD, 0, "rates", "measured|nccl|line",
	 offsetof(struct gt_show_opts, rates), "which link rates to use (line)",
	 0, 0},
	GT_OPT_P2P(struct gt_show_opts, p2p),
	{GT_OPT_FLAG, 0, "list", NULL, offsetof(struct gt_show_opts, list),
	 "list the reference machines, which need no FILE", 0, 0},
	GT_OPT_COLOUR(struct gt_show_opts, colour),
	GT_OPT_END,
};

/* Look at the locale's encoding without making that locale the program's. */
static int gt_show_is_utf8(void)
{
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	int utf8;

	if (!locale)
		return 0;
	utf8 = !strcmp(nl_langinfo_l(CODESET, locale), "UTF-8");
	freelocale(locale);
	return utf8;
}

static int gt_show_has_colour(const struct gt_cmd_args *args)
{
	const struct gt_show_opts *opts = args->opts;

	return gt_colour((enum gt_colour_when)opts->colour, args);
}

static int gt_show_is_picture(const struct gt_show_opts *opts)
{
	return opts->dot || opts->svg || opts->png;
}

/* A machine on its way to a tree or a picture. */
struct gt_show_run {
	const struct gt_cmd_args *args;
	const struct gt_topo *topo;
	const struct gt_lint *lint;
	struct gt_arena *arena;
};

static void gt_show_tree_text(const struct gt_show_run *run, struct gt_buf *out)
{
	struct gt_show_style style = {.ascii = !gt_show_is_utf8(),
				      .colour = gt_show_has_colour(run->args),
				      .lint = run->lint};

	gt_show_tree(run->topo, &style, out);
}

/* Write the picture as it is, or have it drawn. */
static int gt_show_draw(const struct gt_show_opts *opts, struct gt_buf *dot,
			struct gt_buf *out, struct gt_err *err)
{
	if (dot->failed)
		return gt_err_nomem(err);
	if (!opts->dot)
		return gt_draw(dot->text, opts->svg ? "svg" : "png", out, err);
	gt_buf_add(out, dot->text, dot->len);
	return GT_OK;
}

static int gt_show_picture(const struct gt_show_run *run, struct gt_buf *out,
			   struct gt_err *err)
{
	const struct gt_show_opts *opts = run->args->opts;
	struct gt_dot_overlay overlay = {0};
	struct gt_dot_more more = {.lint = run->lint};
	struct gt_buf dot = GT_BUF_INIT;
	int rc = GT_OK;

	if (opts->plan) {
		rc = gt_show_plan_overlay(opts->plan, run->topo, run->arena,
					  &overlay, err);
		more.overlay = &overlay;
	}
	if (rc)
		return rc;
	gt_dot(run->topo, more, &dot);
	rc = gt_show_draw(opts, &dot, out, err);
	gt_buf_release(&dot);
	return rc;
}

static int gt_show_machine(const struct gt_show_run *run,
			   const struct gt_buf *text, struct gt_buf *out,
			   struct gt_err *err)
{
	const struct gt_show_opts *opts = run->args->opts;
	struct gt_lint lint;
	struct gt_show_run with = *run;
	int rc = gt_lint_text(gt_topo_source(run->topo), text->text, text->len,
			      run->arena, &lint, err);

	with.lint = &lint;
	if (rc)
		return rc;
	if (opts->json) {
		gt_print_topo_json(run->topo, (enum gt_rates)opts->rates, out);
		return GT_OK;
	}
	if (gt_show_is_picture(opts))
		return gt_show_picture(&with, out, err);
	gt_show_tree_text(&with, out);
	return GT_OK;
}

static int gt_show_usable(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_show_opts *opts = args->opts;

	if (opts->dot + opts->svg + opts->png + opts->json > 1)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "only one of --dot, --svg, --png and --json "
				  "at a time");
	if (opts->list ? args->noperands != 0 : !args->noperands)
		return gt_err_set(err, GT_EINPUT, NULL,
				  opts->list ? "--list takes no FILE"
					     : "FILE is missing; see 'gtopo "
					       "help show'");
	if (opts->plan && !gt_show_is_picture(opts))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--plan needs --dot, --svg or --png");
	if (opts->png && !args->out && isatty(STDOUT_FILENO))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--png would go to the terminal; give -o "
				  "FILE");
	return GT_OK;
}

/* Show the machine that was read from the text. */
static int gt_show_one(const struct gt_cmd_args *args,
		       const struct gt_topo *topo, const struct gt_buf *text,
		       struct gt_err *err)
{
	struct gt_show_run run = {
		.args = args, .topo = topo, .arena = gt_arena_new()};
	struct gt_buf out = GT_BUF_INIT;
	int rc = run.arena ? gt_topo_check(topo, err) : gt_err_nomem(err);

	if (!rc)
		rc = gt_show_machine(&run, text, &out, err);
	gt_arena_free(run.arena);
	return gt_cmd_write(args, &out, rc, err);
}

/* Draw a plan into the machine that all nodes of a cluster are. */
static int gt_show_cluster_plan(const struct gt_cmd_args *args,
				const struct gt_cluster *cluster,
				struct gt_buf *out, struct gt_err *err)
{
	struct gt_show_run run = {.args = args, .topo = cluster->kinds[0].topo};
	int rc;

	if (cluster->nkinds > 1)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "has nodes of several kinds; --plan draws "
				  "into one, so name its file");
	run.arena = gt_arena_new();
	rc = run.arena ? gt_show_picture(&run, out, err) : gt_err_nomem(err);
	gt_arena_free(run.arena);
	return rc;
}

static int gt_show_cluster_picture(const struct gt_cmd_args *args,
				   const struct gt_cluster *cluster,
				   struct gt_buf *out, struct gt_err *err)
{
	const struct gt_show_opts *opts = args->opts;
	struct gt_buf dot = GT_BUF_INIT;
	int rc;

	if (opts->plan)
		return gt_show_cluster_plan(args, cluster, out, err);
	gt_dot_cluster(cluster, &dot);
	rc = gt_show_draw(opts, &dot, out, err);
	gt_buf_release(&dot);
	return rc;
}

static int gt_show_several(const struct gt_cmd_args *args,
			   const struct gt_cluster *cluster, struct gt_err *err)
{
	const struct gt_show_opts *opts = args->opts;
	struct gt_show_style style = {.ascii = !gt_show_is_utf8(),
				      .colour = gt_show_has_colour(args)};
	struct gt_buf text = GT_BUF_INIT;
	int rc = GT_OK;

	if (opts->json)
		rc = gt_err_set(err, GT_EINPUT, cluster->source,
				"is a cluster; --json shows one server, so "
				"name a node's file");
	else if (gt_show_is_picture(opts))
		rc = gt_show_cluster_picture(args, cluster, &text, err);
	else
		gt_show_cluster(cluster, &style, &text);
	return gt_cmd_write(args, &text, rc, err);
}

/* Show what the text is: a cluster or a machine. */
static int gt_show_text(const struct gt_cmd_args *args,
			const struct gt_buf *text, struct gt_err *err)
{
	const struct gt_show_opts *opts = args->opts;
	const char *path = args->operands[0];
	const char *name = strcmp(path, "-") ? path : "standard input";
	enum gt_rates rates = (enum gt_rates)opts->rates;
	struct gt_cluster *cluster = NULL;
	struct gt_topo *topo = NULL;
	struct gt_xml *xml;
	int rc = gt_xml_parse(name, text->text, text->len, &xml, err);

	if (rc)
		return rc;
	if (gt_xml_is(gt_xml_root(xml), "cluster"))
		rc = gt_cluster_from_xml(xml, rates, &cluster, err);
	else
		rc = gt_topo_parse(name, text->text, text->len, rates, &topo,
				   err);
	gt_xml_free(xml);
	if (!rc)
		rc = gt_cluster_part_gpus(cluster, topo, opts->p2p, err);
	if (!rc && cluster)
		rc = gt_show_several(args, cluster, err);
	else if (!rc)
		rc = gt_show_one(args, topo, text, err);
	gt_cluster_free(cluster);
	gt_topo_free(topo);
	return rc;
}

/* Write the names of all reference machines, a line each. */
static int list_machines(const struct gt_cmd_args *args, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	const char **names = arena ? gt_reference_names(arena) : NULL;
	struct gt_buf out = GT_BUF_INIT;
	int rc = names ? GT_OK : gt_err_nomem(err);

	for (uint32_t i = 0; !rc && names[i]; i++)
		gt_buf_printf(&out, "%s\n", names[i]);
	gt_arena_free(arena);
	return gt_cmd_write(args, &out, rc, err);
}

static int cmd_show(const struct gt_cmd_args *args, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	const struct gt_show_opts *opts = args->opts;
	int rc = gt_show_usable(args, err);

	if (!rc && opts->list)
		return list_machines(args, err);
	if (!rc)
		rc = gt_file_read(args->operands[0], GT_SHOW_MAX_BYTES, &text,
				  err);
	if (!rc)
		rc = gt_show_text(args, &text, err);
	gt_buf_release(&text);
	return rc;
}

const struct gt_cmd gt_cmd_show = {
	.name = "show",
	.summary = "show a machine as a tree or a picture",
	.operands = "[FILE]",
	.takes_machines = 1,
	.operands_max = 1,
	.opts = gt_show_opts,
	.defaults = &gt_show_defaults,
	.opts_bytes = sizeof(struct gt_show_opts),
	.run = cmd_show,
};
