/*
 * GPUs of several nodes: the best choice, compared with all choices by the same
 * bound, where few GPUs of each node are free.
 */
#include "unit/test.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "search/pick/joined.h"
#include "search/pick/several.h"
#include "search/pick/stock.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/topo.h"

enum { MAX_GPUS = 16, MAX_NODES = 3 };

/* Sets of a machine by their bits, measured when they are needed. */
struct sets {
	struct gt_stock stock;
	struct gt_arena *arena;
	struct gt_stock_set *known[1 << MAX_GPUS];
};

static const struct gt_stock_set *measured(struct sets *sets, uint64_t gpus)
{
	if (!sets->known[gpus]) {
		struct gt_stock_set *set =
			gt_arena_alloc(sets->arena, sizeof(*set));

		assert_int_equal(gt_stock_measure(&sets->stock, gpus,
						  sets->arena, set, NULL),
				 GT_OK);
		sets->known[gpus] = set;
	}
	return sets->known[gpus];
}

/* The choices of the nodes from one on, of so many GPUs, and the best worth. */
struct every {
	const struct gt_pick_several_query *query;
	struct sets *sets;
	struct gt_joined_part parts[MAX_NODES];
	uint32_t nparts;
	uint64_t n;
	struct gt_rat best;
};

static void try_all(struct every *all, uint32_t node, uint32_t left)
{
	const struct gt_pick_several_query *query = all->query;
	struct gt_rat gbs;

	if (node == query->cluster->nnodes) {
		if (left)
			return;
		all->n++;
		assert_int_equal(gt_joined_worth(query->cluster, all->parts,
						 all->nparts, &gbs, NULL),
				 GT_OK);
		if (gt_rat_cmp(gbs, all->best) > 0)
			all->best = gbs;
		return;
	}
	for (uint64_t mask = query->free[node];;
	     mask = (mask - 1) & query->free[node]) {
		uint32_t n = (uint32_t)__builtin_popcountll(mask);

		if (n && n <= left) {
			all->parts[all->nparts++] = (struct gt_joined_part){
				node, measured(all->sets, mask)};
			try_all(all, node + 1, left - n);
			all->nparts--;
		} else if (!n) {
			try_all(all, node + 1, left);
			return;
		}
	}
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* The first n free GPUs in order are one of the choices, and no better. */
static void check(const struct gt_pick_several *pick, struct every *all,
		  const char *name)
{
	uint32_t taken = 0;

	if (gt_rat_cmp(pick->gbs, all->best))
		fail_msg("%s: %u GPUs are worth %g, but %g is possible", name,
			 pick->n, gt_rat_double(pick->gbs),
			 gt_rat_double(all->best));
	assert_true(gt_rat_cmp(pick->first_gbs, pick->gbs) <= 0);
	assert_true(pick->complete && pick->nways <= all->n);
	for (uint32_t i = 0; i < pick->nnodes; i++) {
		uint32_t node = pick->nodes[i].node;

		assert_false(pick->nodes[i].gpus & ~all->query->free[node]);
		taken += (uint32_t)__builtin_popcountll(pick->nodes[i].gpus);
		all->parts[i] = (struct gt_joined_part){
			node, measured(all->sets, pick->nodes[i].gpus)};
	}
	assert_int_equal(taken, pick->n);
	assert_int_equal(gt_joined_worth(all->query->cluster, all->parts,
					 pick->nnodes, &all->best, NULL),
			 GT_OK);
	assert_int_equal(gt_rat_cmp(all->best, pick->gbs), 0);
}

static void try_case(const struct gt_cluster *cluster, struct sets *sets,
		     uint32_t seed, const char *name)
{
	uint32_t ngpus = gt_topo_ngpus(cluster->kinds[0].topo), total = 0;
	struct gt_arena *arena = gt_arena_new();
	uint64_t free_gpus[MAX_NODES];
	struct gt_pick_several_query query = {.cluster = cluster,
					      .free = free_gpus};
	struct every all = {
		.query = &query, .sets = sets, .best = GT_RAT(0, 1)};
	struct gt_pick_several pick;
	struct gt_err err;
	int rc;

	for (uint32_t i = 0; i < cluster->nnodes; i++) {
		free_gpus[i] = 0;
		for (uint32_t k = 0; k < 4; k++)
			free_gpus[i] |= (uint64_t)1 << next(&seed) % ngpus;
		total += (uint32_t)__builtin_popcountll(free_gpus[i]);
	}
	query.n = 2 + next(&seed) % (total - 1);
	gt_err_init(&err);
	try_all(&all, 0, query.n);
	rc = gt_pick_several_find(&query, arena, &pick, &err);
	if (rc == GT_ENO)
		assert_int_equal(all.best.num, 0);
	else if (rc)
		fail_msg("%s: %s", name, err.text);
	else
		check(&pick, &all, name);
	gt_arena_free(arena);
}

static void try_machine(const char *name, uint32_t nnodes, uint32_t ncases)
{
	static struct sets sets;
	char path[4096], file[64];
	struct gt_topo *topo;
	struct gt_cluster *cluster;

	snprintf(file, sizeof(file), "share/xml/%s.xml", name);
	assert_int_equal(gt_topo_read(gt_test_path(path, file),
				      GT_RATES_MEASURED, &topo, NULL),
			 GT_OK);
	assert_int_equal(gt_cluster_copies(topo, nnodes, NULL, &cluster, NULL),
			 GT_OK);
	memset(&sets, 0, sizeof(sets));
	sets.arena = gt_arena_new();
	sets.stock.kind = &cluster->kinds[0];
	for (uint32_t seed = 1; seed <= ncases; seed++)
		try_case(cluster, &sets, seed, name);
	gt_arena_free(sets.arena);
	gt_cluster_free(cluster);
	gt_topo_free(topo);
}

static void test_two_nodes(void **state)
{
	uint32_t n = gt_test_is_brief() ? 5 : 30;

	(void)state;
	try_machine("dgx-1v", 2, n);
	try_machine("pcie-8gpu", 2, n);
	try_machine("mi250x", 2, n);
	try_machine("workstation-4gpu", 2, n);
	try_machine("hgx-h200", 2, n);
}

static void test_three_nodes(void **state)
{
	uint32_t n = gt_test_is_brief() ? 1 : 5;

	(void)state;
	try_machine("dgx-1v", 3, n);
	try_machine("pcie-8gpu", 3, n);
	try_machine("mi250x", 3, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_nodes),
		cmocka_unit_test(test_three_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
