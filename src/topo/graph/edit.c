/*
 * Edits a finished topology to ask what would be.  An edit first marks links by
 * GT_NONE in `from`; then the arrays are packed, so that indices of links
 * change and routes made before are void.
 */
#include "topo/graph/edit.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/graph/graph.h"
#include "topo/graph/inside.h"
#include "topo/graph/name.h"
#include "topo/graph/topo.h"

void gt_topo_set_gbs(struct gt_topo *topo, uint32_t link, struct gt_rat gbs)
{
	topo->links[link].gbs = gbs;
}

/* Removes the links that are marked by from == GT_NONE. */
static void gt_topo_compact(struct gt_topo *topo)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		topo->first[i] = GT_NONE;
	for (uint32_t i = 0; i < topo->nlinks; i++) {
		if (topo->links[i].from == GT_NONE)
			continue;
		topo->links[n] = topo->links[i];
		topo->next[n] = topo->first[topo->links[n].from];
		topo->first[topo->links[n].from] = n;
		n++;
	}
	topo->nlinks = n;
}

/*
 * Marks the links from one node to the other for removal; returns their number.
 */
static uint32_t gt_topo_cut(struct gt_topo *topo, uint32_t from, uint32_t to)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < topo->nlinks; i++) {
		if (topo->links[i].from != from || topo->links[i].to != to)
			continue;
		topo->links[i].from = GT_NONE;
		found++;
	}
	return found;
}

static int gt_topo_cut_word(struct gt_topo *topo, char *word,
			    struct gt_err *err)
{
	char *sign = strpbrk(word, "->"), way;
	uint32_t from, to, found;

	if (!sign)
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "'%s' is not a link; write two nodes as in "
				  "CPU0-CPU1",
				  word);
	way = *sign;
	*sign = '\0';
	from = gt_topo_find(topo, word);
	to = gt_topo_find(topo, sign + 1);
	if (from == GT_NONE || to == GT_NONE)
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "there is no node '%s'",
				  from == GT_NONE ? word : sign + 1);
	found = gt_topo_cut(topo, from, to);
	if (way == '-')
		found += gt_topo_cut(topo, to, from);
	*sign = way;
	if (!found)
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "there is no link '%s'", word);
	return GT_OK;
}

static void gt_topo_forget(uint32_t *devices, uint32_t *n, uint32_t node)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < *n; i++)
		if (devices[i] != node)
			devices[kept++] = devices[i];
	*n = kept;
}

