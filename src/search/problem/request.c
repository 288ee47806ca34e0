#include "search/problem/request.h"

#include <string.h>
#include <strings.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/unit.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"
#include "topo/graph/path.h"

/* The GPU's node, or UINT32_MAX. */
static uint32_t gt_request_find(const struct gt_topo *topo, const char *word)
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

static int gt_request_add(const struct gt_topo *topo, const char *word,
			  uint32_t *gpus, uint32_t *n, struct gt_err *err)
{
	uint32_t node = gt_request_find(topo, word);

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

static int gt_request_list(const struct gt_topo *topo, char *list,
			   uint32_t *gpus, uint32_t *n, struct gt_err *err)
{
	char *word;
	int rc = GT_OK;

	while (!rc && (word = strsep(&list, ",")))
		rc = gt_request_add(topo, word, gpus, n, err);
	return rc;
}

int gt_request_gpus(const struct gt_topo *topo, const char *list,
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
		rc = gt_request_list(topo, copy, nodes, &n, err);
	if (rc)
		return rc;
	*gpus = nodes;
	*ngpus = n;
	return GT_OK;
}

static void gt_request_fill(const struct gt_request *request,
			    struct gt_fabric *fabric)
{
	uint32_t n = fabric->nranks;

	for (uint32_t i = 0; i < fabric->nlinks; i++) {
		const struct gt_link *link = gt_topo_link(request->topo, i);

		fabric->links[i].from = link->from;
		fabric->links[i].to = link->to;
		fabric->links[i].gbs = link->gbs;
		fabric->links[i].charged = link->kind == GT_LINK_PCI;
	}
	for (uint32_t i = 0; i < n * n; i++) {
		const struct gt_path *path =
			gt_paths_get(request->paths, fabric->ranks[i / n],
				     fabric->ranks[i % n]);
		struct gt_fabric_route *route = &fabric->routes[i];

		route->charge = path->charge;
		if (i / n != i % n && path->kind < GT_PATH_DIS)
			route->nlinks = path->nhops;
		route->links = path->links;
	}
}

int gt_request_fabric(const struct gt_request *request, struct gt_arena *arena,
		      struct gt_fabric **fabric, struct gt_err *err)
{
	struct gt_fabric *f = gt_arena_alloc(arena, sizeof(*f));
	uint32_t n = request->nranks;

	if (!f)
		return gt_err_nomem(err);
	*fabric = f;
	if (request->whole) {
		*f = request->whole->fabric;
		return GT_OK;
	}
	f->nnodes = gt_topo_nnodes(request->topo);
	f->nlinks = gt_topo_nlinks(request->topo);
	f->nranks = n;
	f->links = gt_arena_array(arena, f->nlinks, sizeof(*f->links));
	f->ranks = gt_arena_array(arena, n, sizeof(*f->ranks));
	f->routes = gt_arena_array(arena, (size_t)n * n, sizeof(*f->routes));
	if (!f->links || !f->ranks || !f->routes)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++)
		f->ranks[i] = request->gpus[i];
	gt_request_fill(request, f);
	return GT_OK;
}
