/*
 * Computes the layout of a picture: texts of boxes first, then widths of
 * columns, then rows from the top.
 */
#include "topo/view/dot_layout.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "topo/graph/topo.h"
#include "topo/probe/pci_ids.h"
#include "topo/view/show_text.h"

enum {
	GT_PLACE_GAP = 7,    /* between rows */
	GT_PLACE_PAD = 8,    /* inside a box with others in it */
	GT_PLACE_LINK = 126, /* between columns */
	GT_PLACE_BAR = 70,   /* the width of a bar */
};

struct gt_dot_layout_state {
	const struct gt_topo *topo;
	struct gt_dot_layout *layout;
	double cursor;   /* where the next row begins */
	double width[2]; /* the widest CPU, the widest switch */
	unsigned depth;  /* how deep the deepest switch is */
};

static void gt_dot_port_text(const struct gt_topo *topo, uint32_t card,
			     char *text, unsigned size)
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

/* Appends a number to a list with ranges, "0-3 8". */
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

/*
 * Writes the text of a box that stands for several cards: "4 x ConnectX-7", the
 * numbers of their ports, what each carries.
 */
static void gt_dot_folded(const struct gt_topo *topo,
			  const struct gt_dot_layout *layout, uint32_t first,
			  char *text, unsigned size)
{
	const struct gt_link *link = NULL;
	char model[40], gbs[32] = "", ports[256] = "";
	uint32_t cards = 0;
	int last = 0;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		const struct gt_node *node = gt_topo_node(topo, i);

		cards += layout->drawn_as[i] == first;
		if (node->kind != GT_NODE_NET ||
		    layout->drawn_as[node->up] != first)
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
			    const struct gt_dot_layout *layout, uint32_t index)
{
	for (uint32_t i = index + 1; i < gt_topo_nnodes(topo); i++)
		if (layout->drawn_as[i] == index)
			return 1;
	return 0;
}

void gt_dot_name(const struct gt_topo *topo, uint32_t index,
		 char name[GT_DOT_NAME])
{
	const struct gt_node *node = gt_topo_node(topo, index);
	char label[64];

	gt_show_label(node, label, sizeof(label));
	snprintf(name, GT_DOT_NAME, "%s%s%.32s", label, node->bus_id ? " " : "",
		 node->bus_id ? node->bus_id : "");
}

/* Writes the text of a card: model and bus id, a line for each port. */
static void gt_dot_card_text(const struct gt_topo *topo, uint32_t index,
			     char *text, unsigned size)
{
	const struct gt_node *node = gt_topo_node(topo, index);
	char model[40];

	gt_show_model(node, model, sizeof(model));
	snprintf(text, size, "%s%s%s", *model ? model : "NIC",
		 node->bus_id ? " " : "", node->bus_id ? node->bus_id : "");
	gt_dot_port_text(topo, index, text, size);
}

/* Appends a line for each word of what is wrong: "down, hidden". */
static void gt_dot_problem_text(const char *problem, char *text, unsigned size)
{
	size_t len = strlen(text), n;

	for (; problem && *problem && len < size; problem += n) {
		problem += strspn(problem, ", ");
		n = strcspn(problem, ",");
		len += (size_t)snprintf(text + len, size - len, "\n! %.*s",
					(int)n, problem);
	}
}

void gt_dot_text(const struct gt_topo *topo, const struct gt_dot_layout *layout,
		 uint32_t index, char *text, unsigned size)
{
	const struct gt_node *node = gt_topo_node(topo, index);
	char name[GT_DOT_NAME], model[40];

	gt_dot_name(topo, index, name);
	gt_show_model(node, model, sizeof(model));
	if (node->kind != GT_NODE_NIC)
		snprintf(text, size, "%s%s%s", name, *model ? "\n" : "", model);
	else if (gt_dot_is_folded(topo, layout, index))
		gt_dot_folded(topo, layout, index, text, size);
	else
		gt_dot_card_text(topo, index, text, size);
	gt_dot_problem_text(node->problem, text, size);
}

/*
 * Computes the size of a box: letters of Helvetica are about 0.55 of its size
 * wide.
 */
