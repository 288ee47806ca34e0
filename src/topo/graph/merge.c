/* Walks the links of two machines and keeps the narrower or the wider ones. */
#include "topo/graph/merge.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/rat.h"
#include "topo/graph/inside.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

static uint32_t find_node(const struct gt_topo *topo, const char *id)
{
	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (!strcmp(topo->nodes[i].id, id))
			return i;
	return GT_NONE;
}

/* The link of that kind between nodes of these ids, or NULL. */
static const struct gt_link *find_link(const struct gt_topo *topo,
				       const struct gt_link *like)
{
	for (uint32_t i = 0; i < topo->nlinks; i++)
		if (topo->links[i].kind == like->kind &&
		    !strcmp(topo->links[i].id, like->id))
			return &topo->links[i];
	return NULL;
}

/* Refuse processors that a plan would not take for each other. */
static int check_node(const struct gt_node *mine, const struct gt_topo *b,
		      struct gt_err *err)
{
	uint32_t at = find_node(b, mine->id);
	const struct gt_node *other = at == GT_NONE ? NULL : &b->nodes[at];

	if (!other)
		return GT_OK;
	if (mine->kind == GT_NODE_CPU &&
	    gt_rat_cmp(mine->charge, other->charge))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "their processors are of different makers");
	return GT_OK;
}

/* The number of a GPU among those of another machine, or GT_NONE. */
static uint32_t find_gpu(const struct gt_topo *topo, const char *id)
{
	for (uint32_t i = 0; i < topo->ngpus; i++)
		if (!strcmp(topo->nodes[topo->gpus[i]].id, id))
			return i;
	return GT_NONE;
}

/* What may be reached is listed in the order of each machine's own GPUs. */
static int check_access(const struct gt_topo *a, uint32_t i,
			const struct gt_topo *b, struct gt_err *err)
{
	const char *id = a->nodes[a->gpus[i]].id;
	uint32_t at = find_gpu(b, id);

	for (uint32_t j = 0; at != GT_NONE && j < a->ngpus; j++) {
		uint32_t to = find_gpu(b, a->nodes[a->gpus[j]].id);

		if (to != GT_NONE && gt_topo_may_access(a, i, j) !=
					     gt_topo_may_access(b, at, to))
			return gt_err_set(err, GT_EINPUT, NULL,
					  "'%s' does not reach the same GPUs "
					  "in both",
					  id);
	}
	return GT_OK;
}

static int check_nodes(const struct gt_topo *a, const struct gt_topo *b,
		       struct gt_err *err)
{
	uint32_t same = 0;
	int rc = GT_OK;

	for (uint32_t i = 0; i < a->ngpus; i++)
		same += find_gpu(b, a->nodes[a->gpus[i]].id) != GT_NONE;
	if (!same)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "no GPU has the same bus id in both");
	for (uint32_t i = 0; i < a->nnodes && !rc; i++)
		rc = check_node(&a->nodes[i], b, err);
	for (uint32_t i = 0; i < a->ngpus && !rc; i++)
		rc = check_access(a, i, b, err);
	return rc;
}

static void add(struct gt_topo *topo, const struct gt_link *link)
{
	uint32_t i = topo->nlinks++;

	topo->links[i] = *link;
	topo->next[i] = topo->first[link->from];
	topo->first[link->from] = i;
}

/* Give a link what both have of it, or what the one that has more has. */
static void narrow(struct gt_link *link, const struct gt_link *other,
		   enum gt_merge how)
{
	int less = gt_rat_cmp(other->gbs, link->gbs) < 0;

	if (less == (how == GT_MERGE_LEAST)) {
		link->gbs = other->gbs;
		link->count = other->count;
	}
}

/* Add what only the other machine has, between nodes that both have. */
static int add_others(const struct gt_topo *a, const struct gt_topo *b,
		      struct gt_topo *made, struct gt_err *err)
{
	for (uint32_t i = 0; i < b->nlinks; i++) {
		struct gt_link link = b->links[i];

		if (find_link(a, &link))
			continue;
		link.from = find_node(a, b->nodes[link.from].id);
		link.to = find_node(a, b->nodes[link.to].id);
		if (link.from == GT_NONE || link.to == GT_NONE)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "only one of them has '%s'", link.id);
		add(made, &link);
	}
	return GT_OK;
}

/* A machine with the nodes of another, and room for so many links. */
static struct gt_topo *copy_nodes(const struct gt_topo *from, uint32_t nlinks)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_topo *made =
		arena ? gt_arena_alloc(arena, sizeof(*made)) : NULL;

	if (!made) {
		gt_arena_free(arena);
		return NULL;
	}
	*made = *from;
	made->arena = arena;
	made->nlinks = 0;
	made->links_size = nlinks;
	made->links = gt_arena_array(arena, nlinks, sizeof(*made->links));
	made->next = gt_arena_array(arena, nlinks, sizeof(*made->next));
	made->first = gt_arena_array(arena, from->nnodes, sizeof(*made->first));
	if (!made->links || !made->next || !made->first) {
		gt_arena_free(arena);
		return NULL;
	}
	for (uint32_t i = 0; i < from->nnodes; i++)
		made->first[i] = GT_NONE;
	return made;
}

int gt_topo_merge(const struct gt_topo *a, const struct gt_topo *b,
		  enum gt_merge how, struct gt_topo **merged,
		  struct gt_err *err)
{
	struct gt_topo *made;
	int rc = check_nodes(a, b, err);

	if (rc)
		return rc;
	made = copy_nodes(a, a->nlinks + b->nlinks + 1);
	if (!made)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < a->nlinks; i++) {
		struct gt_link link = a->links[i];
		const struct gt_link *other = find_link(b, &link);

		if (other)
			narrow(&link, other, how);
		if (other || how == GT_MERGE_MOST)
			add(made, &link);
	}
	if (how == GT_MERGE_MOST)
		rc = add_others(a, b, made, err);
	if (rc)
		gt_topo_free(made);
	else
		*merged = made;
	return rc;
}
