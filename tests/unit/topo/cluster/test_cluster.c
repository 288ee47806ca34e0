/* Clusters: what their files say, names of nodes, switches and bandwidths. */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "topo/cluster/cluster.h"

static struct gt_cluster *read_case(const char *name)
{
	char path[4096], file[256];
	struct gt_cluster *cluster;
	struct gt_topo *topo;
	struct gt_err err;

	gt_err_init(&err);
	snprintf(file, sizeof(file), "tests/cases/cluster/good/%s.xml", name);
	if (gt_cluster_read(gt_test_path(path, file), GT_RATES_MEASURED,
			    &cluster, &topo, &err))
		fail_msg("%s: %s", err.where, err.text);
	assert_non_null(cluster);
	assert_null(topo);
	return cluster;
}

static struct gt_rat downlink(const struct gt_cluster *cluster, uint32_t level,
			      uint32_t which)
{
	struct gt_rat gbs;

	assert_int_equal(gt_cluster_downlink(cluster, GT_FABRIC_NET, level,
					     which, &gbs, NULL),
			 GT_OK);
	return gbs;
}

static struct gt_rat uplink(const struct gt_cluster *cluster, uint32_t level,
			    uint32_t which)
{
	struct gt_rat gbs;

	assert_int_equal(gt_cluster_uplink(cluster, GT_FABRIC_NET, level, which,
					   &gbs, NULL),
			 GT_OK);
	return gbs;
}

static void assert_rat(struct gt_rat rat, int64_t num, int64_t den)
{
	assert_int_equal(rat.num, num);
	assert_int_equal(rat.den, den);
}

static const char *name_of(const struct gt_cluster *cluster, uint32_t node)
{
	static char text[64];

	gt_cluster_node_name(cluster, node, text, sizeof(text));
	return text;
}

static void test_rails(void **state)
{
	struct gt_cluster *cluster = read_case("rails");
	const struct gt_cluster_fabric *net = &cluster->fabrics[GT_FABRIC_NET];

	(void)state;
	assert_string_equal(cluster->name, "rails");
	assert_int_equal(cluster->nnodes, 73);
	assert_int_equal(cluster->nkinds, 2);
	assert_int_equal(cluster->nruns, 3);
	/* Both kinds are of one file, which is read once. */
	assert_int_equal(cluster->ntopos, 1);
	assert_ptr_equal(cluster->kinds[0].topo, cluster->kinds[1].topo);
	assert_int_equal(cluster->kinds[0].nnodes, 70);
	assert_int_equal(cluster->kinds[1].nnodes, 3);
	assert_int_equal(net->nrails, 8);
	assert_int_equal(cluster->kinds[1].ports[GT_FABRIC_NET].n, 7);
	assert_int_equal(cluster->kinds[1].ports[GT_FABRIC_NET].list[2].rail,
			 3);
	assert_int_equal(cluster->kinds[0].ports[GT_FABRIC_NVLINK].n, 8);
	/* There are 3 groups of 32 nodes with 8 rails; 2 of 64; and 1. */
	assert_int_equal(net->nlevels, 3);
	assert_int_equal(net->levels[0].nswitches, 24);
	assert_int_equal(net->levels[1].nswitches, 2);
	assert_int_equal(net->levels[2].nswitches, 1);
	gt_cluster_free(cluster);
}

static void test_capacities(void **state)
{
	struct gt_cluster *cluster = read_case("rails");

	(void)state;
	assert_rat(downlink(cluster, 0, 0), 32 * 50, 1);
	assert_rat(uplink(cluster, 0, 0), 3200, 3);
	/* The last nine nodes are a group, of which three lack rail 2. */
	assert_rat(downlink(cluster, 0, 16 + 1), 9 * 50, 1);
	assert_rat(downlink(cluster, 0, 16 + 2), 6 * 50, 1);
	assert_rat(downlink(cluster, 1, 0), 16 * 3200, 3);
	assert_rat(uplink(cluster, 1, 0), 8 * 3200, 3);
	assert_rat(uplink(cluster, 1, 1), 1150, 1);
	assert_rat(downlink(cluster, 2, 0), 25600 + 3 * 1150, 3);
	gt_cluster_free(cluster);
}

static void test_above(void **state)
{
	struct gt_cluster *cluster = read_case("rails");

	(void)state;
	assert_int_equal(gt_cluster_switch(cluster, GT_FABRIC_NET, 0, 33, 5),
			 13);
	assert_int_equal(
		gt_cluster_parent_switch(cluster, GT_FABRIC_NET, 0, 13), 0);
	assert_int_equal(
		gt_cluster_parent_switch(cluster, GT_FABRIC_NET, 0, 23), 1);
	assert_int_equal(gt_cluster_parent_switch(cluster, GT_FABRIC_NET, 1, 1),
			 0);
	assert_int_equal(gt_cluster_common_level(cluster, GT_FABRIC_NET,
						 (uint32_t[]){0, 1},
						 (uint32_t[]){31, 1}),
			 0);
	assert_int_equal(gt_cluster_common_level(cluster, GT_FABRIC_NET,
						 (uint32_t[]){0, 1},
						 (uint32_t[]){0, 2}),
			 1);
	assert_int_equal(gt_cluster_common_level(cluster, GT_FABRIC_NET,
						 (uint32_t[]){63, 1},
						 (uint32_t[]){64, 1}),
			 2);
	gt_cluster_free(cluster);
}

