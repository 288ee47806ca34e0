/*
 * Draws a machine: it lays everything out, then writes boxes within boxes, the
 * legend, the links and the overlay in Graphviz's language.
 */
#include "topo/view/dot.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/text.h"
#include "topo/view/drawing.h"
#include "topo/graph/inside.h"
#include "topo/view/show_text.h"

static void gt_dot_node(const struct gt_dot_drawing *drawing, uint32_t index)
{
	static const char *const fill[GT_NNODEKINDS] = {
		[GT_NODE_GPU] = "#dafbe1", [GT_NODE_PCI] = "#eaeef2",
		[GT_NODE_NVS] = "#aceebb", [GT_NODE_CPU] = "#fff8c5",
		[GT_NODE_NIC] = "#ddf4ff", [GT_NODE_MEM] = "#fff8c5",
	};
	const struct gt_node *node = gt_topo_node(drawing->topo, index);
	char text[1024], problem[512] = "";

	gt_dot_text(drawing->topo, &drawing->layout, index, text, sizeof(text));
	gt_buf_printf(drawing->out, "n%u [label=\"", index);
	gt_dot_puts(drawing->out, text);
	gt_buf_printf(drawing->out, "\", fillcolor=\"%s\", ", fill[node->kind]);
	if (gt_dot_problem(drawing, index, problem, sizeof(problem)))
		gt_buf_puts(drawing->out,
			    "color=\"" GT_DOT_RED "\", penwidth=2.5, ");
	else
		snprintf(problem, sizeof(problem), "%s",
			 node->facts ? node->facts : "");
	gt_dot_tip(drawing, index, GT_NONE, problem);
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
		      "fillcolor=\"%s\"; bb=\"%.1f,%.1f,%.1f,%.1f\"; ",
		      index, cpu ? "#afb8c1" : "#d0d7de",
		      cpu ? "#ffffff" : "#f6f8fa", gt_dot_rect_left(box),
		      -box->y - box->h / 2, gt_dot_rect_right(box),
		      -box->y + box->h / 2);
	gt_buf_puts(drawing->out, "graph [");
	gt_dot_tip(drawing, index, GT_NONE, "all that hangs on it");
	gt_buf_puts(drawing->out, "];\n");
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

/* Writes what the picture shows: the file without its folders, and numbers. */
static void gt_dot_caption(struct gt_dot_drawing *drawing)
{
	const struct gt_topo *topo = drawing->topo;
	const char *folder = strrchr(topo->source, '/');
	char text[512];
	uint32_t cpus = 0;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		cpus += topo->nodes[i].kind == GT_NODE_CPU;
	snprintf(text, sizeof(text),
		 "%.255s: %u GPU%s, %u network port%s, %u NUMA node%s",
		 folder ? folder + 1 : topo->source, topo->ngpus,
		 gt_plural(topo->ngpus), topo->nnets, gt_plural(topo->nnets),
		 cpus, gt_plural(cpus));
	gt_dot_legend(drawing, text, NULL, 0);
	if (topo->facts)
		gt_dot_legend(drawing, topo->facts, NULL, 0);
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
	gt_dot_caption(drawing);
	gt_dot_list_problems(drawing);
	gt_dot_legend(drawing,
		      "Numbers at links are GB/s (1e9 bytes/s) one way, with "
		      "a ? where they are assumed.",
		      NULL, 0);
	gt_dot_links(drawing);
	gt_dot_draw_overlay(drawing);
}

void gt_dot(const struct gt_topo *topo, struct gt_dot_more more,
	    struct gt_buf *out)
{
	struct gt_dot_drawing drawing = {.topo = topo,
					 .lint = more.lint,
					 .overlay = more.overlay,
					 .out = out};
	struct gt_arena *arena = gt_arena_new();

	if (!arena || !gt_dot_layout_make(topo, arena, &drawing.layout)) {
		out->failed = 1;
		goto arena;
	}
	gt_dot_begin(out, "topology");
	gt_dot_all(&drawing);
	gt_buf_puts(out, "}\n");
arena:
	gt_arena_free(arena);
}
