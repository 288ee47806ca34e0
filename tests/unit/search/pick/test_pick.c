/*
 * The best choice of GPUs, compared with all choices: each is a machine without
 * the other GPUs, whose routes are found anew and bounded.
 */
#include "unit/test.h"

#include <dirent.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "search/bound/bound.h"
#include "search/pick/network.h"
#include "search/pick/pick.h"
#include "search/pick/routes.h"
#include "search/problem/fabric.h"
#include "search/problem/gpu_list.h"
#include "search/problem/request.h"
#include "topo/graph/edit.h"
#include "topo/graph/path.h"
#include "unit/search/fabrics.h"

/* A machine's file. */
struct machine {
	const char *name;
	const char *text;
	size_t len;
};

static struct gt_topo *parse(const struct machine *m)
{
	struct gt_topo *topo = NULL;

	assert_int_equal(gt_topo_parse(m->name, m->text, m->len,
				       GT_RATES_MEASURED, &topo, NULL),
			 GT_OK);
	return topo;
}

/* A PCI link carries less if all routes that cross it are charged. */
static void charge(struct gt_fabric *f, struct gt_arena *arena)
{
	struct gt_rat *least = gt_arena_array(arena, f->nlinks, sizeof(*least));

	for (uint32_t i = 0; i < f->nranks * f->nranks; i++)
		for (uint32_t k = 0; k < f->routes[i].nlinks; k++) {
			struct gt_rat *l = &least[f->routes[i].links[k]];

			if (!l->den || gt_rat_cmp(f->routes[i].charge, *l) < 0)
				*l = f->routes[i].charge;
		}
	for (uint32_t i = 0; i < f->nlinks; i++)
		if (least[i].den && f->links[i].charged)
			assert_true(gt_rat_div(f->links[i].gbs, least[i],
					       &f->links[i].gbs));
}

/* What the GPUs of a machine are worth, which has no others. */
static struct gt_rat worth_of_all(const struct gt_topo *topo)
{
	struct gt_search_request request = {.topo = topo,
					    .coll = GT_COLL_ALLREDUCE};
	struct gt_bound_query ask = {.coll = GT_COLL_ALLREDUCE};
	struct gt_arena *arena = gt_arena_new();
	struct gt_fabric *fabric;
	struct gt_bound bound;
	struct gt_paths *paths;

	assert_int_equal(gt_paths_new(topo, &paths, NULL), GT_OK);
	request.paths = paths;
	assert_int_equal(gt_gpu_list_read(topo, NULL, arena, &request.gpus,
					  &request.nranks, NULL),
			 GT_OK);
	assert_int_equal(
		gt_search_request_fabric(&request, arena, &fabric, NULL),
		GT_OK);
	charge(fabric, arena);
	ask.fabric = fabric;
	assert_int_equal(gt_bound_find_routed(&ask, arena, &bound, NULL),
			 GT_OK);
	assert_true(bound.found);
	gt_paths_free(paths);
	gt_arena_free(arena);
	return bound.value;
}

static struct gt_rat worth(const struct machine *m, uint64_t choice)
{
	struct gt_topo *topo = parse(m);
	uint32_t n = gt_topo_ngpus(topo);
	struct gt_buf rest = GT_BUF_INIT;
	struct gt_rat gbs;

	for (uint32_t i = 0; i < n; i++)
		if (!(choice >> i & 1))
			gt_buf_printf(
				&rest, "%s%s", rest.len ? "," : "",
				gt_topo_node(topo, gt_topo_gpu(topo, i))->id);
	if (rest.len)
		assert_int_equal(gt_topo_exclude_devices(topo, rest.text, NULL),
				 GT_OK);
	gbs = worth_of_all(topo);
	gt_buf_release(&rest);
	gt_topo_free(topo);
	return gbs;
}

static void assert_same(struct gt_rat a, struct gt_rat b)
{
	char text[2][GT_RAT_TEXT_MAX];

	assert_string_equal(gt_rat_print(a, text[0]), gt_rat_print(b, text[1]));
}

