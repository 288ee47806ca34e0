/*
 * The table of commands, their help, and the way from main()'s words to a
 * command's function.
 */
#include "cli/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/common/command.h"
#include "cli/common/opt.h"
#include "cli/common/reference.h"
#include "cli/process.h"

#define GT_CMD(name) extern const struct gt_cmd gt_cmd_##name;
#include "cli/cmd.def"

static const struct gt_cmd *const gt_cmds[] = {
#define GT_CMD(name) &gt_cmd_##name,
#include "cli/cmd.def"
};

enum {
	GT_NCMDS = sizeof(gt_cmds) / sizeof(gt_cmds[0]),
	GT_CMD_COLUMNS = 80,
};

struct gt_cmd_common {
	const char *out;
	int quiet;
	int verbose;
	int help;
};

static const struct gt_opt gt_cmd_common_opts[] = {
	{GT_OPT_TEXT, 'o', "output", "FILE",
	 offsetof(struct gt_cmd_common, out),
	 "write to FILE instead of standard output", 0, 0},
	{GT_OPT_FLAG, 'q', "quiet", NULL, offsetof(struct gt_cmd_common, quiet),
	 "say nothing but errors on standard error", 0, 0},
	{GT_OPT_FLAG, 'v', "verbose", NULL,
	 offsetof(struct gt_cmd_common, verbose),
	 "say on standard error what is being done", 0, 0},
	{GT_OPT_FLAG, 'h', "help", NULL, offsetof(struct gt_cmd_common, help),
	 "show this help", 0, 0},
	GT_OPT_END,
};

const struct gt_opt *gt_cmd_common_options(void)
{
	return gt_cmd_common_opts;
}

const struct gt_cmd *gt_cmd_get(int i)
{
	return i >= 0 && i < GT_NCMDS ? gt_cmds[i] : NULL;
}

const struct gt_cmd *gt_cmd_find(const char *name)
{
	for (int i = 0; i < GT_NCMDS; i++)
		if (!strcmp(gt_cmds[i]->name, name))
			return gt_cmds[i];
	return NULL;
}

static const char *gt_cmd_name(int i, const void *unused)
{
	(void)unused;
	return gt_cmds[i]->name;
}

const struct gt_cmd *gt_cmd_require(const char *name, struct gt_err *err)
{
	const struct gt_cmd *cmd = gt_cmd_find(name);
	const char *near;

	if (cmd)
		return cmd;
	near = gt_opt_nearest(name, GT_NCMDS, gt_cmd_name, NULL);
	if (near)
		gt_err_set(err, GT_EINPUT, NULL,
			   "'%s' is not a command; did you mean '%s'?", name,
			   near);
	else
		gt_err_set(err, GT_EINPUT, NULL,
			   "'%s' is not a command; see 'gtopo help'", name);
	return NULL;
}

/* Add the usage line, broken before "[" or the operands to fit 80 columns. */
static void gt_cmd_add_usage(const struct gt_cmd *cmd, struct gt_buf *out)
{
	struct gt_buf line = GT_BUF_INIT;
	const char *word, *next;
	int column, indent;

	gt_opt_usage(cmd->opts, &line);
	gt_opt_usage(gt_cmd_common_opts, &line);
	if (cmd->operands[0])
		gt_buf_printf(&line, " %s", cmd->operands);
	indent = (int)strlen("usage: gtopo ") + (int)strlen(cmd->name);
	column = indent;
	gt_buf_printf(out, "usage: gtopo %s", cmd->name);
	for (word = gt_buf_text(&line); word && *word; word = next) {
		next = strchr(word, ']');
		next = next ? next + 1 : word + strlen(word);
		if (column + (int)(next - word) >= GT_CMD_COLUMNS) {
			gt_buf_printf(out, "\n%*s", indent, "");
			column = indent;
		}
		gt_buf_add(out, word, (size_t)(next - word));
		column += (int)(next - word);
	}
	out->failed |= line.failed;
	gt_buf_release(&line);
}

int gt_cmd_print_help(const struct gt_cmd *cmd, const char *out,
		      struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	int rc;

	gt_cmd_add_usage(cmd, &text);
	gt_buf_printf(&text, "\n\n%s\n\noptions:\n", cmd->summary);
	gt_opt_help(cmd->opts, &text);
	gt_opt_help(gt_cmd_common_opts, &text);
	if (cmd->examples)
		gt_buf_printf(&text, "\nexamples:\n%s", cmd->examples);
	rc = text.failed ? gt_err_nomem(err)
			 : gt_file_write(out, text.text, text.len, err);
	gt_buf_release(&text);
	return rc;
}

static int gt_cmd_check_operands(const struct gt_cmd *cmd, char **operands,
				 int n, struct gt_err *err)
{
	if (n < cmd->operands_min)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "%s is missing; see 'gtopo help %s'",
				  cmd->operands, cmd->name);
	if (cmd->operands_max >= 0 && n > cmd->operands_max)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "'%s' is one operand too many; see 'gtopo "
				  "help %s'",
				  operands[cmd->operands_max], cmd->name);
	return GT_OK;
}

