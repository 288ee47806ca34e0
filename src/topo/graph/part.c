/*
 * Takes peer access away: a table of the pairs that are apart becomes each
 * GPU's list of what it may do, and memories are added for what waits.
 */
#include "topo/graph/part.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/pairs.h"
#include "topo/graph/inside.h"
#include "topo/graph/memory.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"

enum { GT_PART_WORD = 4 }; /* "rwa", "---" or "x", and what ends it */

/* Which of the topology's GPUs, in order of dev, are apart. */
struct gt_part {
	struct gt_topo *topo;
	char *apart; /* ngpus x ngpus */
};

static void gt_part_pair(const struct gt_part *part, uint32_t a, uint32_t b)
{
	uint32_t n = part->topo->ngpus;

	part->apart[(size_t)a * n + b] = 1;
	part->apart[(size_t)b * n + a] = 1;
}

/* Find the GPU of a number, the only one that has it. */
static int gt_part_find(const struct gt_part *part, const char *words,
			uint32_t number, uint32_t *gpu, struct gt_err *err)
{
	const struct gt_topo *topo = part->topo;

	for (*gpu = 0; *gpu < topo->ngpus; ++*gpu)
		if (topo->nodes[topo->gpus[*gpu]].dev == (int)number)
			return GT_OK;
	return gt_err_set(err, GT_EINPUT, topo->source,
			  "has no GPU %u, which --p2p '%.80s' names; gtopo "
			  "show lists its GPUs",
			  number, words);
}

static int gt_part_read(const struct gt_part *part, const char *words,
			struct gt_err *err)
{
	struct gt_pairs pairs = {words, "--p2p", "GPUs", words};
	struct gt_pair pair;
	uint32_t a, b;
	int rc;

	if (gt_pairs_are_all(words)) {
		memset(part->apart, 1,
		       (size_t)part->topo->ngpus * part->topo->ngpus);
		return GT_OK;
	}
	while ((rc = gt_pairs_next(&pairs, &pair, err)) > 0) {
		rc = gt_part_find(part, words, pair.a, &a, err);
		if (!rc)
			rc = gt_part_find(part, words, pair.b, &b, err);
		if (rc)
			return rc;
		gt_part_pair(part, a, b);
	}
	return rc;
}

/*
 * Add what the file takes away, and forget why a GPU reaches fewer than all if
 * by the file it reaches all.
 */
static void gt_part_keep(const struct gt_part *part, uint32_t gpu)
{
	struct gt_topo *topo = part->topo;
	int lacks = 0;

	for (uint32_t to = 0; to < topo->ngpus; to++) {
		if (to == gpu || (gt_topo_may_access(topo, gpu, to) &&
				  gt_topo_may_access(topo, to, gpu)))
			continue;
		gt_part_pair(part, gpu, to);
		lacks = 1;
	}
	if (!lacks)
		topo->nodes[topo->gpus[gpu]].peer_cause = NULL;
}

/* Write what a GPU may do; NULL: no memory. */
static const char *gt_part_row(const struct gt_part *part, uint32_t gpu)
{
	uint32_t n = part->topo->ngpus;
	char *row = gt_arena_array(part->topo->arena, n, GT_PART_WORD);
	char *end = row;

	for (uint32_t to = 0; row && to < n; to++) {
		const char *word = to == gpu                           ? "x"
				   : part->apart[(size_t)gpu * n + to] ? "---"
								       : "rwa";

		end = stpcpy(end, word);
		*end++ = to + 1 < n ? ' ' : '\0';
	}
	return row;
}

int gt_topo_part_gpus(struct gt_topo *topo, const char *words,
		      struct gt_err *err)
{
	uint32_t n = topo->ngpus;
	struct gt_part part = {.topo = topo};
	int rc;

	if (!words || !*words || !n)
		return GT_OK;
	part.apart = gt_arena_array(topo->arena, (size_t)n * n, 1);
	if (!part.apart)
		return gt_err_nomem(err);
	rc = gt_part_read(&part, words, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < n; i++)
		gt_part_keep(&part, i);
	for (uint32_t i = 0; i < n; i++) {
		struct gt_node *node = &topo->nodes[topo->gpus[i]];

		node->p2p = gt_part_row(&part, i);
		if (!node->p2p)
			return gt_err_nomem(err);
	}
	return gt_graph_memories(topo, err);
}
