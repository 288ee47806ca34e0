/*
 * Reference machines by name: "dgx-h100" is dgx-h100.xml in the folder that
 * the variable GTOPO_XML names; else beside the program, so that a copy of it
 * or a build tree has its own; else where gtopo was installed.  A name is meant
 * as gt_word_is() says: "DGX_H100" is that machine, too.
 */
#ifndef GT_CLI_COMMON_REFERENCE_H
#define GT_CLI_COMMON_REFERENCE_H

struct gt_arena;
struct gt_err;

/*
 * The file of a machine.  A word with a '/' or '.' is a file itself.  The
 * arena owns *path.  GT_EINPUT when there is no such machine; the words say
 * which there are.
 */
int gt_reference_find(const char *word, struct gt_arena *arena,
		      const char **path, struct gt_err *err);

/*
 * Set *path to the operand itself, or to the file of the reference machine of
 * that name where there is no such file.
 */
int gt_reference_operand(const char *word, struct gt_arena *arena,
			 const char **path, struct gt_err *err);

/*
 * GT_EINPUT, with the command that makes a plan, when the word that stands for
 * a plan's file is a reference machine; GT_OK also when it is nothing.
 */
int gt_reference_no_plan(const char *word, struct gt_err *err);

/*
 * Returns the names of all in order of the alphabet, ended by NULL; NULL when
 * memory ran out.
 */
const char **gt_reference_names(struct gt_arena *arena);

#endif
