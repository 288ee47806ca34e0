/* Reads bus ids as sysfs, NVML and users write them. */
#include "base/bus_id.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

int gt_bus_id_normalize(const char *text, char own[GT_BUS_ID_MAX])
{
	unsigned domain, bus, device, function;
	char rest;

	if (strlen(text) >= GT_BUS_ID_MAX ||
	    sscanf(text, "%8x:%2x:%2x.%1x%c", &domain, &bus, &device, &function,
		   &rest) != 4)
		return 0;
	snprintf(own, GT_BUS_ID_MAX, "%04x:%02x:%02x.%x", domain, bus, device,
		 function);
	return 1;
}

const char *gt_bus_id_normalize_dup(struct gt_arena *arena, const char *text)
{
	char own[GT_BUS_ID_MAX], *lower;

	if (strspn(text, "0123456789abcdefABCDEF:.") == strlen(text) &&
	    gt_bus_id_normalize(text, own))
		return gt_arena_strdup(arena, own);
	lower = gt_arena_strdup(arena, text);
	for (char *c = lower; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return lower;
}
