/*
 * The only place that turns text into sizes, times and bandwidths and back.
 * Sizes count in 1024 (K, M, G, T, as nccl-tests); bandwidths are 1e9 bytes/s.
 */
#ifndef GT_BASE_UNIT_H
#define GT_BASE_UNIT_H

#include <stdint.h>

/* "4096", "16K", "16KiB", "1G", "1GB": the whole text.  1 on success. */
int gt_unit_bytes(const char *text, uint64_t *bytes);

/* "500ms", "2s", "10m", "30" (seconds).  1 on success. */
int gt_unit_ns(const char *text, int64_t *ns);

/* A whole decimal number within [min, max].  1 on success. */
int gt_unit_int(const char *text, int64_t min, int64_t max, int64_t *value);

#endif
