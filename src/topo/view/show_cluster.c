/*
 * Shows a cluster as a tree: its kinds of nodes, then the levels of switches of
 * each fabric from the top.
 */
#include "topo/view/show.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "topo/cluster/cluster.h"
#include "topo/cluster/name_list.h"
#include "topo/view/show_line.h"
#include "topo/view/show_text.h"

enum { GT_SHOW_NAMES = 32 };

/* Writes the ports in use, "NET0 NET3-6", as far as they fit. */
static void gt_show_nets(const struct gt_cluster_kind *kind, char *text,
			 size_t size)
{
	const struct gt_cluster_ports *ports = &kind->ports[GT_FABRIC_NET];
	size_t len = 0;

	*text = '\0';
	for (uint32_t i = 0, n; i < ports->n && len < size; i += n) {
		int dev = gt_topo_node(kind->topo, ports->list[i].device)->dev;

		for (n = 1; i + n < ports->n; n++)
			if (gt_topo_node(kind->topo, ports->list[i + n].device)
				    ->dev != dev + (int)n)
				break;
		len += (size_t)snprintf(text + len, size - len, "%sNET%d",
					i ? " " : "", dev);
		if (n > 1 && len < size)
			len += (size_t)snprintf(text + len, size - len, "-%d",
						dev + (int)n - 1);
	}
}

/* Writes the names of a kind's nodes as a list, "gpu[01-12,14]". */
static void gt_show_names(struct gt_show *show,
			  const struct gt_cluster *cluster, uint32_t kind,
			  struct gt_show_line *line)
{
	struct gt_cluster_run runs[GT_SHOW_NAMES];
	struct gt_buf text = GT_BUF_INIT;
	uint32_t n = 0, more = 0;

	for (uint32_t i = 0; i < cluster->nruns; i++) {
		if (cluster->runs[i].kind != kind)
			continue;
		if (n < GT_SHOW_NAMES)
			runs[n++] = cluster->runs[i];
		else
			more += cluster->runs[i].count;
	}
	gt_name_list_print(runs, n, &text);
	if (text.len)
		gt_show_add(line, "%s", text.text);
	if (more)
		gt_show_add(line, "%u more", more);
	show->out->failed |= text.failed;
	gt_buf_release(&text);
}

static void gt_show_kind(struct gt_show *show, const struct gt_cluster *cluster,
			 uint32_t i)
{
	const struct gt_cluster_kind *kind = &cluster->kinds[i];
	uint32_t gpus = gt_topo_ngpus(kind->topo);
	struct gt_show_line line = {.depth = 1, .tint = GT_TINT_GREEN};
	struct gt_rat sum = GT_RAT(0, 1);
	char nets[256];

	snprintf(line.label, sizeof(line.label),
		 show->ascii ? "%u x %.200s" : "%u × %.200s", kind->nnodes,
		 kind->name);
	gt_show_add(&line, "%u GPU%s", gpus, gt_plural(gpus));
	gt_show_nets(kind, nets, sizeof(nets));
	if (*nets && cluster->fabrics[GT_FABRIC_NET].nrails)
		gt_show_add(&line, "%s", nets);
	for (uint32_t k = 0; k < kind->ports[GT_FABRIC_NET].n; k++)
		gt_rat_add(sum, kind->ports[GT_FABRIC_NET].list[k].gbs, &sum);
	if (sum.num)
		gt_show_gbs(sum, line.gbs, sizeof(line.gbs));
	gt_show_names(show, cluster, i, &line);
	gt_show_line(show, &line);
}

/* Shows what a switch of a level takes in and what goes up from it. */
static void gt_show_level(struct gt_show *show,
			  const struct gt_cluster *cluster,
			  enum gt_fabric_kind over, uint32_t i, int depth)
{
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	const struct gt_cluster_level *level = &fabric->levels[i];
	struct gt_show_line line = {.depth = depth, .tint = GT_TINT_CYAN};
	char over_text[GT_RAT_TEXT_MAX], gbs[32];
	struct gt_rat rat;

