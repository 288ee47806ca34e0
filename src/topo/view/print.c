/*
 * Prints matrices of routes between all devices, and above them the legend of
 * kinds of routes.
 */
#include "topo/view/print.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "topo/graph/path.h"

enum {
	GT_PRINT_COLUMNS = 8, /* columns of a matrix beside each other */
	GT_PRINT_CELL = 12,
	GT_PRINT_LABEL = 8,
};

/* The rows or columns of a matrix: GPUs, or ports. */
struct gt_side {
	uint32_t n;
	uint32_t (*node)(const struct gt_topo *topo, uint32_t i);
};

static const char *gt_print_label(const struct gt_node *node, char text[24])
{
	const char *again = strchr(node->id, '#');

	snprintf(text, 24, "%s%d%s", gt_node_kind_name(node->kind), node->dev,
		 again ? again : "");
	return text;
}

/*
 * Writes GB/s with four digits, which are enough to compare; the exact value is
 * in the JSON.
 */
static const char *gt_print_gbs(struct gt_rat gbs, char text[16])
{
	double value = gt_rat_double(gbs);

	snprintf(text, 16, value < 1000 ? "%.4g" : "%.0f", value);
	return text;
}

static int gt_print_is_amd(const struct gt_topo *topo)
{
	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++)
		if (gt_topo_node(topo, gt_topo_gpu(topo, i))->xgmi)
			return 1;
	return 0;
}

/* NVLink has the number of links side by side, as nvidia-smi topo does. */
static void gt_print_cell(const struct gt_topo *topo,
			  const struct gt_path *path, struct gt_buf *buf)
{
	char text[48], gbs[16];

	if (path->kind == GT_PATH_DIS)
		snprintf(text, sizeof(text), "-");
	else if (path->kind == GT_PATH_NVL)
		snprintf(text, sizeof(text), "%s%u %s",
			 gt_print_is_amd(topo) ? "XGMI" : "NV",
			 gt_topo_link(topo, path->links[0])->count,
			 gt_print_gbs(path->gbs, gbs));
	else
		snprintf(text, sizeof(text), "%s%u %s",
			 gt_path_kind_name(path->kind), path->nhops,
			 gt_print_gbs(path->gbs, gbs));
	gt_buf_printf(buf, "%-*s", GT_PRINT_CELL, text);
}

void gt_print_newline(struct gt_buf *buf)
{
	while (buf->len && buf->text && buf->text[buf->len - 1] == ' ')
		buf->text[--buf->len] = '\0';
	gt_buf_puts(buf, "\n");
}

static void gt_print_matrix(const struct gt_topo *topo,
			    const struct gt_paths *paths,
			    const struct gt_side sides[2], struct gt_buf *buf)
{
	const struct gt_side *rows = &sides[0], *columns = &sides[1];
	char label[24];
	uint32_t last, from, to;

	for (uint32_t first = 0; first < columns->n && rows->n; first = last) {
		last = first + GT_PRINT_COLUMNS;
		if (last > columns->n)
			last = columns->n;
		gt_buf_printf(buf, "\n%-*s", GT_PRINT_LABEL, "from\\to");
		for (uint32_t j = first; j < last; j++) {
			to = columns->node(topo, j);
			gt_print_label(gt_topo_node(topo, to), label);
			gt_buf_printf(buf, "%-*s", GT_PRINT_CELL, label);
		}
		gt_print_newline(buf);
		for (uint32_t i = 0; i < rows->n; i++) {
			from = rows->node(topo, i);
			gt_print_label(gt_topo_node(topo, from), label);
			gt_buf_printf(buf, "%-*s", GT_PRINT_LABEL, label);
			for (uint32_t j = first; j < last; j++) {
				to = columns->node(topo, j);
				if (from == to)
					gt_buf_printf(buf, "%-*s",
						      GT_PRINT_CELL, "X");
				else
					gt_print_cell(
						topo,
						gt_paths_get(paths, from, to),
						buf);
			}
			gt_print_newline(buf);
		}
	}
}

static void gt_print_device(const struct gt_topo *topo, uint32_t index,
			    struct gt_buf *buf)
{
	const struct gt_node *node = gt_topo_node(topo, index), *card = NULL;
	char label[24], gbs[16] = "";

	for (uint32_t i = 0; i < gt_topo_nlinks(topo) && !card; i++) {
		const struct gt_link *link = gt_topo_link(topo, i);

		if (link->from != index || link->kind != GT_LINK_NET)
			continue;
		card = gt_topo_node(topo, link->to);
		gt_print_gbs(link->gbs, gbs);
	}
	gt_buf_printf(buf, "%-*s%-14s", GT_PRINT_LABEL,
		      gt_print_label(node, label),
		      card           ? card->bus_id ? card->bus_id : "-"
		      : node->bus_id ? node->bus_id
				     : "-");
	if (node->name)
		gt_buf_printf(buf, " %s", node->name);
	if (node->sm)
		gt_buf_printf(buf, " sm_%d", node->sm);
	if (node->port)
		gt_buf_printf(buf, " port %d", node->port);
	if (card && !node->assumed)
		gt_buf_printf(buf, " %s GB/s", gbs);
	if (node->assumed)
		gt_buf_puts(buf, " assumed from its PCI class");
	gt_print_newline(buf);
}

static const char *const gt_print_says_amd[GT_NPATHKINDS] = {
	[GT_PATH_NVL] = "xGMI",
	[GT_PATH_NVB] = "xGMI through another GPU",
	[GT_PATH_PXN] = "xGMI to a GPU near the port, then PCI",
};

