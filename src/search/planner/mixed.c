/* Makes nodes even, and says why where that cannot be. */
#include "search/planner/mixed.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "search/planner/job_bound.h"
#include "search/planner/unlike.h"
#include "search/problem/fabric.h"
#include "search/problem/flat_cluster.h"
#include "search/problem/gpu_list.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/name.h"
#include "topo/graph/topo.h"

static int has_gpu(const struct gt_topo *topo, const char *id)
{
	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++)
		if (!strcmp(gt_topo_node(topo, gt_topo_gpu(topo, i))->id, id))
			return 1;
	return 0;
}

/* The first kind of nodes without that GPU, or GT_NONE. */
static uint32_t find_lacking(const struct gt_cluster *cluster, const char *id)
{
	for (uint32_t k = 0; k < cluster->nkinds; k++)
		if (!has_gpu(cluster->kinds[k].topo, id))
			return k;
	return GT_NONE;
}

/* Has the GPU the same number in all nodes? */
static int has_one_number(const struct gt_cluster *cluster,
			  const struct gt_node *gpu)
{
	for (uint32_t k = 0; k < cluster->nkinds; k++) {
		const struct gt_topo *topo = cluster->kinds[k].topo;

		for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
			const struct gt_node *other =
				gt_topo_node(topo, gt_topo_gpu(topo, i));

			if (!strcmp(other->id, gpu->id) &&
			    other->dev != gpu->dev)
				return 0;
		}
	}
	return 1;
}

/*
 * Append those of the GPUs that all nodes have, for --gpus: a node that has
 * lost one may number those after it anew, and then bus ids alone mean the same
 * everywhere.
 */
static void put_common(const struct gt_cluster *cluster,
		       const struct gt_topo *even, const uint32_t *gpus,
		       uint32_t ngpus, struct gt_buf *out)
{
	struct gt_buf ids = GT_BUF_INIT;
	size_t begin = out->len;
	int numbered = 1;

	for (uint32_t i = 0; i < ngpus; i++) {
		const struct gt_node *gpu = gt_topo_node(even, gpus[i]);

		if (find_lacking(cluster, gpu->id) != GT_NONE)
			continue;
		numbered &= has_one_number(cluster, gpu);
		gt_buf_printf(out, "%s%d", out->len > begin ? "," : "",
			      gpu->dev);
		gt_buf_printf(&ids, "%s%s", ids.len ? "," : "", gpu->bus_id);
	}
	if (!numbered) {
		out->len = begin;
		gt_buf_puts(out, gt_buf_text(&ids));
	}
	out->failed |= ids.failed;
	gt_buf_release(&ids);
}

int gt_mixed_need_gpus(const struct gt_cluster *cluster, struct gt_err *err)
{
	struct gt_buf nodes = GT_BUF_INIT;
	const struct gt_cluster_kind *kind = cluster->kinds;
	struct gt_err why;
	uint32_t k = 0;
	int rc = GT_EINPUT;

	gt_err_init(&why);
	while (k < cluster->nkinds && !gt_topo_need_gpus(kind[k].topo, &why))
		k++;
	if (k == cluster->nkinds)
		return GT_OK;
	gt_unlike_put_nodes(cluster, k, &nodes);
	if (nodes.failed)
		rc = gt_err_nomem(err);
	else if (gt_topo_ngpus(kind[k].topo))
		gt_err_set(err, GT_EINPUT, cluster->source, "%s of %s %s",
			   nodes.text, kind[k].file, why.text);
	else
		gt_err_set(err, GT_EINPUT, cluster->source,
			   "%s of %s %s no GPUs, which a plan is for: take %s "
			   "out of the file",
			   nodes.text, kind[k].file,
			   kind[k].nnodes > 1 ? "have" : "has",
			   kind[k].nnodes > 1 ? "them" : "it");
	gt_buf_release(&nodes);
	return rc;
}

/* The first GPU that is called so, or NULL. */
static const struct gt_node *find_called(const struct gt_topo *topo,
					 const char *word)
{
	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
		const struct gt_node *gpu =
			gt_topo_node(topo, gt_topo_gpu(topo, i));

		if (gt_node_is_called(gpu, word))
			return gpu;
	}
	return NULL;
}

/* Refuse a word that calls one GPU so in some nodes and another in others. */
static int check_word(const struct gt_cluster *cluster, const char *word,
		      struct gt_err *err)
{
	const struct gt_node *first = NULL;
	struct gt_buf nodes[2] = {GT_BUF_INIT, GT_BUF_INIT};
	uint32_t first_kind = 0;
	int rc = GT_OK;

