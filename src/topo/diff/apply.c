/*
 * Writes a server's tree of devices as topology XML again, with one finding
 * applied on the way: a device left out, added or put elsewhere, a property or
 * a number of NVLinks taken from the other server.
 */
#include "topo/diff/apply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/xml.h"
#include "topo/diff/diff.h"

struct gt_apply {
	const struct gt_diff *diff;
	const struct gt_diff_finding *finding; /* or NULL */
	struct gt_buf *out;
	/* whether the device that moved is being written at its new place */
	int placing;
};

/* This names a device, and says whether it is the other server's. */
struct gt_apply_at {
	int other;
	uint32_t dev;
};

static const struct gt_device_tree *gt_apply_server(const struct gt_apply *p,
						    struct gt_apply_at at)
{
	return at.other ? p->diff->b : p->diff->a;
}

static const struct gt_device *gt_apply_dev(const struct gt_apply *p,
					    struct gt_apply_at at)
{
	return gt_device_tree_device(gt_apply_server(p, at), at.dev);
}

/*
 * Returns whether the finding is of this kind and about this device of the
 * norm.
 */
static int gt_apply_hits(const struct gt_apply *p, struct gt_apply_at at,
			 enum gt_diff_kind kind)
{
	return p->finding && !at.other && p->finding->kind == kind &&
	       p->finding->dev_a == at.dev;
}

static void gt_apply_value(struct gt_apply *p, const char *attr,
			   const char *value)
{
	if (!value)
		return;
	gt_buf_printf(p->out, " %s=\"", attr);
	for (; *value; value++) {
		if (strchr("<&\"", *value))
			gt_buf_printf(p->out, "&#%d;", *value);
		else
			gt_buf_add(p->out, value, 1);
	}
	gt_buf_puts(p->out, "\"");
}

static void gt_apply_attrs(struct gt_apply *p, const struct gt_xml_elem *elem,
			   const char *const *attrs)
{
	for (; *attrs; attrs++)
		gt_apply_value(p, *attrs, gt_xml_attr(elem, *attrs));
}

/*
 * Writes an id; those of the other server's devices are changed, so that they
 * are not taken for ids of this one's.
 */
static void gt_apply_id(struct gt_apply *p, struct gt_apply_at at,
			const char *attr, const char *value)
{
	char text[300];

	if (!value)
		return;
	if (at.other && p->finding && !strcmp(attr, "busid"))
		snprintf(text, sizeof(text), "x%s", value);
	else if (at.other && p->finding)
		snprintf(text, sizeof(text), "%d", 100000 + atoi(value));
	else
		snprintf(text, sizeof(text), "%s", value);
	gt_apply_value(p, attr, text);
}

/* Returns where a link ends, as gt_device_end tells. */
static uint32_t gt_apply_to(const struct gt_apply *p, struct gt_apply_at at,
			    const struct gt_xml_elem *link)
{
	const struct gt_device *dev = gt_apply_dev(p, at);

	for (uint32_t i = 0; i < dev->nends; i++)
		if (dev->ends[i].elem == link)
			return dev->ends[i].to;
	return GT_UNMATCHED;
}

static const char *gt_apply_target(const struct gt_apply *p,
				   struct gt_apply_at at,
				   const struct gt_xml_elem *link,
				   char text[300])
{
	const char *target = gt_xml_attr(link, "target");
	uint32_t to = gt_apply_to(p, at, link);

	if (!target || !at.other || !p->finding || !to || to == at.dev ||
	    to == GT_UNMATCHED)
		return target;
	if (p->diff->back[to] != GT_UNMATCHED)
		return gt_xml_attr(
			gt_device_tree_device(p->diff->a, p->diff->back[to])
				->elem,
			"busid");
	snprintf(text, 300, "x%s", target);
	return text;
}

/*
 * When the finding is about the links from this device to `to`, gives the
 * number that they are to have and returns 1.
 */
static int gt_apply_count(const struct gt_apply *p, struct gt_apply_at at,
			  uint32_t to, int *count)
{
	const struct gt_diff_finding *f = p->finding;

	if (!f || at.other || f->kind != GT_DIFF_NVLINK)
		return 0;
	if (at.dev == f->dev_a && to == f->to_a)
		*count = gt_device_tree_nlinks(p->diff->b, f->dev_b, f->to_b);
	else if (to && at.dev == f->to_a && to == f->dev_a)
		*count = gt_device_tree_nlinks(p->diff->b, f->to_b, f->dev_b);
	else
		return 0;
	return 1;
}

static void gt_apply_link(struct gt_apply *p, struct gt_apply_at at,
			  const struct gt_xml_elem *elem)
{
	static const char *const attrs[] = {"tclass", "bw", "gt_line_mbs",
					    "gt_gbs", NULL};
	char target[300];

	gt_buf_printf(p->out, "<%s", gt_xml_name(elem));
	gt_apply_value(p, "target", gt_apply_target(p, at, elem, target));
	gt_apply_value(p, "count", gt_xml_attr(elem, "count"));
	gt_apply_attrs(p, elem, attrs);
	gt_buf_puts(p->out, "/>\n");
}

