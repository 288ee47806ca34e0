/*
 * Adds memories of NUMA nodes to machines whose GPUs do not all reach each
 * other: what these send waits in one of them.
 */
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/xml.h"
#include "topo/graph/graph.h"
#include "topo/xml/reader.h"

/* Is there a GPU whose memory this one may not read and write? */
static int gt_reader_lacks_peers(const struct gt_node *gpu)
{
	const char *word = gpu->p2p;

	while (word && *word) {
		size_t len = strcspn(word, " ");

		if (len > 1 && (word[0] != 'r' || word[1] != 'w'))
			return 1;
		word += len;
		word += strspn(word, " ");
	}
	return 0;
}

/*
 * What each way into memory and out of it carries.  A byte that waits there is
 * written once and read once, so either way has half of what memory carries.
 */
static int gt_reader_memory_gbs(const struct gt_reader *reader,
				const struct gt_xml_elem *cpu,
				struct gt_rat *gbs, struct gt_err *err)
{
	struct gt_rat both = GT_RAT(1, 1);

	*gbs = GT_LOCAL_GBS;
	if (reader->rates == GT_RATES_NCCL ||
	    !gt_xml_attr(cpu, "gt_memory_gbs"))
		return GT_OK;
	if (gt_xml_rat(cpu, "gt_memory_gbs", &both, err))
		return GT_EINPUT;
	if (both.num <= 0 || !gt_rat_div(both, GT_RAT(2, 1), gbs))
		return gt_xml_fail(cpu, "gt_memory_gbs", err,
				   "gt_memory_gbs '%.64s' is not above 0, or "
				   "out of range",
				   gt_xml_attr(cpu, "gt_memory_gbs"));
	return GT_OK;
}

static int gt_reader_memory(struct gt_reader *reader,
			    const struct gt_reader_cpu *cpu, struct gt_err *err)
{
	struct gt_topo *topo = reader->topo;
	int numa = topo->nodes[cpu->node].dev;
	struct gt_node node = {.kind = GT_NODE_MEM,
			       .dev = numa,
			       .rank = -1,
			       .line = gt_xml_line(cpu->elem)};
	struct gt_link link = {.kind = GT_LINK_MEM, .from = cpu->node};
	int rc = gt_reader_memory_gbs(reader, cpu->elem, &link.gbs, err);

	if (rc)
		return rc;
	node.id = gt_arena_printf(topo->arena, "MEM/%d", numa);
	if (!node.id)
		return gt_err_nomem(err);
	rc = gt_graph_node(topo, &node, &link.to, err);
	return rc ? rc : gt_graph_link_both(topo, &link, err);
}

int gt_reader_memories(struct gt_reader *reader, struct gt_err *err)
{
	const struct gt_topo *topo = reader->topo;
	int lacking = 0, rc = GT_OK;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		lacking |= topo->nodes[i].kind == GT_NODE_GPU &&
			   gt_reader_lacks_peers(&topo->nodes[i]);
	for (uint32_t i = 0; i < reader->ncpus && lacking && !rc; i++)
		rc = gt_reader_memory(reader, &reader->cpus[i], err);
	return rc;
}
