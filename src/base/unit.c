/* Sizes, rates and times as people write them. */
#include "base/unit.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

int gt_unit_bytes(const char *text, uint64_t *bytes)
{
	static const char letters[] = "KMGT";
	unsigned long long value;
	const char *letter;
	char *end;
	int shift = 0;

	if (!isdigit((unsigned char)*text))
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	letter = *end ? strchr(letters, toupper((unsigned char)*end)) : NULL;
	if (letter) {
		shift = 10 * (int)(letter - letters + 1);
		end++;
		if (!strcasecmp(end, "iB") || !strcasecmp(end, "B"))
			end += strlen(end);
	}
	if (*end || errno || value > UINT64_MAX >> shift)
		return 0;
	*bytes = (uint64_t)value << shift;
	return 1;
}

int gt_unit_ns(const char *text, int64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"", 1e9},  {"ns", 1},   {"us", 1e3},  {"ms", 1e6},
		     {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
	char *end;
	double value;

	if (!isdigit((unsigned char)*text))
		return 0;
	value = strtod(text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(end, units[i].name))
			continue;
		value *= units[i].ns;
		if (!isfinite(value) || value > 9e18)
			return 0;
		*ns = (int64_t)value;
		return 1;
	}
	return 0;
}

int gt_unit_int(const char *text, int64_t min, int64_t max, int64_t *value)
{
	long long number;
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '-')
		return 0;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno || *end || end == text || number < min || number > max)
		return 0;
	*value = number;
	return 1;
}
