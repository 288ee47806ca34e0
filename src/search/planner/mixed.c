/* Makes nodes even, and words for those that are not. */
#include "search/planner/mixed.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "search/planner/job_bound.h"
#include "search/problem/flat_cluster.h"
#include "search/problem/gpu_list.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/topo.h"

enum { NAME_MAX_BYTES = 512 };

/* Append "node x7", "nodes x7 and 2 more": those of a kind. */
static void put_nodes(const struct gt_cluster *cluster, uint32_t kind,
		      struct gt_buf *out)
{
	uint32_t more = cluster->kinds[kind].nnodes - 1;
	char name[NAME_MAX_BYTES] = "";

	for (uint32_t i = 0; i < cluster->nruns && !*name; i++)
		if (cluster->runs[i].kind == kind)
			gt_cluster_node_name(cluster, cluster->runs[i].first,
					     name, sizeof(name));
	gt_buf_printf(out, "node%s '%s'", gt_plural(more + 1), name);
	if (more)
		gt_buf_printf(out, " and %" PRIu32 " more", more);
}

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

		if (kind == GT_NONE) {
			gt_buf_printf(&rest, "%s%d", rest.len ? "," : "",
				      gpu->dev);
		} else if (!lost) {
			lost = gpu->id;
			several = cluster->kinds[kind].nnodes > 1;
			put_nodes(cluster, kind, &nodes);
		}
	}
	if (!rc && (nodes.failed || rest.failed))
		rc = gt_err_nomem(err);
	else if (!rc && lost)
		rc = gt_err_set(err, GT_EINPUT, cluster->source,
				"%s %s no '%s', which others have: take %s out "
				"of the file, or let all do without by --gpus "
				"%s",
				nodes.text, several ? "have" : "has", lost,
				several ? "them" : "it",
				rest.len ? rest.text : "LIST");
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
		rc = check_gpus(cluster, *even, gpus, arena, &why);
	if (!rc)
		return GT_OK;
	gt_cluster_free(*even);
	*even = NULL;
	told = gt_job_bound_of_kinds(cluster, &costs, err);
	if (!told)
		gt_err_set(err, rc, why.where, "%s%s", why.text,
			   costs.len ? costs.text : "");
	gt_buf_release(&costs);
	return told ? told : rc;
}

int gt_mixed_words(const struct gt_cluster *cluster,
		   const struct gt_cluster *even, struct gt_arena *arena,
		   const char **words, struct gt_err *err)
{
	const struct gt_cluster_kind *base = &even->kinds[0];
	struct gt_buf out = GT_BUF_INIT;
	int rc = GT_OK;

	*words = NULL;
	for (uint32_t k = 0; k < cluster->nkinds; k++) {
		const struct gt_cluster_kind *kind = &cluster->kinds[k];

		if (!strcmp(gt_topo_digest(kind->topo),
			    gt_topo_digest(base->topo)))
			continue;
		if (out.len)
			gt_buf_puts(&out, "; ");
		put_nodes(cluster, k, &out);
		gt_buf_printf(&out,
			      " of %s: 'gtopo diff %s %s' tells what is "
			      "less",
			      kind->file, base->file, kind->file);
	}
	if (out.len && !out.failed)
		*words = gt_arena_strdup(arena, out.text);
	if (out.failed || (out.len && !*words))
		rc = gt_err_nomem(err);
	gt_buf_release(&out);
	return rc;
}

int gt_mixed_needs_open(const struct gt_flat_cluster *flat, const char *gpus)
{
	const struct gt_cluster *cluster = flat->cluster;
	const struct gt_fabric *f = &flat->fabric;

	for (uint32_t i = 0; i < f->nranks * f->nranks; i++)
		if (i / f->nranks != i % f->nranks && !f->routes[i].nlinks)
			return 1;
	for (uint32_t k = 0; !gpus && k < cluster->nkinds; k++)
		if (cluster->kinds[k].ports[GT_FABRIC_NET].n >
		    gt_topo_ngpus(cluster->kinds[k].topo))
			return 1;
	return 0;
}
