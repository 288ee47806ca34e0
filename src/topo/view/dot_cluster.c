/*
 * Draws a cluster: a box for each kind of nodes, above them the levels of the
 * network, below them those of NVLink.
 */
#include "topo/view/dot.h"

#include <math.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/text.h"
#include "topo/cluster/cluster.h"
#include "topo/view/drawing.h"

enum { GT_DOT_WIDE = 190, GT_DOT_HIGH = 52, GT_DOT_STEP = 96 };

/*
 * The picture being written: kinds of nodes are in a row; above it is the
 * network, below it NVLink.
 */
struct gt_dot_cluster {
	const struct gt_cluster *cluster;
	struct gt_buf *out;
	unsigned nboxes;
};

static struct gt_dot_rect gt_dot_at(double x, double y)
{
	return (struct gt_dot_rect){
		.x = x, .y = y, .w = GT_DOT_WIDE, .h = GT_DOT_HIGH};
}

static void gt_dot_text_box(struct gt_dot_cluster *d,
			    const struct gt_dot_rect *box, const char *text,
			    const char *fill)
{
	gt_buf_printf(d->out, "b%u [label=\"", d->nboxes++);
	gt_dot_puts(d->out, text);
	gt_buf_printf(d->out, "\", fillcolor=\"%s\", ", fill);
	gt_dot_box(d->out, box);
	gt_buf_puts(d->out, "];\n");
}

/* Draws a straight line between the near edges of two boxes, with its GB/s. */
static void gt_dot_join(struct gt_dot_cluster *d,
			const struct gt_dot_rect ends[2],
			const unsigned boxes[2], struct gt_rat gbs)
{
	double turn = ends[0].y > ends[1].y ? -1 : 1;
	double x[2] = {ends[0].x, ends[1].x};
	double y[2] = {ends[0].y + turn * ends[0].h / 2,
		       ends[1].y - turn * ends[1].h / 2};
	double width = sqrt(gt_rat_double(gbs)) / 12;

	gt_buf_printf(d->out,
		      "b%u -> b%u [penwidth=%.2f, color=\"%s\", "
		      "label=\"%.1f\", lp=\"%.1f,%.1f\", "
		      "pos=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f %.1f,%.1f\"];\n",
		      boxes[0], boxes[1],
		      width < 0.8 ? 0.8
		      : width > 8 ? 8
				  : width,
		      turn < 0 ? "#0969da" : "#4c9a2a", gt_rat_double(gbs),
		      (x[0] + x[1]) / 2 + 22, -(y[0] + y[1]) / 2, x[0], -y[0],
		      (2 * x[0] + x[1]) / 3, -(2 * y[0] + y[1]) / 3,
		      (x[0] + 2 * x[1]) / 3, -(y[0] + 2 * y[1]) / 3, x[1],
		      -y[1]);
}

static struct gt_rat gt_dot_ports(const struct gt_cluster_ports *ports)
{
	struct gt_rat sum = GT_RAT(0, 1);

	for (uint32_t i = 0; i < ports->n; i++)
		gt_rat_add(sum, ports->list[i].gbs, &sum);
	return sum;
}

static double gt_dot_middle(const struct gt_cluster *cluster)
{
	return (cluster->nkinds - 1) * (GT_DOT_WIDE + 20) / 2.0;
}

static struct gt_dot_rect gt_dot_kind_box(uint32_t kind)
{
	return gt_dot_at(kind * (GT_DOT_WIDE + 20.0), 0);
}

