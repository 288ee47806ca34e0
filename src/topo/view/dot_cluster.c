/*
 * Draws a cluster: a node of each kind with its devices, above them the levels
 * of the network, below them those of NVLink.  A level with a switch a rail has
 * one box above each port, the others are one box.
 */
#include "topo/view/dot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/text.h"
#include "topo/cluster/cluster.h"
#include "topo/view/dot_kind.h"
#include "topo/view/drawing.h"

enum {
	GT_DOT_HIGH = 34,
	GT_DOT_STEP = 84,
	GT_DOT_RAIL = 58,
	GT_DOT_BETWEEN = 40, /* between two kinds of nodes */
	GT_DOT_RAILS = 24,   /* more rails than that are drawn as one */
};

/*
 * The picture being written: kinds of nodes are in a row; above it is the
 * network, below it NVLink.
 */
struct gt_dot_cluster {
	const struct gt_cluster *cluster;
	struct gt_dot_kind *kinds;
	double right, bottom; /* of all kinds */
	enum gt_fabric_kind over;
	struct gt_buf *out;
};

/* Returns whether a level is drawn as a box for each rail. */
static int is_by_rail(const struct gt_dot_cluster *d, uint32_t level)
{
	const struct gt_cluster_fabric *fabric = &d->cluster->fabrics[d->over];

	return fabric->nlevels && fabric->levels[level].by_rail &&
	       fabric->nrails <= GT_DOT_RAILS;
}

static double level_y(const struct gt_dot_cluster *d, uint32_t level)
{
	return d->over == GT_FABRIC_NET
		       ? -60.0 - GT_DOT_STEP * (double)level
		       : d->bottom + 64 + GT_DOT_STEP * (double)level;
}

/* As many digits as there is room for: 900, 25.0, 0.0125. */
static void write_gbs(struct gt_rat gbs, char text[32])
{
	double value = gt_rat_double(gbs);

	if (value < 1)
		snprintf(text, 32, "%.3g", value);
	else
		snprintf(text, 32, "%.*f", value < 1000, value);
}

/* Draws a line from (x, y) to (to, end), with its GB/s beside it. */
static void draw_line(const struct gt_dot_cluster *d, const char *names[2],
		      const double ends[4], struct gt_rat gbs)
{
	double width = sqrt(gt_rat_double(gbs)) / 8;
	double x = ends[0], y = ends[1], to = ends[2], end = ends[3];
	char rate[32];

	write_gbs(gbs, rate);
	gt_buf_printf(d->out,
		      "%s -> %s [penwidth=%.2f, color=\"%s\", "
		      "tooltip=\"%s GB/s each way\", label=\"%s\", "
		      "lp=\"%.1f,%.1f\", "
		      "pos=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\"];\n",
		      names[0], names[1],
		      width < 0.8 ? 0.8
		      : width > 8 ? 8
				  : width,
		      d->over == GT_FABRIC_NET ? "#0969da" : "#4c9a2a", rate,
		      rate, (x + 2 * to) / 3 + 18, -(y + 2 * end) / 3, x, -y,
		      (2 * x + to) / 3, -(2 * y + end) / 3, (x + 2 * to) / 3,
		      -(y + 2 * end) / 3, to, -end);
}

/*
 * Writes the name of a level's switch: the one box that it is drawn as, or the
 * one above the k-th port of a kind of nodes.
 */
static void switch_name(const struct gt_dot_cluster *d, uint32_t level,
			const struct gt_dot_kind *kind, uint32_t k,
			char name[48])
{
	if (is_by_rail(d, level))
		snprintf(name, 48, "b%d_%u_%u_%u", d->over, level, kind->number,
			 k);
	else
		snprintf(name, 48, "b%d_%u", d->over, level);
}

static void draw_box(const struct gt_dot_cluster *d, const char *name,
		     const struct gt_dot_rect *box, const char *text)
{
	gt_buf_printf(d->out, "%s [label=\"", name);
	gt_dot_puts(d->out, text);
	gt_buf_printf(d->out, "\", fillcolor=\"%s\", ",
		      d->over == GT_FABRIC_NET ? "#ddf4ff" : "#aceebb");
	gt_dot_box(d->out, box);
	gt_buf_puts(d->out, "];\n");
}

