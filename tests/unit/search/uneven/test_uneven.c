/*
 * Random clusters whose nodes are not alike: plans are proved and right, their
 * bound is the least of all cuts, or of an all-reduce of all partitions, by a
 * maximum flow of this file's own, and what they reach is near it, however
 * nodes are numbered.
 */
#include "unit/test.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "plan/check/check.h"
#include "plan/ir/plan.h"
#include "plan/simulate/simulate.h"
#include "search/problem/flat_cluster.h"
#include "search/problem/request.h"
#include "search/uneven/balance.h"
#include "search/uneven/search.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/path.h"

/* Clusters that are tried if the environment names no other number. */
enum { CLUSTERS = 12, MOST_NODES = 8, NAME = 64 };

/* ---- random clusters --------------------------------------------------- */

static uint32_t seed;

static uint32_t draw(uint32_t n)
{
	seed = seed * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

/* A DGX H100 of which some GPUs have failed. */
static void write_node(const char *dir, uint32_t which, uint32_t failed)
{
	struct gt_buf buf = GT_BUF_INIT;
	char path[4096], key[32], *text;
	struct gt_err err;

	gt_err_init(&err);
	gt_test_path(path, "share/xml/dgx-h100.xml");
	assert_int_equal(gt_file_read(path, 1 << 20, &buf, &err), GT_OK);
	text = buf.text;
	for (uint32_t k = 0; k < failed; k++) {
		char *gpu, *from, *to;

		snprintf(key, sizeof(key), "<gpu dev=\"%u\"", 7 - k);
		gpu = strstr(text, key);
		assert_non_null(gpu);
		for (from = gpu; strncmp(from, "<pci", 4); from--)
			;
		to = strstr(strstr(gpu, "</gpu>"), "</pci>") + 6;
		memmove(from, to, strlen(to) + 1);
	}
	snprintf(path, sizeof(path), "%s/node%u.xml", dir, which);
	assert_int_equal(gt_file_write(path, text, strlen(text), &err), GT_OK);
	gt_buf_release(&buf);
}

/* A node's ports, rail by rail: mostly all, or some, or every other one. */
static void draw_ports(char nets[NAME])
{
	static const char *const ports[8] = {"0", "3", "4",  "5",
					     "6", "9", "10", "11"};
	uint32_t how = draw(4);

	nets[0] = '\0';
	for (uint32_t i = 0; i < 8; i++) {
		int lost = how == 1 ? draw(8) == 0 : how == 2 && (i & 1);

		snprintf(nets + strlen(nets), NAME - strlen(nets), "%s%s",
			 i ? "," : "", lost ? "-" : ports[i]);
	}
	if (!strcmp(nets, "-,-,-,-,-,-,-,-"))
		strcpy(nets, "0,3,4,5,6,9,10,11");
}

static const char *const fabrics[] = {
	"<level/>",
	"<level rail=\"each\"/><level/>",
	"<level nodes=\"2\" oversubscription=\"2\"/><level/>",
	"<level nodes=\"3\" rail=\"each\" oversubscription=\"3/2\"/><level/>",
	"<level nodes=\"4\" uplink_gbs=\"130\"/><level/>",
};

/*
 * The same nodes in two files, in order and the other way round.  Levels of
 * some nodes each take them in order, so the second is another cluster then;
 * the result is whether it is the same.
 */
static int write_cluster(const char *dir)
{
	uint32_t n = 2 + draw(MOST_NODES - 1), fabric = draw(5);
	char lines[MOST_NODES][4 * NAME], nets[NAME], path[4096];
	struct gt_err err;

	gt_err_init(&err);
	for (uint32_t i = 0; i < n; i++) {
		draw_ports(nets);
		snprintf(lines[i], sizeof(lines[i]),
			 "<node file=\"node%u.xml\" kind=\"k%u\" names=\"m%u\""
			 " nets=\"%s\"/>\n",
			 draw(3), i, i, nets);
	}
	for (int back = 0; back < 2; back++) {
		struct gt_buf text = GT_BUF_INIT;

		gt_buf_puts(&text, "<cluster version=\"1\" name=\"c\">\n");
		for (uint32_t i = 0; i < n; i++)
			gt_buf_puts(&text, lines[back ? n - 1 - i : i]);
		gt_buf_printf(&text, "<fabric>%s</fabric></cluster>\n",
			      fabrics[fabric]);
		snprintf(path, sizeof(path), "%s/c%d.xml", dir, back);
		assert_int_equal(gt_file_write(path, text.text, text.len, &err),
				 GT_OK);
		gt_buf_release(&text);
	}
	return fabric < 2;
}

static struct gt_plan *plan_of(const char *dir, int back, enum gt_coll coll)
{
	struct gt_search_request request = {.coll = coll, .root = 1};
	struct gt_uneven_stats stats;
	struct gt_arena *arena = gt_arena_new();
	struct gt_paths *paths[MOST_NODES] = {NULL};
	struct gt_flat_cluster *flat;
	struct gt_cluster *cluster;
	struct gt_plan *plan;
	struct gt_topo *topo;
	char path[4096];
	struct gt_err err;

	gt_err_init(&err);
	snprintf(path, sizeof(path), "%s/c%d.xml", dir, back);
	if (gt_cluster_read(path, GT_RATES_MEASURED, &cluster, &topo, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < cluster->nkinds; i++)
		assert_int_equal(gt_paths_new_direct(cluster->kinds[i].topo,
						     &paths[i], &err),
				 GT_OK);
	if (gt_flat_new_open(cluster, paths, NULL, arena, &flat, &err))
		fail_msg("%s", err.text);
	request.flat = flat;
	request.nranks = flat->fabric.nranks;
	if (gt_uneven_search(&request, &plan, &stats, &err))
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < cluster->nkinds; i++)
		gt_paths_free(paths[i]);
	gt_cluster_free(cluster);
	gt_arena_free(arena);
	return plan;
}

/* ---- an independent bound ---------------------------------------------- */

/* The plan's links as a network, whose vertices are names of links' ends. */
enum { MOST_VERTICES = 2048, MOST_ARCS = 8192 };

struct network {
	uint32_t n, narcs;
	char names[MOST_VERTICES][NAME];
	uint32_t from[MOST_ARCS], to[MOST_ARCS];
	double room[MOST_ARCS], left[MOST_ARCS]; /* arc a ^ 1 leads back */
	uint32_t first[MOST_VERTICES],
		next[MOST_ARCS]; /* arcs that begin there */
	uint32_t by[MOST_VERTICES], queue[MOST_VERTICES];
};

static uint32_t vertex(struct network *net, const char *name)
{
	uint32_t i = 0;

	while (i < net->n && strcmp(net->names[i], name))
		i++;
	assert_true(i < MOST_VERTICES && strlen(name) < NAME);
	if (i == net->n) {
		net->first[i] = UINT32_MAX;
		strcpy(net->names[net->n++], name);
	}
	return i;
}

static void arc(struct network *net, uint32_t from, uint32_t to, double gbs)
{
	assert_true(net->narcs + 2 <= MOST_ARCS);
	for (int back = 0; back < 2; back++) {
		net->from[net->narcs] = back ? to : from;
		net->to[net->narcs] = back ? from : to;
		net->next[net->narcs] = net->first[back ? to : from];
		net->first[back ? to : from] = net->narcs;
		net->room[net->narcs++] = back ? 0 : gbs;
	}
}

/* Links within a node name it once, "m3:A>B"; of A and B both are its own. */
static void add_link(struct network *net, const struct gt_plan_link *link,
		     int turned)
{
	char from[2 * NAME], to[2 * NAME], *end;
	uint32_t ends[2];

	snprintf(from, sizeof(from), "%s", link->id);
	end = strchr(from, '>');
	*end++ = '\0';
	if (strchr(end, '#'))
		*strchr(end, '#') = '\0';
	if (strncmp(from, "switch", 6) && strncmp(end, "switch", 6) &&
	    end[0] != 'm')
		snprintf(to, sizeof(to), "%.2s:%s", from, end);
	else
		snprintf(to, sizeof(to), "%s", end);
	ends[0] = vertex(net, from);
	ends[1] = vertex(net, to);
	arc(net, ends[turned], ends[!turned], gt_rat_double(link->gbs));
}

static uint32_t rank_vertex(struct network *net, const struct gt_plan *plan,
			    uint32_t rank)
{
	char name[NAME];

	snprintf(name, sizeof(name), "%s:GPU/%s", plan->ranks[rank].node,
		 plan->ranks[rank].device);
	return vertex(net, name);
}

/* One more path from vertex 0 to the sink; what it takes. */
static double augment(struct network *net, uint32_t sink)
{
	uint32_t end = 0;
	double least = 1e300;

	memset(net->by, 0xff, sizeof(net->by));
	net->queue[end++] = 0;
	for (uint32_t i = 0; i < end && net->by[sink] == UINT32_MAX; i++)
		for (uint32_t a = net->first[net->queue[i]]; a != UINT32_MAX;
		     a = net->next[a])
			if (net->left[a] > 1e-9 && net->to[a] &&
			    net->by[net->to[a]] == UINT32_MAX) {
				net->by[net->to[a]] = a;
				net->queue[end++] = net->to[a];
			}
	if (net->by[sink] == UINT32_MAX)
		return 0;
	for (uint32_t v = sink; v; v = net->from[net->by[v]])
		if (net->left[net->by[v]] < least)
			least = net->left[net->by[v]];
	for (uint32_t v = sink; v; v = net->from[net->by[v]]) {
		net->left[net->by[v]] -= least;
		net->left[net->by[v] ^ 1] += least;
	}
	return least;
}

static double max_flow(struct network *net, uint32_t sink)
{
	double flow = 0, more;

	memcpy(net->left, net->room, sizeof(net->left));
	while ((more = augment(net, sink)) > 0)
		flow += more;
	return flow;
}

/*
 * An all-reduce at this rate crosses from part to part twice for each part of
 * the ranks but one; so of no partition may less leave the parts.  That is so
 * if ranks have numbers z whose sum is -2 rates or more, while those of any set
 * are at most what leaves the set, over any switches, less 2 rates: add these
 * up over the parts.  In order each rank gets the most that sets of it and
 * ranks before it allow (Dilworth's truncation), by a flow from it to all later
 * ranks, in which a z above 0 leads in from the source and one below out to the
 * sink.
 */
static void check_partitions(struct network *net, const struct gt_plan *plan)
{
	double rate = gt_rat_double(plan->proof.bound), sum = 0, above = 0;
	uint32_t n = plan->nranks, sink = vertex(net, "sink"), end = net->narcs;
	uint32_t *of = calloc(n, sizeof(*of));
	double *z = calloc(n, sizeof(*z));

	assert_true(of && z);
	for (uint32_t i = 0; i < n; i++) {
		of[i] = rank_vertex(net, plan, i);
		arc(net, 0, of[i], 0);
		arc(net, of[i], sink, 0);
	}
	for (uint32_t v = 0; v < n; v++) {
		for (uint32_t i = 0; i < n; i++) {
			net->room[end + 4 * i] = i < v    ? fmax(z[i], 0)
						 : i == v ? 1e8
							  : 0;
			net->room[end + 4 * i + 2] = i < v    ? fmax(-z[i], 0)
						     : i == v ? 0
							      : 1e8;
		}
		z[v] = max_flow(net, sink) - above - 2 * rate;
		above += fmax(z[v], 0);
		sum += z[v];
	}
	assert_true(sum > -2 * rate * (1 + 1e-6));
	free(of);
	free(z);
}

/*
 * If all roots send what the bound says, a flow of that reaches each rank: then
 * no cut is thinner.  That none of it is thicker the plan's certificate proves.
 */
static void check_bound(const struct gt_plan *plan)
{
	static struct network net;
	int turned = !gt_coll_goes_down(plan->coll);
	double bound = gt_rat_double(plan->proof.bound);

	net.n = net.narcs = 0;
	vertex(&net, "source");
	for (uint32_t i = 0; i < plan->nlinks; i++)
		add_link(&net, &plan->links[i], turned);
	if (plan->coll == GT_COLL_ALLREDUCE) {
		check_partitions(&net, plan);
		return;
	}
	for (uint32_t i = 0; i < plan->nranks; i++) {
		double each = gt_coll_is_rooted(plan->coll)
				      ? (i == plan->root) * bound
				      : bound / plan->nranks;

		arc(&net, 0, rank_vertex(&net, plan, i), each);
	}
	for (uint32_t i = 0; i < plan->nranks; i += 1 + draw(4)) {
		double flow = max_flow(&net, rank_vertex(&net, plan, i));

		assert_true(flow > bound * (1 - 1e-6));
	}
}

/* ---- the tests --------------------------------------------------------- */

/* A plan is right and proved; what it reaches of its bound. */
static double check_plan(const struct gt_plan *plan)
{
	struct gt_plan_report report;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_plan_check_report(plan, &report, &err) ||
	    gt_simulate(plan, plan->coll, &err))
		fail_msg("%s: %s", err.where, err.text);
	assert_int_equal(report.bound, GT_BOUND_PROVEN);
	check_bound(plan);
	return gt_rat_double(plan->proof.value) /
	       gt_rat_double(plan->proof.bound);
}

