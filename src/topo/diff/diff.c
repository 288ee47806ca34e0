/*
 * Makes findings of a match of two servers: what is missing, extra, moved or
 * changed, and which NVLinks differ, each fault told once.
 */
#include "topo/diff/diff.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"
#include "base/xml.h"
#include "topo/diff/match.h"

struct gt_differ {
	struct gt_diff *diff;
	struct gt_arena *arena;
	struct gt_err *err;
	int rc;
};

const char *gt_diff_name(const struct gt_diff_finding *finding)
{
	static const char *const names[] = {"missing", "extra", "moved",
					    "changed", "nvlink"};

	return finding->kind == GT_DIFF_CHANGED ? gt_prop_name(finding->prop)
						: names[finding->kind];
}

static void gt_differ_add(struct gt_differ *d, struct gt_diff_finding finding,
			  const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void gt_differ_add(struct gt_differ *d, struct gt_diff_finding finding,
			  const char *fmt, ...)
{
	struct gt_diff *diff = d->diff;
	const struct gt_device *dev =
		finding.dev_b == GT_UNMATCHED
			? gt_device_tree_device(diff->a, finding.dev_a)
			: gt_device_tree_device(diff->b, finding.dev_b);
	struct gt_diff_finding *grown;
	char where[512], text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_xml_where(dev->elem, NULL, where, sizeof(where));
	finding.where = gt_arena_strdup(d->arena, where);
	finding.text = gt_arena_printf(d->arena, "%s: %s", dev->name, text);
	grown = gt_vec_grow_in(d->arena, diff->findings, diff->nfindings,
			       &diff->size, sizeof(*grown));
	if (!finding.where || !finding.text || !grown) {
		d->rc = gt_err_nomem(d->err);
		diff->nfindings = diff->size = 0;
		return;
	}
	diff->findings = grown;
	diff->findings[diff->nfindings++] = finding;
}

/*
 * Returns the unit of a property as people say it: "16 GT/s", "8 lanes"; ""
 * where it has none.
 */
static const char *gt_differ_unit(const struct gt_device *dev,
				  enum gt_prop prop)
{
	if (prop == GT_PROP_WIDTH || prop == GT_PROP_CUR_WIDTH)
		return " lanes";
	if (prop == GT_PROP_SPEED && dev->kind == GT_DEVICE_PORT)
		return " Mb/s";
	return prop == GT_PROP_SPEED || prop == GT_PROP_CUR_SPEED ? " GT/s"
								  : "";
}

static const char *gt_differ_word(enum gt_prop prop)
{
	static const char *const words[] = {
		"model",
		"subsystem",
		"class",
		"link of",
		"link of",
		"link at present of",
		"link at present of",
		"driver",
		"driver version",
		"firmware",
		"state",
		"link layer",
		"redirection of peers by the port above (ACS):",
		"access to most peers:",
		"MIG mode",
		"visible to programs:",
		"IOMMU",
		"GPUDirect RDMA",
	};

	return words[prop];
}

/*
 * One fault is one finding: a property that differs only because another one
 * does is left out.
 */
static int gt_differ_follows(const struct gt_device *a,
			     const struct gt_device *b, enum gt_prop prop)
{
	static const enum gt_prop causes[GT_NPROPS] = {
		[GT_PROP_SUBSYSTEM] = GT_PROP_MODEL,
		[GT_PROP_CLASS] = GT_PROP_MODEL,
		[GT_PROP_WIDTH] = GT_PROP_WIDTH,
		[GT_PROP_SPEED] = GT_PROP_SPEED,
		[GT_PROP_CUR_WIDTH] = GT_PROP_WIDTH,
		[GT_PROP_CUR_SPEED] = GT_PROP_SPEED,
		[GT_PROP_DRIVER] = GT_PROP_MODEL,
		[GT_PROP_DRIVER_VERSION] = GT_PROP_DRIVER,
		[GT_PROP_FIRMWARE] = GT_PROP_MODEL,
		[GT_PROP_STATE] = GT_PROP_STATE,
		[GT_PROP_LAYER] = GT_PROP_LAYER,
		[GT_PROP_ACS] = GT_PROP_ACS,
		[GT_PROP_P2P] = GT_PROP_MIG,
		[GT_PROP_MIG] = GT_PROP_MIG,
		[GT_PROP_VISIBLE] = GT_PROP_VISIBLE,
		[GT_PROP_IOMMU] = GT_PROP_IOMMU,
		[GT_PROP_GDR] = GT_PROP_GDR,
	};
	enum gt_prop of = causes[prop];

	return of != prop && gt_prop_differs(a->props[of], b->props[of]);
}

/* What the whole server lacks is no fault of each of its devices. */
static int gt_differ_is_servers(const struct gt_differ *d, uint32_t dev,
				enum gt_prop prop)
{
	return dev && prop == GT_PROP_GDR &&
	       gt_prop_differs(
		       gt_device_tree_device(d->diff->a, 0)->props[prop],
		       gt_device_tree_device(d->diff->b, 0)->props[prop]);
}

static void gt_differ_props(struct gt_differ *d, uint32_t x, uint32_t y)
{
	const struct gt_device *a = gt_device_tree_device(d->diff->a, x);
	const struct gt_device *b = gt_device_tree_device(d->diff->b, y);
	struct gt_diff_finding finding = {
		.kind = GT_DIFF_CHANGED, .dev_a = x, .dev_b = y};

	for (int i = 0; i < GT_NPROPS && !d->rc; i++) {
		finding.prop = (enum gt_prop)i;
		if (gt_prop_differs(a->props[i], b->props[i]) &&
		    !gt_differ_follows(a, b, finding.prop) &&
		    !gt_differ_is_servers(d, x, finding.prop))
			gt_differ_add(d, finding, "%s %s%s instead of %s",
				      gt_differ_word(finding.prop), b->props[i],
				      gt_differ_unit(b, finding.prop),
				      a->props[i]);
	}
}

/* Writes where a device is, "switch 0000:15:00.0 (CPU 0)". */
static const char *gt_differ_place(const struct gt_device_tree *tree,
				   uint32_t dev, char text[256])
{
	uint32_t cpu = dev;

	while (cpu && gt_device_tree_device(tree, cpu)->kind != GT_DEVICE_CPU)
		cpu = gt_device_tree_device(tree, cpu)->parent;
	if (!cpu || cpu == dev)
		snprintf(text, 256, "%s",
			 gt_device_tree_device(tree, dev)->name);
	else
		snprintf(text, 256, "%s (%s)",
			 gt_device_tree_device(tree, dev)->name,
			 gt_device_tree_device(tree, cpu)->name);
	return text;
}

static void gt_differ_moved(struct gt_differ *d, uint32_t x, uint32_t y)
{
	const struct gt_diff *diff = d->diff;
	uint32_t from = gt_device_tree_device(diff->a, x)->parent;
	uint32_t to = gt_device_tree_device(diff->b, y)->parent;
	uint32_t kept = diff->image[from];
	struct gt_diff_finding finding = {
		.kind = GT_DIFF_MOVED, .dev_a = x, .dev_b = y};
	char now[256], then[256];

	if (!x || kept == to)
		return;
	if (kept == GT_UNMATCHED)
		gt_differ_add(d, finding, "is on %s, not on what was %s",
			      gt_differ_place(diff->b, to, now),
			      gt_differ_place(diff->a, from, then));
	else
		gt_differ_add(d, finding, "is on %s, not on %s",
			      gt_differ_place(diff->b, to, now),
			      gt_differ_place(diff->b, kept, then));
}

/*
 * Tells of a device that has no match.  What is below it is counted, but gets
 * no finding of its own.
 */
static void gt_differ_alone(struct gt_differ *d, int extra, uint32_t dev)
{
	const struct gt_diff *diff = d->diff;
	const struct gt_device_tree *tree = extra ? diff->b : diff->a;
	const uint32_t *match = extra ? diff->back : diff->image;
	struct gt_diff_finding finding = {.kind = extra ? GT_DIFF_EXTRA
							: GT_DIFF_MISSING,
					  .dev_a = extra ? GT_UNMATCHED : dev,
					  .dev_b = extra ? dev : GT_UNMATCHED};
	uint32_t up = gt_device_tree_device(tree, dev)->parent;
	uint32_t below = 0, end = dev + gt_device_tree_device(tree, dev)->ndevs;
	char place[256];

	if (match[dev] != GT_UNMATCHED || match[up] == GT_UNMATCHED)
		return;
	for (uint32_t i = dev + 1; i < end; i++)
		below += match[i] == GT_UNMATCHED;
	gt_differ_place(tree, up, place);
	if (below)
		gt_differ_add(d, finding, "is %s, with %u below it, on %s",
			      extra ? "extra" : "missing", below, place);
	else
		gt_differ_add(d, finding, "is %s on %s",
			      extra ? "extra" : "missing", place);
}

static void gt_differ_count(struct gt_differ *d,
			    const struct gt_diff_finding *finding)
{
	const struct gt_diff *diff = d->diff;
	int was = gt_device_tree_nlinks(diff->a, finding->dev_a, finding->to_a);
	int is = gt_device_tree_nlinks(diff->b, finding->dev_b, finding->to_b);
	int up = finding->to_b == finding->dev_b;
	const char *to = "switches";

	if (was == is)
		return;
	if (up)
		to = "its CPU";
	else if (finding->to_b)
		to = gt_device_tree_device(diff->b, finding->to_b)->name;
	gt_differ_add(d, *finding, "%d %s%s to %s instead of %d", is,
		      up ? "chip-to-chip link" : "NVLink",
		      gt_plural((uint64_t)is), to, was);
}

/*
 * Compares the links of a GPU and its match.  Each pair is told once, unless
 * its two ends disagree.
 */
static void gt_differ_links(struct gt_differ *d, uint32_t x, uint32_t y)
{
	const struct gt_diff *diff = d->diff;
	struct gt_diff_finding finding = {
		.kind = GT_DIFF_NVLINK, .dev_a = x, .dev_b = y};

	gt_differ_count(d, &finding);
	for (uint32_t i = 1; i < gt_device_tree_ndevices(diff->a) && !d->rc;
	     i++) {
		uint32_t j = diff->image[i];

		if (gt_device_tree_device(diff->a, i)->kind != GT_DEVICE_GPU ||
		    j == GT_UNMATCHED)
			continue;
		if (i < x &&
		    gt_device_tree_nlinks(diff->a, i, x) ==
			    gt_device_tree_nlinks(diff->a, x, i) &&
		    gt_device_tree_nlinks(diff->b, j, y) ==
			    gt_device_tree_nlinks(diff->b, y, j))
			continue;
		finding.to_a = i;
		finding.to_b = j;
		gt_differ_count(d, &finding);
	}
}

static void gt_differ_run(struct gt_differ *d)
{
	const struct gt_diff *diff = d->diff;

	gt_differ_props(d, 0, 0);
	for (uint32_t x = 1; x < gt_device_tree_ndevices(diff->a) && !d->rc;
	     x++) {
		uint32_t y = diff->image[x];

		gt_differ_alone(d, 0, x);
		if (y == GT_UNMATCHED)
			continue;
		gt_differ_moved(d, x, y);
		gt_differ_props(d, x, y);
		if (gt_device_tree_device(diff->a, x)->kind == GT_DEVICE_GPU)
			gt_differ_links(d, x, y);
	}
	for (uint32_t y = 1; y < gt_device_tree_ndevices(diff->b) && !d->rc;
	     y++)
		gt_differ_alone(d, 1, y);
}

int gt_diff_find(const struct gt_device_tree *a, const struct gt_device_tree *b,
		 struct gt_arena *arena, struct gt_diff *diff,
		 struct gt_err *err)
{
	struct gt_differ d = {.diff = diff, .arena = arena, .err = err};
	struct gt_match match;
	int rc;

	memset(diff, 0, sizeof(*diff));
	match.image = gt_arena_array(arena, gt_device_tree_ndevices(a),
				     sizeof(*match.image));
	match.back = gt_arena_array(arena, gt_device_tree_ndevices(b),
				    sizeof(*match.back));
	if (!match.image || !match.back)
		return gt_err_nomem(err);
	rc = gt_match_find(a, b, &match, err);
	if (rc)
		return rc;
	diff->a = a;
	diff->b = b;
	diff->image = match.image;
	diff->back = match.back;
	gt_differ_run(&d);
	return d.rc;
}
