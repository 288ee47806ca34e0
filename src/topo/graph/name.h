/*
 * What people call the nodes of a machine.  Every option that takes a device
 * reads it here, so that one word means the same everywhere:
 *
 *	3, GPU3       the GPU with this number (NVML's index)
 *	NET0, CPU1    a port or a NUMA node with this number
 *	1b:00.0       a bus id, in the spelling of any tool
 *	mlx5_0        ports by the name of their card, mlx5_0:2 one of them
 *	NVS/0         the id that files and matrices show
 *
 * and in lists, with commas between, 0-3, GPU0-3 and GPU0-GPU3.  Capitals do
 * not count.
 */
#ifndef GT_TOPO_GRAPH_NAME_H
#define GT_TOPO_GRAPH_NAME_H

#include <stdint.h>

#include "topo/graph/topo.h"

enum { GT_NAME_MAX = 128 };

/* Numbers of nodes of a kind, as "GPU3" or "0-3" names them. */
struct gt_name_range {
	enum gt_node_kind kind; /* GT_NNODEKINDS where none is written */
	int64_t first, last;
};

/*
 * Returns what is wrong with the spelling of a list's word that names nothing
 * and what to write; NULL when it is spelled as a name.
 */
const char *gt_name_misspelling(const char *word);

/* Is this one of the node's names?  Several nodes can have the same one. */
int gt_node_is_called(const struct gt_node *node, const char *word);

/* Returns the first node that is called so, or GT_NONE. */
uint32_t gt_topo_find(const struct gt_topo *topo, const char *word);

/* Begin with `rest` as the list; the other fields are 0. */
struct gt_name_list {
	const char *rest; /* NULL at the end */
	struct gt_name_range range;
	int in_range; /* the next word is of `range` */
};

/*
 * Write the next word of the list, one for each number of a range; 0 at the
 * end.  A list without a comma has one word, which can be empty.
 */
int gt_name_list_next(struct gt_name_list *list, char word[GT_NAME_MAX]);

#endif
