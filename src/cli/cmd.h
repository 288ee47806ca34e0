/*
 * The table of commands: a const entry and one short function each
 * (cli/common/command.h).
 *
 * To add the command `frob`: write src/cli/cmd_frob.c with its option table
 * and `const struct gt_cmd gt_cmd_frob`, add the file to src/cli/local.mk,
 * the line GT_CMD(frob) to src/cli/cmd.def, and man/gtopo-frob.1.  Help,
 * `gtopo help`, suggestions and completion come from the table.
 */
#ifndef GT_CLI_CMD_H
#define GT_CLI_CMD_H

struct gt_cmd;
struct gt_err;
struct gt_opt;

/* The whole program; returns the exit status. */
int gt_cmd_main(int argc, char **argv);

/* The i-th command or NULL; the named command or NULL. */
const struct gt_cmd *gt_cmd_get(int i);
const struct gt_cmd *gt_cmd_find(const char *name);

/* The table of the options that all commands have. */
const struct gt_opt *gt_cmd_common_options(void);

/* Find a command; where there is none an error names the nearest one. */
const struct gt_cmd *gt_cmd_require(const char *name, struct gt_err *err);

/* Write a command's help to the file `out` (NULL: standard output). */
int gt_cmd_print_help(const struct gt_cmd *cmd, const char *out,
		      struct gt_err *err);

#endif