static void level_text(const struct gt_dot_cluster *d, uint32_t i, char *text,
		       size_t size)
{
	const struct gt_cluster *cluster = d->cluster;
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[d->over];
	const struct gt_cluster_level *level;
	char nodes[48] = "all nodes";
	const char *what =
		d->over == GT_FABRIC_NVLINK ? "NVLink domain" : "switch";

	if (!fabric->nlevels) {
		snprintf(text, size, "%u switch%s, %u links", fabric->nswitches,
			 fabric->nswitches == 1 ? "" : "es", fabric->ncables);
		return;
	}
	level = &fabric->levels[i];
	if (level->nodes < cluster->nnodes)
		snprintf(nodes, sizeof(nodes), "%u node%s each", level->nodes,
			 gt_plural(level->nodes));
	snprintf(text, size, "%u %s%s, %s%s", level->nswitches, what,
		 level->nswitches == 1         ? ""
		 : d->over == GT_FABRIC_NVLINK ? "s"
					       : "es",
		 nodes, level->by_rail ? ", one rail each" : "");
}

/* Returns how many lines a kind of nodes has to the fabric that is drawn. */
static uint32_t count_lines(const struct gt_dot_cluster *d,
			    const struct gt_dot_kind *kind)
{
	uint32_t n = kind->kind->ports[d->over].n;

	return n && kind->is_plain ? 1 : n;
}

/* Draws a switch of each rail above the ports of each kind. */
static void draw_rails(const struct gt_dot_cluster *d, uint32_t level)
{
	struct gt_dot_rect box;
	char name[48], text[32];

	for (uint32_t i = 0; i < d->cluster->nkinds; i++) {
		const struct gt_dot_kind *kind = &d->kinds[i];
		uint32_t n = count_lines(d, kind);

		for (uint32_t k = 0; k < n; k++) {
			box.x = gt_dot_kind_end(kind, d->over, k).x;
			box.y = level_y(d, level);
			box.w = GT_DOT_RAIL;
			box.h = GT_DOT_HIGH;
			snprintf(text, sizeof(text), "rail %u",
				 kind->kind->ports[d->over].list[k].rail);
			switch_name(d, level, kind, k, name);
			draw_box(d, name, &box,
				 kind->is_plain ? "all rails" : text);
		}
	}
}

/* Draws a level of switches: one box, or one for each rail and words. */
static void draw_level(const struct gt_dot_cluster *d, uint32_t level)
{
	struct gt_dot_rect box = {.x = d->right / 2,
				  .y = level_y(d, level),
				  .w = d->right,
				  .h = GT_DOT_HIGH};
	char text[160], name[48], *comma;

	level_text(d, level, text, sizeof(text));
	if (!is_by_rail(d, level)) {
		switch_name(d, level, NULL, 0, name);
		draw_box(d, name, &box, text);
		return;
	}
	draw_rails(d, level);
	for (comma = text; (comma = strstr(comma, ", "));)
		memcpy(comma, " \n", 2);
	box.x = 58;
	box.w = 116;
	gt_buf_printf(d->out, "v%d_%u [shape=plaintext, style=\"\", label=\"",
		      d->over, level);
	gt_dot_puts(d->out, text);
	gt_buf_puts(d->out, "\", ");
	gt_dot_box(d->out, &box);
	gt_buf_puts(d->out, "];\n");
}

/* Draws lines from the ports of a kind of nodes to the first level. */
static void draw_ports(const struct gt_dot_cluster *d,
		       const struct gt_dot_kind *kind)
{
	const struct gt_cluster_ports *ports = &kind->kind->ports[d->over];
	double turn = d->over == GT_FABRIC_NET ? -1 : 1;
	double end = level_y(d, 0) - turn * GT_DOT_HIGH / 2;
	struct gt_rat sum = GT_RAT(0, 1);
	uint32_t n = count_lines(d, kind);
	char from[32], to[48];

	for (uint32_t k = 0; k < ports->n; k++)
		gt_rat_add(sum, ports->list[k].gbs, &sum);
	for (uint32_t k = 0; k < n; k++) {
		struct gt_dot_rect box = gt_dot_kind_end(kind, d->over, k);

		gt_dot_kind_name(kind, d->over, k, from);
		switch_name(d, 0, kind, k, to);
		draw_line(
			d, (const char *[]){from, to},
			(double[]){box.x, box.y + turn * box.h / 2, box.x, end},
			kind->is_plain ? sum : ports->list[k].gbs);
	}
}

/* Draws a straight line from a level's switch to the one behind it. */
static void draw_uplink(const struct gt_dot_cluster *d, uint32_t level,
			const struct gt_dot_kind *kind, uint32_t k)
{
	double turn = d->over == GT_FABRIC_NET ? -1 : 1, x = d->right / 2;
	uint32_t which = 0, node = 0;
	char from[48], to[48];
	struct gt_rat gbs;

	for (uint32_t i = d->cluster->nruns; kind && i-- > 0;)
		if (&d->cluster->kinds[d->cluster->runs[i].kind] == kind->kind)
			node = d->cluster->runs[i].first;
	if (kind) {
		x = gt_dot_kind_end(kind, d->over, k).x;
		which = gt_cluster_switch(
			d->cluster, d->over, level, node,
			kind->kind->ports[d->over].list[k].rail);
	}
	if (gt_cluster_uplink(d->cluster, d->over, level, which, &gbs, NULL))
		return;
	switch_name(d, level, kind, k, from);
	switch_name(d, level + 1, kind, k, to);
	draw_line(d, (const char *[]){from, to},
		  (double[]){x, level_y(d, level) + turn * GT_DOT_HIGH / 2, x,
			     level_y(d, level + 1) - turn * GT_DOT_HIGH / 2},
		  gbs);
}

