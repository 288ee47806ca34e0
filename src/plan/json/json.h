/* A plan as JSON, and back from it; gtopo-plan(5) explains the format. */
#ifndef GT_PLAN_JSON_JSON_H
#define GT_PLAN_JSON_JSON_H

#include <stddef.h>
#include <stdint.h>

struct gt_arena;
struct gt_buf;
struct gt_err;
struct gt_plan;

/* Append the plan, in canonical key order, ending in a newline. */
int gt_plan_print(const struct gt_plan *plan, struct gt_buf *out,
		  struct gt_err *err);

/*
 * Read a plan from a file ("-": standard input).  The file's structure and the
 * types and ranges of fields are checked; what is wrong is told with file and
 * JSON path.  *plan is the caller's.
 */
int gt_plan_read(const char *path, struct gt_plan **plan, struct gt_err *err);

/* Read a plan from `len` bytes of text; messages call it `name`. */
int gt_plan_parse(const char *name, const char *text, size_t len,
		  struct gt_plan **plan, struct gt_err *err);

/*
 * Read the matrix of an all-to-all's bytes from a file: JSON, as the key
 * "demand" of a plan has it, alone or under that key, or a line of numbers for
 * each rank, with commas, blanks or semicolons between.  *n ranks; memory is
 * the arena's.
 */
int gt_demand_read(const char *path, struct gt_arena *arena, uint32_t *n,
		   uint64_t **bytes, struct gt_err *err);

/* Read that matrix from memory, which ends in NUL; messages call it `name`. */
int gt_demand_parse(const char *name, const struct gt_buf *text,
		    struct gt_arena *arena, uint32_t *n, uint64_t **bytes,
		    struct gt_err *err);

#endif
