/*
 * An all-to-all whose matrix all ranks know may go through other ranks: where
 * the plan's nodes are joined by rails (search/rails), each rank plans the same
 * schedule from the same matrix, in less than a millisecond, and nobody meets.
 * Its own messages are then those of the schedule's rounds (lib/rounds.h).
 */
#ifndef GT_LIB_RELAYS_H
#define GT_LIB_RELAYS_H

#include <stdint.h>

#include "base/dtype.h"

struct gt_batch;
struct gt_err;
struct gt_relays;
struct gtopo_comm;

/*
 * Find out, with all processes, whether all-to-alls may go so: on the host,
 * where the plan has rails and its nodes are the hosts, so that rails are what
 * bytes go over.  With GTOPO_ROWS the plan is believed.  *relays is NULL where
 * they may not.
 */
int gt_relays_new(const struct gtopo_comm *comm, struct gt_relays **relays,
		  struct gt_err *err);
void gt_relays_free(struct gt_relays *relays); /* NULL is allowed */

/*
 * Replace the rank's messages, one to and one from each rank, by those of a
 * schedule of counts[from * n + to] elements, if that is faster by the plan's
 * rates.  Any number of threads may.  GTOPO_ESYSTEM when memory ran out.
 */
int gt_relays_reroute(struct gt_relays *relays, uint32_t rank,
		      const uint64_t *counts, enum gt_dtype dtype,
		      struct gt_batch **batch);

#endif
