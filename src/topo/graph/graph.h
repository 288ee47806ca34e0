/*
 * Inside of a topology, for the files that build and walk it (xml_read, check,
 * path, digest).  Everybody else uses topo.h.
 */
#ifndef GT_TOPO_GRAPH_GRAPH_H
#define GT_TOPO_GRAPH_GRAPH_H

#include <stdint.h>

#include "topo/graph/inside.h"
#include "topo/graph/topo.h"

struct gt_err;

/* Empty, with its own arena; freed by gt_topo_free. */
int gt_graph_new(const char *source, struct gt_topo **topo, struct gt_err *err);

/*
 * Add a node, with nothing above it; its strings must live in the topology's
 * arena.  An id may repeat: gt_graph_finish makes them "NET/0", "NET/0#2".
 * GT_EINPUT when there are more devices than GT_TOPO_MAX_DEVICES.
 */
int gt_graph_node(struct gt_topo *topo, const struct gt_node *node,
		  uint32_t *index, struct gt_err *err);

/* Add a directed link; links of one kind between the same two add up. */
int gt_graph_link(struct gt_topo *topo, const struct gt_link *link,
		  struct gt_err *err);

/* The same in both directions. */
int gt_graph_link_both(struct gt_topo *topo, const struct gt_link *link,
		       struct gt_err *err);

/* Remember something odd about a place, "file:line:col". */
int gt_graph_warn(struct gt_topo *topo, const char *where, struct gt_err *err,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Name the links, sort the devices: the graph is complete. */
int gt_graph_finish(struct gt_topo *topo, struct gt_err *err);

#endif