/* Draws lines from a level to the one behind it. */
static void draw_uplinks(const struct gt_dot_cluster *d, uint32_t level)
{
	if (!is_by_rail(d, level) && !is_by_rail(d, level + 1)) {
		draw_uplink(d, level, NULL, 0);
		return;
	}
	for (uint32_t i = 0; i < d->cluster->nkinds; i++) {
		uint32_t n = count_lines(d, &d->kinds[i]);

		for (uint32_t k = 0; k < n; k++)
			draw_uplink(d, level, &d->kinds[i], k);
	}
}

static void draw_fabric(struct gt_dot_cluster *d, enum gt_fabric_kind over)
{
	const struct gt_cluster_fabric *fabric = &d->cluster->fabrics[over];
	uint32_t n = fabric->nlevels ? fabric->nlevels : fabric->ncables > 0;

	d->over = over;
	for (uint32_t i = 0; i < n; i++) {
		draw_level(d, i);
		for (uint32_t k = 0; !i && k < d->cluster->nkinds; k++)
			draw_ports(d, &d->kinds[k]);
		if (i)
			draw_uplinks(d, i - 1);
	}
}

static int place_kinds(struct gt_dot_cluster *d, struct gt_arena *arena)
{
	const struct gt_cluster_fabric *nvlink =
		&d->cluster->fabrics[GT_FABRIC_NVLINK];
	double left = 0;

	d->kinds = gt_arena_array(arena, d->cluster->nkinds, sizeof(*d->kinds));
	if (!d->kinds)
		return 0;
	for (uint32_t i = 0; i < d->cluster->nkinds; i++) {
		d->kinds[i] = (struct gt_dot_kind){
			.kind = &d->cluster->kinds[i],
			.number = i,
			.has_nvlink_fabric =
				nvlink->nlevels || nvlink->ncables};
		if (!gt_dot_kind_place(&d->kinds[i], left, arena))
			return 0;
		d->right = gt_dot_rect_right(&d->kinds[i].frame);
		d->bottom = d->kinds[i].frame.h;
		left = d->right + GT_DOT_BETWEEN;
	}
	return 1;
}

/* Writes what the picture is of, below all. */
static void draw_legend(const struct gt_dot_cluster *d)
{
	const struct gt_cluster *cluster = d->cluster;
	const struct gt_cluster_fabric *nvlink =
		&cluster->fabrics[GT_FABRIC_NVLINK];
	const char *folder = strrchr(cluster->source, '/');
	struct gt_dot_rect box = {.x = d->right / 2, .w = 520, .h = 40};
	char text[512];

	box.y = d->bottom + 60 + GT_DOT_STEP * (double)nvlink->nlevels;
	snprintf(text, sizeof(text),
		 "%.255s: %u node%s of %u kind%s\nGB/s one way, of each port "
		 "and of each switch's uplink",
		 folder ? folder + 1 : cluster->source, cluster->nnodes,
		 gt_plural(cluster->nnodes), cluster->nkinds,
		 gt_plural(cluster->nkinds));
	gt_buf_puts(d->out, "legend [shape=plaintext, style=\"\", label=\"");
	gt_dot_puts(d->out, text);
	gt_buf_puts(d->out, "\", ");
	gt_dot_box(d->out, &box);
	gt_buf_puts(d->out, "];\n");
}

void gt_dot_cluster(const struct gt_cluster *cluster, struct gt_buf *out)
{
	struct gt_dot_cluster d = {.cluster = cluster, .out = out};
	struct gt_arena *arena = gt_arena_new();

	if (!arena || !place_kinds(&d, arena)) {
		out->failed = 1;
		goto arena;
	}
	gt_dot_begin(out, "cluster");
	for (uint32_t i = 0; i < cluster->nkinds; i++)
		gt_dot_kind_draw(&d.kinds[i], out);
	draw_fabric(&d, GT_FABRIC_NET);
	draw_fabric(&d, GT_FABRIC_NVLINK);
	draw_legend(&d);
	gt_buf_puts(out, "}\n");
arena:
	gt_arena_free(arena);
}