static const enum gt_coll colls[] = {GT_COLL_ALLGATHER, GT_COLL_ALLREDUCE,
				     GT_COLL_REDUCESCATTER, GT_COLL_BROADCAST,
				     GT_COLL_REDUCE};

static void make_nodes(char *dir)
{
	assert_non_null(mkdtemp(dir));
	for (uint32_t i = 0; i < 3; i++)
		write_node(dir, i, 2 * i);
}

static void remove_nodes(const char *dir)
{
	char line[64];

	snprintf(line, sizeof(line), "rm -r %s", dir);
	assert_int_equal(system(line), 0);
}

/* Of few ranks, trees of one rate would leave links 8 or 9 % empty. */
static void test_few(void **state)
{
	static const uint32_t clusters[] = {83, 128, 266, 361, 406};
	char dir[] = "/tmp/gtopo-uneven-XXXXXX";

	(void)state;
	make_nodes(dir);
	for (uint32_t i = 0; i < 5; i++) {
		struct gt_plan *plan;

		seed = clusters[i] * 2654435761u;
		write_cluster(dir);
		plan = plan_of(dir, 0, colls[(clusters[i] - 1) % 5]);
		assert_true(check_plan(plan) > 0.95);
		gt_plan_free(plan);
	}
	remove_nodes(dir);
}

