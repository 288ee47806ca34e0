/*
 * Shows one machine as a tree: NUMA nodes with the switches, GPUs and cards
 * below them, one line each, with notes on what looks wrong.
 */
#include "topo/view/show.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "topo/probe/pci_ids.h"
#include "topo/view/peer_access.h"
#include "topo/view/show_line.h"
#include "topo/view/show_lint.h"
#include "topo/view/show_text.h"

/* Fills in the link above a function and what is to be said of it. */
static void gt_show_above(const struct gt_show *show, uint32_t index,
			  struct gt_show_line *line)
{
	const struct gt_node *node = gt_topo_node(show->topo, index);
	const struct gt_link *link = gt_show_uplink(show->topo, index);

	if (node->pci)
		gt_show_rate(node->pci->link, line->rate, sizeof(line->rate));
	if (link)
		gt_show_gbs(link->gbs, line->gbs, sizeof(line->gbs));
	gt_show_notes(show, node, line);
}

/*
 * Lists the links of a kind straight to other GPUs or to CPUs; 0 when there are
 * none.
 */
static int gt_show_straight(const struct gt_show *show, uint32_t index,
			    enum gt_link_kind kind, struct gt_show_line *line)
{
	const struct gt_topo *topo = show->topo;
	const struct gt_node *to;
	char label[64], lanes[64];

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);

		to = gt_topo_node(topo, link->to);
		if (link->from != index || to->kind == GT_NODE_NVS ||
		    link->kind != kind)
			continue;
		gt_show_label(to, label, sizeof(label));
		gt_show_parallel_links(link, lanes, sizeof(lanes));
		gt_show_add(line, "%s %s", label, lanes);
	}
	if (!*line->text)
		return 0;
	strncat(line->text, " GB/s",
		sizeof(line->text) - strlen(line->text) - 1);
	return 1;
}

static void gt_show_mesh(struct gt_show *show, uint32_t index, int depth)
{
	const struct gt_node *node = gt_topo_node(show->topo, index);
	struct gt_show_line nvl = {.depth = depth}, c2c = nvl;
	int has_nvl = gt_show_straight(show, index, GT_LINK_NVL, &nvl);
	int has_c2c = gt_show_straight(show, index, GT_LINK_C2C, &c2c);

	snprintf(nvl.label, sizeof(nvl.label), "%s", gt_show_nvlink(node));
	snprintf(c2c.label, sizeof(c2c.label), "%s", "C2C");
	show->more[depth] = (char)has_c2c;
	if (has_nvl)
		gt_show_line(show, &nvl);
	show->more[depth] = 0;
	if (has_c2c)
		gt_show_line(show, &c2c);
}

static void gt_show_gpu(struct gt_show *show, uint32_t index, int depth)
{
	const struct gt_node *node = gt_topo_node(show->topo, index);
	struct gt_show_line line = {.depth = depth, .tint = GT_TINT_GREEN};
	char label[64], model[128];

	gt_show_label(node, label, sizeof(label));
	snprintf(line.label, sizeof(line.label), "%s %s", label, node->bus_id);
	gt_show_above(show, index, &line);
	gt_show_model(node, model, sizeof(model));
	if (*model)
		gt_show_add(&line, "%s", model);
	if (node->sm)
		gt_show_add(&line, "sm_%d", node->sm);
	if (node->rank >= 0)
		gt_show_add(&line, "rank %d", node->rank);
	if (node->facts)
		gt_show_add(&line, "%s", node->facts);
	if (node->assumed)
		gt_show_add(&line, "by its PCI class");
	gt_show_line(show, &line);
	gt_show_mesh(show, index, depth + 1);
}

static uint32_t gt_show_child(const struct gt_topo *topo, uint32_t up,
			      uint32_t from)
{
	while (from < gt_topo_nnodes(topo) &&
	       gt_topo_node(topo, from)->up != up)
		from++;
	return from;
}

static void gt_show_port(const struct gt_show *show, uint32_t index,
			 struct gt_show_line *line)
{
	const struct gt_node *node = gt_topo_node(show->topo, index);
	const struct gt_link *link = gt_show_uplink(show->topo, index);
	char label[64], gbs[32] = "";

	gt_show_label(node, label, sizeof(label));
	if (link)
		gt_show_gbs(link->gbs, gbs, sizeof(gbs));
	gt_show_add(line, "%s%s%s%s%s", label, node->name ? " " : "",
		    node->name ? node->name : "", *gbs ? " " : "", gbs);
	if (node->no_speed)
		gt_show_add(line, "speed unknown, counted as NCCL does");
	if (node->port > 1)
		gt_show_add(line, "port %d", node->port);
}

/* Shows a card and its ports in one line. */
static void gt_show_nic(struct gt_show *show, uint32_t index, int depth)
{
	const struct gt_topo *topo = show->topo;
	const struct gt_node *node = gt_topo_node(topo, index);
	struct gt_show_line line = {.depth = depth, .tint = GT_TINT_CYAN};
	char model[128];

	snprintf(line.label, sizeof(line.label), "NIC %s",
		 node->bus_id ? node->bus_id : "without PCI");
	gt_show_above(show, index, &line);
	gt_show_model(node, model, sizeof(model));
	if (*model)
		gt_show_add(&line, "%s", model);
	for (uint32_t i = gt_show_child(topo, index, 0);
	     i < gt_topo_nnodes(topo); i = gt_show_child(topo, index, i + 1))
		gt_show_port(show, i, &line);
	if (node->facts)
		gt_show_add(&line, "%s", node->facts);
	if (node->assumed)
		gt_show_add(&line, "by its PCI class");
	gt_show_line(show, &line);
}

