/* The names of algorithms, and the table of options that do not go together. */
#include "search/planner/request.h"

#include <stddef.h>

#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/problem/flat_cluster.h"

const char *gt_planner_algo_name(enum gt_planner_algo algo)
{
	static const char *const names[GT_NPLANNER_ALGOS] = {
		"auto", "ring",     "forest", "tree", "mesh",
		"flow", "alltoall", "hier",   "nvls", "collnet"};

	return names[algo];
}

int gt_planner_algo(const struct gt_planner_request *request,
		    enum gt_planner_algo *algo, struct gt_err *err)
{
	*algo = request->algo;
	if (!request->invariant || !gt_coll_reduces(gt_planner_coll(request)))
		return GT_OK;
	if (*algo == GT_PLANNER_AUTO || *algo == GT_PLANNER_MESH) {
		*algo = GT_PLANNER_MESH;
		return GT_OK;
	}
	return gt_err_set(err, GT_EINPUT, NULL,
			  "--algo %s cannot be --invariant: it adds up from "
			  "rank to rank; mesh adds in the order of ranks",
			  gt_planner_algo_name(*algo));
}

enum gt_coll gt_planner_coll(const struct gt_planner_request *request)
{
	if (request->coll >= 0)
		return (enum gt_coll)request->coll;
	return request->demand || request->algo == GT_PLANNER_FLOW ||
			       request->algo == GT_PLANNER_ALLTOALL
		       ? GT_COLL_ALLTOALL
		       : GT_COLL_ALLREDUCE;
}

/* The option that a row is about; its value stands in the message. */
enum option {
	OPTION_ALGO,
	OPTION_COLL,
	OPTION_EQUAL,
	OPTION_TREES_PER_ROOT,
	OPTION_MAX_CHANNELS,
	OPTION_EXPLAIN,
	OPTION_DEMAND,
	OPTION_INVARIANT,
};

/*
 * The option is refused if it is given for one of these collectives and the
 * algorithm is not one of those that allow it.
 */
struct refusal {
	enum gt_planner_on on;
	enum option option;
	unsigned colls, allowed; /* bit sets of gt_coll and gt_planner_algo */
	const char *reason;
};

#define COLL(name) (1u << GT_COLL_##name)
#define ALGO(name) (1u << GT_PLANNER_##name)

enum {
	ANY_COLL = (1u << GT_NCOLLS) - 1,
	MOVING = COLL(ALLTOALL) | COLL(GATHER) | COLL(SCATTER) | COLL(SENDRECV),
	REDUCING = ANY_COLL & ~MOVING, /* and those that spread one block */
	IN_BLOCKS = COLL(ALLGATHER) | COLL(REDUCESCATTER),
	ROOTED = COLL(BROADCAST) | COLL(REDUCE),
	ANY_ALGO = (1u << GT_NPLANNER_ALGOS) - 1,
};

/* The words below say 64. */
_Static_assert(GT_FLAT_MAX_RANKS == 64, "the largest flattened cluster");

