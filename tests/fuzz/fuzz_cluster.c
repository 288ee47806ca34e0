/*
 * libFuzzer target: any bytes inside a cluster file of DGX-1s, up to routes
 * between its nodes.  Run where share/xml's dgx-1v.xml is.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/xml.h"
#include "topo/diff/cluster.h"
#include "topo/cluster/make.h"
#include "topo/cluster/internode.h"
#include "topo/view/print.h"
#include "topo/view/show.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look(const struct gt_cluster *cluster, struct gt_buf *text)
{
	uint32_t ends[2] = {0, cluster->nnodes - 1}, n = 0;
	uint32_t *kind = calloc(cluster->nkinds, sizeof(*kind));
	struct gt_arena *arena = gt_arena_new();
	struct gt_internode between;
	struct gt_paths *paths;

	gt_show_cluster(cluster, &(struct gt_show_style){0, 0}, text);
	if (!gt_paths_new(cluster->kinds[0].topo, &paths, NULL)) {
		const struct gt_paths *both[2] = {paths, paths};

		if (ends[1] && !gt_internode_make(cluster, ends, both, arena,
						  &between, NULL))
			gt_internode_print(&between, text);
		gt_paths_free(paths);
	}
	/* A cluster is not different from itself. */
	if (cluster->nnodes < 1000)
		gt_cluster_diff_print(cluster, cluster, kind, 0, text, &n);
	if (n && cluster->nkinds == 1)
		abort();
	gt_arena_free(arena);
	free(kind);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_buf text = GT_BUF_INIT, out = GT_BUF_INIT;
	struct gt_cluster *cluster;
	struct gt_xml *xml;
	struct gt_err err;

	gt_err_init(&err);
	gt_buf_puts(&text, "<cluster version=\"1\"><node file=\"dgx-1v.xml\" ");
	gt_buf_add(&text, data, size);
	gt_buf_puts(&text, "</cluster>");
	/* Nothing else is to be opened. */
	if (!memmem(data, size, "file", 4) &&
	    !gt_xml_parse("input", text.text, text.len, &xml, &err)) {
		if (!gt_cluster_from_xml(xml, GT_RATES_LINE, &cluster, &err)) {
			look(cluster, &out);
			gt_cluster_free(cluster);
		} else if (!err.text[0]) {
			abort();
		}
		gt_xml_free(xml);
	}
	gt_buf_release(&text);
	gt_buf_release(&out);
	return 0;
}
