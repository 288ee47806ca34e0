/*
 * FIFOs with slots on both sides, for links that carry slices between them:
 * the local rank and the link's proxy are the two ends of one, and another
 * like it is in the other process.
 */
#ifndef GT_EXEC_LINK_PROXIED_FIFO_H
#define GT_EXEC_LINK_PROXIED_FIFO_H

#include <stddef.h>
#include <stdint.h>

#include "exec/link/fifo.h"
#include "exec/link/link.h"

/*
 * A copy of the connections (to be freed) in the order that both sides of a
 * pair of processes agree on; NULL when memory ran out.
 */
struct gt_link_conn *gt_proxied_fifo_sort(const struct gt_link_conn *conns,
					  uint32_t nconns);

/*
 * Return how many bytes a FIFO takes: counters, lengths and slots; a multiple
 * of cache lines.
 */
size_t gt_proxied_fifo_bytes(const struct gt_link_shape *shape);

/*
 * Allocate memory for FIFOs, pinned if the link asks for that; NULL with words
 * in err.
 */
char *gt_proxied_fifo_alloc(const struct gt_link_config *config, size_t bytes,
			    struct gt_err *err);
void gt_proxied_fifo_free(const struct gt_link_config *config, char *memory);

/* The offset of the slots in a FIFO's memory. */
size_t gt_proxied_fifo_slots(const struct gt_link_shape *shape);

/*
 * Make a FIFO in `memory`, which begins on a cache line.  The local rank's end
 * is conn's, and rings `proxy`; the proxy's end is returned, and rings `rank`.
 */
struct gt_fifo_end gt_proxied_fifo_make(const struct gt_link_shape *shape,
					const struct gt_link_conn *conn,
					char *memory, struct gt_bell *proxy,
					struct gt_bell *rank);

#endif
