/* What people and programs read of a machine: matrices and JSON. */
#ifndef GT_TOPO_PRINT_H
#define GT_TOPO_PRINT_H

#include "topo/topo.h"

struct gt_buf;
struct gt_paths;

/*
 * The devices, and a matrix of routes for each pair of device kinds.
 * buf->failed tells of memory.
 */
void gt_print_paths(const struct gt_topo *topo, const struct gt_paths *paths,
		    struct gt_buf *buf);

/* All devices, links and routes as JSON; gtopo-paths(1) lists the members. */
void gt_print_paths_json(const struct gt_topo *topo,
			 const struct gt_paths *paths, enum gt_rates rates,
			 struct gt_buf *buf);

#endif
