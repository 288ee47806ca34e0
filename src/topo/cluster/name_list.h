/*
 * Lists of names of nodes as schedulers and shells read them:
 * "gpu[01-12,14],x7".  Runs of names (struct gt_cluster_run) are what lies
 * between a list and its names; of a run only name and number count here.
 */
#ifndef GT_TOPO_CLUSTER_NAME_LIST_H
#define GT_TOPO_CLUSTER_NAME_LIST_H

#include <stdint.h>

struct gt_arena;
struct gt_buf;
struct gt_cluster_run;

/*
 * Append runs as a list; those in a row that differ in numbers alone share
 * their brackets.
 */
void gt_name_list_print(const struct gt_cluster_run *runs, uint32_t n,
			struct gt_buf *out);

/*
 * Split a name, which is borrowed, into what stands before its number and the
 * number: a run of one.  A name without a number has width -1; prefix is NULL
 * when memory ran out.
 */
struct gt_cluster_run gt_name_list_split(struct gt_arena *arena,
					 const char *name);

/*
 * Append names as a list, in their order; out->failed tells of memory, which is
 * taken from the arena.
 */
void gt_name_list_add(struct gt_arena *arena, const char *const *names,
		      uint32_t n, struct gt_buf *out);

/*
 * Name nodes after their files: the last part of each path without ".xml", or,
 * where that is the same for all, the folder that it is in.  names[] gets n
 * texts of the arena's.  Returns 0 when memory ran out.
 */
int gt_name_list_of_files(struct gt_arena *arena, const char *const *files,
			  uint32_t n, const char **names);

#endif