static const char *const gt_print_says[GT_NPATHKINDS] = {
	[GT_PATH_LOC] = "ports of one card",
	[GT_PATH_NVL] = "NVLink, direct or through NVSwitch",
	[GT_PATH_NVB] = "NVLink through another GPU",
	[GT_PATH_C2C] = "chip to chip",
	[GT_PATH_PIX] = "one PCI switch",
	[GT_PATH_PXB] = "several PCI switches, no CPU",
	[GT_PATH_P2C] = "chip to chip to the CPU, then PCI",
	[GT_PATH_PXN] = "NVLink to a GPU near the port, then PCI",
	[GT_PATH_PHB] = "through a CPU's host bridge",
	[GT_PATH_SYS] = "between CPUs",
	[GT_PATH_NET] = "over the network",
	[GT_PATH_DIS] = "not connected",
};

const char *gt_print_kind_meaning(const struct gt_topo *topo,
				  enum gt_path_kind kind)
{
	if (gt_print_says_amd[kind] && gt_print_is_amd(topo))
		return gt_print_says_amd[kind];
	return gt_print_says[kind];
}

/* The kinds of routes that occur in the matrices. */
struct gt_kinds {
	int seen[GT_NPATHKINDS];
	int charged;
	/* bit n: there are routes of n NVLinks side by side */
	uint64_t nvlinks;
};

static void gt_print_see(const struct gt_topo *topo, const struct gt_path *path,
			 struct gt_kinds *kinds)
{
	uint32_t count;

	kinds->seen[path->kind] = 1;
	kinds->charged |= path->charge.num != path->charge.den;
	if (path->kind != GT_PATH_NVL)
		return;
	count = gt_topo_link(topo, path->links[0])->count;
	if (count < 64)
		kinds->nvlinks |= UINT64_C(1) << count;
}

/* Writes what nvidia-smi topo -m has where we have this kind. */
static void gt_print_smi(const struct gt_topo *topo, enum gt_path_kind kind,
			 uint64_t nvlinks, struct gt_buf *buf)
{
	static const char *const names[GT_NPATHKINDS] = {
		[GT_PATH_PIX] = "PIX",
		[GT_PATH_PXB] = "PXB",
		[GT_PATH_PHB] = "PHB, NODE",
		[GT_PATH_SYS] = "SYS",
	};
	const char *separator = "";

	if (kind != GT_PATH_NVL) {
		gt_buf_puts(buf, names[kind] ? names[kind] : "");
		return;
	}
	if (gt_print_is_amd(topo)) {
		gt_buf_puts(buf, "XGMI");
		return;
	}
	for (int count = 1; count < 64; count++) {
		if (!(nvlinks >> count & 1))
			continue;
		gt_buf_printf(buf, "%sNV%d", separator, count);
		separator = ", ";
	}
}

/* The kind as the matrices have it. */
static const char *gt_print_word(const struct gt_topo *topo,
				 enum gt_path_kind kind)
{
	if (kind == GT_PATH_DIS)
		return "-";
	if (kind == GT_PATH_NVL)
		return gt_print_is_amd(topo) ? "XGMI" : "NV";
	return gt_path_kind_name(kind);
}

static void gt_print_legend(const struct gt_topo *topo,
			    const struct gt_paths *paths, struct gt_buf *buf)
{
	uint32_t n = gt_topo_ndevices(topo);
	struct gt_kinds kinds = {.nvlinks = 0};
	int amd = gt_print_is_amd(topo);

	if (n < 2)
		return;
	for (uint32_t i = 0; i < n * n; i++)
		if (i / n != i % n)
			gt_print_see(topo,
				     gt_paths_get(paths,
						  gt_topo_device(topo, i / n),
						  gt_topo_device(topo, i % n)),
				     &kinds);
	gt_buf_puts(buf, "\n");
	if (kinds.seen[GT_PATH_NVL])
		gt_buf_printf(buf,
			      "%s4 is 4 %ss side by side; after other kinds "
			      "stands the number of links.\n",
			      amd ? "XGMI" : "NV",
			      amd ? "xGMI link" : "NVLink");
	else
		gt_buf_puts(buf, "After a kind stands the number of links.\n");
	gt_buf_puts(buf, "Then GB/s (1e9 bytes/s, one way) of the narrowest "
			 "one.  Kinds, and nvidia-smi topo's:\n");
	for (int kind = 0; kind < GT_NPATHKINDS; kind++) {
		if (!kinds.seen[kind])
			continue;
		gt_buf_printf(
			buf, "  %-4s %-40s",
			gt_print_word(topo, (enum gt_path_kind)kind),
			gt_print_kind_meaning(topo, (enum gt_path_kind)kind));
		gt_print_smi(topo, (enum gt_path_kind)kind, kinds.nvlinks, buf);
		gt_print_newline(buf);
	}
	if (kinds.charged)
		gt_buf_puts(buf, "GPUs reach 5/6 of a PCI link through an "
				 "Intel host bridge (PHB).\n");
}

void gt_print_paths(const struct gt_topo *topo, const struct gt_paths *paths,
		    struct gt_buf *buf)
{
	const struct gt_side gpus = {gt_topo_ngpus(topo), gt_topo_gpu};
	const struct gt_side nets = {gt_topo_nnets(topo), gt_topo_net};

	for (uint32_t i = 0; i < gt_topo_ndevices(topo); i++)
		gt_print_device(topo, gt_topo_device(topo, i), buf);
	gt_print_legend(topo, paths, buf);
	gt_print_matrix(topo, paths, (struct gt_side[]){gpus, gpus}, buf);
	gt_print_matrix(topo, paths, (struct gt_side[]){gpus, nets}, buf);
	gt_print_matrix(topo, paths, (struct gt_side[]){nets, gpus}, buf);
	gt_print_matrix(topo, paths, (struct gt_side[]){nets, nets}, buf);
}
