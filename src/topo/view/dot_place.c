#include "topo/view/dot_place.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "topo/view/show.h"
#include "topo/graph/topo.h"

enum {
	GT_PLACE_GAP = 7,   /* between rows */
	GT_PLACE_PAD = 8,   /* inside a cluster */
	GT_PLACE_LINK = 96, /* between columns */
	GT_PLACE_BAR = 70,  /* width of a bar */
};

struct gt_placing {
	const struct gt_topo *topo;
	struct gt_dot_layout *places;
	double cursor;   /* where the next row begins */
	double width[2]; /* of all CPUs, of all switches */
	unsigned depth;  /* of the deepest switch */
};

static void gt_dot_ports(const struct gt_topo *topo, uint32_t card, char *text,
			 unsigned size)
{
	const struct gt_node *port;
	const struct gt_link *link;
	char label[64], gbs[32];
	size_t len;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		port = gt_topo_node(topo, i);
		link = port->up == card ? gt_show_uplink(topo, i) : NULL;
		if (!link)
			continue;
		gt_show_label(port, label, sizeof(label));
		gt_show_gbs(link->gbs, gbs, sizeof(gbs));
		len = strlen(text);
		snprintf(text + len, size - len, "%s%s %.32s %s",
			 len ? "\n" : "", label, port->name ? port->name : "",
			 gbs);
	}
}

/* One number more of a list with ranges: "0-3 8". */
static void gt_dot_number(char *text, unsigned size, int number, int *last)
{
	size_t len = strlen(text);
	char *word = strrchr(text, ' ');
	char *range = strchr(word ? word : text, '-');

	if (len && number == *last + 1) {
		if (range)
			*range = '\0';
		len = strlen(text);
		snprintf(text + len, size - len, "-%d", number);
	} else {
		snprintf(text + len, size - len, "%s%d", len ? " " : "",
			 number);
	}
	*last = number;
}

/* "4 x ConnectX-7", the numbers of their ports, what each carries. */
static void gt_dot_folded(const struct gt_topo *topo,
			  const struct gt_dot_layout *places, uint32_t first,
			  char *text, unsigned size)
{
	const struct gt_link *link = NULL;
	char model[40], gbs[32] = "", ports[256] = "";
	uint32_t cards = 0;
	int last = 0;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		const struct gt_node *node = gt_topo_node(topo, i);

		cards += places->stands[i] == first;
		if (node->kind != GT_NODE_NET ||
		    places->stands[node->up] != first)
			continue;
		gt_dot_number(ports, sizeof(ports), node->dev, &last);
		link = gt_show_uplink(topo, i);
	}
	if (link)
		gt_show_gbs(link->gbs, gbs, sizeof(gbs));
	gt_show_model(gt_topo_node(topo, first), model, sizeof(model));
	snprintf(text, size, "%u x %s\nNET%s\n%s each", cards,
		 *model ? model : "NIC", ports, gbs);
}

static int gt_dot_is_folded(const struct gt_topo *topo,
			    const struct gt_dot_layout *places, uint32_t index)
{
	for (uint32_t i = index + 1; i < gt_topo_nnodes(topo); i++)
		if (places->stands[i] == index)
			return 1;
	return 0;
}

void gt_dot_text(const struct gt_topo *topo, const struct gt_dot_layout *places,
		 uint32_t index, char *text, unsigned size)
{
	const struct gt_node *node = gt_topo_node(topo, index);
	char label[64], model[40];

	gt_show_label(node, label, sizeof(label));
	gt_show_model(node, model, sizeof(model));
	if (node->kind == GT_NODE_NIC)
		snprintf(text, size, "%s", model);
	else
		snprintf(text, size, "%s%s%s", label, *model ? "\n" : "",
			 model);
	if (node->kind == GT_NODE_NIC && gt_dot_is_folded(topo, places, index))
		gt_dot_folded(topo, places, index, text, size);
	else if (node->kind == GT_NODE_NIC)
		gt_dot_ports(topo, index, text, size);
	if (!*text)
		snprintf(text, size, "%s", label);
}

/* Helvetica's letters are about 0.55 of its size wide. */
static void gt_dot_size(const struct gt_topo *topo,
			const struct gt_dot_layout *places, uint32_t index,
			struct gt_box *box)
{
	char text[1024];
	double longest = 4, line = 0, lines = 1;

	gt_dot_text(topo, places, index, text, sizeof(text));
	for (const char *at = text; *at; at++) {
		line = *at == '\n' ? 0 : line + 1;
		lines += *at == '\n';
		if (line > longest)
			longest = line;
	}
	box->w = longest * GT_DOT_FONT * 0.56 + 14;
	box->h = lines * (GT_DOT_FONT + 2) + 8;
}

static int gt_dot_is_inner(const struct gt_node *node)
{
	return node->kind == GT_NODE_CPU || node->kind == GT_NODE_PCI;
}

