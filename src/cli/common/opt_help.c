/*
 * Options as text: the usage line, the help, and the word nearest to a mistyped
 * one.
 */
#include "cli/common/opt.h"

#include <string.h>

#include "base/buf.h"

enum {
	GT_OPT_LINE = 80,
	GT_OPT_COLUMN = 26,   /* where an option's explanation starts */
	GT_OPT_ARG_MAX = 48,  /* words longer than that are named NAME */
	GT_OPT_WORD_MAX = 32, /* longest word that suggestions look at */
};

/* Return the argument's name; words that fill a line are for the help text. */
static int gt_opt_is_long(const struct gt_opt *opt)
{
	return opt->type == GT_OPT_WORD && strlen(opt->arg) > GT_OPT_ARG_MAX;
}

static const char *gt_opt_arg(const struct gt_opt *opt)
{
	return gt_opt_is_long(opt) ? "NAME" : opt->arg;
}

void gt_opt_usage(const struct gt_opt *opts, struct gt_buf *out)
{
	for (; opts && opts->type; opts++) {
		if (opts->type == GT_OPT_FOREIGN)
			continue;
		if (opts->letter)
			gt_buf_printf(out, " [-%c", opts->letter);
		else
			gt_buf_printf(out, " [--%s", opts->name);
		if (opts->arg)
			gt_buf_printf(out, " %s", gt_opt_arg(opts));
		gt_buf_puts(out, "]");
	}
}

/*
 * Add the text at the column, in lines that end behind a space or a bar; the
 * first one has `used` characters already.
 */
static void gt_opt_wrap(const char *text, unsigned used, struct gt_buf *out)
{
	size_t room = GT_OPT_LINE - GT_OPT_COLUMN, len, fits;

	for (; *text; text += len, used = 0) {
		len = fits = strlen(text);
		if (fits > room) {
			fits = room;
			while (fits && text[fits] != ' ' &&
			       text[fits - 1] != '|')
				fits--;
			if (!fits) /* a longer word */
				fits = strcspn(text, " ");
			len = fits + (text[fits] == ' ');
		}
		gt_buf_printf(out, "%*s%.*s\n", (int)(GT_OPT_COLUMN - used), "",
			      (int)fits, text);
	}
}

void gt_opt_help(const struct gt_opt *opts, struct gt_buf *out)
{
	struct gt_buf text = GT_BUF_INIT;
	size_t start;

	for (; opts && opts->type; opts++) {
		if (opts->type == GT_OPT_FOREIGN)
			continue;
		start = out->len;
		if (opts->letter)
			gt_buf_printf(out, "  -%c, ", opts->letter);
		else
			gt_buf_puts(out, "      ");
		gt_buf_printf(out, "--%s", opts->name);
		if (opts->arg)
			gt_buf_printf(out, " %s", gt_opt_arg(opts));
		text.len = 0;
		gt_buf_puts(&text, opts->help);
		if (gt_opt_is_long(opts))
			gt_buf_printf(&text, ": %s", opts->arg);
		if (out->len - start > GT_OPT_COLUMN - 2) {
			gt_buf_puts(out, "\n");
			start = out->len;
		}
		gt_opt_wrap(gt_buf_text(&text) ? gt_buf_text(&text) : "",
			    (unsigned)(out->len - start), out);
	}
	/* Half of the text would mislead, so it fails as a whole. */
	out->failed |= text.failed;
	gt_buf_release(&text);
}

static int gt_min3(int a, int b, int c)
{
	int m = a < b ? a : b;

	return m < c ? m : c;
}

/* Compute Levenshtein's distance, one row at a time. */
int gt_opt_distance(const char *a, const char *b)
{
	int row[GT_OPT_WORD_MAX + 1], left, corner;
	size_t na = strlen(a), nb = strlen(b);

	if (na > GT_OPT_WORD_MAX || nb > GT_OPT_WORD_MAX)
		return GT_OPT_WORD_MAX;
	for (size_t j = 0; j <= nb; j++)
		row[j] = (int)j;
	for (size_t i = 0; i < na; i++) {
		corner = row[0];
		row[0] = (int)i + 1;
		for (size_t j = 1; j <= nb; j++) {
			left = row[j];
			row[j] = gt_min3(row[j] + 1, row[j - 1] + 1,
					 corner + (a[i] != b[j - 1]));
			corner = left;
		}
	}
	return row[nb];
}

const char *gt_opt_nearest(const char *word, int n,
			   const char *(*name)(int i, const void *arg),
			   const void *arg)
{
	int distance, best = 3; /* more typing errors than that: a guess */
	const char *near = NULL;

	for (int i = 0; i < n; i++) {
		distance = gt_opt_distance(word, name(i, arg));
		if (distance < best && distance < (int)strlen(word)) {
			best = distance;
			near = name(i, arg);
		}
	}
	return near;
}
