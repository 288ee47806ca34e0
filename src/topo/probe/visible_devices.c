/* Reads lists of GPUs as the drivers do. */
#include "topo/probe/visible_devices.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int gt_gpu_is_visible(const char *list, int index, const char *uuid)
{
	size_t len, prefix;
	char *end;
	long number;

	if (!list)
		return 1;
	for (; *list; list += len + (list[len] == ',')) {
		list += strspn(list, " \t");
		len = strcspn(list, ",");
		number = strtol(list, &end, 10);
		prefix = strcspn(list, ", \t");
		if (!strncmp(list, "MIG-", 4))
			return 1;
		if (!strncmp(list, "GPU-", 4)) {
			if (uuid && !strncmp(list, uuid, prefix))
				return 1;
		} else if (end != list + prefix || !prefix || number < 0) {
			return 0;
		} else if (number == index) {
			return 1;
		}
	}
	return 0;
}
