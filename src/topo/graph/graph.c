/*
 * Makes a topology: nodes and links are added one by one, then
 * gt_graph_finish() makes ids unique, names the links and sorts the devices.
 * Readers of files (src/topo/xml) call it.
 */
#include "topo/graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

int gt_graph_new(const char *source, struct gt_topo **out, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_topo *topo;

	if (!arena)
		return gt_err_nomem(err);
	topo = gt_arena_alloc(arena, sizeof(*topo));
	if (topo) {
		topo->arena = arena;
		topo->source = gt_arena_strdup(arena, source);
	}
	if (!topo || !topo->source) {
		gt_arena_free(arena);
		return gt_err_nomem(err);
	}
	*out = topo;
	return GT_OK;
}

int gt_graph_node(struct gt_topo *topo, const struct gt_node *node,
		  uint32_t *index, struct gt_err *err)
{
	uint32_t room = topo->nodes_size, n = topo->nnodes;
	struct gt_node *nodes;
	uint32_t *first;

	topo->ngpus += node->kind == GT_NODE_GPU;
	topo->nnets += node->kind == GT_NODE_NET;
	if (topo->ngpus > GT_TOPO_MAX_DEVICES ||
	    topo->nnets > GT_TOPO_MAX_DEVICES)
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "more than %d devices of kind '%s'",
				  GT_TOPO_MAX_DEVICES,
				  gt_node_kind_name(node->kind));
	first = gt_vec_grow_in(topo->arena, topo->first, n, &room,
			       sizeof(*first));
	nodes = gt_vec_grow_in(topo->arena, topo->nodes, n, &topo->nodes_size,
			       sizeof(*nodes));
	if (!first || !nodes)
		return gt_err_nomem(err);
	topo->first = first;
	topo->nodes = nodes;
	topo->nodes[n] = *node;
	topo->nodes[n].up = GT_NONE;
	topo->first[n] = GT_NONE;
	*index = topo->nnodes++;
	return GT_OK;
}

int gt_graph_link(struct gt_topo *topo, const struct gt_link *link,
		  struct gt_err *err)
{
	uint32_t room = topo->links_size, n = topo->nlinks;
	uint32_t at = topo->first[link->from], *next;
	struct gt_link *same, *links;

	for (; at != GT_NONE; at = topo->next[at]) {
		same = &topo->links[at];
		if (same->to != link->to || same->kind != link->kind)
			continue;
		if (!gt_rat_add(same->gbs, link->gbs, &same->gbs))
			return gt_err_set(err, GT_EINPUT, topo->source,
					  "a link's bandwidth is out of range");
		same->count += link->count;
		return GT_OK;
	}
	next = gt_vec_grow_in(topo->arena, topo->next, n, &room, sizeof(*next));
	links = gt_vec_grow_in(topo->arena, topo->links, n, &topo->links_size,
			       sizeof(*links));
	if (!next || !links)
		return gt_err_nomem(err);
	topo->next = next;
	topo->links = links;
	topo->links[n] = *link;
	topo->next[n] = topo->first[link->from];
	topo->first[link->from] = topo->nlinks++;
	return GT_OK;
}

int gt_graph_link_both(struct gt_topo *topo, const struct gt_link *link,
		       struct gt_err *err)
{
	struct gt_link back = *link;
	int rc = gt_graph_link(topo, link, err);

	back.from = link->to;
	back.to = link->from;
	return rc ? rc : gt_graph_link(topo, &back, err);
}

int gt_graph_warn(struct gt_topo *topo, const char *where, struct gt_err *err,
		  const char *fmt, ...)
{
	const char **warnings;
	char text[512];
	va_list args;

	warnings = gt_vec_grow_in(topo->arena, topo->warnings, topo->nwarnings,
				  &topo->warnings_size, sizeof(*warnings));
	if (!warnings)
		return gt_err_nomem(err);
	topo->warnings = warnings;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	topo->warnings[topo->nwarnings] =
		gt_arena_printf(topo->arena, "%s: %s", where, text);
	if (!topo->warnings[topo->nwarnings])
		return gt_err_nomem(err);
	topo->nwarnings++;
	return GT_OK;
}

struct gt_graph_named {
	const char *id;
	uint32_t node;
};

static int gt_graph_by_id(const void *left, const void *right)
{
	const struct gt_graph_named *a = left, *b = right;
	int order = strcmp(a->id, b->id);

	return order ? order : (a->node > b->node) - (a->node < b->node);
}

/* Real files repeat ids: the second "NET/0" becomes "NET/0#2". */
static int gt_graph_unique(struct gt_topo *topo, struct gt_err *err)
{
	struct gt_graph_named *named;
	uint32_t same = 1;

	named = gt_arena_array(topo->arena, topo->nnodes, sizeof(*named));
	if (!named)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < topo->nnodes; i++)
		named[i] = (struct gt_graph_named){topo->nodes[i].id, i};
	qsort(named, topo->nnodes, sizeof(*named), gt_graph_by_id);
	for (uint32_t i = 1; i < topo->nnodes; i++) {
		same = strcmp(named[i - 1].id, named[i].id) ? 1 : same + 1;
		if (same == 1)
			continue;
		topo->nodes[named[i].node].id = gt_arena_printf(
			topo->arena, "%s#%u", named[i].id, same);
		if (!topo->nodes[named[i].node].id)
			return gt_err_nomem(err);
	}
	return GT_OK;
}

/*
 * Lists the nodes of a kind in order of dev; ties keep the order of the file.
 */
static uint32_t *gt_graph_devices(struct gt_topo *topo, enum gt_node_kind kind,
				  uint32_t count)
{
	uint32_t *list = gt_arena_array(topo->arena, count, sizeof(*list));
	uint32_t n = 0, j;

	for (uint32_t i = 0; list && i < topo->nnodes; i++) {
		if (topo->nodes[i].kind != kind)
			continue;
		for (j = n++;
		     j && topo->nodes[list[j - 1]].dev > topo->nodes[i].dev;
		     j--)
			list[j] = list[j - 1];
		list[j] = i;
	}
	return list;
}

/*
 * Two nodes may have links of several kinds, such as a GPU and its CPU by PCI
 * and by C2C.  The id of the first is "from>to"; that of a further one ends in
 * "#" and its kind.
 */
static const char *gt_graph_link_id(const struct gt_topo *topo, uint32_t index)
{
	const struct gt_link *link = &topo->links[index];
	const char *from = topo->nodes[link->from].id;
	const char *to = topo->nodes[link->to].id;

	for (uint32_t i = topo->next[index]; i != GT_NONE; i = topo->next[i])
		if (topo->links[i].to == link->to)
			return gt_arena_printf(topo->arena, "%s>%s#%s", from,
					       to,
					       gt_link_kind_name(link->kind));
	return gt_arena_printf(topo->arena, "%s>%s", from, to);
}

int gt_graph_finish(struct gt_topo *topo, struct gt_err *err)
{
	struct gt_link *link;
	int rc = gt_graph_unique(topo, err);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < topo->nlinks; i++) {
		link = &topo->links[i];
		link->id = gt_graph_link_id(topo, i);
		if (!link->id)
			return gt_err_nomem(err);
	}
	topo->gpus = gt_graph_devices(topo, GT_NODE_GPU, topo->ngpus);
	topo->nets = gt_graph_devices(topo, GT_NODE_NET, topo->nnets);
	return topo->gpus && topo->nets ? GT_OK : gt_err_nomem(err);
}
