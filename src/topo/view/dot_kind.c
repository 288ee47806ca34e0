/* Lays out and draws the nodes of a cluster, one for each kind. */
#include "topo/view/dot_kind.h"

#include <stdio.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/text.h"
#include "topo/view/drawing.h"
#include "topo/view/show_text.h"

enum {
	GT_KIND_COLUMN = 68,
	GT_KIND_BOX = 58,  /* the width of a device's box */
	GT_KIND_HIGH = 22, /* and its height */
	GT_KIND_TEXT = 132,
	GT_KIND_PAD = 10,
	GT_KIND_ROW = 44,     /* from row to row */
	GT_KIND_COLUMNS = 24, /* more make the frame a plain box */
	GT_KIND_PLAIN = 200,
};

/* Returns what a GPU or port hangs on: a switch or a CPU. */
static uint32_t hub_of(const struct gt_topo *topo, uint32_t device)
{
	const struct gt_node *node = gt_topo_node(topo, device);

	if (node->kind == GT_NODE_NET)
		node = gt_topo_node(topo, node->up);
	return node->up;
}

static void add_hub(struct gt_dot_kind *kind, uint32_t hub)
{
	for (uint32_t i = 0; i < kind->nhubs; i++)
		if (kind->hubs[i] == hub)
			return;
	if (hub != GT_NONE)
		kind->hubs[kind->nhubs++] = hub;
}

/*
 * Counts the GPUs, or the ports in use, of a hub; where `place` is not 0 they
 * get places from there on.
 */
static uint32_t count_below(struct gt_dot_kind *kind, uint32_t hub, int ports,
			    double place)
{
	const struct gt_topo *topo = kind->kind->topo;
	const struct gt_cluster_ports *nets = &kind->kind->ports[GT_FABRIC_NET];
	uint32_t all = ports ? nets->n : gt_topo_ngpus(topo), n = 0;

	for (uint32_t i = 0; i < all; i++) {
		uint32_t at =
			ports ? nets->list[i].device : gt_topo_gpu(topo, i);

		if (hub_of(topo, at) != hub)
			continue;
		if (place > 0)
			kind->boxes[at] = (struct gt_dot_rect){
				place + GT_KIND_COLUMN * (n + 0.5),
				(ports ? 0.5 : 2.5) * GT_KIND_ROW, GT_KIND_BOX,
				GT_KIND_HIGH};
		n++;
	}
	return n;
}

/* Places a hub's devices from `left` on; returns how many columns they take. */
static uint32_t place_hub(struct gt_dot_kind *kind, uint32_t hub, double left)
{
	uint32_t gpus = count_below(kind, hub, 0, 0);
	uint32_t nets = count_below(kind, hub, 1, 0);
	uint32_t most = gpus > nets ? gpus : nets;

	count_below(kind, hub, 0, left + (most - gpus) * GT_KIND_COLUMN / 2.0);
	count_below(kind, hub, 1, left + (most - nets) * GT_KIND_COLUMN / 2.0);
	kind->boxes[hub] = (struct gt_dot_rect){
		left + most * GT_KIND_COLUMN / 2.0, 1.5 * GT_KIND_ROW,
		most * (double)GT_KIND_COLUMN - GT_KIND_PAD, GT_KIND_HIGH};
	return most;
}

static void make_plain(struct gt_dot_kind *kind, double left)
{
	kind->is_plain = 1;
	kind->frame = (struct gt_dot_rect){left + GT_KIND_PLAIN / 2.0,
					   1.5 * GT_KIND_ROW, GT_KIND_PLAIN,
					   3.0 * GT_KIND_ROW};
}

int gt_dot_kind_place(struct gt_dot_kind *kind, double left,
		      struct gt_arena *arena)
{
	const struct gt_cluster_ports *nets = &kind->kind->ports[GT_FABRIC_NET];
	const struct gt_topo *topo = kind->kind->topo;
	uint32_t n = gt_topo_nnodes(topo), columns = 0;

	kind->hubs = gt_arena_array(arena, n, sizeof(*kind->hubs));
	kind->boxes = gt_arena_array(arena, n, sizeof(*kind->boxes));
	if (!kind->hubs || !kind->boxes)
		return 0;
	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++)
		add_hub(kind, hub_of(topo, gt_topo_gpu(topo, i)));
	for (uint32_t i = 0; i < nets->n; i++)
		add_hub(kind, hub_of(topo, nets->list[i].device));
	for (uint32_t i = 0; i < kind->nhubs; i++)
		columns += place_hub(kind, kind->hubs[i],
				     left + GT_KIND_TEXT +
					     columns * (double)GT_KIND_COLUMN);
	if (!columns || columns > GT_KIND_COLUMNS) {
		make_plain(kind, left);
		return 1;
	}
	kind->frame.w =
		GT_KIND_TEXT + columns * (double)GT_KIND_COLUMN + GT_KIND_PAD;
	kind->frame.h = 3 * GT_KIND_ROW;
	kind->frame.x = left + kind->frame.w / 2;
	kind->frame.y = kind->frame.h / 2;
	return 1;
}

