/*
 * This says what a command is, and how it talks: the table entry that every
 * cmd_*.c fills in, what its function gets, and where its words and its product
 * go.
 */
#ifndef GT_CLI_COMMON_COMMAND_H
#define GT_CLI_COMMON_COMMAND_H

#include <stddef.h>

struct gt_buf;
struct gt_err;
struct gt_opt;

/* A command's function gets its parsed options and operands. */
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
	const char *examples; /* lines of its help; NULL: none */
	int operands_min;
	int operands_max; /* -1: any number */
	/* Operands may be names of reference machines. */
	int takes_machines;
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

/* Say one line on stderr, as `gtopo NAME: where: text`; cmd may be NULL. */
void gt_cmd_say(const struct gt_cmd *cmd, const char *where, const char *text);

/*
 * Catch Ctrl-C and SIGTERM, for commands that have to clean up after
 * themselves.  From now on the first such signal only sets the flag that is
 * returned (to its number), which engines look at; the second one kills.
 */
const _Atomic int *gt_interrupt_catch(void);

#endif