static void gt_dot_size(const struct gt_topo *topo,
			const struct gt_dot_layout *layout, uint32_t index,
			struct gt_dot_rect *box)
{
	char text[1024];
	double longest = 4, line = 0, lines = 1;

	gt_dot_text(topo, layout, index, text, sizeof(text));
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

/*
 * Computes the sizes of all boxes; columns are as wide as their widest box.
 * Returns the width of the column of devices.
 */
static double gt_dot_measure(struct gt_dot_layout_state *state)
{
	const struct gt_topo *topo = state->topo;
	double device = 0, *widest;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		const struct gt_node *node = gt_topo_node(topo, i);
		struct gt_dot_rect *box = &state->layout->boxes[i];
		unsigned depth = 0;

		if (node->kind == GT_NODE_NET || node->kind == GT_NODE_NVS ||
		    state->layout->drawn_as[i] != i)
			continue;
		gt_dot_size(topo, state->layout, i, box);
		widest = node->kind == GT_NODE_CPU   ? &state->width[0]
			 : node->kind == GT_NODE_PCI ? &state->width[1]
						     : &device;
		if (box->w > *widest)
			*widest = box->w;
		for (; node->kind == GT_NODE_PCI && node->up != GT_NONE;
		     node = gt_topo_node(topo, node->up))
			depth++;
		if (depth > state->depth)
			state->depth = depth;
	}
	return device;
}

/* Returns the left of the column of CPUs (depth 0) or of switches. */
static double gt_dot_column(const struct gt_dot_layout_state *state,
			    unsigned depth)
{
	if (!depth)
		return 0;
	return state->width[0] + GT_PLACE_LINK +
	       (depth - 1) * (state->width[1] + GT_PLACE_LINK);
}

static void gt_dot_rows(struct gt_dot_layout_state *state, uint32_t index,
			unsigned depth)
{
	const struct gt_topo *topo = state->topo;
	struct gt_dot_layout *layout = state->layout;
	struct gt_dot_rect *box = &layout->boxes[index];
	struct gt_dot_rect *cluster = &layout->clusters[index];
	double top = state->cursor, width = state->width[depth > 0];
	uint32_t children = 0;

	state->cursor += GT_PLACE_PAD;
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		if (gt_topo_node(topo, i)->up != index ||
		    layout->drawn_as[i] != i)
			continue;
		if (children++)
			state->cursor += GT_PLACE_GAP;
		if (gt_dot_is_inner(gt_topo_node(topo, i))) {
			gt_dot_rows(state, i, depth + 1);
			continue;
		}
		layout->boxes[i].w = layout->right - layout->left;
		layout->boxes[i].x = (layout->left + layout->right) / 2;
		layout->boxes[i].y = state->cursor + layout->boxes[i].h / 2;
		state->cursor += layout->boxes[i].h;
	}
	if (state->cursor < top + GT_PLACE_PAD + box->h)
		state->cursor = top + GT_PLACE_PAD + box->h;
	state->cursor += GT_PLACE_PAD;
	box->w = width;
	box->x = gt_dot_column(state, depth) + width / 2;
	box->y = (top + state->cursor) / 2;
	cluster->w = layout->right - (box->x - width / 2) +
		     GT_PLACE_PAD * (state->depth + 2 - depth);
	cluster->x = box->x - width / 2 - GT_PLACE_PAD + cluster->w / 2;
	cluster->h = state->cursor - top;
	cluster->y = box->y;
}

/*
 * Places the bars that links lead to: between CPUs at the left of all, of which
 * `first` and `last` are the outer ones, and the NVSwitches at the right.
 */
static void place_bars(const struct gt_topo *topo, struct gt_dot_layout *layout,
		       uint32_t first, uint32_t last)
{
	const struct gt_dot_rect *a, *b;

	if (first != last) {
		a = &layout->boxes[first];
		b = &layout->boxes[last];
		layout->sys = (struct gt_dot_rect){
			-GT_PLACE_LINK + 10 - GT_PLACE_BAR / 2.0,
			(a->y + b->y) / 2, GT_PLACE_BAR, b->y - a->y + a->h};
	}
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		if (gt_topo_node(topo, i)->kind == GT_NODE_NVS)
			layout->boxes[i] = (struct gt_dot_rect){
				layout->right + GT_PLACE_LINK +
					GT_PLACE_BAR / 2.0,
				layout->bottom / 2, GT_PLACE_BAR,
				layout->bottom - 4 * GT_PLACE_PAD};
}

