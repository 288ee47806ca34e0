/* Small things of English that messages share. */
#ifndef GT_BASE_TEXT_H
#define GT_BASE_TEXT_H

#include <stdint.h>
#include <string.h>

/*
 * Returns the ending that makes a noun agree with its number: "1 GPU", "2
 * GPUs".
 */
static inline const char *gt_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static inline int gt_starts_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* The first character that is no blank, by which a format is told; or NUL. */
static inline char gt_first_char(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && (text[i] == ' ' || text[i] == '\t' ||
			   text[i] == '\r' || text[i] == '\n'))
		i++;
	return i < len ? text[i] : '\0';
}

/*
 * Replace control characters by '?': what another process or a file says goes
 * to terminals.  Characters beyond ASCII stay, but for the second byte of the
 * control characters among them.
 */
static inline void gt_text_make_printable(char *text)
{
	unsigned char c, before = 0;

	for (; *text; text++) {
		c = (unsigned char)*text;
		if (c < ' ' || c == 0x7f ||
		    (before == 0xc2 && c >= 0x80 && c < 0xa0) ||
		    (before < 0x80 && c >= 0x80 && c < 0xc0))
			*text = '?';
		before = c;
	}
}

#endif
