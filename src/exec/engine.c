#include "exec/engine.h"

#include <stddef.h>
#include <string.h>

/* The best one first. */
static const struct gt_engine_ops *const gt_engines[] = {
	&gt_engine_host,
};

const struct gt_engine_ops *gt_engine_find(const char *name)
{
	for (size_t i = 0; i < sizeof(gt_engines) / sizeof(*gt_engines); i++)
		if (!name || !strcmp(gt_engines[i]->name, name))
			return gt_engines[i];
	return NULL;
}
