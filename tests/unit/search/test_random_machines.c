/*
 * A thousand machines at random: GPUs below PCI switches and processors, with
 * NVLinks of which some are missing, narrow PCI links, and GPUs left out.  For
 * each of five collectives a forest is proved to be the best, no cut or
 * partition of all there are bounds it lower, verify passes its plan, and ranks
 * on the host get the right result; the same for two flows each.
 */
#include "unit/test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/simulate/simulate.h"
#include "search/problem/fabric.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "search/search.h"
#include "topo/graph/path.h"
#include "unit/search/fabrics.h"
#include "unit/search/machine_run.h"

/* Sanitizers see all the code in a few of them, and are slow. */
#ifdef __SANITIZE_ADDRESS__
enum { MACHINES = 200 };
#else
enum { MACHINES = 1000 };
#endif

enum { GPUS = 8, NODES = 14 };

static const enum gt_coll colls[] = {GT_COLL_ALLREDUCE, GT_COLL_ALLGATHER,
				     GT_COLL_REDUCESCATTER, GT_COLL_BROADCAST,
				     GT_COLL_REDUCE};

/* Each machine does an all-to-all and one of these. */
static const enum gt_coll moves[] = {GT_COLL_GATHER, GT_COLL_SCATTER,
				     GT_COLL_SENDRECV};

enum { NCOLLS = sizeof(colls) / sizeof(colls[0]) };

static void pci(struct gt_buf *xml, const char *bus, const char *class,
		uint32_t width)
{
	gt_buf_printf(xml,
		      "<pci busid=\"0000:%s.0\" class=\"%s\" "
		      "link_speed=\"16.0 GT/s PCIe\" link_width=\"%u\">\n",
		      bus, class, width);
}

static void gpu(struct gt_buf *xml, struct gt_random *c, uint32_t i,
		const uint32_t *links)
{
	char bus[16];

	snprintf(bus, sizeof(bus), "%02x:00", 0x10 + i);
	pci(xml, bus, "0x030200", 4u << gt_random(c, 3));
	gt_buf_printf(xml, "<gpu dev=\"%u\" sm=\"80\" rank=\"%u\">\n", i, i);
	for (uint32_t j = 0; j < GPUS; j++)
		if (links[j])
			gt_buf_printf(xml,
				      "<nvlink target=\"0000:%02x:00.0\" "
				      "count=\"%u\" tclass=\"0x030200\"/>\n",
				      0x10 + j, links[j]);
	gt_buf_puts(xml, "</gpu>\n</pci>\n");
}

/*
 * A machine has one or two processors, each with one or two switches and GPUs.
 */
static void machine(struct gt_buf *xml, struct gt_random *c, uint32_t n)
{
	uint32_t links[GPUS][GPUS] = {{0}}, dense = gt_random(c, 100);
	uint32_t cpus = 1 + gt_random(c, 2), switches = 1 + gt_random(c, 2);
	int intel = (int)gt_random(c, 2);
	char bus[16];

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (gt_random(c, 100) < dense)
				links[i][j] = links[j][i] = 1 + gt_random(c, 3);
	gt_buf_puts(xml, "<system version=\"1\">\n");
	for (uint32_t s = 0; s < cpus * switches; s++) {
		if (s % switches == 0)
			gt_buf_printf(xml,
				      "<cpu numaid=\"%u\" arch=\"x86_64\" "
				      "vendor=\"%s\" familyid=\"6\" "
				      "modelid=\"85\" affinity=\"ffff\">\n",
				      s / switches,
				      intel ? "GenuineIntel" : "AuthenticAMD");
		snprintf(bus, sizeof(bus), "%02x:00", 1 + s);
		pci(xml, bus, "0x060400", 8u << gt_random(c, 2));
		for (uint32_t i = s; i < n; i += cpus * switches)
			gpu(xml, c, i, links[i]);
		gt_buf_puts(xml, "</pci>\n");
		if (s % switches == switches - 1)
			gt_buf_puts(xml, "</cpu>\n");
	}
	gt_buf_puts(xml, "</system>\n");
}