/*
 * Fill in the command's options and args from the command line.  *done is set
 * when only help was asked for.
 */
static int parse_args(struct gt_cmd_args *args, void *opts, int argc,
		      char **argv, int *done, struct gt_err *err)
{
	const struct gt_cmd *cmd = args->cmd;
	struct gt_cmd_common common = {NULL, 0, 0, 0};
	struct gt_opt_set sets[2] = {{cmd->opts, opts},
				     {gt_cmd_common_opts, &common}};
	int rc = gt_opt_parse(sets, argc, argv, &args->noperands, err);

	*done = !rc && common.help;
	if (rc || *done)
		return rc ? rc : gt_cmd_print_help(cmd, common.out, err);
	args->opts = opts;
	args->operands = argv;
	args->out = common.out;
	args->quiet = common.quiet;
	args->verbose = common.verbose;
	return gt_cmd_check_operands(cmd, argv, args->noperands, err);
}

/* Let a name of a reference machine be its file, which the arena owns. */
static int gt_cmd_find_machine(const char **word, struct gt_arena *arena,
			       struct gt_err *err)
{
	const char *path;
	int rc = gt_reference_operand(*word, arena, &path, err);

	if (!rc)
		*word = path;
	return rc;
}

/* Do so where operands may be machines, and in options that take one. */
static int gt_cmd_find_machines(struct gt_cmd_args *args, void *opts,
				struct gt_arena *arena, struct gt_err *err)
{
	const struct gt_cmd *cmd = args->cmd;
	const char *path, **at;
	int rc = GT_OK;

	for (int i = 0; cmd->takes_machines && i < args->noperands && !rc;
	     i++) {
		path = args->operands[i];
		rc = gt_cmd_find_machine(&path, arena, err);
		if (!rc && path != args->operands[i])
			args->operands[i] = gt_arena_strdup(arena, path);
		if (!args->operands[i])
			rc = gt_err_nomem(err);
	}
	for (const struct gt_opt *o = cmd->opts; o && o->type && !rc; o++) {
		at = (const char **)((char *)opts + o->at);
		if (o->type == GT_OPT_TOPO && *at)
			rc = gt_cmd_find_machine(at, arena, err);
	}
	return rc;
}

/* Run the command with its own options, which have their defaults first. */
static int dispatch(const struct gt_cmd *cmd, int argc, char **argv,
		    struct gt_err *err)
{
	struct gt_cmd_args args = {.cmd = cmd};
	struct gt_arena *arena = gt_arena_new();
	void *opts = arena ? gt_arena_alloc(arena, cmd->opts_bytes + 1) : NULL;
	int done = 0, rc;

	if (!opts) {
		gt_arena_free(arena);
		return gt_err_nomem(err);
	}
	if (cmd->defaults)
		memcpy(opts, cmd->defaults, cmd->opts_bytes);
	rc = parse_args(&args, opts, argc, argv, &done, err);
	if (!rc && !done)
		rc = gt_cmd_find_machines(&args, opts, arena, err);
	if (!rc && !done)
		rc = cmd->run(&args, err);
	gt_arena_free(arena);
	return rc;
}

/* Close standard output: a full disk shows only when the last bytes leave. */
static int gt_cmd_close_stdout(int rc, struct gt_err *err)
{
	int bad = ferror(stdout);

	errno = 0;
	if (fclose(stdout) || bad) {
		if (rc != GT_ESYS)
			gt_err_init(err);
		return gt_err_set(err, GT_ESYS, "standard output",
				  "cannot write: %s",
				  strerror(errno ? errno : EIO));
	}
	return rc;
}

/* `gtopo --help` and `gtopo --version` are commands too. */
static const char *gt_cmd_word(char **argv)
{
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return "help";
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))
		return "version";
	return argv[1];
}

/*
 * Without a command the list of them goes where errors go: a script that took
 * it for a product would be wrong.
 */
static int gt_cmd_none(struct gt_err *err)
{
	int rc;

	if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "COMMAND is missing; see 'gtopo help'");
	rc = dispatch(gt_cmd_find("help"), 0, NULL, err);
	return rc ? rc : GT_EINPUT;
}

int gt_cmd_main(int argc, char **argv)
{
	const struct gt_cmd *cmd = NULL;
	struct gt_err err;
	int rc = GT_EINPUT;

	gt_process_prepare();
	gt_err_init(&err);
	if (argc < 2)
		rc = gt_cmd_none(&err);
	else
		cmd = gt_cmd_require(gt_cmd_word(argv), &err);
	if (cmd)
		rc = dispatch(cmd, argc - 2, argv + 2, &err);
	rc = gt_cmd_close_stdout(rc, &err);
	if (err.code)
		gt_cmd_say(cmd, err.where, err.text);
	return -rc;
}
