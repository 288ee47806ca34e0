/*
 * The graph of a machine as it is read from XML: routes, kinds and rates of
 * links, digests, and what is refused.
 */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "topo/graph/edit.h"
#include "topo/graph/merge.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

/*
 * This machine has two GPUs on a switch of CPU 0, a third on CPU 1, and a card;
 * %s is what the first GPU has inside.
 */
static const char machine[] =
	"<system version='1'>\n"
	"<cpu numaid='0' arch='x86_64' vendor='GenuineIntel' familyid='6' "
	"modelid='143'>\n"
	"<pci busid='0000:10:00.0' class='0x060400' link_speed='32 GT/s' "
	"link_width='16'>\n"
	"<pci busid='0000:11:00.0' class='0x030200' link_speed='32 GT/s' "
	"link_width='16'><gpu dev='0' sm='90' rank='0'>%s</gpu></pci>\n"
	"<pci busid='0000:12:00.0' class='0x030200' link_speed='32 GT/s' "
	"link_width='16'><gpu dev='1' sm='90' rank='1'>%s</gpu></pci>\n"
	"<pci busid='0000:13:00.0' class='0x020700' link_speed='16 GT/s' "
	"link_width='8'><nic><net name='mlx5_0' dev='0' speed='100000' "
	"port='1'/></nic></pci>\n"
	"</pci></cpu>\n"
	"<cpu numaid='1' arch='x86_64' vendor='GenuineIntel' familyid='6' "
	"modelid='143'>\n"
	"<pci busid='0000:21:00.0' class='0x030200' link_speed='32 GT/s' "
	"link_width='16'><gpu dev='2' sm='90' rank='2'>%s</gpu></pci>\n"
	"<pci busid='0000:22:00.0' class='0x030200' link_speed='32 GT/s' "
	"link_width='16'><gpu dev='3' sm='90' rank='3'/></pci>\n"
	"</cpu></system>\n";

struct built {
	struct gt_topo *topo;
	struct gt_paths *paths;
};

static struct built build(const char *in0, const char *in1, const char *in2,
			  enum gt_rates rates)
{
	struct built built;
	struct gt_err err;
	char text[4096];

	gt_err_init(&err);
	snprintf(text, sizeof(text), machine, in0, in1, in2);
	if (gt_topo_parse("text", text, strlen(text), rates, &built.topo, &err))
		fail_msg("%s: %s", err.where, err.text);
	assert_int_equal(gt_topo_check(built.topo, &err), GT_OK);
	assert_int_equal(gt_paths_new(built.topo, &built.paths, &err), GT_OK);
	return built;
}

static void release(struct built *built)
{
	gt_paths_free(built->paths);
	gt_topo_free(built->topo);
}

/*
 * Writes "KIND GB/s HOPS" between GPUs, or from a GPU to port 0 where `to` is
 * -1.
 */
static void assert_path(const struct built *built, int from, int to,
			const char *expect)
{
	const struct gt_topo *topo = built->topo;
	const struct gt_path *path;
	char gbs[GT_RAT_TEXT_MAX], text[128];

	path = gt_paths_get(built->paths, gt_topo_gpu(topo, (uint32_t)from),
			    to < 0 ? gt_topo_net(topo, 0)
				   : gt_topo_gpu(topo, (uint32_t)to));
	snprintf(text, sizeof(text), "%s %s %u", gt_path_kind_name(path->kind),
		 gt_rat_print(path->gbs, gbs), path->nhops);
	assert_string_equal(text, expect);
}

static void test_pci(void **state)
{
	struct built built = build("", "", "", GT_RATES_NCCL);

	(void)state;
	assert_int_equal(gt_topo_ngpus(built.topo), 4);
	assert_int_equal(gt_topo_nnets(built.topo), 1);
	assert_path(&built, 0, 0, "LOC 5000 0");
	assert_path(&built, 0, 1, "PIX 48 2");
	assert_path(&built, 0, 2, "SYS 22 4");
	/* An Intel host bridge between GPUs takes a sixth. */
	assert_path(&built, 2, 3, "PHB 40 2");
	assert_path(&built, 0, -1, "PIX 12 3");
	assert_path(&built, 2, -1, "SYS 12 5");
	release(&built);
}

static void test_nvswitch(void **state)
{
	static const char hidden[] = "<nvlink target='fffffff:ffff:ff' "
				     "count='18' tclass='0x068000'/>";
	struct built built = build(hidden, hidden, hidden, GT_RATES_NCCL);

	(void)state;
	assert_path(&built, 0, 2, "NVL 1854/5 2");
	assert_path(&built, 0, 3, "SYS 22 4");
	assert_path(&built, 2, -1, "PXN 12 5");
	release(&built);
	built = build(hidden, hidden, hidden, GT_RATES_LINE);
	assert_path(&built, 0, 2, "NVL 450 2");
	assert_path(&built, 0, 1, "NVL 450 2");
	release(&built);
}

