/* Graphs in Graphviz's language as pictures, by its library. */
#ifndef GT_BASE_DRAW_H
#define GT_BASE_DRAW_H

struct gt_buf;
struct gt_err;

/*
 * Append the picture, "svg" or "png", of a graph that says itself where all
 * is drawn (layout "nop2").  GT_EINPUT when this program was built without the
 * library, GT_ESYS when it fails.  The library has globals: one thread at a
 * time.
 */
int gt_draw(const char *dot, const char *format, struct gt_buf *out,
	    struct gt_err *err);

#endif
