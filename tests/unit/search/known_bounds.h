/*
 * Helpers of the tests of shapes: exact comparison, loads of routes, open
 * fabrics, and link lists with what they are known to allow
 * (tests/cases/search/bounds).
 */
#ifndef GT_TESTS_UNIT_SEARCH_KNOWN_BOUNDS_H
#define GT_TESTS_UNIT_SEARCH_KNOWN_BOUNDS_H

#include "unit/test.h"

#include <dirent.h>
#include <string.h>

#include "plan/ir/plan.h"
#include "search/problem/shape.h"
#include "unit/search/fabrics.h"

enum { ROUTE_MAX = 64 };

/*
 * Takes a row of a file, which says the best rate of a collective; below 0 it
 * is that of an all-gather by rings.
 */
typedef void (*known_bound)(const struct gt_fabric *f, struct gt_arena *arena,
			    enum gt_coll coll, const char *want);

static inline void expect_equal(struct gt_rat a, struct gt_rat b)
{
	char text[2][GT_RAT_TEXT_MAX];

	assert_string_equal(gt_rat_print(a, text[0]), gt_rat_print(b, text[1]));
}

/* A hop's route leads from rank to rank through nodes that are no ranks. */
static inline void expect_route(const struct gt_fabric *f,
				const struct gt_fabric_route *route,
				uint32_t from, uint32_t to)
{
	uint32_t at = f->ranks[from];

	assert_true(route->nlinks > 0);
	for (uint32_t k = 0; k < route->nlinks; k++) {
		assert_int_equal(f->links[route->links[k]].from, at);
		at = f->links[route->links[k]].to;
		if (k + 1 < route->nlinks)
			assert_true(at >= f->nranks);
	}
	assert_int_equal(at, f->ranks[to]);
}

static inline void add_load(const struct gt_fabric *f,
			    const struct gt_fabric_route *route,
			    struct gt_rat gbs, struct gt_rat *load)
{
	struct gt_rat part;

	for (uint32_t k = 0; k < route->nlinks; k++) {
		uint32_t link = route->links[k];

		part = gbs;
		if (f->links[link].charged)
			assert_true(gt_rat_mul(part, route->charge, &part));
		assert_true(gt_rat_add(load[link], part, &load[link]));
	}
}

/* Ranks and switches at random; links go both ways, and some are broken. */
static inline struct gt_fabric *random_open_fabric(struct gt_arena *arena,
						   struct gt_random *c)
{
	uint32_t n = 2 + gt_random(c, 5), more = gt_random(c, 4);
	struct gt_fabric *f = gt_fabric_bare(arena, n, more);
	uint32_t dense = 20 + gt_random(c, 80);

	f->open = 1;
	for (uint32_t i = 1; i < n + more; i++)
		gt_fabric_both(f, i, gt_random(c, i),
			       GT_RAT(1 + gt_random(c, 20), 1));
	for (uint32_t i = 0; i < n + more; i++)
		for (uint32_t j = 0; j < i; j++)
			if (gt_random(c, 100) < dense)
				gt_fabric_both(f, i, j,
					       GT_RAT(gt_random(c, 20), 1));
	return f;
}

/* Set the shortest route between two ranks, by a link or through switches. */
static inline void find_route(struct gt_fabric *f, struct gt_arena *arena,
			      uint32_t from, uint32_t to)
{
	uint32_t queue[ROUTE_MAX], into[ROUTE_MAX], route[ROUTE_MAX];
	uint32_t first = 0, last = 0, len = 0;

	assert_true(f->nnodes <= ROUTE_MAX);
	memset(into, 0xff, sizeof(into));
	queue[last++] = from;
	for (; first < last && into[to] == UINT32_MAX; first++)
		for (uint32_t l = 0; l < f->nlinks; l++) {
			uint32_t next = f->links[l].to;

			if (f->links[l].from != queue[first] || next == from ||
			    into[next] != UINT32_MAX ||
			    (next < f->nranks && next != to))
				continue;
			into[next] = l;
			queue[last++] = next;
		}
	if (into[to] == UINT32_MAX)
		return;
	for (uint32_t at = to; at != from; at = f->links[into[at]].from)
		route[len++] = into[at];
	for (uint32_t i = 0; i < len / 2; i++) {
		uint32_t link = route[i];

		route[i] = route[len - 1 - i];
		route[len - 1 - i] = link;
	}
	gt_fabric_route(f, arena, from, to, route, len);
}

/*
 * The rate of an all-gather by the best rings over shortest routes; 0: no
 * ring.
 */