/* Returns a card's only port, or GT_NONE when it has none or several. */
static uint32_t gt_fold_port(const struct gt_topo *topo, uint32_t card)
{
	uint32_t port = GT_NONE;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++) {
		if (gt_topo_node(topo, i)->up != card)
			continue;
		if (port != GT_NONE)
			return GT_NONE;
		port = i;
	}
	return port;
}

static int gt_fold_same_link(const struct gt_topo *topo, uint32_t a, uint32_t b)
{
	const struct gt_link *x = gt_show_uplink(topo, a);
	const struct gt_link *y = gt_show_uplink(topo, b);

	return x && y && !gt_rat_cmp(x->gbs, y->gbs);
}

static int gt_fold_alike(const struct gt_topo *topo, uint32_t a, uint32_t b)
{
	const struct gt_node *x = gt_topo_node(topo, a);
	const struct gt_node *y = gt_topo_node(topo, b);
	uint32_t one, other;
	struct gt_pci_rate rate;

	if (y->kind != GT_NODE_NIC || x->up != y->up || !x->pci || !y->pci ||
	    x->problem || y->problem || x->pci->vendor != y->pci->vendor ||
	    x->pci->device != y->pci->device ||
	    gt_pci_state(x, &rate) != gt_pci_state(y, &rate) ||
	    gt_pci_state(x, &rate) == GT_PCI_DEGRADED)
		return 0;
	one = gt_fold_port(topo, a);
	other = gt_fold_port(topo, b);
	return one != GT_NONE && other != GT_NONE &&
	       gt_fold_same_link(topo, a, b) &&
	       gt_fold_same_link(topo, one, other);
}

/*
 * Fold cards on one switch or CPU that are alike but for the numbers of their
 * one port: fills layout->drawn_as.  So a machine with many of them stays a
 * picture that can be read.
 */
static void gt_dot_fold(const struct gt_topo *topo,
			struct gt_dot_layout *layout)
{
	uint32_t n = gt_topo_nnodes(topo), alike;

	for (uint32_t i = 0; i < n; i++)
		layout->drawn_as[i] = i;
	for (uint32_t i = 0; i < n; i++) {
		if (gt_topo_node(topo, i)->kind != GT_NODE_NIC ||
		    layout->drawn_as[i] != i)
			continue;
		alike = 1;
		for (uint32_t k = i + 1; k < n; k++)
			alike += gt_fold_alike(topo, i, k);
		for (uint32_t k = i + 1; k < n && alike >= GT_DOT_FOLD; k++)
			if (gt_fold_alike(topo, i, k))
				layout->drawn_as[k] = i;
	}
}

int gt_dot_layout_make(const struct gt_topo *topo, struct gt_arena *arena,
		       struct gt_dot_layout *layout)
{
	struct gt_dot_layout_state state = {.topo = topo, .layout = layout};
	uint32_t n = gt_topo_nnodes(topo), first = GT_NONE, last = GT_NONE;

	layout->boxes = gt_arena_array(arena, n, sizeof(*layout->boxes));
	layout->clusters = gt_arena_array(arena, n, sizeof(*layout->clusters));
	layout->drawn_as = gt_arena_array(arena, n, sizeof(*layout->drawn_as));
	if (!layout->boxes || !layout->clusters || !layout->drawn_as)
		return 0;
	gt_dot_fold(topo, layout);
	layout->right = gt_dot_measure(&state);
	layout->left = gt_dot_column(&state, state.depth + 1);
	layout->right += layout->left;
	for (uint32_t i = 0; i < n; i++) {
		if (gt_topo_node(topo, i)->kind != GT_NODE_CPU)
			continue;
		if (first == GT_NONE)
			first = i;
		else
			state.cursor += 2 * GT_PLACE_GAP;
		last = i;
		gt_dot_rows(&state, i, 0);
	}
	layout->bottom = state.cursor;
	place_bars(topo, layout, first, last);
	return 1;
}