/* Returns the first element of links from a device to `to`, or NULL. */
static const struct gt_xml_elem *gt_apply_like(const struct gt_device *dev,
					       uint32_t to)
{
	for (uint32_t i = 0; i < dev->nlinks; i++)
		if (dev->links[i].to == to)
			return dev->links[i].elem;
	return NULL;
}

/*
 * Writes the links whose number the finding changes as one element, like the
 * one that is there, or that the other server has.
 */
static void gt_apply_relink(struct gt_apply *p, struct gt_apply_at at,
			    uint32_t to, int count)
{
	static const char *const attrs[] = {"tclass", "bw", "gt_line_mbs",
					    NULL};
	const struct gt_diff_finding *f = p->finding;
	const struct gt_xml_elem *like = gt_apply_like(gt_apply_dev(p, at), to);
	const struct gt_xml_elem *end = NULL; /* a GPU that they go to */
	int back = at.dev != f->dev_a;

	if (to && to != at.dev)
		end = gt_device_tree_device(p->diff->a, to)->elem;
	if (!like)
		like = gt_apply_like(
			gt_device_tree_device(p->diff->b,
					      back ? f->to_b : f->dev_b),
			back ? f->dev_b : f->to_b);
	if (!count || !like)
		return;
	gt_buf_printf(p->out, "<%s", gt_xml_name(like));
	gt_apply_value(p, "target",
		       gt_xml_attr(end ? end : like, end ? "busid" : "target"));
	gt_apply_attrs(p, like, attrs);
	gt_buf_printf(p->out, " count=\"%d\"/>\n", count);
}

static void gt_apply_gpu(struct gt_apply *p, struct gt_apply_at at,
			 const struct gt_xml_elem *gpu)
{
	static const char *const attrs[] = {"sm", "rank", "gcn", NULL};
	const struct gt_xml_elem *link;
	int count;

	gt_buf_puts(p->out, "<gpu");
	gt_apply_id(p, at, "dev", gt_xml_attr(gpu, "dev"));
	gt_apply_attrs(p, gpu, attrs);
	gt_buf_puts(p->out, ">\n");
	for (link = gt_xml_child(gpu); link; link = gt_xml_next(link)) {
		if (!gt_xml_is(link, "nvlink") && !gt_xml_is(link, "xgmi") &&
		    !gt_xml_is(link, "c2c"))
			continue;
		if (!gt_apply_count(p, at, gt_apply_to(p, at, link), &count))
			gt_apply_link(p, at, link);
	}
	for (uint32_t to = 0; to < gt_device_tree_ndevices(p->diff->a); to++)
		if (gt_apply_count(p, at, to, &count))
			gt_apply_relink(p, at, to, count);
	gt_buf_puts(p->out, "</gpu>\n");
}

/*
 * Writes a <pci>; a property that the finding changes is taken from the other
 * server.
 */
static void gt_apply_pci(struct gt_apply *p, struct gt_apply_at at)
{
	static const char *const ids[] = {"vendor", "device",
					  "subsystem_vendor",
					  "subsystem_device", NULL};
	static const char *const measured[] = {"gt_gbs", NULL};
	const struct gt_xml_elem *elem = gt_apply_dev(p, at)->elem;
	const struct gt_xml_elem *now = elem;
	enum gt_prop prop = GT_NPROPS;
	const char *width = gt_xml_attr(elem, "link_width");

	if (gt_apply_hits(p, at, GT_DIFF_CHANGED)) {
		const struct gt_device *dev =
			gt_device_tree_device(p->diff->b, p->finding->dev_b);

		prop = p->finding->prop;
		now = dev->elem;
		if (prop == GT_PROP_WIDTH || prop == GT_PROP_CUR_WIDTH)
			width = dev->props[prop];
	}
	gt_buf_puts(p->out, "<pci");
	gt_apply_id(p, at, "busid", gt_xml_attr(elem, "busid"));
	gt_apply_value(
		p, "class",
		gt_xml_attr(prop == GT_PROP_CLASS ? now : elem, "class"));
	gt_apply_attrs(
		p,
		prop == GT_PROP_MODEL || prop == GT_PROP_SUBSYSTEM ? now : elem,
		ids);
	gt_apply_value(
		p, "link_speed",
		gt_xml_attr(prop == GT_PROP_SPEED ? now : elem, "link_speed"));
	gt_apply_value(p, "link_width", width);
	if (prop == GT_NPROPS)
		gt_apply_attrs(p, elem, measured);
	gt_buf_puts(p->out, ">\n");
}

