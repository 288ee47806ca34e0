/*
 * Reference machines by name: "dgx-h100" is dgx-h100.xml in the folder that
 * the variable GTOPO_XML names, else where gtopo is installed.
 */
#ifndef GT_CLI_COMMON_REFERENCE_H
#define GT_CLI_COMMON_REFERENCE_H

struct gt_arena;
struct gt_err;

/*
 * The file of a machine.  A word with a '/' or '.' is a file itself.  The
 * arena owns *path.  GT_EINPUT when there is no such machine.
 */
int gt_reference_find(const char *word, struct gt_arena *arena,
		      const char **path, struct gt_err *err);

#endif
