/*
 * Reads variables that hide GPUs from programs: CUDA_VISIBLE_DEVICES and the
 * like.
 */
#ifndef GT_TOPO_PROBE_VISIBLE_DEVICES_H
#define GT_TOPO_PROBE_VISIBLE_DEVICES_H

/*
 * Returns whether the list shows the GPU of that index or uuid (NULL: unknown),
 * as the drivers read it: indices and beginnings of uuids with commas between,
 * up to the first that is neither.  NULL shows all.  Which GPU an instance
 * (MIG-…) is part of cannot be seen, so a list with one shows all, too.
 */
int gt_gpu_is_visible(const char *list, int index, const char *uuid);

#endif
