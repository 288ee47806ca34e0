/* What is asked of a fabric as a whole. */
#include "search/problem/fabric.h"

int gt_fabric_is_routed(const struct gt_fabric *f)
{
	uint32_t n = f->nranks;

	if (f->open)
		return 0;
	for (uint32_t i = 0; i < n * n; i++)
		if (i / n != i % n && !f->routes[i].nlinks)
			return 0;
	return 1;
}