static void gt_dot_level_text(const struct gt_cluster *cluster,
			      enum gt_fabric_kind over, uint32_t i, char *text,
			      size_t size)
{
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	const struct gt_cluster_level *level;
	char nodes[32] = "all nodes";

	if (!fabric->nlevels) {
		snprintf(text, size, "%u switch%s\n%u links", fabric->nswitches,
			 fabric->nswitches == 1 ? "" : "es", fabric->ncables);
		return;
	}
	level = &fabric->levels[i];
	if (level->nodes < cluster->nnodes)
		snprintf(nodes, sizeof(nodes), "%u node%s each", level->nodes,
			 gt_plural(level->nodes));
	snprintf(text, size, "%u %s\n%s%s", level->nswitches,
		 over == GT_FABRIC_NVLINK ? level->nswitches == 1
						    ? "NVLink domain"
						    : "NVLink domains"
		 : level->nswitches == 1  ? "switch"
					  : "switches",
		 nodes, level->by_rail ? ", one rail each" : "");
}

static void gt_dot_fabric(struct gt_dot_cluster *d, enum gt_fabric_kind over)
{
	const struct gt_cluster *cluster = d->cluster;
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	double step = over == GT_FABRIC_NET ? -GT_DOT_STEP : GT_DOT_STEP;
	uint32_t n = fabric->nlevels ? fabric->nlevels : fabric->ncables > 0;
	struct gt_dot_rect ends[2];
	struct gt_rat gbs;
	char text[256];

	for (uint32_t i = 0; i < n; i++) {
		ends[1] = gt_dot_at(gt_dot_middle(cluster), step * (i + 1));
		gt_dot_level_text(cluster, over, i, text, sizeof(text));
		gt_dot_text_box(d, &ends[1], text,
				over == GT_FABRIC_NET ? "#ddf4ff" : "#aceebb");
		for (uint32_t k = 0; !i && k < cluster->nkinds; k++) {
			gbs = gt_dot_ports(&cluster->kinds[k].ports[over]);
			ends[0] = gt_dot_kind_box(k);
			if (gbs.num)
				gt_dot_join(d, ends,
					    (unsigned[]){k, d->nboxes - 1},
					    gbs);
		}
		ends[0] = gt_dot_at(gt_dot_middle(cluster), step * i);
		if (i &&
		    !gt_cluster_uplink(cluster, over, i - 1, 0, &gbs, NULL))
			gt_dot_join(d, ends,
				    (unsigned[]){d->nboxes - 2, d->nboxes - 1},
				    gbs);
	}
}

void gt_dot_cluster(const struct gt_cluster *cluster, struct gt_buf *out)
{
	struct gt_dot_cluster d = {.cluster = cluster, .out = out};
	struct gt_dot_rect box;
	char text[512];

	gt_buf_puts(out, "digraph cluster {\n"
			 "layout=nop2; bgcolor=white;\n"
			 "node [shape=box, style=\"rounded,filled\", "
			 "fixedsize=true, fontsize=11, "
			 "fontname=\"Helvetica\", color=\"#8c959f\"];\n"
			 "edge [dir=none, fontsize=9, "
			 "fontname=\"Helvetica\"];\n");
	for (uint32_t i = 0; i < cluster->nkinds; i++) {
		const struct gt_cluster_kind *kind = &cluster->kinds[i];

		snprintf(text, sizeof(text), "%u × %.200s\n%u GPUs, %u ports",
			 kind->nnodes, kind->name, gt_topo_ngpus(kind->topo),
			 kind->ports[GT_FABRIC_NET].n);
		box = gt_dot_kind_box(i);
		gt_dot_text_box(&d, &box, text, "#dafbe1");
	}
	gt_dot_fabric(&d, GT_FABRIC_NET);
	gt_dot_fabric(&d, GT_FABRIC_NVLINK);
	box = gt_dot_at(gt_dot_middle(cluster),
			cluster->fabrics[GT_FABRIC_NVLINK].nlevels *
					GT_DOT_STEP +
				60.0);
	snprintf(text, sizeof(text),
		 "%.300s\nGB/s one way, of each node and each switch",
		 cluster->source);
	box.w = 2 * GT_DOT_WIDE;
	gt_buf_puts(out, "legend [shape=plaintext, style=\"\", label=\"");
	gt_dot_puts(out, text);
	gt_buf_puts(out, "\", ");
	gt_dot_box(out, &box);
	gt_buf_puts(out, "];\n}\n");
}
