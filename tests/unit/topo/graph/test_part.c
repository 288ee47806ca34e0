/* Peer access that is taken away from a machine that was read. */
#include "unit/test.h"

#include <string.h>

#include "base/err.h"
#include "topo/graph/part.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

/*
 * Three GPUs of numbers 2, 0 and 5 in the order of the file; %s is what the
 * first says of its access, and the processor of its memory.
 */
static const char machine[] =
	"<system version='1'>\n"
	"<cpu numaid='0' arch='x86_64' vendor='AuthenticAMD' familyid='25' "
	"modelid='1' %s>\n"
	"<pci busid='0000:01:00.0' class='0x030200' link_speed='16 GT/s' "
	"link_width='16'><gpu dev='2' sm='80' rank='2' %s/></pci>\n"
	"<pci busid='0000:02:00.0' class='0x030200' link_speed='16 GT/s' "
	"link_width='16'><gpu dev='0' sm='80' rank='0' "
	"gt_name='GeForce'/></pci>\n"
	"<pci busid='0000:03:00.0' class='0x030200' link_speed='16 GT/s' "
	"link_width='16'><gpu dev='5' sm='80' rank='5'/></pci>\n"
	"</cpu></system>\n";

static struct gt_topo *build(const char *memory, const char *access)
{
	struct gt_topo *topo;
	struct gt_err err;
	char text[2048];

	gt_err_init(&err);
	snprintf(text, sizeof(text), machine, memory, access);
	if (gt_topo_parse("text", text, strlen(text), GT_RATES_MEASURED, &topo,
			  &err))
		fail_msg("%s: %s", err.where, err.text);
	return topo;
}

static void part(struct gt_topo *topo, const char *words)
{
	struct gt_err err;

	gt_err_init(&err);
	if (gt_topo_part_gpus(topo, words, &err))
		fail_msg("%s: %s", err.where, err.text);
	assert_int_equal(gt_topo_check(topo, &err), GT_OK);
}

/* Of GPUs 0, 2 and 5: "01" if the first two are apart, and so on. */
static const char *apart(const struct gt_topo *topo)
{
	static const char pairs[][3] = {"01", "02", "12"};
	static char text[16];

	*text = '\0';
	for (int i = 0; i < 3; i++) {
		uint32_t a = (uint32_t)pairs[i][0] - '0';
		uint32_t b = (uint32_t)pairs[i][1] - '0';

		assert_int_equal(gt_topo_may_access(topo, a, b),
				 gt_topo_may_access(topo, b, a));
		if (!gt_topo_may_access(topo, a, b))
			snprintf(text + strlen(text),
				 sizeof(text) - strlen(text), "%s%s",
				 *text ? " " : "", pairs[i]);
	}
	return text;
}

static void test_pairs(void **state)
{
	static const struct {
		const char *access, *words, *apart;
	} cases[] = {
		{"", NULL, ""},
		{"", "", ""},
		{"", "off", "01 02 12"},
		{"", "0-2", "01"},
		{"", "5-2,2-5", "12"},
		{"", "0-5,0-2", "01 02"},
		/* What the file takes away stays away, either way round. */
		{"gt_p2p='rwa x ---'", "0-2", "01 12"},
		{"gt_p2p='rwa x ---'", "off", "01 02 12"},
		/* A row of another length says nothing. */
		{"gt_p2p='--- x'", "0-5", "02"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gt_topo *topo = build("", cases[i].access);

		part(topo, cases[i].words);
		assert_string_equal(apart(topo), cases[i].apart);
		gt_topo_free(topo);
	}
}

/* Links into memory have what the file says, as if it had them itself. */
static void test_memory(void **state)
{
	struct gt_topo *topo = build("gt_memory_gbs='100'", "");
	uint32_t nodes = gt_topo_nnodes(topo), links = gt_topo_nlinks(topo);
	const struct gt_link *link;

	(void)state;
	part(topo, NULL);
	assert_int_equal(gt_topo_nnodes(topo), nodes);
	part(topo, "0-2");
	assert_int_equal(gt_topo_nnodes(topo), nodes + 1);
	assert_string_equal(gt_topo_node(topo, nodes)->id, "MEM/0");
	assert_int_equal(gt_topo_nlinks(topo), links + 2);
	link = gt_topo_link(topo, links);
	assert_string_equal(link->id, "CPU/0>MEM/0");
	assert_int_equal(gt_rat_cmp(link->gbs, GT_RAT(50, 1)), 0);
	assert_string_equal(gt_topo_link(topo, links + 1)->id, "MEM/0>CPU/0");
	/* More pairs need no further memory. */
	part(topo, "off");
	assert_int_equal(gt_topo_nnodes(topo), nodes + 1);
	assert_string_equal(apart(topo), "01 02 12");
	gt_topo_free(topo);
}

/* A GPU that by the file reaches all has no reason not to. */
static void test_cause(void **state)
{
	struct gt_topo *topo = build("", "");

	(void)state;
	assert_non_null(gt_topo_node(topo, gt_topo_gpu(topo, 0))->peer_cause);
	part(topo, "0-2");
	assert_null(gt_topo_node(topo, gt_topo_gpu(topo, 0))->peer_cause);
	gt_topo_free(topo);
	topo = build("", "gt_p2p='--- x rwa'");
	part(topo, "0-5");
	assert_non_null(gt_topo_node(topo, gt_topo_gpu(topo, 0))->peer_cause);
	gt_topo_free(topo);
}

/* Words that are refused leave the machine as it was. */
static void test_refused(void **state)
{
	static const char *const words[] = {"0-1", "2-0,x", "0-2,5-3", "2"};
	struct gt_topo *topo = build("", "");
	uint32_t nodes = gt_topo_nnodes(topo);
	struct gt_err err;

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		gt_err_init(&err);
		assert_int_equal(gt_topo_part_gpus(topo, words[i], &err),
				 GT_EINPUT);
		assert_non_null(strstr(err.text, words[i]));
		assert_string_equal(apart(topo), "");
		assert_int_equal(gt_topo_nnodes(topo), nodes);
	}
	gt_topo_free(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_cause),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
