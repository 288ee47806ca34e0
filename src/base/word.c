/* Compares words as people mean them. */
#include "base/word.h"

#include <ctype.h>
#include <string.h>

/* The next character that counts, as a small letter; NUL at the end. */
static int next(const char **at)
{
	*at += strspn(*at, "-_ ");
	return **at ? tolower((unsigned char)*(*at)++) : '\0';
}

int gt_word_is(const char *word, const char *text)
{
	int a, b;

	do {
		a = next(&word);
		b = next(&text);
	} while (a == b && a);
	return a == b;
}
