/*
 * Commands: a const table entry and one short function each.
 *
 * To add the command `frob`: write src/cli/cmd_frob.c with its option table
 * and `const struct gt_cmd gt_cmd_frob`, add the file to src/cli/local.mk,
 * the line GT_CMD(frob) to src/cli/cmd.def, and man/gtopo-frob.1.  Help,
 * `gtopo help`, suggestions and completion come from the table.
 */
#ifndef GT_CLI_CMD_H
#define GT_CLI_CMD_H

#include <stddef.h>

struct gt_buf;
struct gt_err;
struct gt_opt;

/* What a command's function gets: parsed options and operands. */
struct gt_cmd_args {
	const struct gt_cmd *cmd;
	const void *opts; /* the command's own struct, filled */
	char **operands;  /* noperands of them, "-" means standard input */
	int noperands;
	const char *out; /* -o FILE, or NULL for standard output */
	int quiet;       /* -q: only errors on standard error */
	int verbose;     /* -v: say what is being done */
};

struct gt_cmd {
	const char *name;
	const char *summary;  /* one line, no full stop */
	const char *operands; /* as in the usage line, "FILE"; "" for none */
	int operands_min;
	int operands_max;          /* -1: any number */
	const struct gt_opt *opts; /* own options; NULL: none */
	const void *defaults;      /* initial value of the options' struct */
	size_t opts_bytes;         /* its size, 0 when there are no options */
	/*
	 * GT_OK, or a negative code; words in err are printed as
	 * `gtopo NAME: where: text`.  GT_ENO without words is fine when the
	 * product said why.  What goes to stdout may be written with
	 * gt_cmd_write() or printf: that stdout took all of it is checked once
	 * the function returns.
	 */
	int (*run)(const struct gt_cmd_args *args, struct gt_err *err);
};

/* The whole program; returns the exit status. */
int gt_cmd_main(int argc, char **argv);

/*
 * Write what a command made to where -o says, unless rc tells that making it
 * failed; text is released in any case.
 */
int gt_cmd_write(const struct gt_cmd_args *args, struct gt_buf *text, int rc,
		 struct gt_err *err);

/* Talk on stderr: warnings unless -q, notes only with -v. */
void gt_cmd_warn(const struct gt_cmd_args *args, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void gt_cmd_note(const struct gt_cmd_args *args, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The i-th command or NULL; the named command or NULL. */
const struct gt_cmd *gt_cmd_get(int i);
const struct gt_cmd *gt_cmd_find(const char *name);

/* As gt_cmd_find, but an error that names the nearest one. */
const struct gt_cmd *gt_cmd_need(const char *name, struct gt_err *err);

/* Write a command's help to the file `out` (NULL: standard output). */
int gt_cmd_print_help(const struct gt_cmd *cmd, const char *out,
		      struct gt_err *err);

#endif
