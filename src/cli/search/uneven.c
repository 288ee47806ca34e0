#include "cli/search/uneven.h"

#include "base/arena.h"
#include "base/err.h"
#include "search/problem/flat_cluster.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"

int gt_uneven_open(struct gt_uneven *uneven, const struct gt_cluster *cluster,
		   const char *gpus, struct gt_err *err)
{
	int rc = GT_OK;

	*uneven = (struct gt_uneven){.arena = gt_arena_new()};
	if (!uneven->arena)
		return gt_err_nomem(err);
	uneven->paths = gt_arena_array(uneven->arena, cluster->nkinds,
				       sizeof(*uneven->paths));
	if (!uneven->paths)
		return gt_err_nomem(err);
	while (uneven->nkinds < cluster->nkinds && !rc) {
		rc = gt_paths_new(cluster->kinds[uneven->nkinds].topo,
				  &uneven->paths[uneven->nkinds], err);
		uneven->nkinds += !rc;
	}
	return rc ? rc
		  : gt_flat_new(cluster, uneven->paths, gpus, uneven->arena,
				&uneven->whole, err);
}

void gt_uneven_close(struct gt_uneven *uneven)
{
	for (uint32_t i = 0; i < uneven->nkinds; i++)
		gt_paths_free(uneven->paths[i]);
	gt_arena_free(uneven->arena);
}
