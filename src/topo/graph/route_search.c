/*
 * Searches routes as route_search.h describes it: labels are set one link
 * longer at a time, and a node keeps every label that no other beats in width,
 * kind and length.
 */
#include "topo/graph/route_search.h"

#include <stdlib.h>

#include "base/vec.h"
#include "topo/graph/inside.h"
#include "topo/graph/path_kind.h"
#include "topo/graph/topo.h"

/*
 * A label is a route from the source to `node` that no other route beats there.
 */
struct gt_route_label {
	uint32_t node;
	uint32_t link; /* its last link, GT_NONE at the source */
	uint32_t prev; /* the label before that link */
	uint32_t next; /* another label of the node, or GT_NONE */
	int width;     /* rank of its narrowest link */
	int kind;
	uint32_t nhops;
};

struct gt_route_search {
	const struct gt_topo *topo;
	/* each link's rank by gbs: small integers compare faster */
	int *rank;
	int *step;       /* each link's kind of route */
	uint32_t *first; /* a node's labels, the shortest last, or GT_NONE */
	struct gt_route_label *labels;
	uint32_t nlabels, room;
	uint32_t *trail; /* the links of a route, with room for any */
};

static int gt_rank_order(const void *left, const void *right, void *arg)
{
	const struct gt_topo *const *topo = arg;

	return gt_rat_cmp((*topo)->links[*(const uint32_t *)left].gbs,
			  (*topo)->links[*(const uint32_t *)right].gbs);
}

static int gt_route_search_rank(struct gt_route_search *search)
{
	const struct gt_topo *topo = search->topo;
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
		search->rank[order[i]] = rank;
		search->step[order[i]] = (int)gt_link_path_kind(topo, order[i]);
	}
	free(order);
	return 1;
}

struct gt_route_search *gt_route_search_new(const struct gt_topo *topo)
{
	struct gt_route_search *search = calloc(1, sizeof(*search));

	if (!search)
		return NULL;
	search->topo = topo;
	search->rank = calloc(topo->nlinks + 1, sizeof(*search->rank));
	search->step = calloc(topo->nlinks + 1, sizeof(*search->step));
	search->first = calloc(topo->nnodes + 1, sizeof(*search->first));
	search->trail = calloc(topo->nnodes + 1, sizeof(*search->trail));
	if (!search->rank || !search->step || !search->first ||
	    !search->trail || !gt_route_search_rank(search)) {
		gt_route_search_free(search);
		return NULL;
	}
	return search;
}

void gt_route_search_free(struct gt_route_search *search)
{
	if (!search)
		return;
	free(search->rank);
	free(search->step);
	free(search->first);
	free(search->labels);
	free(search->trail);
	free(search);
}

/* Adds a label unless one that is no longer beats it; 0 when memory ran out. */
static int gt_route_search_label(struct gt_route_search *search,
				 const struct gt_route_label *label)
{
	struct gt_route_label *grown;

	for (uint32_t i = search->first[label->node]; i != GT_NONE;
	     i = search->labels[i].next)
		if (search->labels[i].width >= label->width &&
		    search->labels[i].kind <= label->kind)
			return 1;
	grown = gt_vec_grow(search->labels, search->nlabels, &search->room,
			    sizeof(*grown));
	if (!grown)
		return 0;
	search->labels = grown;
	search->labels[search->nlabels] = *label;
	search->labels[search->nlabels].next = search->first[label->node];
	search->first[label->node] = search->nlabels++;
	return 1;
}

static int gt_route_search_extend(struct gt_route_search *search,
				  uint32_t index)
{
	const struct gt_topo *topo = search->topo;
	struct gt_route_label from = search->labels[index], label;
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
		if (search->rank[link] < label.width)
			label.width = search->rank[link];
		if (search->step[link] > label.kind)
			label.kind = search->step[link];
		if (!gt_route_search_label(search, &label))
			return 0;
	}
	return 1;
}

/* Labels are made in order of their length, so a queue of them suffices. */
int gt_route_search_from(struct gt_route_search *search, uint32_t source)
{
	struct gt_route_label label = {
		.node = source,
		.link = GT_NONE,
		.width = INT32_MAX,
		.kind = GT_PATH_LOC,
	};
	int good;

	for (uint32_t i = 0; i < search->topo->nnodes; i++)
		search->first[i] = GT_NONE;
	search->nlabels = 0;
	good = gt_route_search_label(search, &label);
	for (uint32_t i = 0; i < search->nlabels && good; i++)
		good = gt_route_search_extend(search, i);
	return good;
}

/*
 * Returns the widest of a node's labels, of those one of the best kind, of
 * those the shortest; NULL when it has none.
 */
static const struct gt_route_label *gt_route_search_best(
	const struct gt_route_search *search, uint32_t node)
{
	const struct gt_route_label *best = NULL, *label;

	for (uint32_t i = search->first[node]; i != GT_NONE; i = label->next) {
		label = &search->labels[i];
		if (!best || label->width > best->width ||
		    (label->width == best->width &&
		     (label->kind < best->kind ||
		      (label->kind == best->kind &&
		       label->nhops <= best->nhops))))
			best = label;
	}
	return best;
}

uint32_t gt_route_search_to(struct gt_route_search *search, uint32_t node,
			    const uint32_t **links)
{
	const struct gt_route_label *label = gt_route_search_best(search, node);
	uint32_t n = label ? label->nhops : 0;

	/* No route passes a node twice: coming back beats nothing. */
	for (uint32_t i = n; i; label = &search->labels[label->prev])
		search->trail[--i] = label->link;
	*links = search->trail;
	return n;
}