/* Lists direct links of a switch to others of its maker. */
static void gt_show_peers(const struct gt_show *show, uint32_t index,
			  struct gt_show_line *line)
{
	for (uint32_t i = 0; i < gt_topo_nlinks(show->topo); i++) {
		const struct gt_link *link = gt_topo_link(show->topo, i);
		const struct gt_node *to = gt_topo_node(show->topo, link->to);

		if (link->from == index && link->kind == GT_LINK_LOC &&
		    to->kind == GT_NODE_PCI)
			gt_show_add(line, "joined to %s", to->bus_id);
	}
}

/*
 * Adds what the memory of a NUMA node carries, where the file says it: half of
 * it into memory, half out of it.
 */
static void gt_show_memory(const struct gt_show *show, uint32_t index,
			   struct gt_show_line *line)
{
	char gbs[32];

	for (uint32_t i = 0; i < gt_topo_nlinks(show->topo); i++) {
		const struct gt_link *link = gt_topo_link(show->topo, i);
		struct gt_rat both;

		if (link->from != index || link->kind != GT_LINK_MEM ||
		    !gt_rat_mul(link->gbs, GT_RAT(2, 1), &both))
			continue;
		gt_show_gbs(both, gbs, sizeof(gbs));
		if (*gbs)
			gt_show_add(line, "memory %s", gbs);
	}
}

/* Shows everything below a CPU or switch; the XML parser bounds the depth. */
static void gt_show_below(struct gt_show *show, uint32_t up, int depth);

static void gt_show_node(struct gt_show *show, uint32_t index, int depth)
{
	const struct gt_node *node = gt_topo_node(show->topo, index);
	struct gt_show_line line = {.depth = depth};
	char label[64], model[128];

	if (node->kind == GT_NODE_GPU) {
		gt_show_gpu(show, index, depth);
	} else if (node->kind == GT_NODE_NIC) {
		gt_show_nic(show, index, depth);
	} else {
		gt_show_label(node, label, sizeof(label));
		snprintf(line.label, sizeof(line.label), "%s%s%s", label,
			 node->bus_id ? " " : "",
			 node->bus_id ? node->bus_id : "");
		if (node->kind == GT_NODE_CPU)
			line.tint = GT_TINT_BOLD;
		gt_show_above(show, index, &line);
		gt_show_model(node, model, sizeof(model));
		if (*model)
			gt_show_add(&line, "%s", model);
		gt_show_peers(show, index, &line);
		gt_show_memory(show, index, &line);
		gt_show_line(show, &line);
		gt_show_below(show, index, depth + 1);
	}
}

static void gt_show_below(struct gt_show *show, uint32_t up, int depth)
{
	const struct gt_topo *topo = show->topo;
	uint32_t n = gt_topo_nnodes(topo), next;

	if (depth == GT_SHOW_DEPTH)
		return;
	for (uint32_t i = gt_show_child(topo, up, 0); i < n; i = next) {
		next = gt_show_child(topo, up, i + 1);
		show->more[depth] = next < n;
		gt_show_node(show, i, depth);
	}
}

/*
 * Shows all lines: each NUMA node and what hangs on it, then the links that no
 * branch holds.
 */
static void gt_show_lines(struct gt_show *show)
{
	const struct gt_topo *topo = show->topo;
	uint32_t n = gt_topo_nnodes(topo), left = 0;
	int across = gt_show_has_interconnect(topo);

	for (uint32_t i = 0; i < n; i++)
		left += gt_topo_node(topo, i)->kind == GT_NODE_CPU;
	for (uint32_t i = 0; i < n; i++) {
		if (gt_topo_node(topo, i)->kind != GT_NODE_CPU)
			continue;
		show->more[1] = --left || across;
		gt_show_node(show, i, 1);
	}
	gt_show_interconnect(show);
}

static void gt_show_title(const struct gt_show *show)
{
	const struct gt_topo *topo = show->topo;
	uint32_t cpus = 0, gpus = gt_topo_ngpus(topo);
	uint32_t nets = gt_topo_nnets(topo);

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		cpus += gt_topo_node(topo, i)->kind == GT_NODE_CPU;
	gt_show_puts(show, gt_topo_source(topo));
	gt_buf_printf(
		show->out,
		": %u GPU%s, %u network port%s, %u NUMA node%s; GB/s at line "
		"rate\n",
		gpus, gt_plural(gpus), nets, gt_plural(nets), cpus,
		gt_plural(cpus));
	if (!gt_topo_facts(topo))
		return;
	gt_show_puts(show, gt_topo_facts(topo));
	gt_buf_puts(show->out, "\n");
}

void gt_show_tree(const struct gt_topo *topo, const struct gt_show_style *style,
		  struct gt_buf *out)
{
	struct gt_show show = {.topo = topo,
			       .lint = style->lint,
			       .ascii = style->ascii,
			       .colour = style->colour,
			       .out = out,
			       .measuring = 1};

	gt_show_lines(&show);
	show.measuring = 0;
	gt_show_title(&show);
	gt_show_lines(&show);
	gt_print_peer_access(topo, out);
	for (uint32_t i = 0; i < gt_topo_nwarnings(topo); i++) {
		gt_show_tint(&show, GT_TINT_RED);
		gt_buf_puts(out, "! ");
		gt_show_tint(&show, GT_TINT_NONE);
		gt_show_puts(&show, gt_topo_warning(topo, i));
		gt_buf_puts(out, "\n");
	}
	gt_show_lint_rest(&show);
}
