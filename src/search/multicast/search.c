/* One tree for each rank that drives, or place of ranks, and its part. */
#include "search/multicast/search.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/emit/emit.h"
#include "search/multicast/parts.h"
#include "search/multicast/site.h"
#include "search/problem/flat_cluster.h"
#include "search/problem/request.h"
#include "search/problem/shape.h"

static int refuse(const struct gt_search_request *request, int joins,
		  struct gt_err *err)
{
	enum gt_algo algo = joins ? GT_ALGO_COLLNET : GT_ALGO_NVLS;

	if (!gt_algo_supports(algo, request->coll))
		return gt_err_set(
			err, GT_EINPUT, NULL,
			"--algo %s cannot do %s; it does "
			"%s",
			gt_algo_name(algo), gt_coll_name(request->coll),
			joins ? "allreduce"
			      : "allreduce, allgather, reducescatter, "
				"broadcast and reduce");
	if (request->nranks < 2)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--algo %s is for two GPUs or more",
				  gt_algo_name(algo));
	if (joins && (!request->flat || request->flat->cluster->nnodes < 2))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--algo collnet is for several nodes: a "
				  "cluster file, or --nodes");
	if (joins && !gt_cluster_has_sharp(request->flat->cluster))
		return gt_err_set(
			err, GT_ENO, request->flat->cluster->source,
			"nothing says that switches of the network "
			"add up (SHARP): neither sharp=\"1\" of the "
			"fabric nor coll=\"1\" of all its ports; if "
			"they do, write that into the <fabric> of the "
			"cluster file, or for --nodes into each <net> "
			"of the machine's; if not, --algo auto plans "
			"without them");
	return GT_OK;
}

static int propose(struct gt_multicast_site *site, struct gt_proposal *p,
		   struct gt_err *err)
{
	int rc = GT_OK;

	p->shape = GT_SHAPE_SWITCH;
	p->class_ = GT_PROOF_SWITCH;
	p->has_bound = 1;
	p->nchannels = site->ntrees;
	p->channels =
		gt_arena_array(site->arena, p->nchannels, sizeof(*p->channels));
	if (!p->channels)
		return gt_err_nomem(err);
	for (uint32_t k = 0; k < site->ntrees && !rc; k++)
		rc = gt_multicast_tree(site, k, &p->channels[k], err);
	return rc ? rc : gt_multicast_parts(site, p, err);
}

int gt_multicast_search(const struct gt_search_request *request, int joins,
			struct gt_plan **plan, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_multicast_site site;
	struct gt_proposal proposal = {0};
	int rc = arena ? refuse(request, joins, err) : gt_err_nomem(err);

	if (!rc)
		rc = gt_multicast_site_init(&site, request, joins, arena, err);
	if (!rc)
		rc = propose(&site, &proposal, err);
	if (!rc) {
		const struct gt_solution found = {request, site.graph.fabric,
						  &proposal};

		rc = gt_emit(&found, plan, err);
	}
	gt_arena_free(arena);
	return rc;
}
