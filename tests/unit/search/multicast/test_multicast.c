/*
 * Machines whose GPUs have unequal numbers of NVLinks to NVSwitches: plans
 * through the switches are proved, their value is what a formula of this file
 * says, and none of many mutations passes the check.
 */
#include "unit/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/cost/cost.h"
#include "plan/ir/plan.h"
#include "search/multicast/search.h"
#include "search/problem/request.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

enum { MOST_GPUS = 16, MACHINES = 60 };

static uint32_t seed;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

/* ---- machines ---------------------------------------------------------- */

struct machine {
	uint32_t n, counts[MOST_GPUS];
	struct gt_topo *topo;
	struct gt_paths *paths;
	uint32_t gpus[MOST_GPUS];
};

static void print_gpu(struct gt_buf *xml, const struct machine *m, uint32_t i,
		      int sm)
{
	gt_buf_printf(xml,
		      "<pci busid=\"0000:%02x:00.0\" class=\"0x030200\" "
		      "link_speed=\"32 GT/s\" link_width=\"16\">"
		      "<gpu dev=\"%u\" sm=\"%d\" rank=\"%u\" gdr=\"1\">"
		      "<nvlink target=\"0000:f0:00.0\" count=\"%u\" "
		      "tclass=\"0x068000\"/></gpu></pci>",
		      16 + i, i, sm, i, m->counts[i]);
}

static void open_machine(struct machine *m, int sm)
{
	struct gt_buf xml = GT_BUF_INIT;
	struct gt_err err;

	gt_err_init(&err);
	gt_buf_puts(&xml, "<system version=\"1\"><cpu numaid=\"0\" "
			  "affinity=\"ff\" arch=\"x86_64\" "
			  "vendor=\"GenuineIntel\" familyid=\"6\" "
			  "modelid=\"143\">");
	for (uint32_t i = 0; i < m->n; i++)
		print_gpu(&xml, m, i, sm);
	gt_buf_puts(&xml, "</cpu></system>");
	assert_false(xml.failed);
	if (gt_topo_parse("made", xml.text, xml.len, GT_RATES_NCCL, &m->topo,
			  &err))
		fail_msg("%s", err.text);
	assert_int_equal(gt_paths_new(m->topo, &m->paths, &err), GT_OK);
	for (uint32_t i = 0; i < m->n; i++)
		m->gpus[i] = gt_topo_gpu(m->topo, i);
	gt_buf_release(&xml);
}

static void close_machine(struct machine *m)
{
	gt_paths_free(m->paths);
	gt_topo_free(m->topo);
}

static int search(const struct machine *m, enum gt_coll coll, uint32_t root,
		  struct gt_plan **plan, struct gt_err *err)
{
	const struct gt_search_request request = {.topo = m->topo,
						  .paths = m->paths,
						  .rates = GT_RATES_NCCL,
						  .coll = coll,
						  .root = root,
						  .nranks = m->n,
						  .gpus = m->gpus};

	gt_err_init(err);
	return gt_multicast_search(&request, 0, plan, err);
}

/* ---- values ------------------------------------------------------------ */

/* All bytes cross each GPU's links, an all-reduce's own part once more. */
static double expected(const struct machine *m, enum gt_coll coll)
{
	double least = HUGE_VAL, sum = 0;

	for (uint32_t i = 0; i < m->n; i++) {
		least = fmin(least, m->counts[i] * 20.6);
		sum += m->counts[i] * 20.6;
	}
	return coll == GT_COLL_ALLREDUCE ? fmin(least, sum / (m->n + 1))
					 : least;
}

static void check_coll(const struct machine *m, enum gt_coll coll)
{
	struct gt_plan_report report;
	struct gt_cost_model *model;
	struct gt_plan *plan;
	struct gt_cost cost;
	struct gt_err err;

	if (search(m, coll, m->n - 1, &plan, &err))
		fail_msg("%s: %s", gt_coll_name(coll), err.text);
	assert_int_equal(gt_plan_check_report(plan, &report, &err), GT_OK);
	assert_int_equal(report.bound, GT_BOUND_PROVEN);
	assert_true(plan->proof.optimal);
	assert_true(fabs(gt_plan_algbw(plan, plan->proof.value) -
			 expected(m, coll)) < 1e-6);
	assert_int_equal(gt_cost_new(plan, coll, &model, &err), GT_OK);
	assert_int_equal(gt_cost_price(model, 1 << 30, &cost, &err), GT_OK);
	assert_true((1 << 30) / cost.time_us / 1e3 < expected(m, coll));
	gt_cost_free(model);
	gt_plan_free(plan);
}

