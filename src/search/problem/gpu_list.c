/* The GPUs that a list names. */
#include "search/problem/gpu_list.h"

#include "base/arena.h"
#include "base/err.h"
#include "topo/graph/name.h"
#include "topo/graph/topo.h"

/* Returns the node of the GPU that the word names, or GT_NONE. */
static uint32_t gt_gpu_list_find(const struct gt_topo *topo, const char *word)
{
	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
		uint32_t node = gt_topo_gpu(topo, i);

		if (gt_node_is_called(gt_topo_node(topo, node), word))
			return node;
	}
	return GT_NONE;
}

static int gt_gpu_list_add(const struct gt_topo *topo, const char *word,
			   uint32_t *gpus, uint32_t *n, struct gt_err *err)
{
	uint32_t node = gt_gpu_list_find(topo, word);
	const char *misspelling = gt_name_misspelling(word);

	if (node == GT_NONE && misspelling)
		return gt_err_set(err, GT_EINPUT, "--gpus", "'%s': %s", word,
				  misspelling);
	if (node == GT_NONE)
		return gt_err_set(err, GT_EINPUT, "--gpus",
				  "'%s' is no GPU of this machine; write 0-3, "
				  "GPU0,GPU2 or bus ids, which gtopo paths "
				  "shows",
				  word);
	for (uint32_t i = 0; i < *n; i++)
		if (gpus[i] == node)
			return gt_err_set(err, GT_EINPUT, "--gpus",
					  "'%s' is named twice", word);
	gpus[(*n)++] = node;
	return GT_OK;
}

int gt_gpu_list_read(const struct gt_topo *topo, const char *list,
		     struct gt_arena *arena, const uint32_t **gpus,
		     uint32_t *ngpus, struct gt_err *err)
{
	uint32_t all = gt_topo_ngpus(topo), n = 0;
	uint32_t *nodes = gt_arena_array(arena, all + 1, sizeof(*nodes));
	struct gt_name_list names = {.rest = list};
	char word[GT_NAME_MAX];
	int rc = gt_topo_need_gpus(topo, err);

	if (rc)
		return rc;
	if (!nodes)
		return gt_err_nomem(err);
	while (!list && n < all) {
		nodes[n] = gt_topo_gpu(topo, n);
		n++;
	}
	while (!rc && gt_name_list_next(&names, word))
		rc = gt_gpu_list_add(topo, word, nodes, &n, err);
	if (rc)
		return rc;
	*gpus = nodes;
	*ngpus = n;
	return GT_OK;
}
