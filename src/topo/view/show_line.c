/*
 * Writes one line of a tree: its branches, columns and colours, and text
 * without control characters.
 */
#include "topo/view/show_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "topo/graph/topo.h"

void gt_show_tint(const struct gt_show *show, enum gt_tint tint)
{
	gt_tint_begin(show->out, show->colour, tint);
}

void gt_show_puts(const struct gt_show *show, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	for (; *at; at++) {
		int c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;

		if (*at < 0x20 || *at == 0x7f || c1 ||
		    (*at >= 0x80 && show->ascii))
			gt_buf_puts(show->out, "?");
		else
			gt_buf_add(show->out, at, 1);
		at += c1;
	}
}

void gt_show_problem(struct gt_show_line *line, const char *text)
{
	size_t len;

	/* A note that is merely odd yields to what is wrong. */
	if (!line->problem)
		*line->note = '\0';
	len = strlen(line->note);
	snprintf(line->note + len, sizeof(line->note) - len, "%s%s",
		 len ? "; " : "", text);
	line->problem = 1;
}

static void gt_show_branches(const struct gt_show *show, int depth)
{
	const char *const *lines =
		show->ascii ? (const char *const[]){"|  ", "   ", "|- ", "`- "}
			    : (const char *const[]){"│  ", "   ", "├─ ", "└─ "};

	for (int i = 1; i < depth; i++)
		gt_buf_puts(show->out, lines[show->more[i] ? 0 : 1]);
	if (depth)
		gt_buf_puts(show->out, lines[show->more[depth] ? 2 : 3]);
}

/* Counts characters, not bytes. */
static int gt_show_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void gt_show_measure(struct gt_show *show,
			    const struct gt_show_line *line)
{
	int width = 3 * line->depth + gt_show_width(line->label);
	int rate = (int)strlen(line->rate);

	if (width > show->width)
		show->width = width;
	if (rate > show->rate_width)
		show->rate_width = rate;
}

void gt_show_line(struct gt_show *show, const struct gt_show_line *line)
{
	struct gt_buf *out = show->out;

	if (show->measuring) {
		gt_show_measure(show, line);
		return;
	}
	gt_show_branches(show, line->depth);
	gt_show_tint(show, line->tint);
	gt_show_puts(show, line->label);
	gt_show_tint(show, GT_TINT_NONE);
	if (*line->rate || *line->gbs || *line->text || *line->note)
		gt_buf_printf(out, "%*s  %-*s %10s",
			      show->width - 3 * line->depth -
				      gt_show_width(line->label),
			      "", show->rate_width, line->rate, line->gbs);
	if (*line->text) {
		gt_buf_puts(out, "  ");
		gt_show_puts(show, line->text);
	}
	if (*line->note) {
		gt_buf_puts(out, "  ");
		gt_show_tint(show,
			     line->problem ? GT_TINT_RED : GT_TINT_YELLOW);
		gt_buf_puts(out, line->problem ? "! " : "(");
		gt_show_puts(show, line->note);
		gt_buf_puts(out, line->problem ? "" : ")");
		gt_show_tint(show, GT_TINT_NONE);
	}
	gt_buf_puts(out, "\n");
}

void gt_show_add(struct gt_show_line *line, const char *fmt, ...)
{
	size_t len = strlen(line->text);
	va_list args;

	if (len && len + 2 < sizeof(line->text)) {
		memcpy(line->text + len, ", ", 3);
		len += 2;
	}
	va_start(args, fmt);
	vsnprintf(line->text + len, sizeof(line->text) - len, fmt, args);
	va_end(args);
}

void gt_show_parallel_links(const struct gt_link *link, char *text, size_t size)
{
	double gbs = gt_rat_double(link->gbs);

	if (link->count > 1)
		snprintf(text, size, "%u x %.1f", link->count,
			 gbs / link->count);
	else
		snprintf(text, size, "%.1f", gbs);
}
