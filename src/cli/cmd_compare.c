/* gtopo compare: which of two plans or reports is faster, size by size. */
#include "cli/common/command.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/common/opt.h"
#include "cli/compare/compare.h"
#include "cli/page/curve.h"

struct gt_compare_opts {
	int json, svg;
};

static const struct gt_opt gt_compare_opts[] = {
	{GT_OPT_FLAG, 0, "json", NULL, offsetof(struct gt_compare_opts, json),
	 "write JSON", 0, 0},
	{GT_OPT_FLAG, 0, "svg", NULL, offsetof(struct gt_compare_opts, svg),
	 "draw a picture: SVG", 0, 0},
	GT_OPT_END,
};

/* Returns what a pair's curve is about: "allreduce float, in place". */
static const char *name_curve(const struct gt_compare_pair *pair,
			      struct gt_arena *arena)
{
	const struct gt_compare_row *a = pair->sides[0], *b = pair->sides[1];
	const char *dtype = a->dtype ? a->dtype : b->dtype;

	return gt_arena_printf(arena, "%s%s%s%s", a->coll, dtype ? " " : "",
			       dtype ? dtype : "",
			       a->inplace ? ", in place" : "");
}

/* Draws both sides' rows, as far as there is room for curves. */
static int draw(const struct gt_comparison *comparison, struct gt_arena *arena,
		struct gt_buf *out, struct gt_err *err)
{
	struct gt_curves *curves = gt_arena_array(arena, 1, sizeof(*curves));

	if (!curves)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < comparison->n; i++) {
		const struct gt_compare_pair *pair = &comparison->pairs[i];
		const char *name = name_curve(pair, arena);

		for (int side = 0; side < 2; side++) {
			const struct gt_compare_row *row = pair->sides[side];
			const char *what =
				gt_arena_printf(arena, "%c %s", 'A' + side,
						comparison->sides[side].file);

			if (!name || !what)
				return gt_err_nomem(err);
			gt_curves_put(
				curves, what, name,
				(struct gt_curve_point){(double)row->bytes,
							row->busbw_gbs});
		}
	}
	gt_curves_svg(curves, out);
	return GT_OK;
}

/* Times of GPUs and of CPUs tell machines apart, not plans. */
static void warn_devices(const struct gt_cmd_args *args,
			 const struct gt_comparison *comparison)
{
	const char *a = gt_compare_device(&comparison->sides[0]);
	const char *b = gt_compare_device(&comparison->sides[1]);

	if (a && b && strcmp(a, b))
		gt_cmd_warn(args,
			    "A's times are of %s, B's of %s: what differs is "
			    "the machine; 'gtopo run --device cuda' measures "
			    "GPUs",
			    a, b);
}

static int cmd_compare(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_compare_opts *opts = args->opts;
	const char *const files[2] = {args->operands[0], args->operands[1]};
	struct gt_arena *arena = gt_arena_new();
	struct gt_comparison comparison;
	struct gt_buf out = GT_BUF_INIT;
	int rc = arena ? gt_compare(files, arena, &comparison, err)
		       : gt_err_nomem(err);

	if (!rc && opts->json && opts->svg)
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--json and --svg: one at a time");
	if (!rc && comparison.sides[0].is_job && (opts->json || opts->svg))
		rc = gt_err_set(err, GT_EINPUT, NULL,
				"--json and --svg are for plans and runs; of "
				"jobs there is a table");
	if (!rc)
		warn_devices(args, &comparison);
	if (!rc && comparison.sides[0].is_job)
		gt_compare_job_text(&comparison, &out);
	else if (!rc && opts->svg)
		rc = draw(&comparison, arena, &out, err);
	else if (!rc && opts->json)
		gt_compare_json(&comparison, &out);
	else if (!rc)
		gt_compare_text(&comparison, &out);
	rc = gt_cmd_write(args, &out, rc, err);
	gt_arena_free(arena);
	return rc;
}

const struct gt_cmd gt_cmd_compare = {
	.name = "compare",
	.summary = "compare two plans or reports: which is faster, by size",
	.operands = "A B",
	.operands_min = 2,
	.operands_max = 2,
	.opts = gt_compare_opts,
	.opts_bytes = sizeof(struct gt_compare_opts),
	.run = cmd_compare,
};
