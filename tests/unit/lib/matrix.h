/*
 * All-to-alls whose matrix all ranks know: clusters of nodes with slow cards
 * and fast switches, matrices from seeds, and what must come of them.
 */
#ifndef GT_TESTS_UNIT_LIB_MATRIX_H
#define GT_TESTS_UNIT_LIB_MATRIX_H

#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gtopo.h"
#include "unit/search/fabrics.h"

enum {
	MOST_RANKS = 16,
	BLOCK_BYTES = 384 << 10, /* a place for each block; not all is used */
	POISON = 0xa5,
};

struct exchange {
	uint32_t n;
	enum gtopo_type type;
	uint64_t size; /* of an element */
	uint64_t counts[MOST_RANKS * MOST_RANKS];
	uint64_t send_displs[MOST_RANKS], recv_displs[MOST_RANKS];
	uint8_t *input[MOST_RANKS], *output[MOST_RANKS];
};

enum pattern { EVEN, HOT, SPARSE, PAIR, TINY, NOTHING, NPATTERNS };

/* A plan of an all-to-all on such nodes ("4-slow-cards"), of the caller. */
static inline char *plan_of_nodes(uint32_t nodes, const char *node,
				  const char *level)
{
	struct gtopo_search_config config = GTOPO_SEARCH_CONFIG_INIT;
	char name[64], file[4096], cwd[4096] = "", text[16384], words[512];
	char *plan = NULL;

	snprintf(name, sizeof(name), "tests/cases/rails/%s.xml", node);
	if (*gt_test_path(file, name) != '/')
		assert_non_null(getcwd(cwd, sizeof(cwd)));
	snprintf(text, sizeof(text),
		 "<cluster version=\"1\"><node file=\"%s%s%s\" count=\"%u\"/>"
		 "<fabric>%s</fabric></cluster>\n",
		 cwd, *cwd ? "/" : "", file, nodes, level);
	config.coll = "alltoall";
	if (gtopo_search(text, &config, &plan, words, sizeof(words)))
		fail_msg("%s", words);
	return plan;
}

/* Of as many ranks each, which a switch joins. */
static inline char *plan_of(uint32_t nodes, uint32_t each, const char *level)
{
	char node[32];

	snprintf(node, sizeof(node), "%u-slow-cards", each);
	return plan_of_nodes(nodes, node, level);
}

static inline uint64_t draw_count(struct gt_random *c, enum pattern pattern,
				  uint32_t from, uint32_t to, uint32_t hot)
{
	switch (pattern) {
	case EVEN:
		return BLOCK_BYTES - gt_random(c, 4096);
	case HOT:
		return to == hot ? BLOCK_BYTES - gt_random(c, 100)
				 : gt_random(c, 9999);
	case SPARSE:
		return gt_random(c, 4) ? 0 : gt_random(c, BLOCK_BYTES);
	case PAIR:
		return to == hot && from == (hot + 1) % 2 ? BLOCK_BYTES : 0;
	case TINY:
		return gt_random(c, 9);
	default:
		return 0;
	}
}

static inline uint8_t byte_of(uint32_t from, uint32_t to, uint64_t i)
{
	return (uint8_t)(from * 31 + to * 17 + i * 7 + i / 251 + i / 65537);
}

/* Draw a matrix; the same seed draws the same one. */
static inline void draw_matrix(struct exchange *x, uint64_t seed)
{
	static const enum gtopo_type types[] = {GTOPO_UINT8, GTOPO_INT32,
						GTOPO_DOUBLE};
	static const uint64_t sizes[] = {1, 4, 8};
	struct gt_random c = {.state = seed};
	enum pattern pattern = seed % NPATTERNS;
	uint32_t hot = gt_random(&c, x->n), type = gt_random(&c, 3);

	x->type = types[type];
	x->size = sizes[type];
	for (uint32_t a = 0; a < x->n; a++) {
		x->send_displs[a] = (uint64_t)a * BLOCK_BYTES / x->size;
		x->recv_displs[a] =
			(uint64_t)(x->n - 1 - a) * BLOCK_BYTES / x->size;
		for (uint32_t b = 0; b < x->n; b++)
			x->counts[a * x->n + b] =
				draw_count(&c, pattern, a, b, hot) / x->size;
	}
}

static inline void fill_rank(struct exchange *x, uint32_t rank)
{
	size_t room = (size_t)x->n * BLOCK_BYTES;

	if (!x->input[rank]) {
		x->input[rank] = malloc(room);
		x->output[rank] = malloc(room);
	}
	assert_non_null(x->input[rank]);
	assert_non_null(x->output[rank]);
	memset(x->output[rank], POISON, room);
	for (uint32_t to = 0; to < x->n; to++)
		for (uint64_t i = 0; i < x->counts[rank * x->n + to] * x->size;
		     i++)
			x->input[rank][x->send_displs[to] * x->size + i] =
				byte_of(rank, to, i);
}

static inline void forget(struct exchange *x)
{
	for (uint32_t r = 0; r < MOST_RANKS; r++) {
		free(x->input[r]);
		free(x->output[r]);
		x->input[r] = x->output[r] = NULL;
	}
}

/* Has the rank all that is its own, and nothing else? */
static inline int is_exchanged(const struct exchange *x, uint32_t rank)
{
	for (uint32_t from = 0; from < x->n; from++) {
		const uint8_t *block =
			x->output[rank] + x->recv_displs[from] * x->size;
		uint64_t bytes = x->counts[from * x->n + rank] * x->size;

		for (uint64_t i = 0; i < BLOCK_BYTES; i++)
			if (block[i] !=
			    (i < bytes ? byte_of(from, rank, i) : POISON))
				return 0;
	}
	return 1;
}

static inline int call_matrix(struct gtopo_comm *comm, const struct exchange *x,
			      uint32_t rank)
{
	return gtopo_alltoallv_matrix(comm, (int)rank, x->input[rank],
				      x->send_displs, x->output[rank],
				      x->recv_displs, x->counts, x->type);
}

#endif
