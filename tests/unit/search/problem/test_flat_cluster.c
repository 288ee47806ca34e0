/*
 * A cluster as one machine: its bounds against those of classes of nodes, its
 * routes, and ports that ranks share.
 */
#include "unit/test.h"

#include "base/arena.h"
#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/bound/bound.h"
#include "search/cluster/cut_bound.h"
#include "search/cluster/quotient.h"
#include "search/cluster/search.h"
#include "search/problem/flat_cluster.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"

/*
 * A cluster, the routes of its kinds of nodes, and the cluster as one machine.
 */
struct both {
	struct gt_arena *arena;
	struct gt_cluster *cluster;
	struct gt_topo *topo;
	struct gt_paths *paths[4];
	struct gt_flat_cluster *flat;
};

static void open_both(struct both *b, const char *gpus)
{
	struct gt_err err;

	gt_err_init(&err);
	b->arena = gt_arena_new();
	assert_true(b->cluster->nkinds <= 4);
	for (uint32_t i = 0; i < b->cluster->nkinds; i++)
		assert_int_equal(gt_paths_new(b->cluster->kinds[i].topo,
					      &b->paths[i], &err),
				 GT_OK);
	if (gt_flat_new(b->cluster, b->paths, gpus, b->arena, &b->flat, &err))
		fail_msg("%s", err.text);
}

static void read_both(struct both *b, const char *file, const char *gpus)
{
	char path[4096];
	struct gt_err err;

	gt_err_init(&err);
	*b = (struct both){0};
	if (gt_cluster_read(gt_test_path(path, file), GT_RATES_MEASURED,
			    &b->cluster, &b->topo, &err))
		fail_msg("%s", err.text);
	assert_non_null(b->cluster);
	open_both(b, gpus);
}

static void close_both(struct both *b)
{
	for (uint32_t i = 0; i < b->cluster->nkinds; i++)
		gt_paths_free(b->paths[i]);
	gt_arena_free(b->arena);
	gt_cluster_free(b->cluster);
	gt_topo_free(b->topo);
}

/* The flat cluster's bound, as the size of the result over the time. */
static struct gt_rat flat_bound(const struct both *b, enum gt_coll coll)
{
	struct gt_bound_query query = {&b->flat->fabric, coll, 0};
	int64_t n = b->flat->fabric.nranks;
	int64_t each = coll == GT_COLL_ALLREDUCE ? 2 : 1;
	int rooted = gt_coll_is_rooted(coll);
	struct gt_bound bound;
	struct gt_rat value;
	struct gt_err err;

	gt_err_init(&err);
	assert_int_equal(gt_bound_find(&query, b->arena, &bound, &err), GT_OK);
	assert_true(bound.found);
	assert_true(gt_rat_mul(bound.value,
			       GT_RAT(n, rooted ? n : each * (n - 1)), &value));
	return value;
}

static struct gt_rat quotient_bound(const struct both *b, enum gt_coll coll,
				    const char *gpus)
{
	struct gt_cluster_request request = {
		.cluster = b->cluster, .paths = b->paths[0], .coll = coll};
	struct gt_quotient_bound_query query = {.coll = coll};
	struct gt_quotient_bound bound;
	struct gt_quotient *q;
	struct gt_err err;

	gt_err_init(&err);
	assert_int_equal(gt_gpu_list_read(b->cluster->kinds[0].topo, gpus,
					  b->arena, &request.gpus,
					  &request.ngpus, &err),
			 GT_OK);
	assert_int_equal(gt_quotient_new(&request, b->arena, &q, &err), GT_OK);
	query.quotient = q;
	assert_int_equal(gt_quotient_bound_find(&query, b->arena, &bound, &err),
			 GT_OK);
	assert_true(bound.found);
	return bound.value;
}

/*
 * Where all nodes are alike, the graph of all has the bound of that of
 * classes.
 */
static void same_bound_as_classes(void **state)
{
	static const struct {
		const char *file, *gpus;
	} cases[] = {
		{"tests/cases/cluster/uneven/alike/two.xml", NULL},
		{"tests/cases/cluster/uneven/alike/three.xml", "0,2,5"},
		{"tests/cases/cluster/uneven/alike/rails.xml", "0,1,4"},
		{"tests/cases/cluster/uneven/alike/thin.xml", "0,1"},
	};
	static const enum gt_coll colls[] = {
		GT_COLL_ALLREDUCE, GT_COLL_ALLGATHER, GT_COLL_REDUCESCATTER,
		GT_COLL_BROADCAST, GT_COLL_REDUCE};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct both b;

		read_both(&b, cases[i].file, cases[i].gpus);
		for (size_t c = 0; c < sizeof(colls) / sizeof(colls[0]); c++) {
			enum gt_coll coll = colls[c];
			struct gt_rat whole = flat_bound(&b, coll);
			struct gt_rat classes =
				quotient_bound(&b, coll, cases[i].gpus);

			/* For an all-reduce classes try fewer partitions. */
			if (coll == GT_COLL_ALLREDUCE)
				assert_true(gt_rat_cmp(whole, classes) <= 0);
			else
				assert_int_equal(gt_rat_cmp(whole, classes), 0);
		}
		close_both(&b);
	}
}

/* A route's links follow each other, from one GPU to the other. */
static void routes_lead_there(void **state)
{
	static const char *const files[] = {
		"tests/cases/cluster/uneven/card-missing.xml",
		"tests/cases/cluster/uneven/cables.xml",
		"tests/cases/cluster/uneven/short-leaf.xml",
		"tests/cases/cluster/uneven/racks.xml",
	};

	(void)state;
	for (size_t f = 0; f < sizeof(files) / sizeof(files[0]); f++) {
		const struct gt_fabric *fabric;
		struct both b;

		read_both(&b, files[f], NULL);
		fabric = &b.flat->fabric;
		for (uint32_t i = 0; i < fabric->nranks * fabric->nranks; i++) {
			const struct gt_fabric_route *route =
				&fabric->routes[i];
			uint32_t at = fabric->ranks[i / fabric->nranks];

			if (!route->nlinks)
				continue;
			for (uint32_t k = 0; k < route->nlinks; k++) {
				const struct gt_fabric_link *link =
					&fabric->links[route->links[k]];

				assert_int_equal(link->from, at);
				at = link->to;
			}
			assert_int_equal(at, fabric->ranks[i % fabric->nranks]);
		}
		close_both(&b);
	}
}

/* The eight ports of a node are used alike by what has no port of its own. */
static void ports_take_turns(void **state)
{
	const struct gt_fabric *fabric;
	uint32_t used[64] = {0}, n = 0;
	struct both b;

	(void)state;
	read_both(&b, "tests/cases/cluster/uneven/card-missing.xml", NULL);
	fabric = &b.flat->fabric;
	for (uint32_t to = 0; to < 8; to++) {
		/* GPU 2 of the second node, whose card is gone. */
		const struct gt_fabric_route *route =
			&fabric->routes[10 * fabric->nranks + to];

		assert_true(route->nlinks > 0);
		for (uint32_t k = 0; k < route->nlinks; k++)
			if (route->links[k] >= b.flat->first_net) {
				used[n++] = route->links[k];
				break;
			}
	}
	assert_int_equal(n, 8);
	for (uint32_t i = 1; i < n; i++)
		if (used[i] != used[0])
			n = 0;
	assert_int_equal(n, 0);
	close_both(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_bound_as_classes),
		cmocka_unit_test(routes_lead_there),
		cmocka_unit_test(ports_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