/* Where a choice sits: what it sends to its ports, and its NUMA nodes. */
static struct gt_pick sits(const struct gt_pick_query *from, uint64_t choice,
			   uint32_t *nnuma, struct gt_arena *arena)
{
	struct gt_pick_query query = *from;
	uint32_t *gpus = gt_arena_array(arena, 64, sizeof(*gpus));
	struct gt_pick pick;

	query.gpus = gpus;
	query.ngpus = 0;
	for (uint32_t i = 0; i < from->ngpus; i++)
		if (choice >> i & 1)
			gpus[query.ngpus++] = from->gpus[i];
	assert_int_equal(gt_pick_find(&query, arena, &pick, NULL), GT_OK);
	*nnuma = 0;
	for (uint32_t i = 0; i < pick.n; i++) {
		uint32_t before = 0;

		while (before < i &&
		       pick.gpus[before].numa != pick.gpus[i].numa)
			before++;
		*nnuma += before == i;
	}
	return pick;
}

/* Of choices that are worth the same no other one sits better, or as well and
 * comes first when numbers are compared. */
static void check_tie(const struct gt_pick_query *query, uint64_t chosen,
		      uint64_t other, struct gt_arena *arena)
{
	uint32_t numa[2];
	struct gt_pick a = sits(query, chosen, &numa[0], arena);
	struct gt_pick b = sits(query, other, &numa[1], arena);
	int net = gt_rat_cmp(a.net_gbs, b.net_gbs);

	assert_true(net >= 0);
	if (net)
		return;
	assert_true(numa[0] <= numa[1]);
	if (numa[0] ==
	    numa[1]) /* the first that only one has is the chosen's */
		assert_true(chosen >> __builtin_ctzll(chosen ^ other) & 1);
}

/* Pick n GPUs and hold them against all other choices. */
static void check(const struct machine *m, uint32_t n)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_topo *topo = parse(m);
	struct gt_pick_query query = {.topo = topo, .n = n};
	struct gt_pick pick;
	struct gt_rat best = GT_RAT(0, 1);
	uint64_t ties[256], nties = 0, chosen = 0,
			    first = ((uint64_t)1 << n) - 1;
	uint32_t all = gt_topo_ngpus(topo);

	assert_int_equal(gt_pick_read(NULL, NULL, arena, &query, NULL), GT_OK);
	assert_int_equal(gt_pick_find(&query, arena, &pick, NULL), GT_OK);
	assert_int_equal(pick.n, n);
	for (uint32_t i = 0; i < all; i++)
		for (uint32_t k = 0; k < n; k++)
			if (pick.gpus[k].node == gt_topo_gpu(topo, i))
				chosen |= (uint64_t)1 << i;
	for (uint64_t choice = 0; choice < (uint64_t)1 << all; choice++) {
		struct gt_rat gbs;

		if ((uint32_t)__builtin_popcountll(choice) != n)
			continue;
		gbs = worth(m, choice);
		if (gt_rat_cmp(gbs, best) > 0) {
			best = gbs;
			nties = 0;
		}
		if (!gt_rat_cmp(gbs, best) && choice != chosen)
			ties[nties++] = choice;
		if (choice == chosen)
			assert_same(gbs, pick.gbs);
		if (choice == first)
			assert_same(gbs, pick.first_gbs);
	}
	assert_same(pick.gbs, best);
	while (nties)
		check_tie(&query, chosen, ties[--nties], arena);
	gt_topo_free(topo);
	gt_arena_free(arena);
}

/* The quick bound holds for all choices, of many GPUs for the small ones. */
static void check_quick_bound(const struct gt_topo *topo)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_pick_query query = {.topo = topo, .n = 1};
	struct gt_pick_network network = {.flow = NULL};
	struct gt_pick_routes routes;

	assert_int_equal(gt_pick_read(NULL, NULL, arena, &query, NULL), GT_OK);
	assert_int_equal(gt_pick_routes_init(&routes, &query, arena, NULL),
			 GT_OK);
	assert_int_equal(gt_pick_network_init(&network, &routes, arena, NULL),
			 GT_OK);
	for (uint64_t choice = 1; choice >> query.ngpus == 0; choice++)
		if (query.ngpus <= 8 || __builtin_popcountll(choice) <= 2)
			assert_true(gt_pick_network_find(&network, choice) <=
				    gt_pick_network_at_most(&network, choice));
	gt_pick_network_release(&network);
	gt_pick_routes_release(&routes);
	gt_arena_free(arena);
}

