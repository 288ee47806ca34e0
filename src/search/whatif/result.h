/*
 * How a result of the what-if analysis is put together: what devices and links
 * are called in it, and in which order its changes stand.
 */
#ifndef GT_SEARCH_WHATIF_RESULT_H
#define GT_SEARCH_WHATIF_RESULT_H

#include <stddef.h>
#include <stdint.h>

struct gt_arena;
struct gt_topo;
struct gt_whatif;

/* An empty result with an arena of its own, or NULL. */
struct gt_whatif *gt_whatif_new(void);

/*
 * A device as people call it: "GPU0", "CPU1", "NVSwitch", "PCI 0000:05:00.0".
 * NULL when memory ran out.
 */
const char *gt_whatif_device(struct gt_arena *arena, const struct gt_topo *topo,
			     uint32_t node);

/* "A–B" of two names; NULL when memory ran out or one of them is NULL. */
const char *gt_whatif_link(struct gt_arena *arena, const char *a,
			   const char *b);

/*
 * Sort the changes by gain, then by order and name, and drop those that bring
 * less than GT_WHATIF_MIN_GAIN, if nobody asked for them.
 */
void gt_whatif_sort(struct gt_whatif *whatif);

#endif
