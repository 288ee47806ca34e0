/*
 * Functions that make a topology, for the readers of files (src/topo/xml).
 * Everybody else uses topo.h.
 */
#ifndef GT_TOPO_GRAPH_GRAPH_H
#define GT_TOPO_GRAPH_GRAPH_H

#include <stdint.h>

#include "topo/graph/inside.h"
#include "topo/graph/topo.h"

struct gt_err;

/* Make an empty topology with its own arena; gt_topo_free() frees it. */
int gt_graph_new(const char *source, struct gt_topo **topo, struct gt_err *err);

/*
 * Add a node, which hangs on nothing yet; its strings must live in the
 * topology's arena.  An id may repeat: gt_graph_finish() makes them "NET/0" and
 * "NET/0#2".  GT_EINPUT when there are more devices than GT_TOPO_MAX_DEVICES.
 */
int gt_graph_node(struct gt_topo *topo, const struct gt_node *node,
		  uint32_t *index, struct gt_err *err);

/* Add a directed link; links of one kind between the same two add up. */
int gt_graph_link(struct gt_topo *topo, const struct gt_link *link,
		  struct gt_err *err);

/* Add a link and its reverse, with the same bandwidth. */
int gt_graph_link_both(struct gt_topo *topo, const struct gt_link *link,
		       struct gt_err *err);

/*
 * Keep a warning about a place of the file, which is "file:line:col";
 * gt_topo_warning() reads it.
 */
int gt_graph_warn(struct gt_topo *topo, const char *where, struct gt_err *err,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Name the links and sort the devices; after this the graph is complete. */
int gt_graph_finish(struct gt_topo *topo, struct gt_err *err);

#endif
