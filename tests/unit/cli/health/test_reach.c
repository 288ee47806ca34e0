/* What gtopo health --measure says of rates, on machines that are made up. */
#include "unit/test.h"

#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/xml.h"
#include "cli/health/reach.h"
#include "topo/xml/measured.h"

struct machine {
	struct gt_arena *arena;
	struct gt_buf text;
	struct gt_measured measured;
};

/* All that is measured of a good machine. */
static struct machine make(const char *name)
{
	struct machine m = {.arena = gt_arena_new()};
	struct gt_xml *xml;
	char path[4096];

	assert_int_equal(
		gt_file_read(gt_test_path(path, name), 1 << 20, &m.text, NULL),
		GT_OK);
	assert_int_equal(gt_xml_parse("x", m.text.text, m.text.len, &xml, NULL),
			 GT_OK);
	assert_int_equal(gt_measured_read(xml, m.arena, &m.measured, NULL),
			 GT_OK);
	gt_xml_free(xml);
	for (uint32_t i = 0; i < m.measured.ngpus; i++) {
		m.measured.gpus[i].to_gbs = 55;
		m.measured.gpus[i].from_gbs = 54;
		m.measured.gpus[i].all_to_gbs = 50;
		for (uint32_t k = 0; k < m.measured.ngpus; k++)
			*gt_measured_peer(&m.measured, i,
					  k) = (struct gt_measured_peer){
				.gbs = 396, .both_gbs = 394, .latency_ns = 700};
	}
	return m;
}

static void apply(struct machine *m)
{
	assert_int_equal(gt_measured_write(&m->measured, &m->text, NULL),
			 GT_OK);
}

/* Lines of what is found; the machine is over then. */
static void expect_apart(struct machine *m, const char *file, const char *p2p,
			 const char *want)
{
	struct gt_reach_query ask = {.machine = &m->text,
				     .expect = file,
				     .p2p = p2p,
				     .measured = 1,
				     .tolerance = 0.1};
	struct gt_reach_finding *findings = NULL;
	struct gt_buf out = GT_BUF_INIT;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_reach_find(&ask, m->arena, &findings, &err))
		fail_msg("%s", err.text);
	gt_reach_print(findings, &out);
	assert_string_equal(out.len ? out.text : "", want);
	gt_buf_release(&out);
	gt_buf_release(&m->text);
	gt_arena_free(m->arena);
}

static void expect_findings(struct machine *m, const char *file,
			    const char *want)
{
	expect_apart(m, file, NULL, want);
}

static void test_good(void **state)
{
	struct machine m = make("share/xml/h200-vm-4.xml");

	(void)state;
	apply(&m);
	expect_findings(&m, NULL, "");
}

static void test_below_line(void **state)
{
	struct machine m = make("share/xml/h200-vm-4.xml");

	(void)state;
	m.measured.gpus[2].from_gbs = 26;
	gt_measured_peer(&m.measured, 1, 0)->gbs = 190;
	gt_measured_peer(&m.measured, 3, 1)->gbs = 350;
	apply(&m);
	expect_findings(
		&m, NULL,
		"GPU 0000:00:07.0 to 0000:00:06.0: alone 190.0 GB/s, 40% of "
		"the line rate of 478.1\n"
		"GPU 0000:00:08.0: to the host 26.0 GB/s, 41% of the line rate "
		"of 63.0\n"
		"GPU 0000:00:09.0 to 0000:00:07.0: alone 350.0 GB/s, others of "
		"the kind have 396.0\n");
}

static void test_hidden(void **state)
{
	struct machine m = make("share/xml/h200-vm-4.xml");

	(void)state;
	m.measured.gpus[3].to_gbs = 0;
	m.measured.gpus[3].from_gbs = 0;
	apply(&m);
	expect_findings(&m, NULL,
			"GPU 0000:00:09.0: not measured, CUDA does not show "
			"it\n");
}

static const char *keep(const struct machine *m, char path[64])
{
	int fd;

	strcpy(path, "/tmp/gtopo-reach-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(gt_file_write(path, m->text.text, m->text.len, NULL),
			 GT_OK);
	return path;
}

/* What was reached before counts, not the line rate. */
static void test_expected(void **state)
{
	struct machine good = make("share/xml/h200-vm-4.xml");
	struct machine now = make("share/xml/h200-vm-4.xml");
	char path[64];

	(void)state;
	good.measured.gpus[0].to_gbs = 27;
	apply(&good);
	now.measured.gpus[0].to_gbs = 25;
	/* Other users of the host's memory, and too little. */
	now.measured.gpus[0].all_to_gbs = 40;
	now.measured.gpus[1].all_to_gbs = 30;
	gt_measured_peer(&now.measured, 0, 1)->gbs = 360;
	gt_measured_peer(&now.measured, 0, 2)->both_gbs = 300;
	gt_measured_peer(&now.measured, 0, 3)->latency_ns = 830;
	gt_measured_peer(&now.measured, 2, 3)->latency_ns = 900;
	apply(&now);
	expect_findings(
		&now, keep(&good, path),
		"GPU 0000:00:06.0 to 0000:00:08.0: both ways at once 300.0 "
		"GB/s, expected 394.0\n"
		"GPU 0000:00:07.0: from the host while all GPUs do 30.0 GB/s, "
		"expected 50.0\n"
		"GPU 0000:00:08.0 to 0000:00:09.0: latency 900 ns, expected "
		"700\n");
	expect_findings(&good, path, "");
	unlink(path);
}

/* Slow pairs that are meant to be apart, and one that is not. */
static void test_apart(void **state)
{
	struct machine good = make("share/xml/h200-vm-4.xml");
	struct machine now = make("share/xml/h200-vm-4.xml");
	char path[64];

	(void)state;
	apply(&good);
	gt_measured_peer(&now.measured, 0, 1)->gbs = 36;
	gt_measured_peer(&now.measured, 1, 0)->gbs = 36;
	gt_measured_peer(&now.measured, 2, 3)->gbs = 36;
	apply(&now);
	expect_apart(&now, keep(&good, path), "0-1",
		     "GPU 0000:00:08.0 to 0000:00:09.0: alone 36.0 GB/s, "
		     "expected 396.0\n");
	gt_buf_release(&good.text);
	gt_arena_free(good.arena);
	unlink(path);
}

/* An equal machine with other bus ids. */
static void test_renumbered(void **state)
{
	struct machine good = make("share/xml/pcie-8gpu.xml");
	struct machine now = make("share/xml/pcie-8gpu.xml");
	char path[64], *at;

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t k = 4; k < 8; k++) {
			gt_measured_peer(&good.measured, i, k)->gbs = 12;
			gt_measured_peer(&now.measured, i, k)->gbs = 12;
		}
	apply(&good);
	gt_measured_peer(&now.measured, 0, 1)->gbs = 300;
	apply(&now);
	for (at = now.text.text; (at = strstr(at, "\"0000:")); at++)
		at[4] = '5';
	expect_findings(&now, keep(&good, path),
			"GPU 0005:03:00.0 to 0005:05:00.0: alone 300.0 GB/s, "
			"expected 396.0\n");
	gt_buf_release(&good.text);
	gt_arena_free(good.arena);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_below_line),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_expected),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_renumbered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
