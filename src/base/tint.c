/* Writes the escape sequences that terminals know colours by. */
#include "base/tint.h"

#include "base/buf.h"

void gt_tint_begin(struct gt_buf *out, int colour, enum gt_tint tint)
{
	static const char *const codes[] = {
		[GT_TINT_NONE] = "\033[0m",    [GT_TINT_BOLD] = "\033[1m",
		[GT_TINT_GREEN] = "\033[32m",  [GT_TINT_CYAN] = "\033[36m",
		[GT_TINT_YELLOW] = "\033[33m", [GT_TINT_RED] = "\033[1;31m",
	};

	if (colour)
		gt_buf_puts(out, codes[tint]);
}

void gt_tint_put(struct gt_buf *out, int colour, enum gt_tint tint,
		 const char *text)
{
	if (tint != GT_TINT_NONE)
		gt_tint_begin(out, colour, tint);
	gt_buf_put_plain(out, text);
	if (tint != GT_TINT_NONE)
		gt_tint_begin(out, colour, GT_TINT_NONE);
}
