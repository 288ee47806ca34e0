#include "unit/test.h"

#include "base/err.h"
#include "plan/ir/plan.h"
#include "search/planner/planner.h"
#include "search/planner/request.h"
#include "search/problem/budget.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/topo.h"

/* The last of what a search reports. */
struct heard {
	uint32_t times, waits;
	double busbw_gbs;
};

static void hear(void *arg, const char *what, uint32_t round, double busbw_gbs)
{
	struct heard *heard = arg;

	(void)round;
	if (!what) {
		heard->waits++;
		return;
	}
	heard->times++;
	heard->busbw_gbs = busbw_gbs;
}

/*
 * A search tells what it has reached in the unit of all plans, so that the last
 * that it tells is what the plan reaches, or a little less: nearer than the
 * factors between busbw, algbw and what a pair has are to 1.
 */
static void check(const char *file, const char *gpus, uint32_t nodes,
		  enum gt_planner_algo algo, enum gt_coll coll)
{
	struct heard heard = {0};
	const struct gt_budget budget = {.tell = hear, .arg = &heard};
	const struct gt_planner_request ask = {.algo = algo,
					       .coll = (int)coll,
					       .gpus = gpus,
					       .budget = &budget};
	struct gt_cluster *cluster = NULL;
	struct gt_planner *planner;
	const struct gt_plan *plan;
	struct gt_topo *topo;
	char path[4096];
	double busbw_gbs;

	assert_int_equal(gt_topo_read(gt_test_path(path, file),
				      GT_RATES_MEASURED, &topo, NULL),
			 0);
	if (nodes > 1) {
		assert_int_equal(
			gt_cluster_copies(topo, nodes, NULL, &cluster, NULL),
			0);
		assert_int_equal(
			gt_planner_cluster(&ask, cluster, &planner, NULL), 0);
	} else {
		assert_int_equal(gt_planner_machine(&ask, topo, &planner, NULL),
				 0);
	}
	plan = gt_planner_result(planner)->plan;
	busbw_gbs = gt_plan_busbw(plan, plan->proof.value);
	assert_true(heard.times > 0);
	assert_true(heard.waits >= heard.times);
	assert_true(heard.busbw_gbs > busbw_gbs * (1 - 4e-3));
	assert_true(heard.busbw_gbs < busbw_gbs * (1 + 1e-6));
	gt_planner_free(planner);
	gt_cluster_free(cluster);
	gt_topo_free(topo);
}

static void test_machine(void **state)
{
	const char *one = "share/xml/dgx-1v.xml";

	(void)state;
	check(one, NULL, 1, GT_PLANNER_RING, GT_COLL_ALLREDUCE);
	check(one, NULL, 1, GT_PLANNER_RING, GT_COLL_ALLGATHER);
	check(one, "0,2,4,5,6", 1, GT_PLANNER_FOREST, GT_COLL_ALLGATHER);
	check(one, "0,3,4,5,6,7", 1, GT_PLANNER_FOREST, GT_COLL_ALLREDUCE);
	check(one, NULL, 1, GT_PLANNER_FOREST, GT_COLL_BROADCAST);
	check(one, NULL, 1, GT_PLANNER_FLOW, GT_COLL_ALLTOALL);
}

static void test_cluster(void **state)
{
	const char *node = "share/xml/dgx-h100.xml";

	(void)state;
	check(node, NULL, 16, GT_PLANNER_HIER, GT_COLL_ALLGATHER);
	check(node, NULL, 16, GT_PLANNER_HIER, GT_COLL_ALLREDUCE);
	/* the last rounds are in other units than the first */
	check("share/xml/pcie-8gpu.xml", NULL, 3, GT_PLANNER_FOREST,
	      GT_COLL_ALLGATHER);
	check(node, NULL, 16, GT_PLANNER_HIER, GT_COLL_ALLTOALL);
}

/* A search whose time is over when it has asked so often. */
struct stop {
	struct gt_budget budget;
	uint32_t left; /* more times to be told that it goes on */
};

static void stop_it(void *arg, const char *what, uint32_t round,
		    double busbw_gbs)
{
	struct stop *stop = arg;

	(void)round;
	(void)busbw_gbs;
	if (!what && stop->left && !--stop->left)
		stop->budget.deadline_ns = 1;
}

/*
 * Wherever a search for rings is stopped there is a plan, which passes
 * gt_plan_check(): rings that joined after the last solution have no share.
 */
static void check_stopped(const char *file, const char *gpus)
{
	struct stop stop = {.budget = {.tell = stop_it, .arg = &stop}};
	const struct gt_planner_request ask = {.algo = GT_PLANNER_RING,
					       .coll = GT_COLL_ALLREDUCE,
					       .gpus = gpus,
					       .budget = &stop.budget};
	struct gt_planner *planner;
	struct gt_topo *topo;
	struct gt_err err;
	char path[4096];
	uint32_t looks = 0;

	assert_int_equal(gt_topo_read(gt_test_path(path, file),
				      GT_RATES_MEASURED, &topo, NULL),
			 0);
	do {
		gt_err_init(&err);
		stop.left = ++looks;
		stop.budget.deadline_ns = 0;
		if (gt_planner_machine(&ask, topo, &planner, &err))
			fail_msg("stopped at look %u: %s", looks, err.text);
		gt_planner_free(planner);
	} while (stop.budget.deadline_ns && looks < 40);
	assert_true(looks > 1);
	gt_topo_free(topo);
}

static void test_stopped(void **state)
{
	(void)state;
	check_stopped("share/xml/dgx-1v.xml", NULL);
	check_stopped("share/xml/mi250x.xml", NULL);
	check_stopped("share/xml/pcie-8gpu.xml", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machine),
		cmocka_unit_test(test_cluster),
		cmocka_unit_test(test_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
