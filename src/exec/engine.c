#include "exec/engine.h"

#include <config.h>
#include <stddef.h>
#include <string.h>

/* The best one first. */
static const struct gt_engine_ops *const gt_engines[] = {
#ifdef HAVE_CUDA
	&gt_engine_cuda,
#endif
	&gt_engine_host,
};

const struct gt_engine_ops *gt_engine_find(const char *name)
{
	for (size_t i = 0; i < sizeof(gt_engines) / sizeof(*gt_engines); i++)
		if (name ? !strcmp(gt_engines[i]->name, name)
			 : gt_engines[i]->usable())
			return gt_engines[i];
	return NULL;
}
