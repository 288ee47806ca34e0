/*
 * Draws a machine: it lays everything out, then writes boxes within boxes, the
 * legend, the links and the overlay in Graphviz's language.
 */
#include "topo/view/dot.h"

#include "base/arena.h"
#include "base/buf.h"
#include "topo/view/drawing.h"
#include "topo/graph/inside.h"
#include "topo/view/show_text.h"

static void gt_dot_node(const struct gt_dot_drawing *drawing, uint32_t index)
{
	static const char *const fill[GT_NNODEKINDS] = {
		[GT_NODE_GPU] = "#dafbe1", [GT_NODE_PCI] = "#eaeef2",
		[GT_NODE_NVS] = "#aceebb", [GT_NODE_CPU] = "#fff8c5",
		[GT_NODE_NIC] = "#ddf4ff",
	};
	const struct gt_node *node = gt_topo_node(drawing->topo, index);
	char text[1024];

	gt_dot_text(drawing->topo, &drawing->layout, index, text, sizeof(text));
	gt_buf_printf(drawing->out, "n%u [label=\"", index);
	gt_dot_puts(drawing->out, text);
	gt_buf_printf(drawing->out, "\", fillcolor=\"%s\", ", fill[node->kind]);
	gt_dot_box(drawing->out, &drawing->layout.boxes[index]);
	gt_buf_puts(drawing->out, "];\n");
}

static void gt_dot_inside(const struct gt_dot_drawing *drawing, uint32_t index)
{
	const struct gt_topo *topo = drawing->topo;
	const struct gt_dot_rect *box = &drawing->layout.clusters[index];
	int cpu = gt_topo_node(topo, index)->kind == GT_NODE_CPU;

	gt_buf_printf(drawing->out,
		      "subgraph cluster_%u {\n"
		      "style=\"rounded,filled\"; color=\"%s\"; "
		      "fillcolor=\"%s\"; bb=\"%.1f,%.1f,%.1f,%.1f\";\n",
		      index, cpu ? "#afb8c1" : "#d0d7de",
		      cpu ? "#ffffff" : "#f6f8fa", gt_dot_rect_left(box),
		      -box->y - box->h / 2, gt_dot_rect_right(box),
		      -box->y + box->h / 2);
	gt_dot_node(drawing, index);
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		const struct gt_node *node = gt_topo_node(topo, i);

		if (node->up != index || drawing->layout.drawn_as[i] != i)
			continue;
		if (node->kind == GT_NODE_PCI)
			gt_dot_inside(drawing, i);
		else
			gt_dot_node(drawing, i);
	}
	gt_buf_puts(drawing->out, "}\n");
}

static void gt_dot_all(struct gt_dot_drawing *drawing)
{
	const struct gt_topo *topo = drawing->topo;

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		if (topo->nodes[i].kind == GT_NODE_CPU) {
			drawing->cpu = i;
			gt_dot_inside(drawing, i);
		} else if (topo->nodes[i].kind == GT_NODE_NVS) {
			gt_dot_node(drawing, i);
		}
	}
	gt_dot_legend(drawing, topo->source, NULL, 0);
	gt_dot_legend(drawing,
		      "Numbers at links are GB/s (1e9 bytes/s) one way, with "
		      "a ? where they are assumed.",
		      NULL, 0);
	gt_dot_links(drawing);
	gt_dot_draw_overlay(drawing);
}

void gt_dot(const struct gt_topo *topo, const struct gt_dot_overlay *overlay,
	    struct gt_buf *out)
{
	struct gt_dot_drawing drawing = {
		.topo = topo, .overlay = overlay, .out = out};
	struct gt_arena *arena = gt_arena_new();

	if (!arena || !gt_dot_layout_make(topo, arena, &drawing.layout)) {
		out->failed = 1;
		goto arena;
	}
	gt_buf_puts(out, "digraph topology {\n"
			 "layout=nop2; bgcolor=white;\n"
			 "node [shape=box, style=\"rounded,filled\", "
			 "fixedsize=true, fontsize=11, "
			 "fontname=\"Helvetica\", color=\"#8c959f\"];\n"
			 "edge [dir=none, fontsize=8, "
			 "fontname=\"Helvetica\"];\n");
	gt_dot_all(&drawing);
	gt_buf_puts(out, "}\n");
arena:
	gt_arena_free(arena);
}
