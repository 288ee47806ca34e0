/* The spelling of PCI bus ids, which differs from tool to tool. */
#ifndef GT_BASE_BUS_ID_H
#define GT_BASE_BUS_ID_H

struct gt_arena;

enum { GT_BUS_ID_MAX = 32 };

/*
 * Write "0000:1b:00.0" for any spelling of a bus id; 0 when the text is none.
 */
int gt_bus_id_normalize(const char *text, char own[GT_BUS_ID_MAX]);

/*
 * Returns the normalized bus id, in the arena; a text that is no bus id only
 * becomes lower case.  NULL when memory ran out.
 */
const char *gt_bus_id_normalize_dup(struct gt_arena *arena, const char *text);

#endif
