/* Reads characters of UTF-8 and refuses what is none. */
#include "base/utf8.h"

#include <stdint.h>

size_t gt_utf8_char(const char *text)
{
	/* the least character that is written in so many bytes */
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *at = (const unsigned char *)text;
	size_t len = *at < 0x80             ? 1
		     : (*at & 0xe0) == 0xc0 ? 2
		     : (*at & 0xf0) == 0xe0 ? 3
		     : (*at & 0xf8) == 0xf0 ? 4
					    : 0;
	uint32_t c = len > 1 ? *at & (0x7fu >> len) : *at;

	if (!*at)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (at[i] & 0x3f);
	}
	if (!len || c < least[len] || c > 0x10ffff ||
	    (c >= 0xd800 && c < 0xe000))
		return 0;
	return len;
}

int gt_utf8_is_valid(const char *text)
{
	size_t len;

	for (; *text; text += len) {
		len = gt_utf8_char(text);
		if (!len)
			return 0;
	}
	return 1;
}