static void draw_machine(struct machine *m)
{
	m->n = 2 + draw(7);
	for (uint32_t i = 0; i < m->n; i++)
		m->counts[i] = 18 - draw(4) * draw(5);
}

static void values(void **state)
{
	static const enum gt_coll colls[] = {
		GT_COLL_ALLREDUCE, GT_COLL_ALLGATHER, GT_COLL_REDUCESCATTER,
		GT_COLL_BROADCAST, GT_COLL_REDUCE};
	struct machine m;

	(void)state;
	for (seed = 0; seed < MACHINES; seed++) {
		uint32_t kept = seed;

		draw_machine(&m);
		open_machine(&m, 90);
		for (size_t c = 0; c < sizeof(colls) / sizeof(*colls); c++)
			check_coll(&m, colls[c]);
		close_machine(&m);
		seed = kept;
	}
}

static void refusals(void **state)
{
	struct machine m = {.n = 4, .counts = {12, 12, 12, 12}};
	struct gt_plan *plan;
	struct gt_err err;

	(void)state;
	open_machine(&m, 80);
	assert_int_equal(search(&m, GT_COLL_ALLREDUCE, 0, &plan, &err), GT_ENO);
	assert_non_null(strstr(err.text, "rank 0 has sm 80"));
	close_machine(&m);
	open_machine(&m, 90);
	assert_int_equal(search(&m, GT_COLL_ALLTOALL, 0, &plan, &err),
			 GT_EINPUT);
	m.n = 1;
	assert_int_equal(search(&m, GT_COLL_ALLREDUCE, 0, &plan, &err),
			 GT_EINPUT);
	m.n = 4;
	close_machine(&m);
}

/* ---- mutations --------------------------------------------------------- */

/* Change a plan so that it is wrong, in one of so many ways. */
enum { WAYS = 14 };
static void mutate(struct gt_plan *plan, uint32_t how)
{
	struct gt_plan_channel *channel =
		&plan->channels[draw(plan->nchannels)];
	struct gt_plan_vertex *list = channel->vertices;
	uint32_t leaf = 2 + draw(channel->nvertices - 2);

	switch (how) {
	case 0: /* a rank is left out */
		channel->nvertices--;
		break;
	case 1: /* a rank contributes twice */
		list[leaf].rank = list[leaf == 2 ? 3 : 2].rank;
		break;
	case 2: /* it does not contribute at all */
		list[leaf].drives = 1;
		break;
	case 3: /* it hangs from a rank */
		list[leaf].parent = 0;
		break;
	case 4: /* a circle */
		list[1].parent = (int32_t)leaf;
		break;
	case 5: /* another's way */
		list[leaf].up = list[leaf == 2 ? 3 : 2].up;
		break;
	case 6:
		list[leaf].down = list[leaf].up;
		break;
	case 7: /* no way */
		list[leaf].nup = 0;
		break;
	case 8: /* a switch that is none */
		list[1].name = "NVS/7";
		break;
	case 9: /* another drives than who is a leaf */
		list[0].drives = 0;
		break;
	case 10: /* more than a link carries */
		plan->links[draw(plan->nlinks)].gbs = GT_RAT(1, 1);
		break;
	case 11: /* a bound that was not proved */
		plan->proof.prices[0].price = GT_RAT(1, 1000);
		break;
	case 12:
		plan->proof.class_ = GT_PROOF_ANY;
		break;
	default:
		plan->select[0].algo = GT_ALGO_COLLNET;
	}
}

static void mutations(void **state)
{
	struct gt_plan *plan;
	struct machine m;
	struct gt_err err;

	(void)state;
	for (uint32_t i = 0; i < 20 * WAYS; i++) {
		seed = i;
		draw_machine(&m);
		m.n = m.n < 3 ? 3 : m.n;
		m.counts[2] = 18;
		open_machine(&m, 90);
		assert_int_equal(search(&m, GT_COLL_ALLREDUCE, 0, &plan, &err),
				 GT_OK);
		mutate(plan, i % WAYS);
		if (gt_plan_check(plan, &err) != GT_ENO)
			fail_msg("mutation %u of %u passes", i % WAYS, i);
		gt_plan_free(plan);
		close_machine(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(refusals),
		cmocka_unit_test(mutations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