/* The capacity out of each set of nodes, over links that some route uses. */
static void all_cuts(const struct gt_fabric *f, double *cut)
{
	unsigned char used[1024] = {0};

	assert_true(f->nnodes <= NODES && f->nlinks <= sizeof(used));
	for (uint32_t i = 0; i < f->nranks * f->nranks; i++)
		for (uint32_t k = 0; k < f->routes[i].nlinks; k++)
			used[f->routes[i].links[k]] = 1;
	for (uint32_t set = 0; set < 1u << f->nnodes; set++)
		cut[set] = 0;
	for (uint32_t l = 0; l < f->nlinks; l++) {
		const struct gt_fabric_link *link = &f->links[l];
		double gbs = used[l] ? gt_rat_double(link->gbs) : 0;

		for (uint32_t set = 0; gbs > 0 && set < 1u << f->nnodes; set++)
			if (set >> link->from & 1 && !(set >> link->to & 1))
				cut[set] += gbs;
	}
}

/* Set ranks[set of ranks] to the least cut around them, in either direction. */
static void rank_cuts(const struct gt_fabric *f, const double *cut, int in,
		      double *ranks)
{
	uint32_t all = (1u << f->nnodes) - 1, set;

	for (uint32_t r = 0; r < 1u << f->nranks; r++)
		ranks[r] = 1e30;
	for (uint32_t nodes = 0; nodes <= all; nodes++) {
		double one = cut[in ? all & ~nodes : nodes];

		set = 0;
		for (uint32_t r = 0; r < f->nranks; r++)
			set |= (nodes >> f->ranks[r] & 1) << r;
		if (one < ranks[set])
			ranks[set] = one;
	}
}

/* The least over all partitions of the sum of cuts, less one part. */
static double least_parts(const double *ranks, uint32_t rest, uint32_t count,
			  double sum)
{
	double best = count > 1 && !rest ? sum / (2 * (count - 1)) : 1e30, one;
	uint32_t low = rest & -rest;

	/* This part has the lowest rank that is left, and any of the others. */
	for (uint32_t more = rest & ~low; rest;
	     more = (more - 1) & rest & ~low) {
		one = least_parts(ranks, rest & ~(low | more), count + 1,
				  sum + ranks[low | more]);
		best = one < best ? one : best;
		if (!more)
			break;
	}
	return best;
}

/* The bound of all schedules in the unit of trees, by trying all cuts. */
static double best_cut(const struct gt_fabric *f, enum gt_coll coll,
		       uint32_t root)
{
	static double cut[1u << NODES], ranks[1u << GPUS];
	uint32_t n = f->nranks, all = (1u << n) - 1;
	double best = 1e30, one;

	all_cuts(f, cut);
	rank_cuts(f, cut, !gt_coll_goes_down(coll), ranks);
	if (coll == GT_COLL_ALLREDUCE)
		return least_parts(ranks, all, 0, 0);
	for (uint32_t set = 1; set < all; set++) {
		if (gt_coll_is_rooted(coll) && !(set >> root & 1))
			continue;
		one = ranks[set];
		if (!gt_coll_is_rooted(coll))
			one *= (double)n / __builtin_popcount(set);
		best = one < best ? one : best;
	}
	return best;
}

static void expect_best(const struct gt_search_request *request,
			const struct gt_plan *plan, struct gt_arena *arena)
{
	const struct gt_plan_proof *proof = &plan->proof;
	double value = gt_rat_double(proof->value), best;
	struct gt_plan_report report;
	struct gt_fabric *f;
	struct gt_err err;

	gt_err_init(&err);
	assert_true(plan->has_proof && proof->optimal);
	if (gt_plan_check_report(plan, &report, &err) ||
	    gt_simulate(plan, plan->coll, &err))
		fail_msg("%s", err.text);
	assert_int_equal(report.bound, GT_BOUND_PROVEN);
	assert_int_equal(gt_search_request_fabric(request, arena, &f, &err),
			 GT_OK);
	best = best_cut(f, request->coll, request->root);
	assert_true(value <= best * (1 + 1e-9));
	/* A proof without prices is the best cut itself. */
	if (!proof->nprices)
		assert_true(value >= best * (1 - 1e-9));
}

/* The pairs that have to cross a cut, by trying all cuts. */
static double best_pair_cut(const struct gt_fabric *f, enum gt_coll coll,
			    uint32_t root)
{
	static double cut[1u << NODES], ranks[1u << GPUS];
	uint32_t n = f->nranks;
	double best = 1e30;

	all_cuts(f, cut);
	rank_cuts(f, cut, 0, ranks);
	for (uint32_t set = 1; set < (1u << n) - 1; set++) {
		uint32_t pairs = 0;

		for (uint32_t i = 0; i < n * n; i++)
			pairs += set >> i / n & 1 && !(set >> i % n & 1) &&
				 gt_coll_has_pair(coll, n, root, i / n, i % n);
		if (pairs && ranks[set] / pairs < best)
			best = ranks[set] / pairs;
	}
	return best;
}

