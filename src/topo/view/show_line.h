/*
 * The inside of a tree, for the files that make it: show_line.c (lines, their
 * columns and colours), show.c (branches), show_interconnect.c (NVSwitches,
 * links between CPUs) and show_cluster.c (several machines).
 */
#ifndef GT_TOPO_VIEW_SHOW_LINE_H
#define GT_TOPO_VIEW_SHOW_LINE_H

#include <stddef.h>

#include "base/tint.h"

struct gt_buf;
struct gt_link;
struct gt_lint;
struct gt_topo;

enum {
	GT_SHOW_DEPTH = 256, /* XML is no deeper */
	GT_SHOW_TEXT = 256,
};

struct gt_show_line {
	int depth;
	/* NUMA nodes are bold, GPUs green, ports and networks cyan */
	enum gt_tint tint;
	char label[GT_SHOW_TEXT];
	char rate[48];   /* "gen5 x16" */
	char gbs[32];    /* "63.0 GB/s" */
	char text[2048]; /* the rest of the line */
	char note[256];  /* a note on what is odd */
	int problem;
};

struct gt_show {
	const struct gt_topo *topo;
	const struct gt_lint *lint; /* or NULL */
	struct gt_buf *out;
	int ascii, colour; /* the style, struct gt_show_style */
	/* whether lines are only measured, for the width of columns */
	int measuring;
	int width;      /* the width of the tree and its labels */
	int rate_width; /* the width of "gen5 x16" */
	/* whether siblings follow, at each depth */
	char more[GT_SHOW_DEPTH + 1];
};

/* Write the line, or only measure it. */
void gt_show_line(struct gt_show *show, const struct gt_show_line *line);

/* Append a problem to the line's note. */
void gt_show_problem(struct gt_show_line *line, const char *text);

/* Append a word to the line's text. */
void gt_show_add(struct gt_show_line *line, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

void gt_show_tint(const struct gt_show *show, enum gt_tint tint);

/* Write text of the file; no control characters reach the terminal. */
void gt_show_puts(const struct gt_show *show, const char *text);

/* Write the GB/s of links side by side: "25.0", "18 x 25.0". */
void gt_show_parallel_links(const struct gt_link *link, char *text,
			    size_t size);

/* Returns whether there is anything for gt_show_interconnect() to show. */
int gt_show_has_interconnect(const struct gt_topo *topo);

/*
 * Show the links that no branch holds: those to NVSwitches, and the slowest one
 * between CPUs.
 */
void gt_show_interconnect(struct gt_show *show);

#endif
