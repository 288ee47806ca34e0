/* The table of all links that this program has. */
#include "exec/link/link.h"

#include <config.h>
#include <stddef.h>
#include <string.h>

static const struct gt_link_ops *const gt_links[] = {
	&gt_link_shm,
	&gt_link_tcp,
	&gt_link_null,
#ifdef HAVE_VERBS
	&gt_link_verbs,
#endif
};

const struct gt_link_ops *gt_link_find(const char *name)
{
	for (size_t i = 0; i < sizeof(gt_links) / sizeof(*gt_links); i++)
		if (!strcmp(gt_links[i]->name, name))
			return gt_links[i];
	return NULL;
}