/* Sizes first: columns are as wide as their widest box. */
static double gt_dot_measure(struct gt_placing *placing)
{
	const struct gt_topo *topo = placing->topo;
	double device = 0, *widest;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		const struct gt_node *node = gt_topo_node(topo, i);
		struct gt_box *box = &placing->places->boxes[i];
		unsigned depth = 0;

		if (node->kind == GT_NODE_NET || node->kind == GT_NODE_NVS ||
		    placing->places->stands[i] != i)
			continue;
		gt_dot_size(topo, placing->places, i, box);
		widest = node->kind == GT_NODE_CPU   ? &placing->width[0]
			 : node->kind == GT_NODE_PCI ? &placing->width[1]
						     : &device;
		if (box->w > *widest)
			*widest = box->w;
		for (; node->kind == GT_NODE_PCI && node->up != GT_NONE;
		     node = gt_topo_node(topo, node->up))
			depth++;
		if (depth > placing->depth)
			placing->depth = depth;
	}
	return device;
}

/* Left of the column of CPUs (depth 0) or switches. */
static double gt_dot_column(const struct gt_placing *placing, unsigned depth)
{
	if (!depth)
		return 0;
	return placing->width[0] + GT_PLACE_LINK +
	       (depth - 1) * (placing->width[1] + GT_PLACE_LINK);
}

static void gt_dot_rows(struct gt_placing *placing, uint32_t index,
			unsigned depth)
{
	const struct gt_topo *topo = placing->topo;
	struct gt_dot_layout *places = placing->places;
	struct gt_box *box = &places->boxes[index];
	struct gt_box *cluster = &places->clusters[index];
	double top = placing->cursor, width = placing->width[depth > 0];
	uint32_t children = 0;

	placing->cursor += GT_PLACE_PAD;
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		if (gt_topo_node(topo, i)->up != index ||
		    places->stands[i] != i)
			continue;
		if (children++)
			placing->cursor += GT_PLACE_GAP;
		if (gt_dot_is_inner(gt_topo_node(topo, i))) {
			gt_dot_rows(placing, i, depth + 1);
			continue;
		}
		places->boxes[i].w = places->right - places->left;
		places->boxes[i].x = (places->left + places->right) / 2;
		places->boxes[i].y = placing->cursor + places->boxes[i].h / 2;
		placing->cursor += places->boxes[i].h;
	}
	if (placing->cursor < top + GT_PLACE_PAD + box->h)
		placing->cursor = top + GT_PLACE_PAD + box->h;
	placing->cursor += GT_PLACE_PAD;
	box->w = width;
	box->x = gt_dot_column(placing, depth) + width / 2;
	box->y = (top + placing->cursor) / 2;
	cluster->w = places->right - (box->x - width / 2) +
		     GT_PLACE_PAD * (placing->depth + 2 - depth);
	cluster->x = box->x - width / 2 - GT_PLACE_PAD + cluster->w / 2;
	cluster->h = placing->cursor - top;
	cluster->y = box->y;
}

int gt_dot_layout_make(const struct gt_topo *topo, struct gt_arena *arena,
		       struct gt_dot_layout *places)
{
	struct gt_placing placing = {.topo = topo, .places = places};
	uint32_t n = gt_topo_nnodes(topo), first = GT_NONE, last = GT_NONE;
	struct gt_box *a, *b;

	places->boxes = gt_arena_array(arena, n, sizeof(*places->boxes));
	places->clusters = gt_arena_array(arena, n, sizeof(*places->clusters));
	places->stands = gt_arena_array(arena, n, sizeof(*places->stands));
	if (!places->boxes || !places->clusters || !places->stands)
		return 0;
	gt_dot_fold(topo, places);
	places->right = gt_dot_measure(&placing);
	places->left = gt_dot_column(&placing, placing.depth + 1);
	places->right += places->left;
	for (uint32_t i = 0; i < n; i++) {
		if (gt_topo_node(topo, i)->kind != GT_NODE_CPU)
			continue;
		if (first == GT_NONE)
			first = i;
		else
			placing.cursor += 2 * GT_PLACE_GAP;
		last = i;
		gt_dot_rows(&placing, i, 0);
	}
	places->bottom = placing.cursor;
	if (first != last) {
		a = &places->boxes[first];
		b = &places->boxes[last];
		places->sys = (struct gt_box){
			-GT_PLACE_LINK + 10 - GT_PLACE_BAR / 2.0,
			(a->y + b->y) / 2, GT_PLACE_BAR, b->y - a->y + a->h};
	}
	for (uint32_t i = 0; i < n; i++)
		if (gt_topo_node(topo, i)->kind == GT_NODE_NVS)
			places->boxes[i] = (struct gt_box){
				places->right + GT_PLACE_LINK +
					GT_PLACE_BAR / 2.0,
				places->bottom / 2, GT_PLACE_BAR,
				places->bottom - 4 * GT_PLACE_PAD};
	return 1;
}