/* Take the n-th word out of a list of them, in place. */
static void gt_topo_leave_out(char *list, uint32_t n)
{
	char *word = list, *next;

	for (; *word && n; n--) {
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	next = word + strcspn(word, " ");
	next += strspn(next, " ");
	memmove(word, next, strlen(next) + 1);
	for (size_t len = strlen(list); len && list[len - 1] == ' '; len--)
		list[len - 1] = '\0';
}

/* What GPUs may do to one another's memory is a list in order of the GPUs. */
static int gt_topo_drop_access(struct gt_topo *topo, uint32_t node)
{
	uint32_t n = 0;

	while (n < topo->ngpus && topo->gpus[n] != node)
		n++;
	for (uint32_t i = 0; n < topo->ngpus && i < topo->ngpus; i++) {
		struct gt_node *gpu = &topo->nodes[topo->gpus[i]];
		char *list = gpu->p2p ? gt_arena_strdup(topo->arena, gpu->p2p)
				      : NULL;

		if (gpu->p2p && !list)
			return GT_ESYS;
		if (list)
			gt_topo_leave_out(list, n);
		gpu->p2p = list;
	}
	return GT_OK;
}

static void gt_topo_drop(struct gt_topo *topo, uint32_t node)
{
	for (uint32_t i = 0; i < topo->nlinks; i++)
		if (topo->links[i].from == node || topo->links[i].to == node)
			topo->links[i].from = GT_NONE;
	gt_topo_forget(topo->gpus, &topo->ngpus, node);
	gt_topo_forget(topo->nets, &topo->nnets, node);
}

/* Drops the node of that name; the name of a card stands for all its ports. */
static int gt_topo_drop_word(struct gt_topo *topo, const char *word,
			     struct gt_err *err)
{
	uint32_t node = gt_topo_find(topo, word);

	if (node == GT_NONE)
		return gt_err_set(err, GT_EINPUT, topo->source,
				  "there is no node '%s'", word);
	for (uint32_t i = node; i < topo->nnodes; i++)
		if (topo->nodes[i].kind == topo->nodes[node].kind &&
		    gt_node_is_called(&topo->nodes[i], word)) {
			if (gt_topo_drop_access(topo, i))
				return gt_err_nomem(err);
			gt_topo_drop(topo, i);
		}
	return GT_OK;
}

int gt_topo_exclude_links(struct gt_topo *topo, const char *list,
			  struct gt_err *err)
{
	char *copy, *rest, *word;
	int rc = GT_OK;

	if (!list)
		return GT_OK;
	copy = gt_arena_strdup(topo->arena, list);
	if (!copy)
		return gt_err_nomem(err);
	for (rest = copy; !rc && (word = strsep(&rest, ","));)
		rc = gt_topo_cut_word(topo, word, err);
	gt_topo_compact(topo);
	return rc;
}

int gt_topo_exclude_devices(struct gt_topo *topo, const char *list,
			    struct gt_err *err)
{
	struct gt_name_list names = {.rest = list};
	char word[GT_NAME_MAX];
	int rc = GT_OK;

	while (!rc && gt_name_list_next(&names, word))
		rc = gt_topo_drop_word(topo, word, err);
	gt_topo_compact(topo);
	return rc;
}

/* The list with its n-th word made one of full access; NULL: no memory. */
static const char *gt_topo_granted(struct gt_topo *topo, const char *list,
				   uint32_t n)
{
	const char *word = list;

	for (; *word && n; n--) {
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	return gt_arena_printf(topo->arena, "%.*srwa%s", (int)(word - list),
			       list, word + strcspn(word, " "));
}

/* Lets a GPU reach the memory of another one; 0: no memory. */
static int gt_topo_grant(struct gt_topo *topo, uint32_t gpu, uint32_t to)
{
	struct gt_node *node = &topo->nodes[gpu];
	const char *list = node->p2p;
	uint32_t n = 0;

	while (n < topo->ngpus && topo->gpus[n] != to)
		n++;
	if (list)
		node->p2p = gt_topo_granted(topo, list, n);
	return !list || node->p2p;
}

static int gt_topo_bridge_link(struct gt_topo *topo,
			       const struct gt_topo_bridge *bridge, int back,
			       struct gt_err *err)
{
	struct gt_link link = {.kind = GT_LINK_NVL,
			       .from = bridge->gpus[back],
			       .to = bridge->gpus[!back],
			       .count = bridge->count,
			       .gbs = bridge->gbs};

	link.id =
		gt_arena_printf(topo->arena, "%s>%s", topo->nodes[link.from].id,
				topo->nodes[link.to].id);
	return link.id ? gt_graph_link(topo, &link, err) : gt_err_nomem(err);
}

int gt_topo_bridge(struct gt_topo *topo, struct gt_topo_bridge *bridge,
		   struct gt_err *err)
{
	int rc = GT_OK;

	for (int i = 0; i < 2; i++)
		bridge->p2p[i] = topo->nodes[bridge->gpus[i]].p2p;
	for (int i = 0; i < 2 && !rc; i++) {
		rc = gt_topo_bridge_link(topo, bridge, i, err);
		if (!rc &&
		    !gt_topo_grant(topo, bridge->gpus[i], bridge->gpus[!i]))
			rc = gt_err_nomem(err);
	}
	if (rc)
		gt_topo_unbridge(topo, bridge);
	return rc;
}

void gt_topo_unbridge(struct gt_topo *topo, const struct gt_topo_bridge *bridge)
{
	for (int i = 0; i < 2; i++) {
		topo->nodes[bridge->gpus[i]].p2p = bridge->p2p[i];
		gt_topo_cut(topo, bridge->gpus[i], bridge->gpus[!i]);
	}
	gt_topo_compact(topo);
}
