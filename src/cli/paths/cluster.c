/* Prints the routes between the nodes of a cluster. */
#include "cli/paths/cluster.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "topo/cluster/cluster.h"
#include "topo/cluster/internode.h"
#include "topo/view/print.h"

struct gt_paths_on {
	const struct gt_cluster *cluster;
	struct gt_paths **paths; /* of each kind */
	struct gt_arena *arena;
	struct gt_buf *out;
	int json;
	uint32_t npairs; /* written so far */
};

static int gt_paths_between(struct gt_paths_on *on, const uint32_t nodes[2],
			    const uint32_t *gpus, struct gt_err *err)
{
	const struct gt_paths *paths[2];
	struct gt_internode between;
	int rc;

	for (int i = 0; i < 2; i++)
		paths[i] = on->paths[gt_cluster_run_of(on->cluster, nodes[i])
					     ->kind];
	rc = gt_internode_make(on->cluster, nodes, paths, on->arena, &between,
			       err);
	if (rc)
		return rc;
	if (on->json) {
		gt_buf_puts(on->out, on->npairs++ ? ",\n  " : "\n  ");
		gt_internode_print_json(&between, gpus, on->out);
	} else if (gpus) {
		gt_internode_print_route(&between, gpus, on->out);
	} else {
		gt_internode_print(&between, on->out);
	}
	return GT_OK;
}

/* Find the first node of a kind or the last: they are furthest apart. */
static uint32_t gt_paths_node(const struct gt_cluster *cluster, uint32_t kind,
			      int last)
{
	uint32_t node = GT_NONE;

	for (uint32_t i = 0; i < cluster->nruns; i++) {
		const struct gt_cluster_run *run = &cluster->runs[i];

		if (run->kind != kind)
			continue;
		if (!last)
			return run->first;
		node = run->first + run->count - 1;
	}
	return node;
}

static int gt_paths_kinds(struct gt_paths_on *on, struct gt_err *err)
{
	uint32_t n = on->cluster->nkinds;
	int rc = GT_OK;

	for (uint32_t i = 0; i < n * n && !rc; i++) {
		uint32_t nodes[2] = {gt_paths_node(on->cluster, i / n, 0),
				     gt_paths_node(on->cluster, i % n, 1)};

		if (nodes[0] != nodes[1])
			rc = gt_paths_between(on, nodes, NULL, err);
	}
	if (!rc && !on->json)
		gt_buf_puts(on->out,
			    "\nGB/s (1e9 bytes/s) of the narrowest link, one "
			    "way, with the worse of the two ways\nbetween GPU "
			    "and port; gtopo paths of a node's file tells of "
			    "these.\n");
	return rc;
}

/* Parse "node" or "node/GPU0"; *gpu stays as it is where none is named. */
static int gt_paths_end(const struct gt_cluster *cluster, const char *word,
			uint32_t *node, uint32_t *gpu, struct gt_err *err)
{
	const char *slash = strchr(word, '/');
	const struct gt_topo *topo;
	char name[512];
	size_t len = slash ? (size_t)(slash - word) : strlen(word);

	if (len >= sizeof(name))
		len = sizeof(name) - 1;
	memcpy(name, word, len);
	name[len] = '\0';
	*node = gt_cluster_node_find(cluster, name);
	if (*node == GT_NONE)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "there is no node '%s'; gtopo show names "
				  "them",
				  name);
	topo = gt_cluster_kind_of(cluster, *node)->topo;
	if (slash && (!gt_print_find_device(topo, slash + 1, gpu) ||
		      gt_topo_node(topo, *gpu)->kind != GT_NODE_GPU))
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "node '%s' has no GPU '%s'", name, slash + 1);
	return GT_OK;
}

static int gt_paths_ends(struct gt_paths_on *on, const char *from,
			 const char *to, struct gt_err *err)
{
	uint32_t nodes[2], gpus[2] = {GT_NONE, GT_NONE};
	int rc = gt_paths_end(on->cluster, from, &nodes[0], &gpus[0], err);

	if (!rc)
		rc = gt_paths_end(on->cluster, to, &nodes[1], &gpus[1], err);
	if (rc)
		return rc;
	if (nodes[0] == nodes[1])
		return gt_err_set(
			err, GT_EINPUT, NULL,
			"--from and --to are both in node '%s'; ask "
			"its file '%s'",
			to, gt_cluster_kind_of(on->cluster, nodes[0])->file);
	if ((gpus[0] == GT_NONE) != (gpus[1] == GT_NONE))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--from and --to are a node and a GPU; name "
				  "two of a kind");
	return gt_paths_between(on, nodes, gpus[0] == GT_NONE ? NULL : gpus,
				err);
}

static int gt_paths_all(struct gt_paths_on *on,
			const struct gt_paths_query *ask, struct gt_err *err)
{
	int rc;

	if (on->json) {
		gt_buf_puts(on->out, "{\"schema\": \"gtopo.cluster-paths/1\", "
				     "\"source\": ");
		gt_json_quote(on->out, ask->cluster->source);
		gt_buf_puts(on->out, ", \"pairs\": [");
	}
	rc = ask->from ? gt_paths_ends(on, ask->from, ask->to, err)
		       : gt_paths_kinds(on, err);
	if (on->json)
		gt_buf_puts(on->out, "\n]}\n");
	return rc;
}

int gt_paths_cluster(const struct gt_paths_query *ask, struct gt_buf *out,
		     struct gt_err *err)
{
	const struct gt_cluster *cluster = ask->cluster;
	struct gt_paths_on on = {
		.cluster = cluster, .out = out, .json = ask->json};
	int rc = GT_OK;

	on.arena = gt_arena_new();
	if (on.arena)
		on.paths = gt_arena_array(on.arena, cluster->nkinds,
					  sizeof(*on.paths));
	if (!on.paths)
		rc = gt_err_nomem(err);
	for (uint32_t i = 0; i < cluster->nkinds && !rc; i++)
		rc = gt_paths_new(cluster->kinds[i].topo, &on.paths[i], err);
	if (!rc)
		rc = gt_paths_all(&on, ask, err);
	for (uint32_t i = 0; on.paths && i < cluster->nkinds; i++)
		gt_paths_free(on.paths[i]);
	gt_arena_free(on.arena);
	return rc;
}