/* 2 of all, 4 and 6 of at most 8 GPUs; 1 if there was something to choose. */
static int check_file(const char *path)
{
	struct gt_topo *topo;
	struct gt_buf text = GT_BUF_INIT;
	struct machine m = {.name = path};
	uint32_t n;

	assert_int_equal(gt_file_read(path, 1 << 24, &text, NULL), GT_OK);
	m.text = text.text;
	m.len = text.len;
	if (gt_topo_parse(path, m.text, m.len, GT_RATES_MEASURED, &topo,
			  NULL)) {
		gt_buf_release(&text);
		return 0;
	}
	n = gt_topo_need_gpus(topo, NULL) ? 0 : gt_topo_ngpus(topo);
	if (n && n <= 16)
		check_quick_bound(topo);
	gt_topo_free(topo);
	for (uint32_t k = 2; k < n && (k == 2 || n <= 8); k += 2)
		check(&m, k);
	gt_buf_release(&text);
	return n > 2;
}

static int check_folder(const char *folder, uint32_t step)
{
	struct dirent **files;
	int n = scandir(folder, &files, NULL, alphasort), done = 0;

	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		const char *name = files[i]->d_name;
		const char *end = strrchr(name, '.');
		char path[4096];

		snprintf(path, sizeof(path), "%s/%s", folder, name);
		if (end && !strcmp(end, ".xml") && i % (int)step == 0)
			done += check_file(path);
		free(files[i]);
	}
	free(files);
	return done;
}

static void test_reference_machines(void **state)
{
	char path[4096];

	(void)state;
	assert_true(check_folder(gt_test_path(path, "share/xml"), 1) > 8);
}

/* Under sanitizers, every seventh of them. */
static void test_real_machines(void **state)
{
	const char *folder = gt_test_topologies();

	(void)state;
	assert_true(check_folder(folder, gt_test_is_brief() ? 7 : 1) > 4);
}

/* ---- made-up machines --------------------------------------------------- */

enum { GPUS = 7, SWITCHES = 4 };

/* How a machine is wired, and the numbers that its GPUs have. */
struct wiring {
	uint32_t ngpus, width[GPUS], links[GPUS][GPUS], number[GPUS];
	uint32_t at[GPUS]; /* the switch */
	int intel, nic[SWITCHES];
};

static void wire(struct gt_random *c, struct wiring *w)
{
	uint32_t dense = gt_random(c, 100);

	*w = (struct wiring){.ngpus = 3 + gt_random(c, GPUS - 2)};
	w->intel = (int)gt_random(c, 2);
	for (int i = 0; i < SWITCHES; i++)
		w->nic[i] = (int)gt_random(c, 2);
	for (uint32_t i = 0; i < w->ngpus; i++) {
		w->width[i] = 8u << gt_random(c, 2);
		w->at[i] = gt_random(c, SWITCHES);
		w->number[i] = i;
		for (uint32_t j = 0; j < i; j++)
			if (gt_random(c, 100) < dense)
				w->links[i][j] = w->links[j][i] =
					1 + gt_random(c, 3);
	}
}

static void renumber(struct gt_random *c, struct wiring *w)
{
	for (uint32_t i = w->ngpus - 1; i > 0; i--) {
		uint32_t j = gt_random(c, i + 1), number = w->number[i];

		w->number[i] = w->number[j];
		w->number[j] = number;
	}
}