static void test_relay(void **state)
{
	static const char to1[] = "<nvlink target='0000:12:00.0' count='2'/>";
	static const char to02[] = "<nvlink target='0000:11:00.0' count='2'/>"
				   "<nvlink target='0000:21:00.0' count='1'/>"
				   "<nvlink target='0000:21:00.0' count='1'/>";
	struct built built = build(to1, to02, "", GT_RATES_NCCL);

	(void)state;
	/* A direct NVLink is the route even beside a wider switch. */
	assert_path(&built, 0, 1, "NVL 206/5 1");
	assert_path(&built, 1, 2, "NVL 206/5 1");
	assert_path(&built, 0, 2, "NVB 206/5 2");
	/* Nothing was listed for the way back. */
	assert_path(&built, 2, 0, "SYS 22 4");
	release(&built);
}

static void test_measured(void **state)
{
	static const char link[] = "<nvlink target='0000:12:00.0' count='2' "
				   "gt_gbs='38.5'/>";
	struct built built = build(link, "", "", GT_RATES_MEASURED);

	(void)state;
	assert_path(&built, 0, 1, "NVL 77/2 1");
	release(&built);
	built = build(link, "", "", GT_RATES_NCCL);
	assert_path(&built, 0, 1, "NVL 206/5 1");
	release(&built);
}

static void test_c2c(void **state)
{
	static const char c2c[] = "<c2c bw='44712' count='10'/>";
	struct built built = build(c2c, "", "", GT_RATES_NCCL);

	(void)state;
	assert_path(&built, 0, 1, "PIX 48 2");
	assert_path(&built, 0, 2, "SYS 22 3");
	release(&built);
}

static void test_digest(void **state)
{
	struct built a = build("", "", "", GT_RATES_NCCL);
	struct built b = build("", "<nvlink target='0000:21:00.0' count='1'/>",
			       "", GT_RATES_NCCL);
	struct built c = build("<nvlink target='0000:12:00.0' count='1'/>", "",
			       "", GT_RATES_LINE);

	(void)state;
	assert_int_equal(strlen(gt_topo_digest(a.topo)), 7 + 64);
	assert_string_not_equal(gt_topo_digest(a.topo), gt_topo_digest(b.topo));
	assert_string_not_equal(gt_topo_digest(b.topo), gt_topo_digest(c.topo));
	/* The shape says neither which GPU has the link, nor rates. */
	assert_string_equal(gt_topo_shape_digest(b.topo),
			    gt_topo_shape_digest(c.topo));
	release(&a);
	release(&b);
	release(&c);
}

static void assert_gpus(const char *text, const char *complaint)
{
	struct gt_topo *topo;
	struct gt_err err;

	gt_err_init(&err);
	assert_int_equal(gt_topo_parse("text", text, strlen(text),
				       GT_RATES_NCCL, &topo, &err),
			 GT_OK);
	assert_int_equal(gt_topo_need_gpus(topo, &err),
			 complaint ? GT_EINPUT : GT_OK);
	assert_string_equal(err.text, complaint ? complaint : "");
	gt_topo_free(topo);
}

static void test_need_gpus(void **state)
{
	(void)state;
	assert_gpus("<system><cpu numaid='0'><pci busid='0:1:0.0'>"
		    "<gpu dev='0'/></pci></cpu></system>",
		    NULL);
	assert_gpus("<system><cpu numaid='0'><nic><net dev='0'/></nic></cpu>"
		    "</system>",
		    "has no GPUs: a <gpu dev=\"0\" sm=\"90\"> element in a "
		    "<pci> element makes one");
	assert_gpus("<system><cpu numaid='0'><pci busid='0:1:0.0' "
		    "class='0x030000'/></cpu></system>",
		    "has no GPUs: 1 functions such as '0000:01:00.0' look like "
		    "GPUs but have no <gpu dev=\"0\" sm=\"90\"> element");
}

#define NVLINK(to, count)                                                      \
	"<nvlink target='0000:" to "' count='" count "' tclass='0x030200'/>"

/* The rate of the link with this id, or 0. */
static double rate(const struct gt_topo *topo, const char *id)
{
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++)
		if (!strcmp(gt_topo_link(topo, i)->id, id))
			return gt_rat_double(gt_topo_link(topo, i)->gbs);
	return 0;
}

/* What two machines both can, or either can, link by link. */
static void check_merged(const struct gt_topo *a, const struct gt_topo *b,
			 enum gt_merge how)
{
	struct gt_topo *made;
	struct gt_err err;

