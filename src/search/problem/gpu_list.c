/* The GPUs that a list names, by dev or by bus id. */
#include "search/problem/gpu_list.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/unit.h"
#include "topo/graph/topo.h"

/* The node of the GPU that the word names, or UINT32_MAX. */
static uint32_t gt_gpu_list_find(const struct gt_topo *topo, const char *word)
{
	int64_t dev = -1;

	gt_unit_int(word, 0, INT32_MAX, &dev);
	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
		uint32_t node = gt_topo_gpu(topo, i);
		const struct gt_node *gpu = gt_topo_node(topo, node);

		if (dev >= 0 && gpu->dev == dev)
			return node;
		if (gpu->bus_id && !strcasecmp(gpu->bus_id, word))
			return node;
	}
	return UINT32_MAX;
}

static int gt_gpu_list_add(const struct gt_topo *topo, const char *word,
			   uint32_t *gpus, uint32_t *n, struct gt_err *err)
{
	uint32_t node = gt_gpu_list_find(topo, word);

	if (node == UINT32_MAX)
		return gt_err_set(err, GT_EINPUT, "--gpus",
				  "'%s' is neither the dev nor the bus id of a "
				  "GPU; see 'gtopo paths'",
				  word);
	for (uint32_t i = 0; i < *n; i++)
		if (gpus[i] == node)
			return gt_err_set(err, GT_EINPUT, "--gpus",
					  "'%s' is named twice", word);
	gpus[(*n)++] = node;
	return GT_OK;
}

static int gt_gpu_list_split(const struct gt_topo *topo, char *list,
			     uint32_t *gpus, uint32_t *n, struct gt_err *err)
{
	char *word;
	int rc = GT_OK;

	while (!rc && (word = strsep(&list, ",")))
		rc = gt_gpu_list_add(topo, word, gpus, n, err);
	return rc;
}

int gt_gpu_list_read(const struct gt_topo *topo, const char *list,
		     struct gt_arena *arena, const uint32_t **gpus,
		     uint32_t *ngpus, struct gt_err *err)
{
	uint32_t all = gt_topo_ngpus(topo), n = 0;
	uint32_t *nodes = gt_arena_array(arena, all + 1, sizeof(*nodes));
	char *copy = list ? gt_arena_strdup(arena, list) : NULL;
	int rc = gt_topo_need_gpus(topo, err);

	if (rc)
		return rc;
	if (!nodes || (list && !copy))
		return gt_err_nomem(err);
	while (!list && n < all) {
		nodes[n] = gt_topo_gpu(topo, n);
		n++;
	}
	if (list)
		rc = gt_gpu_list_split(topo, copy, nodes, &n, err);
	if (rc)
		return rc;
	*gpus = nodes;
	*ngpus = n;
	return GT_OK;
}
