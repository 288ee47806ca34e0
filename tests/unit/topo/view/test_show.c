/*
 * The tree of a machine: states of links, rates that are assumed, and switches
 * deep inside each other.
 */
#include "unit/test.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "topo/probe/pci_ids.h"
#include "topo/view/show.h"
#include "topo/view/show_text.h"
#include "topo/graph/topo.h"

/*
 * This machine has a GPU and a card on a CPU; %s are attributes of their
 * functions.
 */
static const char machine[] =
	"<system version='1'><cpu numaid='0'>"
	"<pci busid='0000:11:00.0' class='0x030200' link_speed='32 GT/s' "
	"link_width='16' %s><gpu dev='0' sm='90' rank='0'/></pci>"
	"<pci busid='0000:12:00.0' class='0x020700' link_speed='32 GT/s' "
	"link_width='16' %s><nic><net dev='0' speed='400000'/></nic></pci>"
	"</cpu></system>";

static struct gt_topo *parse(const char *gpu, const char *nic)
{
	struct gt_topo *topo;
	struct gt_err err;
	char text[2048];

	gt_err_init(&err);
	snprintf(text, sizeof(text), machine, gpu, nic);
	if (gt_topo_parse("text", text, strlen(text), GT_RATES_LINE, &topo,
			  &err))
		fail_msg("%s: %s", err.where, err.text);
	return topo;
}

/* Writes "STATE RATE" of a function with these attributes. */
static void expect(int is_gpu, const char *attrs, enum gt_pci_state want,
		   const char *want_rate)
{
	struct gt_topo *topo = parse(is_gpu ? attrs : "", is_gpu ? "" : attrs);
	uint32_t node = is_gpu ? gt_topo_gpu(topo, 0)
			       : gt_topo_node(topo, gt_topo_net(topo, 0))->up;
	struct gt_pci_rate other;
	char rate[32];

	assert_int_equal(gt_pci_state(gt_topo_node(topo, node), &other), want);
	gt_show_rate(other, rate, sizeof(rate));
	if (want_rate)
		assert_string_equal(rate, want_rate);
	gt_topo_free(topo);
}

static void test_healthy(void **state)
{
	(void)state;
	expect(1, "", GT_PCI_FINE, NULL);
	expect(1, "gt_max='32.0 GT/s x16' gt_cur='32.0 GT/s x16'", GT_PCI_FINE,
	       NULL);
	/* Only one end is known, or half of it. */
	expect(0, "gt_max='32.0 GT/s x16' gt_port_cur='32.0 GT/s'", GT_PCI_FINE,
	       NULL);
	expect(0, "gt_max='x16' gt_cur='16.0 GT/s x16'", GT_PCI_FINE, NULL);
	expect(0, "gt_max='nonsense' gt_cur=''", GT_PCI_FINE, NULL);
}

static void test_degraded(void **state)
{
	(void)state;
	expect(0, "gt_max='32.0 GT/s x16' gt_cur='16.0 GT/s x16'",
	       GT_PCI_DEGRADED, "gen4 x16");
	expect(0, "gt_max='32.0 GT/s x16' gt_cur='32.0 GT/s x8'",
	       GT_PCI_DEGRADED, "gen5 x8");
	/* An idle GPU is slow, but it has all its lanes. */
	expect(1, "gt_max='32.0 GT/s x16' gt_cur='2.5 GT/s x16'", GT_PCI_IDLE,
	       "gen1 x16");
	expect(1, "gt_max='32.0 GT/s x16' gt_cur='2.5 GT/s x8'",
	       GT_PCI_DEGRADED, "gen5 x8");
	/* What the port above cannot do is not asked of the link. */
	expect(0,
	       "gt_max='32.0 GT/s x16' gt_cur='16.0 GT/s x16' "
	       "gt_port_max='16.0 GT/s x16' gt_port_cur='16.0 GT/s x16'",
	       GT_PCI_LIMITED, "gen5 x16");
}

static void test_assumed(void **state)
{
	(void)state;
	expect(1, "gt_assumed='link_speed:nvml link_width:nvml'",
	       GT_PCI_ASSUMED, NULL);
	expect(1, "gt_assumed='class:nvml'", GT_PCI_FINE, NULL);
}

static void test_rates(void **state)
{
	struct gt_pci_rate rate = {GT_RAT(32, 1), 16};

	(void)state;
	assert_int_equal(gt_pci_generation(GT_RAT(5, 2)), 1);
	assert_int_equal(gt_pci_generation(GT_RAT(64, 1)), 6);
	assert_int_equal(gt_pci_generation(GT_RAT(12, 1)), 0);
	assert_int_equal(gt_rat_cmp(gt_pci_gbs(rate), GT_RAT(4096, 65)), 0);
	rate.width = 0;
	assert_int_equal(gt_rat_cmp(gt_pci_gbs(rate), GT_RAT(0, 1)), 0);
}

/* There are 240 switches inside each other. */
static void test_deep(void **state)
{
	const struct gt_show_style style = {.ascii = 1};
	struct gt_buf xml = GT_BUF_INIT, out = GT_BUF_INIT;
	struct gt_topo *topo;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	gt_buf_puts(&xml, "<system version='1'><cpu numaid='0'>");
	for (int i = 0; i < 240; i++)
		gt_buf_printf(&xml,
			      "<pci busid='0000:%02x:00.0' class='0x060400'>",
			      i);
	gt_buf_puts(&xml, "<pci busid='0001:00:00.0' class='0x030200'>"
			  "<gpu dev='0'/></pci>");
	for (int i = 0; i < 240; i++)
		gt_buf_puts(&xml, "</pci>");
	gt_buf_puts(&xml, "</cpu></system>");
	assert_int_equal(gt_topo_parse("text", xml.text, xml.len, GT_RATES_LINE,
				       &topo, &err),
			 GT_OK);
	gt_show_tree(topo, &style, &out);
	assert_false(out.failed);
	assert_non_null(strstr(out.text, "GPU0 0001:00:00.0"));
	gt_topo_free(topo);
	gt_buf_release(&xml);
	gt_buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_healthy), cmocka_unit_test(test_degraded),
		cmocka_unit_test(test_assumed), cmocka_unit_test(test_rates),
		cmocka_unit_test(test_deep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