	snprintf(line.label, sizeof(line.label), "%u switch%s",
		 level->nswitches, level->nswitches == 1 ? "" : "es");
	if (!gt_cluster_downlink(cluster, over, i, 0, &rat, NULL))
		snprintf(line.gbs, sizeof(line.gbs), "%.*f GB/s",
			 gt_rat_double(rat) < 1000, gt_rat_double(rat));
	if (level->nodes == cluster->nnodes)
		gt_show_add(&line, "all nodes");
	else
		gt_show_add(&line, "%u node%s each", level->nodes,
			    gt_plural(level->nodes));
	if (level->by_rail)
		gt_show_add(&line, "one rail each");
	if (i + 1 < fabric->nlevels &&
	    !gt_cluster_uplink(cluster, over, i, 0, &rat, NULL)) {
		snprintf(gbs, sizeof(gbs),
			 gt_rat_double(rat) < 0.1 ? "%.3g" : "%.1f",
			 gt_rat_double(rat));
		gt_show_add(&line, "%s GB/s up", gbs);
		if (gt_rat_cmp(level->oversubscription, GT_RAT(1, 1)))
			gt_show_add(&line, "oversubscribed %s",
				    gt_rat_print(level->oversubscription,
						 over_text));
	}
	gt_show_line(show, &line);
}

static void gt_show_fabric(struct gt_show *show,
			   const struct gt_cluster *cluster,
			   enum gt_fabric_kind over)
{
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	struct gt_show_line line = {.depth = 1, .tint = GT_TINT_BOLD};

	snprintf(line.label, sizeof(line.label), "%s",
		 over == GT_FABRIC_NET ? "network" : "NVLink");
	if (!fabric->nlevels)
		gt_show_add(&line, "%u switch%s, %u link%s", fabric->nswitches,
			    fabric->nswitches == 1 ? "" : "es", fabric->ncables,
			    gt_plural(fabric->ncables));
	else if (over == GT_FABRIC_NET && fabric->levels[0].by_rail)
		gt_show_add(&line, "%u rail%s", fabric->nrails,
			    gt_plural(fabric->nrails));
	gt_show_line(show, &line);
	for (uint32_t i = fabric->nlevels; i-- > 0;) {
		int depth = 1 + (int)(fabric->nlevels - i);

		/* Nobody would read the rest. */
		if (depth >= GT_SHOW_DEPTH)
			return;
		show->more[depth] = 0;
		gt_show_level(show, cluster, over, i, depth);
	}
}

static int gt_show_joins(const struct gt_cluster *cluster,
			 enum gt_fabric_kind over)
{
	return cluster->fabrics[over].nlevels || cluster->fabrics[over].ncables;
}

static void gt_show_parts(struct gt_show *show,
			  const struct gt_cluster *cluster)
{
	int net = gt_show_joins(cluster, GT_FABRIC_NET);
	int nvlink = gt_show_joins(cluster, GT_FABRIC_NVLINK);

	for (uint32_t i = 0; i < cluster->nkinds; i++) {
		show->more[1] = i + 1 < cluster->nkinds || net || nvlink;
		gt_show_kind(show, cluster, i);
	}
	show->more[1] = (char)nvlink;
	if (net)
		gt_show_fabric(show, cluster, GT_FABRIC_NET);
	show->more[1] = 0;
	if (nvlink)
		gt_show_fabric(show, cluster, GT_FABRIC_NVLINK);
}

void gt_show_cluster(const struct gt_cluster *cluster,
		     const struct gt_show_style *style, struct gt_buf *out)
{
	struct gt_show show = {.ascii = style->ascii,
			       .colour = style->colour,
			       .out = out,
			       .measuring = 1};
	uint64_t gpus = 0;

	for (uint32_t i = 0; i < cluster->nkinds; i++)
		gpus += (uint64_t)cluster->kinds[i].nnodes *
			gt_topo_ngpus(cluster->kinds[i].topo);
	gt_show_parts(&show, cluster);
	show.measuring = 0;
	gt_show_puts(&show, cluster->source);
	gt_buf_printf(out, ": %u node%s of %u kind%s, %llu GPU%s\n",
		      cluster->nnodes, gt_plural(cluster->nnodes),
		      cluster->nkinds, gt_plural(cluster->nkinds),
		      (unsigned long long)gpus, gt_plural(gpus));
	gt_show_parts(&show, cluster);
}
