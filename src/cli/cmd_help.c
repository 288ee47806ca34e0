/* gtopo help: the list of commands, or the help of one. */
#include "cli/cmd.h"
#include "cli/common/command.h"

#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "cli/common/opt.h"
#include "cli/complete.h"

static int gt_help_list(const char *out, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	const struct gt_cmd *cmd;
	int rc;

	gt_buf_puts(&text, "usage: gtopo COMMAND [OPTION]... [FILE]...\n\n"
			   "Plan and run GPU collectives from a server's real "
			   "topology.\n\ncommands:\n");
	for (int i = 0; (cmd = gt_cmd_get(i)); i++)
		gt_buf_printf(&text, "  %-10s %s\n", cmd->name, cmd->summary);
	gt_buf_puts(&text, "\n'gtopo help COMMAND' shows a command's options, "
			   "gtopo(7) the concepts.\n");
	rc = text.failed ? gt_err_nomem(err)
			 : gt_file_write(out, text.text, text.len, err);
	gt_buf_release(&text);
	return rc;
}

struct gt_help_opts {
	int complete;
};

static const struct gt_opt gt_help_opts[] = {
	{GT_OPT_FLAG, 0, "complete", NULL,
	 offsetof(struct gt_help_opts, complete),
	 "list what the last of these words may become, for a shell", 0, 0},
	GT_OPT_END,
};

static int gt_help_complete(const struct gt_cmd_args *args, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_complete(args->operands, args->noperands, &text, err);

	return gt_cmd_write(args, &text, rc, err);
}

static int cmd_help(const struct gt_cmd_args *args, struct gt_err *err)
{
	const struct gt_help_opts *opts = args->opts;
	const struct gt_cmd *cmd;

	if (opts->complete)
		return gt_help_complete(args, err);
	if (!args->noperands)
		return gt_help_list(args->out, err);
	if (args->noperands > 1)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "'%s' is one operand too many; see 'gtopo "
				  "help help'",
				  args->operands[1]);
	cmd = gt_cmd_require(args->operands[0], err);
	return cmd ? gt_cmd_print_help(cmd, args->out, err) : GT_EINPUT;
}

const struct gt_cmd gt_cmd_help = {
	.name = "help",
	.summary = "list the commands, or show one command's options",
	.operands = "[COMMAND]",
	.operands_max = -1,
	.opts = gt_help_opts,
	.opts_bytes = sizeof(struct gt_help_opts),
	.run = cmd_help,
};
