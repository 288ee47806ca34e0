/*
 * The all-to-all of clusters is compared with what is known, and with the
 * maximum concurrent flow of the whole cluster, node by node; its plans are
 * checked and simulated.
 */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"
#include "plan/lower/lower.h"
#include "plan/simulate/simulate.h"
#include "search/cluster/alltoall.h"
#include "search/problem/shape.h"
#include "unit/search/cluster/cluster_plan.h"
#include "unit/search/cluster/small_cluster.h"

static void solve(const struct gt_quotient *q, struct gt_arena *arena,
		  struct gt_alltoall *flow)
{
	struct gt_err err;

	gt_err_init(&err);
	if (gt_alltoall_solve(q, arena, flow, &err))
		fail_msg("%s", err.text);
	if (!flow->has_bound)
		fail_msg("%u nodes of %u: no bound of %g", q->cluster.nnodes,
			 q->fabric->nranks, gt_rat_double(flow->rate));
	assert_true(gt_rat_cmp(flow->rate, flow->bound) <= 0);
}

/*
 * By hand: a card carries the L (P - 1) pairs of a GPU that leave the node,
 * and its NVLinks all P L - 1.
 */
static void known_clusters(void **state)
{
	static const struct {
		struct small_cluster machine;
		struct gt_rat rate, bound;
		/* Of the switch above each node; 0: there is none. */
		int64_t uplink;
	} cases[] = {
		{{2, 8, 1, {450, 1}, {50, 1}}, {25, 4}, {25, 4}, 0},
		{{16, 8, 1, {450, 1}, {50, 1}}, {5, 12}, {5, 12}, 0},
		{{12500, 8, 1, {450, 1}, {50, 1}}, {25, 49996}, {25, 49996}, 0},
		{{2, 8, 2, {300, 1}, {12, 1}}, {3, 4}, {3, 4}, 0},
		{{1, 4, 1, {6, 1}, {50, 1}}, {2, 1}, {2, 1}, 0},
		/*
		 * NVLink carries local blocks, and cards carry more of them
		 * over another node and back: 3 + 50 for 7 peers.
		 */
		{{2, 4, 1, {3, 1}, {50, 1}}, {1, 1}, {53, 7}, 0},
		/*
		 * The switch above a node turns its blocks: 16 pairs leave it.
		 */
		{{2, 4, 1, {1, 1}, {50, 1}}, {1, 3}, {1, 2}, 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_quotient *q =
			small_cluster_quotient(arena, &cases[i].machine);
		struct gt_plan_level levels[] = {
			{.nodes = 1, .gbs = GT_RAT(cases[i].uplink, 1)},
			{.nodes = cases[i].machine.nodes}};
		struct gt_alltoall flow;

		if (cases[i].uplink) {
			q->cluster.levels = levels;
			q->cluster.nlevels = 2;
		}
		solve(q, arena, &flow);
		check_rat(flow.rate, cases[i].rate, "rate");
		check_rat(flow.bound, cases[i].bound, "bound");
		assert_int_equal(flow.nchannels, 1);
		gt_arena_free(arena);
	}
}

/*
 * Nodes whose links are not all alike, nor alike in both directions, below two
 * levels of switches.
 */
static struct gt_quotient *random_quotient(struct gt_arena *arena,
					   struct gt_random *c)
{
	struct small_cluster box = {2 * (1 + gt_random(c, 2)),
				    2 + gt_random(c, 2), 1,
				    GT_RAT(1 + gt_random(c, 40), 1),
				    GT_RAT(1 + gt_random(c, 30), 2)};
	struct gt_quotient *q = small_cluster_quotient(arena, &box);
	struct gt_plan_cluster *cluster = &q->cluster;
	struct gt_fabric *f = (struct gt_fabric *)q->fabric;

	for (uint32_t l = 0; l < f->nlinks; l++)
		if (!gt_random(c, 3))
			f->links[l].gbs = GT_RAT(1 + gt_random(c, 50), 3);
	cluster->levels[0].by_rail = (int)gt_random(c, 2);
	if (!gt_random(c, 3))
		return q;
	cluster->levels = gt_arena_array(arena, 2, sizeof(*cluster->levels));
	cluster->nlevels = 2;
	for (uint32_t l = 0; l < 2; l++) {
		cluster->levels[l].nodes = l ? box.nodes : 1 + gt_random(c, 2);
		cluster->levels[l].gbs =
			GT_RAT(l ? 0 : 2 + gt_random(c, 60), 1);
	}
	cluster->levels[0].by_rail = (int)gt_random(c, 2);
	cluster->levels[1].by_rail =
		cluster->levels[0].by_rail && gt_random(c, 2);
	return q;
}

/*
 * The link of the flat cluster that is the uplink of the switch above a node.
 */
static uint32_t flat_uplink(const struct gt_quotient *q, uint32_t level,
			    uint32_t node, uint32_t rail, uint32_t in)
{
	const struct gt_plan_cluster *cluster = &q->cluster;
	const struct gt_plan_level *l = &cluster->levels[level];

	node = level * cluster->nnodes + node / l->nodes;
	return cluster->nnodes * q->fabric->nlinks +
	       2 * (node * cluster->nrails + (l->by_rail ? rail : 0)) + in;
}

/* Uplinks to where the rails of both nodes meet, and down; 0: they never do. */
static uint32_t flat_climb(const struct gt_quotient *q, const uint32_t nodes[2],
			   const uint32_t rails[2], uint32_t *links)
{
	const struct gt_plan_cluster *cluster = &q->cluster;
	uint32_t top = 0, n = 0;

	while (top < cluster->nlevels &&
	       (nodes[0] / cluster->levels[top].nodes !=
			nodes[1] / cluster->levels[top].nodes ||
		(cluster->levels[top].by_rail && rails[0] != rails[1])))
		top++;
	for (uint32_t l = 0; l < top && top < cluster->nlevels; l++)
		for (uint32_t in = 0; in < 2; in++)
			links[n++] =
				flat_uplink(q, l, nodes[in], rails[in], in);
	return top < cluster->nlevels ? n : UINT32_MAX;
}

/* The flat cluster's links for a route in some node. */
static uint32_t flat_part(const struct gt_quotient *q, uint32_t node,
			  const struct gt_fabric_route *route, uint32_t *links)
{
	for (uint32_t k = 0; k < route->nlinks; k++)
		links[k] = node * q->fabric->nlinks + route->links[k];
	return route->nlinks;
}

/*
 * The flat cluster of all ranks of all nodes, where a route between nodes
 * leads over the cards of the two ranks.
 */
static struct gt_fabric *flat_of(struct gt_arena *arena,
				 const struct gt_quotient *q)
{
	const struct gt_plan_cluster *cluster = &q->cluster;
	const struct gt_fabric *box = q->fabric;
	uint32_t n = box->nranks, all = n * cluster->nnodes, links[32];
	struct gt_fabric *f = gt_fabric_bare(arena, all, 0);

	f->nlinks = cluster->nnodes *
		    (box->nlinks + 2 * cluster->nlevels * cluster->nrails);
	f->links = gt_arena_array(arena, f->nlinks, sizeof(*f->links));
	for (uint32_t i = 0; i < f->nlinks; i++)
		f->links[i].gbs =
			i < cluster->nnodes * box->nlinks
				? box->links[i % box->nlinks].gbs
				: cluster->levels[(i - cluster->nnodes *
							       box->nlinks) /
						  2 / cluster->nrails /
						  cluster->nnodes]
					  .gbs;
	for (uint32_t i = 0; i < all * all; i++) {
		const uint32_t nodes[2] = {i / all / n, i % all / n};
		const uint32_t local[2] = {i / all % n, i % n};
		uint32_t nlinks, up = 0;

		if (i / all == i % all)
			continue;
		if (nodes[0] == nodes[1]) {
			nlinks = flat_part(
				q, nodes[0],
				&box->routes[local[0] * n + local[1]], links);
		} else {
			nlinks = flat_part(q, nodes[0],
					   &q->out[local[0] * (n + 1)], links);
			up = flat_climb(q, nodes, local, links + nlinks);
			if (up == UINT32_MAX)
				continue;
			nlinks += up;
			nlinks += flat_part(q, nodes[1],
					    &q->in[local[1] * (n + 1)],
					    links + nlinks);
		}
		gt_fabric_route(f, arena, i / all, i % all, links, nlinks);
	}
	return f;
}

/*
 * What all nodes do alike is as good as anything: the flat cluster's optimum is
 * between rate and bound, and these are mostly the same.
 */
static void flows_are_as_good_as_flat_ones(void **state)
{
	const int clusters = gt_test_is_brief() ? 100 : 300;
	struct gt_random c = {11};
	int equal = 0, tight = 0;

	(void)state;
	for (int i = 0; i < clusters; i++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_quotient *q = random_quotient(arena, &c);
		struct gt_shape_args args = {.coll = GT_COLL_ALLTOALL,
					     .arena = arena};
		struct gt_proposal whole;
		struct gt_alltoall flow;
		struct gt_err err;

		gt_err_init(&err);
		args.fabric = flat_of(arena, q);
		if (gt_shape_flow.propose(&args, &whole, &err))
			fail_msg("%s", err.text);
		assert_true(whole.has_bound);
		solve(q, arena, &flow);
		if (gt_rat_cmp(flow.rate, whole.bound) > 0 ||
		    gt_rat_cmp(whole.value, flow.bound) > 0)
			fail_msg("%d: %g to %g, the whole has %g to %g", i,
				 gt_rat_double(flow.rate),
				 gt_rat_double(flow.bound),
				 gt_rat_double(whole.value),
				 gt_rat_double(whole.bound));
		equal += !gt_rat_cmp(flow.rate, flow.bound);
		tight += !gt_rat_cmp(whole.value, flow.bound);
		gt_arena_free(arena);
	}
	print_message("%d of %d reach the bound, %d wholes do\n", equal,
		      clusters, tight);
	assert_true(equal >= clusters * 8 / 10);
	assert_true(tight >= clusters * 9 / 10);
}

/* ---- machines --------------------------------------------------------- */

/* A rank sends to ranks of its node, and to the same rank of other nodes. */
static void check_peers(const struct gt_plan *plan, struct gt_arena *arena)
{
	struct gt_lower_query want = {
		.use = {GT_COLL_ALLTOALL, GT_ALGO_FLOW, 0}, .rank = 1};
	uint32_t n = plan->cluster->nlocal;
	struct gt_program program;

	assert_int_equal(gt_lower(plan, &want, arena, &program, NULL), GT_OK);
	for (uint32_t i = 0; i < program.nconns; i++) {
		uint32_t peer = program.conns[i].peer;

		assert_true(peer / n == want.rank / n ||
			    peer % n == want.rank % n);
	}
	/*
	 * In each direction to either kind of peer: its blocks, and relayed
	 * ones.
	 */
	assert_true(program.nconns <= 4 * (n - 1 + plan->cluster->nnodes - 1));
}

static void reference_machines(void **state)
{
	static const struct {
		const char *name;
		int rails; /* does it keep to its node and rail? */
	} machines[] = {{"dgx-1v", 0},    {"dgx-a100", 1},  {"dgx-h100", 1},
			{"mi300x", 1},    {"pcie-8gpu", 0}, {"mi250x", 0},
			{"gb200-tray", 0}};
	static const uint32_t nodes[] = {1, 2, 3, 16, 12500};
	char path[4096], file[64];

	(void)state;
	for (size_t m = 0; m < sizeof(machines) / sizeof(machines[0]);
	     m += gt_test_is_brief() ? 3 : 1)
		for (int i = 0; i < 5; i++) {
			struct gt_arena *arena = gt_arena_new();
			struct gt_plan_report report;
			struct gt_plan *plan;
			struct gt_err err;

			gt_err_init(&err);
			snprintf(file, sizeof(file), "share/xml/%s.xml",
				 machines[m].name);
			plan = cluster_plan(gt_test_path(path, file), nodes[i],
					    GT_COLL_ALLTOALL);
			if (gt_plan_check_report(plan, &report, &err) ||
			    gt_simulate(plan, plan->coll, &err))
				fail_msg("%s %u: %s: %s", file, nodes[i],
					 err.where, err.text);
			assert_int_equal(report.bound, GT_BOUND_PROVEN);
			if (!plan->proof.optimal)
				fail_msg("%s %u: not optimal", file, nodes[i]);
			if (machines[m].rails && nodes[i] > 1)
				check_peers(plan, arena);
			gt_plan_free(plan);
			gt_arena_free(arena);
		}
}

/*
 * In each round whom a rank meets meets it; it meets all in turn, and nodes
 * are as far apart as the round says.
 */
static void rounds_are_exchanges(void **state)
{
	struct gt_plan_level levels[3] = {
		{.nodes = 3}, {.nodes = 6}, {.nodes = 24}};
	struct gt_plan_cluster cluster = {
		.nnodes = 24, .nlevels = 3, .levels = levels};

	(void)state;
	for (uint32_t v = 0; v < 24; v++) {
		uint32_t far[4] = {0}, met = 0;

		for (uint32_t d = 0; d < 24; d++) {
			uint32_t w = gt_nodes_place(&cluster, v, d);

			assert_int_equal(gt_nodes_place(&cluster, w, d), v);
			far[gt_nodes_class(&cluster, v, w)]++;
			met |= 1u << w;
		}
		assert_int_equal(met, (1u << 24) - 1);
		for (uint32_t c = 0; c < 4; c++)
			assert_int_equal(far[c],
					 gt_nodes_in_class(&cluster, c));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_clusters),
		cmocka_unit_test(flows_are_as_good_as_flat_ones),
		cmocka_unit_test(reference_machines),
		cmocka_unit_test(rounds_are_exchanges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
