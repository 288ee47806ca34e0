/* Names devices and links, and sorts changes by what they gain. */
#include "search/whatif/result.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "search/whatif/whatif.h"
#include "topo/graph/topo.h"

struct gt_whatif *gt_whatif_new(void)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_whatif *whatif =
		arena ? gt_arena_alloc(arena, sizeof(*whatif)) : NULL;

	if (whatif)
		whatif->arena = arena;
	else
		gt_arena_free(arena);
	return whatif;
}

void gt_whatif_free(struct gt_whatif *whatif)
{
	if (whatif)
		gt_arena_free(whatif->arena);
}

const char *gt_whatif_device(struct gt_arena *arena, const struct gt_topo *topo,
			     uint32_t node)
{
	const struct gt_node *device = gt_topo_node(topo, node);
	const char *kind = gt_node_kind_name(device->kind);

	if (device->dev >= 0)
		return gt_arena_printf(arena, "%s%d", kind, device->dev);
	if (device->kind == GT_NODE_NVS)
		return "NVSwitch";
	if (device->bus_id)
		return gt_arena_printf(arena, "%s %s", kind, device->bus_id);
	return gt_arena_strdup(arena, device->id);
}

const char *gt_whatif_link(struct gt_arena *arena, const char *a, const char *b)
{
	return a && b ? gt_arena_printf(arena, "%s\xe2\x80\x93%s", a, b) : NULL;
}

static int compare_changes(const void *a, const void *b)
{
	const struct gt_whatif_change *x = a, *y = b;

	if (x->gain != y->gain)
		return x->gain < y->gain ? 1 : -1;
	if (x->order != y->order)
		return x->order > y->order ? 1 : -1;
	return strcmp(x->name, y->name);
}

void gt_whatif_sort(struct gt_whatif *whatif)
{
	uint32_t n = whatif->nchanges;

	qsort(whatif->changes, n, sizeof(*whatif->changes), compare_changes);
	whatif->nchanges = 0;
	for (uint32_t i = 0; i < n; i++)
		if (whatif->changes[i].is_told ||
		    whatif->changes[i].gain >= GT_WHATIF_MIN_GAIN)
			whatif->changes[whatif->nchanges++] =
				whatif->changes[i];
}