/* Draws a device, and the short line to what it hangs on. */
static void draw_device(const struct gt_dot_kind *kind, uint32_t at,
			struct gt_buf *out)
{
	const struct gt_topo *topo = kind->kind->topo;
	const struct gt_dot_rect *box = &kind->boxes[at];
	const struct gt_node *node = gt_topo_node(topo, at);
	int is_hub = node->kind == GT_NODE_CPU || node->kind == GT_NODE_PCI;
	double half = GT_KIND_HIGH / 2.0, middle = 1.5 * GT_KIND_ROW;
	double side = box->y < middle ? -1 : 1;
	char text[64], name[GT_DOT_NAME];

	gt_show_label(node, text, sizeof(text));
	gt_dot_name(topo, at, name);
	gt_buf_printf(out, "k%u_%u [label=\"", kind->number, at);
	gt_dot_puts(out, text);
	gt_buf_puts(out, "\", tooltip=\"");
	gt_dot_puts(out, name);
	gt_buf_printf(out, "\", fontsize=10, fillcolor=\"%s\", ",
		      node->kind == GT_NODE_GPU   ? "#dafbe1"
		      : node->kind == GT_NODE_NET ? "#ddf4ff"
		      : node->kind == GT_NODE_CPU ? "#fff8c5"
						  : "#eaeef2");
	gt_dot_box(out, box);
	gt_buf_puts(out, "];\n");
	if (!is_hub)
		gt_buf_printf(out,
			      "k%u_%u -> k%u_%u [color=\"#57606a\", "
			      "pos=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f "
			      "%.1f,%.1f\"];\n",
			      kind->number, at, kind->number, hub_of(topo, at),
			      box->x, -(box->y - side * half), box->x,
			      -(box->y - side * half), box->x,
			      -(middle + side * half), box->x,
			      -(middle + side * half));
}

/* Draws two frames behind the first, if there are more nodes of the kind. */
static void draw_others(const struct gt_dot_kind *kind, struct gt_buf *out)
{
	struct gt_dot_rect box;

	for (int i = 2; i && kind->kind->nnodes > 1; i--) {
		box = kind->frame;
		box.x += 6 * i;
		box.y += 6 * i;
		gt_buf_printf(out,
			      "o%u_%d [label=\"\", fillcolor=\"#f6f8fa\", "
			      "color=\"#d0d7de\", ",
			      kind->number, i);
		gt_dot_box(out, &box);
		gt_buf_puts(out, "];\n");
	}
}

/* Returns whether NVSwitches join the GPUs of a node, but not several nodes. */
static int has_nvswitch(const struct gt_dot_kind *kind)
{
	const struct gt_topo *topo = kind->kind->topo;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		if (gt_topo_node(topo, i)->kind == GT_NODE_NVS)
			return !kind->has_nvlink_fabric;
	return 0;
}

static void draw_title(const struct gt_dot_kind *kind, struct gt_buf *out)
{
	const struct gt_cluster_kind *of = kind->kind;
	uint32_t gpus = gt_topo_ngpus(of->topo);
	uint32_t nets = of->ports[GT_FABRIC_NET].n;
	struct gt_dot_rect box = kind->frame;
	char text[256];

	if (!kind->is_plain) {
		box.x += (GT_KIND_TEXT - box.w) / 2;
		box.w = GT_KIND_TEXT;
	}
	snprintf(text, sizeof(text), "%u × %.100s\n%u GPU%s%s\n%u port%s",
		 of->nnodes, of->name, gpus, gt_plural(gpus),
		 has_nvswitch(kind) ? ", NVSwitch" : "", nets, gt_plural(nets));
	gt_buf_printf(out, "t%u [shape=plaintext, style=\"\", label=\"",
		      kind->number);
	gt_dot_puts(out, text);
	gt_buf_puts(out, "\", ");
	gt_dot_box(out, &box);
	gt_buf_puts(out, "];\n");
}

void gt_dot_kind_draw(const struct gt_dot_kind *kind, struct gt_buf *out)
{
	const struct gt_cluster_ports *nets = &kind->kind->ports[GT_FABRIC_NET];
	const struct gt_topo *topo = kind->kind->topo;

	draw_others(kind, out);
	gt_buf_printf(out, "k%u [label=\"\", fillcolor=\"white\", tooltip=\"",
		      kind->number);
	gt_dot_puts(out, kind->kind->name);
	gt_buf_puts(out, "\", ");
	gt_dot_box(out, &kind->frame);
	gt_buf_puts(out, "];\n");
	draw_title(kind, out);
	for (uint32_t i = 0; !kind->is_plain && i < kind->nhubs; i++)
		draw_device(kind, kind->hubs[i], out);
	for (uint32_t i = 0; !kind->is_plain && i < nets->n; i++)
		draw_device(kind, nets->list[i].device, out);
	for (uint32_t i = 0; !kind->is_plain && i < gt_topo_ngpus(topo); i++)
		draw_device(kind, gt_topo_gpu(topo, i), out);
}

struct gt_dot_rect gt_dot_kind_end(const struct gt_dot_kind *kind,
				   enum gt_fabric_kind over, uint32_t k)
{
	uint32_t device = kind->kind->ports[over].list[k].device;

	return kind->is_plain ? kind->frame : kind->boxes[device];
}

void gt_dot_kind_name(const struct gt_dot_kind *kind, enum gt_fabric_kind over,
		      uint32_t k, char name[32])
{
	uint32_t device = kind->kind->ports[over].list[k].device;

	if (kind->is_plain)
		snprintf(name, 32, "k%u", kind->number);
	else
		snprintf(name, 32, "k%u_%u", kind->number, device);
}
