/* Reads lists of nodes and their GPUs: "node-0,node-1:0-3,node-2:GPU5". */
#include "search/pick/several.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/name.h"

enum { NAME_MAX_BYTES = 512 };

static uint64_t all_gpus(const struct gt_topo *topo)
{
	uint32_t n = gt_topo_ngpus(topo);

	return n < 64 ? ((uint64_t)1 << n) - 1 : UINT64_MAX;
}

/* The GPUs of a node that a word means: all, one, or a range of numbers. */
static uint64_t find_gpus(const struct gt_topo *topo, const char *word)
{
	struct gt_name_list names = {.rest = word};
	char one[GT_NAME_MAX];
	uint64_t gpus = 0;

	while (gt_name_list_next(&names, one)) {
		uint64_t found = 0;

		for (uint32_t i = 0; i < gt_topo_ngpus(topo) && i < 64; i++)
			if (gt_node_is_called(
				    gt_topo_node(topo, gt_topo_gpu(topo, i)),
				    one))
				found |= (uint64_t)1 << i;
		if (!found)
			return 0;
		gpus |= found;
	}
	return gpus;
}

static int mark_entry(const struct gt_cluster *cluster, const char *entry,
		      const char *option, uint64_t *marks, struct gt_err *err)
{
	char name[NAME_MAX_BYTES];

	for (uint32_t i = 0; i < cluster->nnodes; i++) {
		const struct gt_topo *topo =
			gt_cluster_kind_of(cluster, i)->topo;
		size_t n;
		uint64_t gpus;

		gt_cluster_node_name(cluster, i, name, sizeof(name));
		n = strlen(name);
		if (strncmp(entry, name, n) != 0 ||
		    (entry[n] && entry[n] != ':'))
			continue;
		gpus = entry[n] ? find_gpus(topo, entry + n + 1)
				: all_gpus(topo);
		marks[i] |= gpus;
		if (gpus)
			return GT_OK;
	}
	gt_cluster_node_name(cluster, 0, name, sizeof(name));
	return gt_err_set(err, GT_EINPUT, option,
			  "'%s' is no node of this cluster, or no GPU of it; "
			  "write %.128s or %.128s:0-3, as gtopo show names "
			  "nodes",
			  entry, name, name);
}

static int mark_list(const struct gt_cluster *cluster, const char *list,
		     const char *option, uint64_t *marks, struct gt_err *err)
{
	char entry[NAME_MAX_BYTES];
	int rc = GT_OK;

	while (list && *list && !rc) {
		size_t n = strcspn(list, ",");

		snprintf(entry, sizeof(entry), "%.*s", (int)n, list);
		rc = mark_entry(cluster, entry, option, marks, err);
		list += n + (list[n] == ',');
	}
	return rc;
}

int gt_pick_several_read(const char *among, const char *taken,
			 struct gt_arena *arena,
			 struct gt_pick_several_query *query,
			 struct gt_err *err)
{
	const struct gt_cluster *cluster = query->cluster;
	uint32_t n = cluster->nnodes;
	uint64_t *in = gt_arena_array(arena, n, sizeof(*in));
	uint64_t *out = gt_arena_array(arena, n, sizeof(*out));
	int rc;

	if (!in || !out)
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < n; i++) {
		const struct gt_topo *topo =
			gt_cluster_kind_of(cluster, i)->topo;

		if (gt_topo_ngpus(topo) > 64)
			return gt_err_set(err, GT_EINPUT, cluster->source,
					  "has nodes of more than 64 GPUs");
		in[i] = among ? 0 : all_gpus(topo);
	}
	rc = mark_list(cluster, among, "--among", in, err);
	if (!rc)
		rc = mark_list(cluster, taken, "--taken", out, err);
	for (uint32_t i = 0; i < n; i++)
		in[i] &= ~out[i];
	query->free = in;
	return rc;
}
