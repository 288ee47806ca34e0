/*
 * Words what NCCL's environment can change about its choice.
 */
#include "search/nccl/remedy.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "search/nccl/answer.h"
#include "topo/graph/topo.h"

/* A graph file that brings less than this is not worth its trouble. */
#define GT_NCCL_WORTH_PART 1.005

/* The list while it is made. */
struct gt_nccl_cure {
	struct gt_nccl_remedy *list;
	uint32_t n;
	int failed;
};

static void gt_nccl_add(struct gt_nccl_cure *cure, const char *variable,
			const char *value, const char *why)
{
	cure->failed |= !why;
	cure->list[cure->n++] = (struct gt_nccl_remedy){variable, value, why};
}

/*
 * A file's name as a shell takes it: plain if it can be, else within quotes.
 * NULL: no memory.
 */
static const char *gt_nccl_quoted(struct gt_arena *arena, const char *file)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._/-";
	struct gt_buf text = GT_BUF_INIT;
	const char *kept;

	/* What is no option has to look like none. */
	if (*file == '-' && file[1])
		gt_buf_puts(&text, "./");
	if (*file && !file[strspn(file, plain)]) {
		gt_buf_puts(&text, file);
	} else {
		gt_buf_puts(&text, "'");
		for (; *file; file++)
			if (*file == '\'')
				gt_buf_puts(&text, "'\\''");
			else
				gt_buf_add(&text, file, 1);
		gt_buf_puts(&text, "'");
	}
	kept = text.failed ? NULL : gt_arena_strdup(arena, gt_buf_text(&text));
	gt_buf_release(&text);
	return kept;
}

/* Tells of pairs whose bytes leave the machine and come back. */
static void gt_nccl_add_net(struct gt_nccl_cure *cure,
			    const struct gt_nccl_answer *answer,
			    struct gt_arena *arena)
{
	uint32_t pairs = answer->facts->nnet / 2;

	if (pairs)
		gt_nccl_add(cure, "NCCL_NET_DISABLE_INTRA", "1",
			    gt_arena_printf(
				    arena,
				    "NCCL joins %u pair%s of GPUs by the "
				    "network, as their ports are faster than "
				    "the path between them; this keeps them "
				    "off it",
				    pairs, gt_plural(pairs)));
}

static void gt_nccl_add_graph(struct gt_nccl_cure *cure,
			      const struct gt_nccl_answer *answer,
			      const char *file, struct gt_arena *arena)
{
	if (answer->graph_gbs > answer->gbs * GT_NCCL_WORTH_PART)
		gt_nccl_add(
			cure, "NCCL_GRAPH_FILE", "graph.xml",
			gt_arena_printf(arena,
					"with rings of %g GB/s: gtopo search "
					"--algo ring --equal --max-channels %d "
					"--rates nccl %s | gtopo export --to "
					"nccl-graph -o graph.xml -",
					answer->graph_gbs,
					GT_NCCL_GRAPH_CHANNELS, file));
}

static void gt_nccl_add_p2p(struct gt_nccl_cure *cure,
			    const struct gt_nccl_answer *answer,
			    struct gt_arena *arena)
{
	const struct gt_nccl_facts *facts = answer->facts;
	uint32_t pairs = facts->ngpus * (facts->ngpus - 1);
	uint32_t others = (pairs - facts->ndirect - facts->ndenied) / 2;
	enum gt_path_kind level = facts->max_kind;

	if (facts->nrefused)
		gt_nccl_add(cure, "NCCL_IGNORE_DISABLED_P2P", "1",
			    gt_arena_printf(
				    arena,
				    "%u pairs of GPUs have NVLinks and no peer "
				    "access, at which NCCL gives up; with this "
				    "they go through the host's memory",
				    facts->nrefused / 2));

	if (level == GT_PATH_NET)
		level = GT_PATH_SYS;
	if (others)
		gt_nccl_add(cure, "NCCL_P2P_LEVEL", gt_path_kind_name(level),
			    gt_arena_printf(
				    arena,
				    "%u of %u pairs of GPUs go through the "
				    "host's memory; this lets them go peer to "
				    "peer, where driver and board can",
				    others, pairs / 2));
}

static void gt_nccl_add_topo(struct gt_nccl_cure *cure, const char *file,
			     uint32_t repairs, struct gt_arena *arena)
{
	if (repairs)
		gt_nccl_add(cure, "NCCL_TOPO_FILE", "fixed.xml",
			    gt_arena_printf(arena,
					    "without %u fault%s that NCCL "
					    "misreads: gtopo lint --fix -o "
					    "fixed.xml %s",
					    repairs, gt_plural(repairs), file));
}

int gt_nccl_remedies(const struct gt_nccl_answer *answer,
		     const struct gt_nccl_origin *origin,
		     struct gt_arena *arena,
		     struct gt_nccl_remedy list[GT_NCCL_MAX_REMEDIES],
		     uint32_t *n, struct gt_err *err)
{
	struct gt_nccl_cure cure = {.list = list};
	const char *file = gt_nccl_quoted(arena, origin->file);
	const char *apart = file;

	if (file && origin->p2p)
		apart = gt_arena_printf(arena, "--p2p %s %s", origin->p2p,
					file);
	if (!apart)
		return gt_err_nomem(err);
	gt_nccl_add_topo(&cure, file, origin->repairs, arena);
	gt_nccl_add_net(&cure, answer, arena);
	gt_nccl_add_graph(&cure, answer, apart, arena);
	gt_nccl_add_p2p(&cure, answer, arena);
	*n = cure.n;
	return cure.failed ? gt_err_nomem(err) : GT_OK;
}
