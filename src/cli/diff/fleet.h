/*
 * Servers compared with the one that is the norm: of two, the first; of
 * more, the most common one (of the earliest file where several are), or the
 * one that is expected.  Servers that are wired alike are one group.
 */
#ifndef GT_CLI_DIFF_FLEET_H
#define GT_CLI_DIFF_FLEET_H

#include <stdint.h>

struct gt_buf;
struct gt_err;
struct gt_fleet;

struct gt_fleet_query {
	const char *const *files;
	uint32_t nfiles;
	int expected;    /* the first file is what the others should be */
	unsigned ignore; /* as gt_device_tree_read() */
	/* of a job whose bound is told; 0: as many as are compared, or 16 */
	uint32_t nnodes;
	int all; /* print all findings of servers of another kind, too */
	/* The last file's text; NULL: it is read, too. */
	const struct gt_buf *last;
};

/* "driver,width": what is not to be compared.  NULL: nothing. */
int gt_fleet_ignore(const char *list, unsigned *ignore, struct gt_err *err);

/* Read and compare; *fleet is the caller's. */
int gt_fleet_compare(const struct gt_fleet_query *ask, struct gt_fleet **fleet,
		     struct gt_err *err);

/* NULL is allowed. */
void gt_fleet_free(struct gt_fleet *fleet);

/* Does any server differ from the norm? */
int gt_fleet_differs(const struct gt_fleet *fleet);

/*
 * Append the groups that differ, coloured for a terminal or not; nothing when
 * none does.
 */
void gt_fleet_print(const struct gt_fleet *fleet, int colour,
		    struct gt_buf *out);
void gt_fleet_print_json(const struct gt_fleet *fleet, struct gt_buf *out);

#endif
