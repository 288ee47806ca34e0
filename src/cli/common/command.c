/*
 * Commands write through this file: the product to -o or standard output, words
 * to standard error.  The signal handler may do no more than set a flag.
 */
#include "cli/common/command.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"

void gt_cmd_say(const struct gt_cmd *cmd, const char *where, const char *text)
{
	struct gt_buf line = GT_BUF_INIT;

	gt_buf_put_plain(&line, where);
	gt_buf_puts(&line, where[0] ? ": " : "");
	gt_buf_put_plain(&line, text);
	fprintf(stderr, "gtopo%s%s: %s\n", cmd ? " " : "", cmd ? cmd->name : "",
		line.failed ? "out of memory" : line.text);
	gt_buf_release(&line);
}

__attribute__((format(printf, 2, 0))) static void gt_cmd_talk(
	const struct gt_cmd_args *args, const char *fmt, va_list ap)
{
	char text[1024];

	vsnprintf(text, sizeof(text), fmt, ap);
	gt_cmd_say(args->cmd, "", text);
}

int gt_cmd_write(const struct gt_cmd_args *args, struct gt_buf *text, int rc,
		 struct gt_err *err)
{
	if (!rc && text->failed)
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_file_write(args->out, gt_buf_text(text), text->len,
				   err);
	gt_buf_release(text);
	return rc;
}

void gt_cmd_warn(const struct gt_cmd_args *args, const char *fmt, ...)
{
	va_list ap;

	if (args->quiet)
		return;
	va_start(ap, fmt);
	gt_cmd_talk(args, fmt, ap);
	va_end(ap);
}

void gt_cmd_note(const struct gt_cmd_args *args, const char *fmt, ...)
{
	va_list ap;

	if (!args->verbose)
		return;
	va_start(ap, fmt);
	gt_cmd_talk(args, fmt, ap);
	va_end(ap);
}

/* A signal handler gets no argument, so what it sets is global. */
static _Atomic int gt_interrupted;

static void gt_interrupt_on_signal(int number)
{
	gt_interrupted = number;
}

/* The second signal kills: somebody is in a hurry. */
const _Atomic int *gt_interrupt_catch(void)
{
	struct sigaction action = {.sa_handler = gt_interrupt_on_signal,
				   .sa_flags = (int)SA_RESETHAND};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return &gt_interrupted;
}