static inline struct gt_rat best_rings(const struct gt_fabric *open,
				       struct gt_arena *arena)
{
	struct gt_fabric f = *open;
	struct gt_shape_args args = {.fabric = &f, .bare = 1, .arena = arena};
	uint32_t n = f.nranks;
	struct gt_proposal p;

	f.open = 0;
	f.routes = gt_arena_array(arena, n * n, sizeof(*f.routes));
	for (uint32_t i = 0; i < n * n; i++) {
		f.routes[i].charge = GT_RAT(1, 1);
		if (i / n != i % n)
			find_route(&f, arena, i / n, i % n);
	}
	if (gt_shape_ring.propose(&args, &p, NULL))
		return GT_RAT(0, 1);
	expect_equal(p.value, p.bound);
	assert_true(gt_rat_mul(p.value, GT_RAT(n, n - 1), &p.value));
	return p.value;
}

/* Reads "5" or "0-7". */
static inline void read_range(const char *word, uint32_t *first,
			      uint32_t *count)
{
	uint32_t last;
	int n = sscanf(word, "%u-%u", first, &last);

	assert_true(n > 0);
	*count = n > 1 ? last - *first + 1 : 1;
}

static inline void read_links(struct gt_fabric *f, const char *a, const char *b,
			      const char *gbs)
{
	uint32_t from, to, nfrom, nto;
	struct gt_rat rat;

	read_range(a, &from, &nfrom);
	read_range(b, &to, &nto);
	assert_true(gt_rat_parse(gbs, &rat));
	assert_true(nto == 1 || nto == nfrom);
	for (uint32_t i = 0; i < nfrom; i++)
		gt_fabric_both(f, from + i, nto > 1 ? to + i : to, rat);
}

/* The fabric of a file; `row` gets each row that says what is known of it. */
static inline struct gt_fabric *bounds_table(FILE *file, struct gt_arena *arena,
					     known_bound row)
{
	struct gt_fabric *f = NULL;
	char line[256], word[4][64];
	uint32_t ranks = 0, nodes;

	while (fgets(line, sizeof(line), file)) {
		int n = sscanf(line, "%63s %63s %63s %63s", word[0], word[1],
			       word[2], word[3]);

		if (n < 1 || word[0][0] == '#')
			continue;
		if (!strcmp(word[0], "ranks")) {
			ranks = (uint32_t)atoi(word[1]);
		} else if (!strcmp(word[0], "nodes")) {
			nodes = (uint32_t)atoi(word[1]);
			f = gt_fabric_bare(arena, ranks, nodes - ranks);
			f->open = 1;
		} else if (!strcmp(word[0], "both")) {
			read_links(f, word[1], word[2], word[3]);
		} else if (row) {
			row(f, arena, (enum gt_coll)gt_coll_find(word[0]),
			    word[1]);
		}
	}
	return f;
}

/* Calls `row` for each row of tests/cases/search/bounds. */
static inline void bounds_each(known_bound row)
{
	char path[4096], name[8192];
	DIR *dir = opendir(gt_test_path(path, "tests/cases/search/bounds"));
	struct dirent *entry;
	int count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		struct gt_arena *arena;
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		arena = gt_arena_new();
		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		print_message("%s\n", entry->d_name);
		file = fopen(name, "r");
		assert_non_null(file);
		bounds_table(file, arena, row);
		fclose(file);
		gt_arena_free(arena);
		count++;
	}
	closedir(dir);
	assert_true(count > 0);
}

/*
 * A fabric at random: two to six ranks, with routes that are fixed and
 * charged.
 */
static inline struct gt_fabric *random_fabric(struct gt_arena *arena,
					      struct gt_random *c)
{
	return gt_fabric_random(arena, c, 2 + gt_random(c, 5));
}

struct fabrics {
	struct gt_fabric *(*make)(struct gt_arena *, struct gt_random *);
	uint64_t seed;
	uint32_t n;
	const enum gt_coll *colls;
	uint32_t ncolls;
};

/*
 * Calls `expect` for each of so many fabrics, or a quarter of them, and for all
 * collectives.
 */
static inline void fabrics_each(const struct fabrics *all,
				void (*expect)(struct gt_shape_args *args))
{
	const uint32_t n = gt_test_is_brief() ? all->n / 4 : all->n;
	struct gt_random c = {all->seed};

	for (uint32_t seed = 0; seed < n; seed++) {
		struct gt_arena *arena = gt_arena_new();
		struct gt_fabric *f = all->make(arena, &c);

		for (uint32_t i = 0; i < all->ncolls; i++) {
			struct gt_shape_args args = {.fabric = f,
						     .coll = all->colls[i],
						     .root = seed % f->nranks,
						     .arena = arena};

			expect(&args);
		}
		gt_arena_free(arena);
	}
}

#endif
