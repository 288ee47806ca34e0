/*
 * Every route of random small machines without NVLink is compared with the best
 * of all simple paths, found by trying them all.
 */
#include "draw.h"
#include "unit/test.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

struct sketch {
	struct gt_buf xml;
	uint64_t seed;
	int bus, gpus, nets;
};

static void sketch_pci(struct sketch *sketch, int depth)
{
	static const char *const speeds[] = {"2.5 GT/s", "8 GT/s", "16 GT/s"};
	uint32_t kind = draw(&sketch->seed, depth < 3 ? 4 : 2);

	gt_buf_printf(&sketch->xml,
		      "<pci busid='0:%x:0.0' link_speed='%s' link_width='%d'>",
		      sketch->bus++, speeds[draw(&sketch->seed, 3)],
		      1 << draw(&sketch->seed, 5));
	if (kind == 0)
		gt_buf_printf(&sketch->xml, "<gpu dev='%d'/>", sketch->gpus++);
	for (uint32_t n = kind == 1 ? 1 + draw(&sketch->seed, 2) : 0; n; n--)
		gt_buf_printf(&sketch->xml,
			      "<nic><net dev='%d' speed='%d'/></nic>",
			      sketch->nets++,
			      1000 * (1 + (int)draw(&sketch->seed, 200)));
	for (uint32_t n = kind > 1 ? 1 + draw(&sketch->seed, 2) : 0; n; n--)
		sketch_pci(sketch, depth + 1);
	if (kind > 1 && sketch->bus > 4 && !draw(&sketch->seed, 3))
		gt_buf_printf(&sketch->xml, "<pcilink target='0:%x:0.0'/>",
			      draw(&sketch->seed, (uint32_t)sketch->bus));
	gt_buf_puts(&sketch->xml, "</pci>");
}

static struct gt_topo *sketch_machine(uint64_t seed)
{
	static const char *const cpus[] = {
		"vendor='GenuineIntel' familyid='6' modelid='143'",
		"vendor='AuthenticAMD'",
		"arch='arm64'",
	};
	struct sketch sketch = {.seed = seed, .bus = 1};
	struct gt_topo *topo;
	struct gt_err err;

	gt_err_init(&err);
	gt_buf_puts(&sketch.xml, "<system>");
	for (uint32_t i = 0, n = 1 + draw(&sketch.seed, 3); i < n; i++) {
		gt_buf_printf(&sketch.xml, "<cpu numaid='%u' %s>", i,
			      cpus[draw(&sketch.seed, 3)]);
		for (uint32_t j = 1 + draw(&sketch.seed, 3); j; j--)
			sketch_pci(&sketch, 0);
		gt_buf_puts(&sketch.xml, "</cpu>");
	}
	gt_buf_puts(&sketch.xml, "</system>");
	if (gt_topo_parse("sketch", sketch.xml.text, sketch.xml.len,
			  GT_RATES_LINE, &topo, &err))
		fail_msg("%s: %s", err.where, err.text);
	gt_buf_release(&sketch.xml);
	return topo;
}

/* Finds the best simple path by width, kind and length. */
struct best {
	struct gt_rat gbs;
	enum gt_path_kind kind;
	uint32_t nhops;
};

static enum gt_path_kind step(const struct gt_topo *topo,
			      const struct gt_link *link)
{
	enum gt_node_kind from = gt_topo_node(topo, link->from)->kind;
	enum gt_node_kind to = gt_topo_node(topo, link->to)->kind;

	if (from == GT_NODE_PCI && to == GT_NODE_PCI)
		return GT_PATH_PXB;
	if (link->kind == GT_LINK_SYS)
		return GT_PATH_SYS;
	if (link->kind != GT_LINK_PCI)
		return GT_PATH_LOC;
	return from == GT_NODE_CPU || to == GT_NODE_CPU ? GT_PATH_PHB
							: GT_PATH_PIX;
}

static void try_all(const struct gt_topo *topo, uint32_t at, uint32_t to,
		    struct best sofar, struct best *best, char *passed)
{
	enum gt_node_kind kind = gt_topo_node(topo, at)->kind;
	int order = gt_rat_cmp(sofar.gbs, best->gbs);

	if (at == to &&
	    (order > 0 || (!order && (sofar.kind < best->kind ||
				      (sofar.kind == best->kind &&
				       sofar.nhops < best->nhops)))))
		*best = sofar;
	if (at == to ||
	    (sofar.nhops && (kind == GT_NODE_GPU || kind == GT_NODE_NET)))
		return;
	passed[at] = 1;
	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);
		struct best next = sofar;

		if (link->from != at || passed[link->to])
			continue;
		next.nhops++;
		if (gt_rat_cmp(link->gbs, next.gbs) < 0)
			next.gbs = link->gbs;
		if (step(topo, link) > next.kind)
			next.kind = step(topo, link);
		try_all(topo, link->to, to, next, best, passed);
	}
	passed[at] = 0;
}

static void check_route(const struct gt_topo *topo,
			const struct gt_paths *paths, uint32_t from,
			uint32_t to)
{
	struct best best = {.kind = GT_PATH_DIS, .gbs = {0, 1}};
	struct best start = {.kind = GT_PATH_LOC, .gbs = {100000, 1}};
	const struct gt_path *path = gt_paths_get(paths, from, to);
	struct gt_rat gbs = start.gbs;
	char *passed = calloc(gt_topo_nnodes(topo), 1);
	uint32_t at = from;

	try_all(topo, from, to, start, &best, passed);
	free(passed);
	assert_int_equal(path->kind, best.kind);
	assert_int_equal(path->nhops, best.nhops);
	for (uint32_t i = 0; i < path->nhops; i++) {
		const struct gt_link *link = gt_topo_link(topo, path->links[i]);

		assert_int_equal(link->from, at);
		at = link->to;
		if (gt_rat_cmp(link->gbs, gbs) < 0)
			gbs = link->gbs;
	}
	assert_int_equal(at, to);
	assert_int_equal(gt_rat_cmp(gbs, best.gbs), 0);
}

static void test_all_paths(void **state)
{
	uint32_t n, nroutes = 0;
	struct gt_paths *paths;
	struct gt_topo *topo;

	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		topo = sketch_machine(seed);
		assert_int_equal(gt_topo_check(topo, NULL), GT_OK);
		assert_int_equal(gt_paths_new(topo, &paths, NULL), GT_OK);
		n = gt_topo_ndevices(topo);
		for (uint32_t i = 0; i < n * n; i++) {
			if (i / n == i % n)
				continue;
			check_route(topo, paths, gt_topo_device(topo, i / n),
				    gt_topo_device(topo, i % n));
			nroutes++;
		}
		gt_paths_free(paths);
		gt_topo_free(topo);
	}
	assert_true(nroutes > 1000);
}

static void test_dis(void **state)
{
	struct gt_topo *topo = sketch_machine(7);
	struct gt_paths *paths;

	(void)state;
	assert_int_equal(gt_paths_new(topo, &paths, NULL), GT_OK);
	/* A CPU is no end of a route. */
	assert_int_equal(gt_paths_get(paths, 0, 0)->kind, GT_PATH_DIS);
	assert_int_equal(gt_paths_get(paths, 0, 0)->nhops, 0);
	gt_paths_free(paths);
	gt_topo_free(topo);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_paths),
		cmocka_unit_test(test_dis),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
