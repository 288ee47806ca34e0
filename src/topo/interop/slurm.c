/* Writes switches and NVLink domains for Slurm's plugins of topology. */
#include "topo/interop/interop.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/err.h"
#include "topo/cluster/cluster.h"
#include "topo/interop/span.h"

/* A file of Slurm's, as far as it is written. */
struct slurm {
	const struct gt_cluster *cluster;
	int is_yaml;
	struct gt_buf *out;
};

/* Nodes first .. end-1 below one switch of a level. */
struct span {
	uint32_t level, index, first, end;
};

static struct span span_of(const struct gt_cluster *cluster,
			   enum gt_fabric_kind over, uint32_t level,
			   uint32_t index)
{
	uint32_t nodes = cluster->fabrics[over].levels[level].nodes;
	struct span span = {.level = level, .index = index};

	span.first = index * nodes;
	span.end = cluster->nnodes - span.first < nodes ? cluster->nnodes
							: span.first + nodes;
	return span;
}

/* Names the switches of the level below that take in the nodes of a span. */
static void put_children(const struct slurm *slurm, const struct span *span)
{
	uint32_t nodes = slurm->cluster->fabrics[GT_FABRIC_NET]
				 .levels[span->level - 1]
				 .nodes;
	uint32_t first = span->first / nodes, last = (span->end - 1) / nodes;
	char level[GT_SPAN_NAME];

	gt_buf_printf(slurm->out, "%s",
		      gt_span_level_name(span->level - 1, level));
	if (first == last)
		gt_buf_printf(slurm->out, "%" PRIu32, first);
	else
		gt_buf_printf(slurm->out, "[%" PRIu32 "-%" PRIu32 "]", first,
			      last);
}

static void put_switch(const struct slurm *slurm, const struct span *span)
{
	struct gt_buf *out = slurm->out;
	char name[GT_SPAN_NAME];

	gt_buf_printf(out,
		      slurm->is_yaml ? "      - switch: %s\n" : "SwitchName=%s",
		      gt_span_name(span->level, span->index, name));
	if (span->level) {
		gt_buf_puts(out, slurm->is_yaml ? "        children: "
						: " Switches=");
		put_children(slurm, span);
	} else {
		gt_buf_puts(out,
			    slurm->is_yaml ? "        nodes: " : " Nodes=");
		gt_span_nodes(slurm->cluster, span->first, span->end, out);
	}
	gt_buf_puts(out, "\n");
}

static void put_tree(const struct slurm *slurm)
{
	const struct gt_cluster *cluster = slurm->cluster;

	if (slurm->is_yaml)
		gt_buf_puts(slurm->out, "- topology: tree\n"
					"  cluster_default: true\n"
					"  tree:\n    switches:\n");
	for (uint32_t level = 0;
	     level < cluster->fabrics[GT_FABRIC_NET].nlevels; level++)
		for (uint32_t i = 0;
		     i < gt_span_count(cluster, GT_FABRIC_NET, level); i++) {
			struct span span =
				span_of(cluster, GT_FABRIC_NET, level, i);

			put_switch(slurm, &span);
		}
}

/* Returns how many nodes the smallest domain has, the base of all blocks. */
static uint32_t base_size(const struct gt_cluster *cluster)
{
	uint32_t n = gt_span_count(cluster, GT_FABRIC_NVLINK, 0);
	struct span last = span_of(cluster, GT_FABRIC_NVLINK, 0, n - 1);

	return last.end - last.first;
}

static void put_block(const struct slurm *slurm, const struct span *span)
{
	gt_buf_printf(slurm->out,
		      slurm->is_yaml ? "      - block: nvlink%" PRIu32
				       "\n        nodes: "
				     : "BlockName=nvlink%" PRIu32 " Nodes=",
		      span->index);
	gt_span_nodes(slurm->cluster, span->first, span->end, slurm->out);
	gt_buf_puts(slurm->out, "\n");
}

static void put_blocks(const struct slurm *slurm, int is_default)
{
	const struct gt_cluster *cluster = slurm->cluster;

	if (slurm->is_yaml)
		gt_buf_printf(slurm->out,
			      "- topology: block\n  cluster_default: %s\n"
			      "  block:\n    block_sizes:\n      - %" PRIu32
			      "\n    blocks:\n",
			      is_default ? "true" : "false",
			      base_size(cluster));
	for (uint32_t i = 0; i < gt_span_count(cluster, GT_FABRIC_NVLINK, 0);
	     i++) {
		struct span span = span_of(cluster, GT_FABRIC_NVLINK, 0, i);

		put_block(slurm, &span);
	}
	if (!slurm->is_yaml)
		gt_buf_printf(slurm->out, "BlockSizes=%" PRIu32 "\n",
			      base_size(cluster));
}

static int put_all(const struct slurm *slurm, struct gt_err *err)
{
	const struct gt_cluster *cluster = slurm->cluster;
	int has_tree = cluster->fabrics[GT_FABRIC_NET].nlevels > 0;
	int has_blocks = cluster->fabrics[GT_FABRIC_NVLINK].nlevels > 0;
	int rc = gt_span_check_names(cluster, 0, err);

	if (rc)
		return rc;
	if (cluster->fabrics[GT_FABRIC_NET].ncables)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "has single links between switches; Slurm's "
				  "tree takes a fabric of levels");
	if (!has_tree && !has_blocks)
		return gt_err_set(err, GT_EINPUT, cluster->source,
				  "has no switch between its nodes");
	gt_buf_puts(slurm->out, slurm->is_yaml ? "---\n" : "");
	if (has_tree)
		put_tree(slurm);
	if (has_blocks && (slurm->is_yaml || !has_tree))
		put_blocks(slurm, !has_tree);
	return GT_OK;
}

int gt_slurm_conf(const struct gt_cluster *cluster, struct gt_buf *out,
		  struct gt_err *err)
{
	struct slurm slurm = {.cluster = cluster, .out = out};

	return put_all(&slurm, err);
}

int gt_slurm_yaml(const struct gt_cluster *cluster, struct gt_buf *out,
		  struct gt_err *err)
{
	struct slurm slurm = {.cluster = cluster, .is_yaml = 1, .out = out};

	return put_all(&slurm, err);
}