	gt_err_init(&err);
	assert_int_equal(gt_topo_merge(a, b, how, &made, &err), GT_OK);
	assert_string_equal(gt_topo_digest(made), gt_topo_digest(a));
	for (int turn = 0; turn < 2; turn++) {
		const struct gt_topo *of = turn ? b : a;

		for (uint32_t i = 0; i < gt_topo_nlinks(of); i++) {
			const char *id = gt_topo_link(of, i)->id;
			double x = rate(a, id), y = rate(b, id);
			int first = (x < y) == (how == GT_MERGE_LEAST);

			assert_true(rate(made, id) == (first ? x : y));
		}
	}
	assert_int_equal(gt_topo_check(made, &err), GT_OK);
	gt_topo_free(made);
}

static void test_merge(void **state)
{
	struct built a = build(NVLINK("12:00.0", "4"), NVLINK("11:00.0", "4"),
			       "", GT_RATES_NCCL);
	struct built b = build(NVLINK("12:00.0", "2") NVLINK("21:00.0", "1"),
			       NVLINK("11:00.0", "2"), NVLINK("11:00.0", "1"),
			       GT_RATES_NCCL);
	struct gt_topo *made = NULL;
	char other[4096], *bus;
	struct gt_err err;

	(void)state;
	assert_true(rate(a.topo, "GPU/0000:11:00.0>GPU/0000:12:00.0") > 0);
	assert_true(rate(b.topo, "GPU/0000:11:00.0>GPU/0000:21:00.0") > 0);
	check_merged(a.topo, b.topo, GT_MERGE_LEAST);
	check_merged(b.topo, a.topo, GT_MERGE_LEAST);
	check_merged(a.topo, b.topo, GT_MERGE_MOST);
	check_merged(b.topo, a.topo, GT_MERGE_MOST);
	check_merged(a.topo, a.topo, GT_MERGE_MOST);
	release(&b);

	/* The same in other slots. */
	snprintf(other, sizeof(other), machine, "", "", "");
	while ((bus = strstr(other, "busid='0000:")))
		memcpy(bus, "busid='0009:", strlen("busid='0009:"));
	gt_err_init(&err);
	assert_int_equal(gt_topo_parse("other", other, strlen(other),
				       GT_RATES_NCCL, &b.topo, &err),
			 GT_OK);
	assert_int_equal(
		gt_topo_merge(a.topo, b.topo, GT_MERGE_LEAST, &made, &err),
		GT_EINPUT);
	assert_string_equal(err.text, "no GPU has the same bus id in both");
	gt_topo_free(b.topo);
	release(&a);
}

/* Two GPUs without access, of which a bridge makes neighbours for a while. */
static void test_bridge(void **state)
{
	static const char text[] =
		"<system version='1'><cpu numaid='0' arch='x86_64'>\n"
		"<pci busid='0000:10:00.0' class='0x030200'><gpu dev='0' "
		"sm='86' gt_p2p='x --- rwa'/></pci>\n"
		"<pci busid='0000:11:00.0' class='0x030200'><gpu dev='1' "
		"sm='86' gt_p2p='--- x ---'/></pci>\n"
		"<pci busid='0000:12:00.0' class='0x030200'><gpu dev='2' "
		"sm='86'/></pci>\n"
		"</cpu></system>\n";
	struct gt_topo_bridge bridge = {.count = 4, .gbs = GT_RAT(48, 1)};
	struct gt_topo *topo;
	struct gt_err err;
	uint32_t nlinks;

	(void)state;
	gt_err_init(&err);
	assert_int_equal(gt_topo_parse("text", text, strlen(text),
				       GT_RATES_NCCL, &topo, &err),
			 GT_OK);
	nlinks = gt_topo_nlinks(topo);
	for (uint32_t i = 0; i < 2; i++)
		bridge.gpus[i] = gt_topo_gpu(topo, i);
	assert_int_equal(gt_topo_bridge(topo, &bridge, &err), GT_OK);
	assert_int_equal(gt_topo_check(topo, &err), GT_OK);
	assert_int_equal(gt_topo_nlinks(topo), nlinks + 2);
	assert_string_equal(gt_topo_link(topo, nlinks)->id,
			    "GPU/0000:10:00.0>GPU/0000:11:00.0");
	assert_true(gt_topo_may_access(topo, 0, 1));
	assert_true(gt_topo_may_access(topo, 1, 0));
	assert_true(gt_topo_may_access(topo, 0, 2));
	assert_false(gt_topo_may_access(topo, 1, 2));
	gt_topo_unbridge(topo, &bridge);
	assert_int_equal(gt_topo_nlinks(topo), nlinks);
	assert_int_equal(gt_topo_check(topo, &err), GT_OK);
	assert_false(gt_topo_may_access(topo, 0, 1));
	assert_false(gt_topo_may_access(topo, 1, 0));
	gt_topo_free(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_bridge),
		cmocka_unit_test(test_pci),
		cmocka_unit_test(test_nvswitch),
		cmocka_unit_test(test_relay),
		cmocka_unit_test(test_measured),
		cmocka_unit_test(test_c2c),
		cmocka_unit_test(test_digest),
		cmocka_unit_test(test_need_gpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