static void put_pci(struct gt_buf *xml, uint32_t bus, const char *class,
		    uint32_t width)
{
	gt_buf_printf(xml,
		      "<pci busid=\"0000:%02x:00.0\" class=\"%s\" "
		      "link_speed=\"16.0 GT/s PCIe\" link_width=\"%u\">\n",
		      bus, class, width);
}

static void put_gpu(struct gt_buf *xml, const struct wiring *w, uint32_t i)
{
	put_pci(xml, 0x10 + i, "0x030200", w->width[i]);
	gt_buf_printf(xml, "<gpu dev=\"%u\" sm=\"80\" rank=\"%u\">\n",
		      w->number[i], w->number[i]);
	for (uint32_t j = 0; j < w->ngpus; j++)
		if (w->links[i][j])
			gt_buf_printf(xml,
				      "<nvlink target=\"0000:%02x:00.0\" "
				      "count=\"%u\" tclass=\"0x030200\"/>\n",
				      0x10 + j, w->links[i][j]);
	gt_buf_puts(xml, "</gpu>\n</pci>\n");
}

static void put_nic(struct gt_buf *xml, uint32_t i)
{
	put_pci(xml, 0x30 + i, "0x020700", 16);
	gt_buf_printf(xml,
		      "<nic><net name=\"mlx5_%u\" dev=\"%u\" "
		      "speed=\"100000\" port=\"1\"/></nic></pci>\n",
		      i, i);
}

static void put_machine(struct gt_buf *xml, const struct wiring *w)
{
	gt_buf_puts(xml, "<system version=\"1\">\n");
	for (uint32_t s = 0; s < SWITCHES; s++) {
		if (s % 2 == 0)
			gt_buf_printf(xml,
				      "<cpu numaid=\"%u\" arch=\"x86_64\" "
				      "vendor=\"%s\" familyid=\"6\" "
				      "modelid=\"85\" affinity=\"ffff\">\n",
				      s / 2,
				      w->intel ? "GenuineIntel"
					       : "AuthenticAMD");
		put_pci(xml, 1 + s, "0x060400", 16);
		for (uint32_t i = 0; i < w->ngpus; i++)
			if (w->at[i] == s)
				put_gpu(xml, w, i);
		if (w->nic[s])
			put_nic(xml, s);
		gt_buf_puts(xml, "</pci>\n");
		if (s % 2)
			gt_buf_puts(xml, "</cpu>\n");
	}
	gt_buf_puts(xml, "</system>\n");
}

static struct gt_pick pick_of(const struct wiring *w, uint32_t n,
			      struct gt_arena *arena)
{
	struct gt_buf xml = GT_BUF_INIT;
	struct machine m = {.name = "random"};
	struct gt_pick_query query = {.n = n};
	struct gt_topo *topo;
	struct gt_pick pick;

	put_machine(&xml, w);
	m.text = xml.text;
	m.len = xml.len;
	topo = parse(&m);
	query.topo = topo;
	assert_int_equal(gt_pick_read(NULL, NULL, arena, &query, NULL), GT_OK);
	assert_int_equal(gt_pick_find(&query, arena, &pick, NULL), GT_OK);
	check(&m, n);
	check_quick_bound(topo);
	gt_topo_free(topo);
	gt_buf_release(&xml);
	return pick;
}

static void test_random_machines(void **state)
{
	const int machines = gt_test_is_brief() ? 20 : 60;
	struct gt_random c = {11};

	(void)state;
	for (int i = 0; i < machines; i++) {
		struct gt_arena *arena = gt_arena_new();
		struct wiring w;
		struct gt_pick as_wired, renumbered;
		uint32_t n;

		wire(&c, &w);
		n = 2 + gt_random(&c, w.ngpus - 2);
		as_wired = pick_of(&w, n, arena);
		renumber(&c, &w);
		renumbered = pick_of(&w, n, arena);
		/* The numbers decide only where nothing else does. */
		assert_same(as_wired.gbs, renumbered.gbs);
		assert_same(as_wired.net_gbs, renumbered.net_gbs);
		gt_arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_machines),
		cmocka_unit_test(test_reference_machines),
		cmocka_unit_test(test_real_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
