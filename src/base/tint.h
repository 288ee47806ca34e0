/*
 * Colours of a terminal, for what commands print.  Red is wrong, yellow is odd,
 * green is right, and a place stands out in bold.
 */
#ifndef GT_BASE_TINT_H
#define GT_BASE_TINT_H

struct gt_buf;

enum gt_tint {
	GT_TINT_NONE,
	GT_TINT_BOLD,
	GT_TINT_GREEN,
	GT_TINT_CYAN,
	GT_TINT_YELLOW,
	GT_TINT_RED,
};

/*
 * Append text in a colour, unless `colour` is 0; its control characters do not
 * reach the terminal, see gt_buf_put_plain().
 */
void gt_tint_put(struct gt_buf *out, int colour, enum gt_tint tint,
		 const char *text);

/* Begin a colour, or end it with GT_TINT_NONE; nothing where `colour` is 0. */
void gt_tint_begin(struct gt_buf *out, int colour, enum gt_tint tint);

#endif
