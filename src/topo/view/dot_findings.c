/*
 * Says in a picture what is wrong with the machine: below it, a line for each
 * device, whose box is outlined in red.
 */
#include "topo/view/drawing.h"

#include <stdio.h>
#include <string.h>

#include "topo/graph/inside.h"
#include "topo/lint/finding.h"
#include "topo/view/show_line.h"
#include "topo/view/show_lint.h"

enum {
	GT_DOT_PROBLEMS = 16, /* the most lines */
	GT_DOT_LINE = 120,    /* characters of a line, after which it goes on */
};

int gt_dot_problem(const struct gt_dot_drawing *drawing, uint32_t index,
		   char *text, size_t size)
{
	const struct gt_topo *topo = drawing->topo;
	const struct gt_show show = {.topo = topo, .lint = drawing->lint};

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		struct gt_show_line line = {.depth = 0};

		if (drawing->layout.drawn_as[i] != index)
			continue;
		gt_show_notes(&show, &topo->nodes[i], &line);
		if (!line.problem)
			continue;
		snprintf(text, size, "%s", line.note);
		return 1;
	}
	return 0;
}

/* Writes a line in red, and what does not fit into it below. */
static void write_line(struct gt_dot_drawing *drawing, const char *text)
{
	char line[GT_DOT_LINE + 8];
	const char *before = "! ";
	size_t len;

	while (*text) {
		len = strlen(text);
		if (len > GT_DOT_LINE) {
			for (len = GT_DOT_LINE; len && text[len] != ' ';)
				len--;
			len = len ? len : GT_DOT_LINE;
		}
		snprintf(line, sizeof(line), "%s%.*s", before, (int)len, text);
		gt_dot_legend(drawing, line, GT_DOT_RED, 0);
		text += len;
		text += strspn(text, " ");
		before = "   ";
	}
}

void gt_dot_list_problems(struct gt_dot_drawing *drawing)
{
	const struct gt_topo *topo = drawing->topo;
	const struct gt_show show = {.topo = topo, .lint = drawing->lint};
	uint32_t nfindings = show.lint ? show.lint->nfindings : 0, n = 0;
	char name[GT_DOT_NAME], text[2 * GT_SHOW_TEXT];

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		struct gt_show_line line = {.depth = 0};

		gt_show_notes(&show, &topo->nodes[i], &line);
		if (!line.problem || n++ >= GT_DOT_PROBLEMS)
			continue;
		gt_dot_name(topo, i, name);
		snprintf(text, sizeof(text), "%s: %s", name, line.note);
		write_line(drawing, text);
	}
	for (uint32_t i = 0; i < nfindings; i++)
		if (gt_show_lint_rest_text(&show, i, text, sizeof(text)) &&
		    n++ < GT_DOT_PROBLEMS)
			write_line(drawing, text);
	for (uint32_t i = 0; i < topo->nwarnings; i++)
		if (n++ < GT_DOT_PROBLEMS)
			write_line(drawing, topo->warnings[i]);
	if (n <= GT_DOT_PROBLEMS)
		return;
	snprintf(text, sizeof(text), "%u more, which the tree has",
		 n - GT_DOT_PROBLEMS);
	write_line(drawing, text);
}