static void test_names(void **state)
{
	struct gt_cluster *cluster = read_case("rails");
	char name[64];

	(void)state;
	assert_string_equal(name_of(cluster, 0), "dgx-h100-0");
	assert_string_equal(name_of(cluster, 69), "dgx-h100-69");
	assert_string_equal(name_of(cluster, 70), "sick08");
	assert_string_equal(name_of(cluster, 72), "spare");
	for (uint32_t i = 0; i < cluster->nnodes; i++) {
		strcpy(name, name_of(cluster, i));
		assert_int_equal(gt_cluster_node_find(cluster, name), i);
	}
	assert_int_equal(gt_cluster_node_find(cluster, "sick8"), GT_NONE);
	assert_int_equal(gt_cluster_node_find(cluster, "sick10"), GT_NONE);
	assert_int_equal(gt_cluster_node_find(cluster, "dgx-h100-070"),
			 GT_NONE);
	assert_int_equal(gt_cluster_node_find(cluster, "dgx-h100-"), GT_NONE);
	gt_cluster_free(cluster);
}

/* What follows a number may begin with a digit, too. */
static void test_digits(void **state)
{
	struct gt_cluster *cluster = read_case("digits");
	char name[64];

	(void)state;
	assert_string_equal(name_of(cluster, 1), "r27");
	for (uint32_t i = 0; i < cluster->nnodes; i++) {
		strcpy(name, name_of(cluster, i));
		assert_int_equal(gt_cluster_node_find(cluster, name), i);
	}
	assert_int_equal(gt_cluster_node_find(cluster, "r7"), GT_NONE);
	assert_int_equal(gt_cluster_node_find(cluster, "r47"), GT_NONE);
	gt_cluster_free(cluster);
}

static void test_many(void **state)
{
	struct gt_cluster *cluster = read_case("many");

	(void)state;
	assert_int_equal(cluster->nnodes, 12500);
	assert_int_equal(cluster->nruns, 1);
	/* There are 391 groups of 32, and 25 of 512. */
	assert_int_equal(cluster->fabrics[GT_FABRIC_NET].levels[0].nswitches,
			 391 * 8);
	assert_int_equal(cluster->fabrics[GT_FABRIC_NET].levels[1].nswitches,
			 25);
	assert_rat(uplink(cluster, 1, 24), 51200, 3);
	assert_rat(downlink(cluster, 2, 0), 25 * 51200, 3);
	assert_string_equal(name_of(cluster, 99), "gpu00100");
	assert_int_equal(gt_cluster_node_find(cluster, "gpu12500"), 12499);
	gt_cluster_free(cluster);
}

static void test_links(void **state)
{
	struct gt_cluster *cluster = read_case("links");
	const struct gt_cluster_fabric *net = &cluster->fabrics[GT_FABRIC_NET];

	(void)state;
	assert_int_equal(net->nlevels, 0);
	assert_int_equal(net->nswitches, 2);
	assert_int_equal(net->ncables, 5);
	assert_int_equal(net->cables[0].ends[0].node, 0);
	assert_int_equal(net->cables[0].ends[1].node, GT_NONE);
	assert_rat(net->cables[0].gbs, 25, 1);
	assert_rat(net->cables[2].gbs, 10, 1);
	assert_rat(net->cables[3].gbs, 75, 2);
	assert_int_equal(net->cables[3].count, 3);
	assert_int_equal(net->cables[4].ends[1].node, 1);
	assert_int_equal(net->cables[4].ends[1].at, 1);
	gt_cluster_free(cluster);
}

static void test_nvlink(void **state)
{
	struct gt_cluster *cluster = read_case("nvlink");
	uint32_t a[2] = {0, 0}, b[2] = {1, 3}, c[2] = {2, 0};

	(void)state;
	assert_int_equal(cluster->fabrics[GT_FABRIC_NET].nlevels, 0);
	assert_int_equal(cluster->fabrics[GT_FABRIC_NVLINK].levels[0].nswitches,
			 3);
	assert_int_equal(
		gt_cluster_common_level(cluster, GT_FABRIC_NVLINK, a, b), 0);
	assert_int_equal(
		gt_cluster_common_level(cluster, GT_FABRIC_NVLINK, b, c),
		GT_NONE);
	gt_cluster_free(cluster);
}

static void test_plain(void **state)
{
	struct gt_cluster *cluster = read_case("plain"), *copies;
	struct gt_rat gbs;

	(void)state;
	/* A node has eight ports of 200 Gb/s and two cards with two of them. */
	assert_rat(downlink(cluster, 0, 0), 3 * 12 * 25, 1);
	assert_int_equal(gt_cluster_copies(cluster->kinds[0].topo, 3, NULL,
					   &copies, NULL),
			 GT_OK);
	assert_int_equal(
		gt_cluster_downlink(copies, GT_FABRIC_NET, 0, 0, &gbs, NULL),
		GT_OK);
	assert_rat(gbs, 3 * 12 * 25, 1);
	assert_string_equal(name_of(copies, 2), "node-2");
	gt_cluster_free(copies);
	gt_cluster_free(cluster);
}

/* A server's file is read as one, not as a cluster. */
static void test_topology(void **state)
{
	char path[4096];
	struct gt_cluster *cluster;
	struct gt_topo *topo;

	(void)state;
	assert_int_equal(
		gt_cluster_read(gt_test_path(path, "share/xml/dgx-h100.xml"),
				GT_RATES_MEASURED, &cluster, &topo, NULL),
		GT_OK);
	assert_null(cluster);
	assert_int_equal(gt_topo_ngpus(topo), 8);
	gt_topo_free(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rails),
		cmocka_unit_test(test_capacities),
		cmocka_unit_test(test_above),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_nvlink),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_topology),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
