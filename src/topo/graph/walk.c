#include "topo/graph/walk.h"

#include <stdlib.h>

#include "topo/graph/graph.h"

/* A route from the source to `node` that no other beats there. */
struct gt_route_label {
	uint32_t node;
	uint32_t link; /* its last, GT_NONE at the source */
	uint32_t prev; /* label before that link */
	uint32_t next; /* another label of the node, or GT_NONE */
	int width;     /* rank of its narrowest link */
	int kind;
	uint32_t nhops;
};

struct gt_route_search {
	const struct gt_topo *topo;
	int *rank;       /* of a link by gbs: small integers compare faster */
	int *step;       /* of a link */
	uint32_t *first; /* a node's labels, the shortest last, or GT_NONE */
	struct gt_route_label *labels;
	uint32_t nlabels, size;
	uint32_t *trail; /* a route's links, room for any */
};

enum gt_path_kind gt_link_path_kind(const struct gt_topo *topo, uint32_t index)
{
	const struct gt_link *link = &topo->links[index];
	enum gt_node_kind from = topo->nodes[link->from].kind;
	enum gt_node_kind to = topo->nodes[link->to].kind;

	if (from == GT_NODE_PCI && to == GT_NODE_PCI)
		return GT_PATH_PXB;
	switch (link->kind) {
	case GT_LINK_NVL:
		return GT_PATH_NVL;
	case GT_LINK_C2C:
		return GT_PATH_C2C;
	case GT_LINK_PCI:
		return from == GT_NODE_CPU || to == GT_NODE_CPU ? GT_PATH_PHB
								: GT_PATH_PIX;
	case GT_LINK_SYS:
		return GT_PATH_SYS;
	default:
		return GT_PATH_LOC;
	}
}

static int gt_rank_order(const void *left, const void *right, void *arg)
{
	const struct gt_topo *const *topo = arg;

	return gt_rat_cmp((*topo)->links[*(const uint32_t *)left].gbs,
			  (*topo)->links[*(const uint32_t *)right].gbs);
}

static int gt_route_search_rank(struct gt_route_search *walk)
{
	const struct gt_topo *topo = walk->topo;
	uint32_t n = topo->nlinks;
	uint32_t *order = calloc(n + 1, sizeof(*order));
	int rank = 0;

	if (!order)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), gt_rank_order, &topo);
	for (uint32_t i = 0; i < n; i++) {
		rank += i && gt_rat_cmp(topo->links[order[i - 1]].gbs,
					topo->links[order[i]].gbs);
		walk->rank[order[i]] = rank;
		walk->step[order[i]] = (int)gt_link_path_kind(topo, order[i]);
	}
	free(order);
	return 1;
}

struct gt_route_search *gt_route_search_new(const struct gt_topo *topo)
{
	struct gt_route_search *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return NULL;
	walk->topo = topo;
	walk->rank = calloc(topo->nlinks + 1, sizeof(*walk->rank));
	walk->step = calloc(topo->nlinks + 1, sizeof(*walk->step));
	walk->first = calloc(topo->nnodes + 1, sizeof(*walk->first));
	walk->trail = calloc(topo->nnodes + 1, sizeof(*walk->trail));
	if (!walk->rank || !walk->step || !walk->first || !walk->trail ||
	    !gt_route_search_rank(walk)) {
		gt_route_search_free(walk);
		return NULL;
	}
	return walk;
}

void gt_route_search_free(struct gt_route_search *walk)
{
	if (!walk)
		return;
	free(walk->rank);
	free(walk->step);
	free(walk->first);
	free(walk->labels);
	free(walk->trail);
	free(walk);
}

/* Add a label unless one that is no longer beats it; 0: out of memory. */
static int gt_route_search_label(struct gt_route_search *walk,
				 const struct gt_route_label *label)
{
	struct gt_route_label *grown;
	uint32_t size;

	for (uint32_t i = walk->first[label->node]; i != GT_NONE;
	     i = walk->labels[i].next)
		if (walk->labels[i].width >= label->width &&
		    walk->labels[i].kind <= label->kind)
			return 1;
	if (walk->nlabels == walk->size) {
		size = walk->size ? walk->size * 2 : 256;
		grown = reallocarray(walk->labels, size, sizeof(*grown));
		if (!grown)
			return 0;
		walk->labels = grown;
		walk->size = size;
	}
	walk->labels[walk->nlabels] = *label;
	walk->labels[walk->nlabels].next = walk->first[label->node];
	walk->first[label->node] = walk->nlabels++;
	return 1;
}

static int gt_route_search_extend(struct gt_route_search *walk, uint32_t index)
{
	const struct gt_topo *topo = walk->topo;
	struct gt_route_label from = walk->labels[index], label;
	uint32_t link = topo->first[from.node];

	/* Traffic ends at GPUs and ports. */
	if (from.link != GT_NONE &&
	    (topo->nodes[from.node].kind == GT_NODE_GPU ||
	     topo->nodes[from.node].kind == GT_NODE_NET))
		return 1;
	for (; link != GT_NONE; link = topo->next[link]) {
		label = (struct gt_route_label){
			.node = topo->links[link].to,
			.link = link,
			.prev = index,
			.width = from.width,
			.kind = from.kind,
			.nhops = from.nhops + 1,
		};
		if (walk->rank[link] < label.width)
			label.width = walk->rank[link];
		if (walk->step[link] > label.kind)
			label.kind = walk->step[link];
		if (!gt_route_search_label(walk, &label))
			return 0;
	}
	return 1;
}

/* Labels are made in order of their length, so a queue of them suffices. */
int gt_route_search_from(struct gt_route_search *walk, uint32_t source)
{
	struct gt_route_label label = {
		.node = source,
		.link = GT_NONE,
		.width = INT32_MAX,
		.kind = GT_PATH_LOC,
	};
	int good;

	for (uint32_t i = 0; i < walk->topo->nnodes; i++)
		walk->first[i] = GT_NONE;
	walk->nlabels = 0;
	good = gt_route_search_label(walk, &label);
	for (uint32_t i = 0; i < walk->nlabels && good; i++)
		good = gt_route_search_extend(walk, i);
	return good;
}

/* Of a node's labels the widest, then of the best kind, then the shortest. */
static const struct gt_route_label *gt_route_search_best(
	const struct gt_route_search *walk, uint32_t node)
{
	const struct gt_route_label *best = NULL, *label;

	for (uint32_t i = walk->first[node]; i != GT_NONE; i = label->next) {
		label = &walk->labels[i];
		if (!best || label->width > best->width ||
		    (label->width == best->width &&
		     (label->kind < best->kind ||
		      (label->kind == best->kind &&
		       label->nhops <= best->nhops))))
			best = label;
	}
	return best;
}

uint32_t gt_route_search_to(struct gt_route_search *walk, uint32_t node,
			    const uint32_t **links)
{
	const struct gt_route_label *label = gt_route_search_best(walk, node);
	uint32_t n = label ? label->nhops : 0;

	/* No route passes a node twice: coming back beats nothing. */
	for (uint32_t i = n; i; label = &walk->labels[label->prev])
		walk->trail[--i] = label->link;
	*links = walk->trail;
	return n;
}