/* A flow is proved to be the best, and no cut allows less; 1 if it is one. */
static int expect_flow(struct gt_search_request *request, enum gt_coll coll,
		       uint32_t seed)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_plan_report report;
	struct gt_plan *plan = NULL;
	struct gt_fabric *f;
	struct gt_err err;
	double value, best;
	int cut;

	gt_err_init(&err);
	request->coll = coll;
	if (gt_search(request, "flow", &plan, NULL, &err) ||
	    gt_plan_check_report(plan, &report, &err) ||
	    gt_simulate(plan, coll, &err) ||
	    gt_search_request_fabric(request, arena, &f, &err))
		fail_msg("machine %u, %s: %s", seed, gt_coll_name(coll),
			 err.text);
	assert_true(plan->has_proof && plan->proof.optimal);
	assert_int_equal(report.bound, GT_BOUND_PROVEN);
	value = gt_rat_double(plan->proof.value);
	best = best_pair_cut(f, coll, request->root);
	assert_true(value <= best * (1 + 1e-9));
	cut = value >= best * (1 - 1e-9);
	machine_run(plan);
	gt_plan_free(plan);
	gt_arena_free(arena);
	return cut;
}

/* Some of the machine's GPUs: at least two. */
static void some_gpus(struct gt_search_request *request, struct gt_random *c,
		      uint32_t *gpus)
{
	uint32_t n = request->nranks, kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (kept + n - i <= 2 || gt_random(c, 8))
			gpus[kept++] = request->gpus[i];
	request->gpus = gpus;
	request->nranks = kept;
	request->root = gt_random(c, kept);
}

/* How many of the collectives' proofs needed prices. */
static int all_colls(struct gt_search_request *request, uint32_t seed)
{
	int prices = 0;

	for (int i = 0; i < NCOLLS; i++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_plan *plan = NULL;
		struct gt_err err;

		gt_err_init(&err);
		request->coll = colls[i];
		if (gt_search(request, "forest", &plan, NULL, &err))
			fail_msg("machine %u: %s", seed, err.text);
		expect_best(request, plan, arena);
		machine_run(plan);
		prices += plan->proof.nprices > 0;
		gt_plan_free(plan);
		gt_arena_free(arena);
	}
	return prices;
}

static int one_machine(uint32_t seed, int *cuts)
{
	struct gt_search_request request = {.rates = GT_RATES_NCCL};
	struct gt_random c = {seed};
	struct gt_arena *arena = gt_arena_new();
	struct gt_buf xml = GT_BUF_INIT;
	struct gt_topo *topo = NULL;
	struct gt_paths *paths = NULL;
	uint32_t gpus[GPUS];
	struct gt_err err;
	int prices;

	gt_err_init(&err);
	machine(&xml, &c, 2 + gt_random(&c, GPUS - 1));
	if (gt_topo_parse("chance", xml.text, xml.len, request.rates, &topo,
			  &err) ||
	    gt_gpu_list_read(topo, NULL, arena, &request.gpus, &request.nranks,
			     &err) ||
	    gt_paths_new(topo, &paths, &err))
		fail_msg("machine %u: %s", seed, err.text);
	some_gpus(&request, &c, gpus);
	request.topo = topo;
	request.paths = paths;
	prices = all_colls(&request, seed);
	*cuts += expect_flow(&request, GT_COLL_ALLTOALL, seed);
	*cuts += expect_flow(&request, moves[seed % 3], seed);
	gt_paths_free(paths);
	gt_topo_free(topo);
	gt_buf_release(&xml);
	gt_arena_free(arena);
	return prices;
}

static void test_machines(void **state)
{
	int64_t begin = gt_clock_ns();
	int prices = 0, cuts = 0;

	(void)state;
	for (uint32_t seed = 0; seed < MACHINES; seed++)
		prices += one_machine(seed, &cuts);
	print_message("%d machines, %d plans: %d proved by prices, the others "
		      "by cuts; %d flows, %d of them as good as a cut allows; "
		      "%.1f s\n",
		      MACHINES, MACHINES * NCOLLS, prices, 2 * MACHINES, cuts,
		      (double)(gt_clock_ns() - begin) / 1e9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
