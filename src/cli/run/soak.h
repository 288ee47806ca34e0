/*
 * `gtopo run --soak`: random operations, one after the other, every element
 * of every result checked, for a given time.
 */
#ifndef GT_CLI_RUN_SOAK_H
#define GT_CLI_RUN_SOAK_H

#include <stdint.h>

struct gt_err;
struct gt_run_sweep;

/*
 * Collectives, types and operators of the sweep, sizes up to its largest;
 * the same row of operations each time.  Says at the end, on standard output,
 * how many there were.  GT_ENO without words when data were wrong.
 */
int gt_run_soak(const struct gt_run_sweep *sweep, int64_t duration_ns,
		struct gt_err *err);

#endif