static void test_random(void **state)
{
	const char *asked = getenv("GTOPO_TEST_UNEVEN");
	uint32_t n = asked ? (uint32_t)atoi(asked) : CLUSTERS, near = 0;
	uint32_t best = 0, most_ranks = 0;
	double least = 1;
	char dir[] = "/tmp/gtopo-uneven-XXXXXX";

	(void)state;
	make_nodes(dir);
	for (uint32_t i = 0; i < n; i++) {
		struct gt_plan *plans[2];
		double reached;
		int same;

		seed = (i + 1) * 2654435761u; /* spread over all there are */
		same = write_cluster(dir);
		plans[0] = plan_of(dir, 0, colls[i % 5]);
		plans[1] = plan_of(dir, 1, colls[i % 5]);
		reached = check_plan(plans[0]);
		if (reached < 0.95)
			print_message("seed %u, %s of %u: %.4f\n", i + 1,
				      gt_coll_name(colls[i % 5]),
				      plans[0]->nranks, reached);
		assert_true(reached > 0.8 && reached < 1 + 1e-12);
		near += reached >= 0.95;
		best += plans[0]->proof.optimal;
		least = fmin(least, reached);
		if (plans[0]->nranks > most_ranks)
			most_ranks = plans[0]->nranks;
		if (same && !gt_coll_is_rooted(colls[i % 5]))
			assert_int_equal(gt_rat_cmp(plans[0]->proof.bound,
						    plans[1]->proof.bound),
					 0);
		gt_plan_free(plans[0]);
		gt_plan_free(plans[1]);
	}
	print_message("%u clusters of up to %u GPUs: %u reach the bound, %u "
		      "0.95 of it, the least %.4f\n",
		      n, most_ranks, best, near, least);
	assert_true(near * 100 >= n * 95);
	remove_nodes(dir);
}

/* Trees of the best mix stay, whatever a later one takes. */
static void test_drop(void **state)
{
	struct gt_grown *trees = calloc(5, sizeof(*trees));
	const int64_t parts[5] = {0, 3, 0, 0, 1};
	int64_t best[6] = {0, 2, 0, 5, 0, 0};
	struct gt_balance balance = {.nkept = 5, .trees = trees};

	(void)state;
	assert_non_null(trees);
	for (uint32_t i = 0; i < 5; i++)
		trees[i].root = i;
	gt_balance_drop(&balance, parts, best);
	assert_int_equal(balance.nkept, 3);
	assert_int_equal(trees[0].root, 1);
	assert_int_equal(trees[1].root, 3);
	assert_int_equal(trees[2].root, 4);
	assert_int_equal(best[0], 2);
	assert_int_equal(best[1], 5);
	for (uint32_t i = 2; i < 6; i++)
		assert_int_equal(best[i], 0);
	gt_balance_release(&balance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drop),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
