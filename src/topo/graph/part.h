/*
 * Takes peer access away, to ask what a machine would do without it.  It stays
 * the same machine, so its digests do not change, and routes that were made
 * before are void, as after the edits of topo/graph/edit.h.
 */
#ifndef GT_TOPO_GRAPH_PART_H
#define GT_TOPO_GRAPH_PART_H

struct gt_err;
struct gt_topo;

/*
 * Have GPUs not reach each other's memory, as gt_p2p of the file would say it:
 * no two of them ("off"), or not the pairs that the words name by the numbers
 * of their GPUs, "0-1,2-3".  Who has no access anyhow has none then either.
 * GT_EINPUT, and what is wrong, for other words and for a GPU that is not
 * there.  NULL and no words take nothing away.
 */
int gt_topo_part_gpus(struct gt_topo *topo, const char *words,
		      struct gt_err *err);

#endif
