/*
 * Counts pairs of GPUs without peer access, and compares their routes with
 * those that they would have.
 */
#include "topo/view/peer_access.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

enum { GT_ACCESS_CAUSES = 8 }; /* peer_cause.c has no more */

struct gt_access {
	const struct gt_topo *topo;
	struct gt_paths *now, *open; /* open: as if all had access */
	uint32_t apart, wider;       /* pairs: without access; more with it */
	struct gt_rat most;          /* what one of `wider` would have */
	const char *causes[GT_ACCESS_CAUSES];
	uint32_t ncauses;
};

/* The lesser of both ways. */
static struct gt_rat gt_access_gbs(const struct gt_paths *paths, uint32_t a,
				   uint32_t b)
{
	return gt_rat_min(gt_paths_get(paths, a, b)->gbs,
			  gt_paths_get(paths, b, a)->gbs);
}

static void gt_access_cause(struct gt_access *access, uint32_t gpu)
{
	const char *cause = gt_topo_node(access->topo, gpu)->peer_cause;

	for (uint32_t i = 0; cause && i < access->ncauses; i++)
		if (!strcmp(access->causes[i], cause))
			return;
	if (cause && access->ncauses < GT_ACCESS_CAUSES)
		access->causes[access->ncauses++] = cause;
}

static void gt_access_pair(struct gt_access *access, uint32_t a, uint32_t b)
{
	struct gt_rat gbs = gt_access_gbs(access->open, a, b);

	if (!gt_paths_get(access->now, a, b)->is_staged)
		return;
	access->apart++;
	gt_access_cause(access, a);
	gt_access_cause(access, b);
	if (gt_rat_cmp(gbs, gt_access_gbs(access->now, a, b)) <= 0)
		return;
	if (!access->wider++ || gt_rat_cmp(gbs, access->most) > 0)
		access->most = gbs;
}

static void gt_access_print(const struct gt_access *access, struct gt_buf *buf)
{
	uint32_t n = gt_topo_ngpus(access->topo);

	gt_buf_printf(buf,
		      "%u of %u pairs of GPUs have no peer access (gt_p2p): "
		      "bytes wait in memory.\n",
		      access->apart, n * (n - 1) / 2);
	for (uint32_t i = 0; i < access->ncauses; i++)
		gt_buf_printf(buf, "Most likely, %s.\n", access->causes[i]);
	if (access->wider)
		gt_buf_printf(buf,
			      "With access %u of them would have more "
			      "alone, up to %.4g GB/s each way;\n",
			      access->wider, gt_rat_double(access->most));
	else
		gt_buf_puts(buf, "With access none of them would have more "
				 "alone;\n");
	gt_buf_puts(buf, "'gtopo search --explain' says what it would bring "
			 "to all together.\n");
}

/* Only then memories are there. */
static int gt_access_is_lacking(const struct gt_topo *topo)
{
	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		if (gt_topo_node(topo, i)->kind == GT_NODE_MEM)
			return 1;
	return 0;
}

void gt_print_peer_access(const struct gt_topo *topo, struct gt_buf *buf)
{
	struct gt_access access = {.topo = topo};
	uint32_t n = gt_topo_ngpus(topo);
	struct gt_err none;

	if (!gt_access_is_lacking(topo))
		return;
	gt_err_init(&none);
	if (gt_paths_new(topo, &access.now, &none) ||
	    gt_paths_new_open(topo, &access.open, &none)) {
		buf->failed = 1;
		goto free_now;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = i + 1; k < n; k++)
			gt_access_pair(&access, gt_topo_gpu(topo, i),
				       gt_topo_gpu(topo, k));
	if (access.apart)
		gt_access_print(&access, buf);
	gt_paths_free(access.open);
free_now:
	gt_paths_free(access.now);
}