	for (uint32_t k = 0; k < cluster->nkinds && !rc; k++) {
		const struct gt_node *gpu =
			find_called(cluster->kinds[k].topo, word);

		first_kind = first ? first_kind : k;
		first = first ? first : gpu;
		if (!gpu || !strcmp(gpu->id, first->id))
			continue;
		gt_unlike_put_nodes(cluster, first_kind, &nodes[0]);
		gt_unlike_put_nodes(cluster, k, &nodes[1]);
		rc = gt_err_set(err, GT_EINPUT, "--gpus",
				"'%s' is '%s' on %s, but '%s' on %s: name GPUs "
				"by their bus ids, which are the same "
				"everywhere",
				word, first->bus_id, gt_buf_text(&nodes[0]),
				gpu->bus_id, gt_buf_text(&nodes[1]));
	}
	gt_buf_release(&nodes[0]);
	gt_buf_release(&nodes[1]);
	return rc;
}

/* Refuse a list in which one of the words does so; NULL has none. */
static int check_words(const struct gt_cluster *cluster, const char *list,
		       struct gt_err *err)
{
	struct gt_name_list names = {.rest = list};
	char word[GT_NAME_MAX];
	int rc = GT_OK;

	while (!rc && gt_name_list_next(&names, word))
		rc = check_word(cluster, word, err);
	return rc;
}

/* Refuse to plan for GPUs of which a kind of nodes lacks one. */
static int check_gpus(const struct gt_cluster *cluster,
		      const struct gt_cluster *even, const char *list,
		      struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_topo *topo = even->kinds[0].topo;
	struct gt_buf nodes = GT_BUF_INIT, rest = GT_BUF_INIT;
	const char *lost = NULL;
	const uint32_t *gpus;
	uint32_t ngpus;
	int several = 0;
	int rc = gt_gpu_list_read(topo, list, arena, &gpus, &ngpus, err);

	for (uint32_t i = 0; !rc && i < ngpus; i++) {
		const struct gt_node *gpu = gt_topo_node(topo, gpus[i]);
		uint32_t kind = find_lacking(cluster, gpu->id);

		if (kind != GT_NONE && !lost) {
			lost = gpu->id;
			several = cluster->kinds[kind].nnodes > 1;
			gt_unlike_put_nodes(cluster, kind, &nodes);
		}
	}
	if (lost)
		put_common(cluster, topo, gpus, ngpus, &rest);
	if (!rc && (nodes.failed || rest.failed))
		rc = gt_err_nomem(err);
	else if (!rc && lost)
		rc = gt_err_set(err, GT_EINPUT, cluster->source,
				"%s %s no '%s', which others have: take %s out "
				"of the file%s%s",
				nodes.text, several ? "have" : "has", lost,
				several ? "them" : "it",
				rest.len ? ", or let all do without by --gpus "
					 : "",
				gt_buf_text(&rest));
	gt_buf_release(&nodes);
	gt_buf_release(&rest);
	return rc;
}

int gt_mixed_even(const struct gt_cluster *cluster, const char *gpus,
		  struct gt_arena *arena, struct gt_cluster **even,
		  struct gt_err *err)
{
	struct gt_buf costs = GT_BUF_INIT;
	struct gt_err why;
	int rc, told;

	gt_err_init(&why);
	*even = NULL;
	rc = gt_cluster_homogenize(cluster, GT_INTERSECTION, even, &why);
	if (!rc)
		rc = check_words(cluster, gpus, &why);
	if (!rc)
		rc = check_gpus(cluster, *even, gpus, arena, &why);
	if (!rc)
		return GT_OK;
	gt_cluster_free(*even);
	*even = NULL;
	/* A misspelt list is no fault of any node. */
	told = strcmp(why.where, "--gpus") != 0
		       ? gt_job_bound_of_kinds(cluster, &costs, err)
		       : GT_OK;
	if (!told)
		gt_err_set(err, rc, why.where, "%s%s", why.text,
			   costs.len ? costs.text : "");
	gt_buf_release(&costs);
	return told ? told : rc;
}

int gt_mixed_needs_open(const struct gt_flat_cluster *flat)
{
	const struct gt_cluster *cluster = flat->cluster;
	uint64_t all = 0;

	if (!gt_fabric_is_routed(&flat->fabric))
		return 1;
	for (uint32_t k = 0; k < cluster->nkinds; k++)
		all += (uint64_t)cluster->kinds[k].nnodes *
		       gt_topo_ngpus(cluster->kinds[k].topo);
	for (uint32_t k = 0; flat->fabric.nranks == all && k < cluster->nkinds;
	     k++)
		if (cluster->kinds[k].ports[GT_FABRIC_NET].n >
		    gt_topo_ngpus(cluster->kinds[k].topo))
			return 1;
	return 0;
}
