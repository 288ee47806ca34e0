/* Matrices and JSON of a machine's routes, for people and programs to read. */
#ifndef GT_TOPO_VIEW_PRINT_H
#define GT_TOPO_VIEW_PRINT_H

#include <stdint.h>

#include "topo/graph/path.h"
#include "topo/graph/topo.h"

struct gt_buf;
struct gt_internode;

/*
 * Print the devices, a legend, and a matrix of routes for each pair of device
 * kinds.  buf->failed tells of memory.
 */
void gt_print_paths(const struct gt_topo *topo, const struct gt_paths *paths,
		    struct gt_buf *buf);

/*
 * Print in short what joins the GPUs, and for each its nearest ports, NUMA node
 * and cores.
 */
void gt_print_summary(const struct gt_topo *topo, const struct gt_paths *paths,
		      struct gt_buf *buf);

/* Print whose rates the links have, as a line of its own. */
void gt_print_rates(enum gt_rates rates, struct gt_buf *buf);

/* Returns what a kind of route means on this machine, in a few words. */
const char *gt_print_kind_meaning(const struct gt_topo *topo,
				  enum gt_path_kind kind);

/*
 * Find the GPU or port that is called so (topo/graph/name.h), as its card
 * is, or as a table calls it, "NET0#1"; 0 when there is none.
 */
int gt_print_find_device(const struct gt_topo *topo, const char *name,
			 uint32_t *device);

/*
 * End a line; lines are padded while they are written, so what is left of that
 * at the end is cut.
 */
void gt_print_newline(struct gt_buf *buf);

/* Print a route between two devices, link by link. */
void gt_print_route(const struct gt_topo *topo, const struct gt_path *path,
		    const uint32_t ends[2], struct gt_buf *buf);

/* Print the links that several pairs of GPUs share, the scarcest first. */
void gt_print_bottlenecks(const struct gt_topo *topo,
			  const struct gt_paths *paths, struct gt_buf *buf);

/* Print them as JSON, schema gtopo.bottlenecks/1 of gtopo-paths(1). */
void gt_print_bottlenecks_json(const struct gt_topo *topo,
			       const struct gt_paths *paths,
			       struct gt_buf *buf);

/*
 * Print the machine's nodes and links as JSON, schema gtopo.machine/1 of
 * gtopo-show(1).
 */
void gt_print_topo_json(const struct gt_topo *topo, enum gt_rates rates,
			struct gt_buf *buf);

/*
 * Print all devices, links and routes as JSON; gtopo-paths(1) lists the
 * members.
 */
void gt_print_paths_json(const struct gt_topo *topo,
			 const struct gt_paths *paths, enum gt_rates rates,
			 struct gt_buf *buf);

/* Print one route as JSON: its two devices, its links, itself. */
void gt_print_route_json(const struct gt_topo *topo, const struct gt_path *path,
			 const uint32_t ends[2], enum gt_rates rates,
			 struct gt_buf *buf);

/*
 * Print the routes of all pairs of GPUs of two nodes of a cluster as a matrix.
 */
void gt_internode_print(const struct gt_internode *internode,
			struct gt_buf *buf);

/* Print one route, link by link. */
void gt_internode_print_route(const struct gt_internode *internode,
			      const uint32_t gpus[2], struct gt_buf *buf);

/* Print a JSON object of the route of two GPUs, or (gpus NULL) of all pairs. */
void gt_internode_print_json(const struct gt_internode *internode,
			     const uint32_t *gpus, struct gt_buf *buf);

#endif