static void gt_apply_cpu(struct gt_apply *p, struct gt_apply_at at)
{
	static const char *const attrs[] = {"arch", "vendor", "familyid",
					    "modelid", NULL};
	const struct gt_xml_elem *elem = gt_apply_dev(p, at)->elem;
	const struct gt_xml_elem *now = elem;

	if (gt_apply_hits(p, at, GT_DIFF_CHANGED))
		now = gt_device_tree_device(p->diff->b, p->finding->dev_b)
			      ->elem;
	gt_buf_puts(p->out, "<cpu");
	gt_apply_id(p, at, "numaid", gt_xml_attr(elem, "numaid"));
	gt_apply_attrs(p, now, attrs);
	gt_buf_puts(p->out, ">\n");
}

static void gt_apply_port(struct gt_apply *p, struct gt_apply_at at)
{
	static const char *const speed[] = {"speed", NULL};
	static const char *const attrs[] = {"port", "guid", NULL};
	const struct gt_xml_elem *elem = gt_apply_dev(p, at)->elem;
	const struct gt_xml_elem *now = elem;

	if (gt_apply_hits(p, at, GT_DIFF_CHANGED))
		now = gt_device_tree_device(p->diff->b, p->finding->dev_b)
			      ->elem;
	gt_buf_puts(p->out, "<net");
	/* A port that is down has no number, and is left out. */
	if (gt_xml_attr(now, "dev"))
		gt_apply_id(p, at, "dev", gt_xml_attr(elem, "dev"));
	gt_apply_attrs(p, now, speed);
	gt_apply_attrs(p, elem, attrs);
	gt_buf_puts(p->out, "/>\n");
}

static void gt_apply_write(struct gt_apply *p, struct gt_apply_at at);

/*
 * Writes all ports below a device, or all that is no port; then the device that
 * the finding puts at this place.
 */
static void gt_apply_below(struct gt_apply *p, struct gt_apply_at at, int ports)
{
	const struct gt_device_tree *tree = gt_apply_server(p, at);
	const struct gt_diff_finding *f = p->finding;
	const struct gt_device *come;
	uint32_t i = gt_device_tree_device(tree, at.dev)->first;

	for (; i; i = gt_device_tree_device(tree, i)->next)
		if ((gt_device_tree_device(tree, i)->kind == GT_DEVICE_PORT) ==
		    ports)
			gt_apply_write(p, (struct gt_apply_at){at.other, i});
	if (!f || at.other ||
	    (f->kind != GT_DIFF_EXTRA && f->kind != GT_DIFF_MOVED))
		return;
	come = gt_device_tree_device(p->diff->b, f->dev_b);
	if (p->diff->back[come->parent] != at.dev ||
	    (come->kind == GT_DEVICE_PORT) != ports || p->placing)
		return;
	p->placing = 1;
	if (f->kind == GT_DIFF_MOVED)
		gt_apply_write(p, (struct gt_apply_at){0, f->dev_a});
	else
		gt_apply_write(p, (struct gt_apply_at){1, f->dev_b});
	p->placing = 0;
}

static void gt_apply_inside(struct gt_apply *p, struct gt_apply_at at)
{
	const struct gt_xml_elem *elem = gt_apply_dev(p, at)->elem;
	const struct gt_xml_elem *gpu = gt_xml_find(elem, "gpu");
	int nic = gt_xml_is(elem, "pci") && gt_xml_find(elem, "nic");

	if (gpu)
		gt_apply_gpu(p, at, gpu);
	gt_buf_puts(p->out, nic ? "<nic>\n" : "");
	gt_apply_below(p, at, 1);
	gt_buf_puts(p->out, nic ? "</nic>\n" : "");
	gt_apply_below(p, at, 0);
}

static void gt_apply_write(struct gt_apply *p, struct gt_apply_at at)
{
	const struct gt_xml_elem *elem = gt_apply_dev(p, at)->elem;

	if (gt_apply_hits(p, at, GT_DIFF_MISSING) ||
	    (gt_apply_hits(p, at, GT_DIFF_MOVED) && !p->placing))
		return;
	if (gt_xml_is(elem, "net")) {
		gt_apply_port(p, at);
		return;
	}
	if (gt_xml_is(elem, "pci"))
		gt_apply_pci(p, at);
	else if (gt_xml_is(elem, "cpu"))
		gt_apply_cpu(p, at);
	else if (gt_xml_is(elem, "nic"))
		gt_buf_puts(p->out, "<nic>\n");
	else
		gt_buf_printf(p->out, "<system version=\"%s\">\n",
			      gt_xml_attr(elem, "version")
				      ? gt_xml_attr(elem, "version")
				      : "1");
	gt_apply_inside(p, at);
	gt_buf_printf(p->out, "</%s>\n", gt_xml_name(elem));
}

void gt_diff_apply(const struct gt_diff *diff,
		   const struct gt_diff_finding *finding, struct gt_buf *out)
{
	struct gt_apply p = {.diff = diff, .finding = finding, .out = out};

	gt_apply_write(&p, (struct gt_apply_at){0, 0});
}

void gt_diff_print_other(const struct gt_diff *diff, struct gt_buf *out)
{
	struct gt_apply p = {.diff = diff, .out = out};

	gt_apply_write(&p, (struct gt_apply_at){1, 0});
}
