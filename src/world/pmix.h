/*
 * PMIx: the launcher's own service (PMIx Standard 4).  It says who this
 * process is and carries process 0's address and secret to the others; after
 * that it is not needed any more.  The library is loaded when it is asked
 * for, so the program runs where there is none.
 */
#ifndef GT_WORLD_PMIX_H
#define GT_WORLD_PMIX_H

#include "world/launch.h"

struct gt_err;

/* As gt_launch_find(); GT_EINPUT when it was built without PMIx. */
int gt_pmix_find(const char *iface, struct gt_world_config *config,
		 struct gt_launch_info *launch, struct gt_err *err);

#endif