static const struct refusal refusals[] = {
	{GT_PLANNER_ON_MACHINE, OPTION_ALGO, ANY_COLL, ANY_ALGO & ~ALGO(HIER),
	 " is for several nodes: a cluster file of several, or --nodes"},
	{GT_PLANNER_ON_MACHINE, OPTION_TREES_PER_ROOT, ANY_COLL,
	 ALGO(AUTO) | ALGO(FOREST) | ALGO(TREE), " is for --algo forest"},

	{GT_PLANNER_ON_QUOTIENT, OPTION_INVARIANT,
	 COLL(ALLREDUCE) | COLL(REDUCESCATTER) | COLL(REDUCE), 0,
	 " is for one machine, or up to 64 GPUs"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_DEMAND, ANY_COLL, 0,
	 " is for one machine, or up to 64 GPUs"},

	{GT_PLANNER_ON_QUOTIENT, OPTION_COLL, MOVING & ~COLL(ALLTOALL), 0,
	 " is for one machine, or up to 64 GPUs; of more, alltoall is planned"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_ALGO, COLL(ALLTOALL),
	 ALGO(AUTO) | ALGO(HIER) | ALGO(FLOW) | ALGO(ALLTOALL),
	 " cannot do alltoall of more than 64 GPUs; auto, flow and hier can"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_EQUAL, COLL(ALLTOALL), 0,
	 " is not for alltoall of more than 64 GPUs"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_TREES_PER_ROOT, COLL(ALLTOALL), 0,
	 " is not for alltoall of more than 64 GPUs"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_MAX_CHANNELS, COLL(ALLTOALL), 0,
	 " is not for alltoall of more than 64 GPUs"},

	{GT_PLANNER_ON_QUOTIENT, OPTION_ALGO, REDUCING,
	 ALGO(AUTO) | ALGO(HIER) | ALGO(RING) | ALGO(TREE),
	 " is for one machine, or up to 64 GPUs"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_COLL, IN_BLOCKS, ANY_ALGO & ~ALGO(TREE),
	 ": trees of several nodes do allreduce, broadcast and reduce; take "
	 "--algo hier"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_EQUAL, REDUCING, 0,
	 " is for one machine"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_TREES_PER_ROOT, REDUCING, 0,
	 " is for one machine"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_MAX_CHANNELS, REDUCING, ALGO(RING),
	 " of several nodes is for --algo ring; templates need as many "
	 "channels as their trees have shares"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_EXPLAIN, REDUCING,
	 ANY_ALGO & ~ALGO(RING),
	 " of several nodes is about trees, of allreduce, allgather and "
	 "reducescatter, and about alltoall"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_EXPLAIN, ROOTED, 0,
	 " of several nodes is about trees, of allreduce, allgather and "
	 "reducescatter, and about alltoall"},
	{GT_PLANNER_ON_QUOTIENT, OPTION_COLL, ROOTED, ANY_ALGO & ~ALGO(HIER),
	 ": templates do allreduce, allgather and reducescatter; take --algo "
	 "ring"},
};

static int is_given(const struct gt_planner_request *request,
		    enum option option)
{
	switch (option) {
	case OPTION_EQUAL:
		return request->equal;
	case OPTION_TREES_PER_ROOT:
		return request->trees_per_root > 0;
	case OPTION_MAX_CHANNELS:
		return request->max_channels > 0;
	case OPTION_EXPLAIN:
		return request->explain;
	case OPTION_DEMAND:
		return request->demand != NULL;
	case OPTION_INVARIANT:
		return request->invariant;
	default:
		return 1;
	}
}

static int say(const struct refusal *row,
	       const struct gt_planner_request *request, enum gt_coll coll,
	       struct gt_err *err)
{
	static const char *const words[] = {
		[OPTION_ALGO] = "algo ",
		[OPTION_COLL] = "coll ",
		[OPTION_EQUAL] = "equal",
		[OPTION_TREES_PER_ROOT] = "trees-per-root",
		[OPTION_MAX_CHANNELS] = "max-channels",
		[OPTION_EXPLAIN] = "explain",
		[OPTION_DEMAND] = "demand",
		[OPTION_INVARIANT] = "invariant",
	};
	const char *value = "";

	if (row->option == OPTION_ALGO)
		value = gt_planner_algo_name(request->algo);
	if (row->option == OPTION_COLL)
		value = gt_coll_name(coll);
	return gt_err_set(err, GT_EINPUT, NULL, "--%s%s%s", words[row->option],
			  value, row->reason);
}

int gt_planner_refuse(const struct gt_planner_request *request,
		      enum gt_planner_on on, struct gt_err *err)
{
	enum gt_coll coll = gt_planner_coll(request);

	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		const struct refusal *row = &refusals[i];

		if (row->on == on && row->colls >> coll & 1 &&
		    !(row->allowed >> request->algo & 1) &&
		    is_given(request, row->option))
			return say(row, request, coll, err);
	}
	return GT_OK;
}

int gt_planner_uses_switches(const struct gt_planner_request *request)
{
	return request->algo == GT_PLANNER_NVLS ||
	       request->algo == GT_PLANNER_COLLNET;
}

int gt_planner_refuse_for_switches(const struct gt_planner_request *request,
				   struct gt_err *err)
{
	const char *what = NULL;

	if (request->explain)
		what = "explain";
	else if (request->equal)
		what = "equal";
	else if (request->max_channels)
		what = "max-channels";
	else if (request->trees_per_root)
		what = "trees-per-root";
	if (!what)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, NULL,
			  "--%s is not for --algo %s, whose trees are given",
			  what, gt_planner_algo_name(request->algo));
}
