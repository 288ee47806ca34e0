/*
 * PMIx: the launcher's own service (PMIx Standard 4).  It says who this
 * process is and carries process 0's address and secret to the others; after
 * that it is not needed any more.  The library is loaded when it is asked
 * for, so the program runs where there is none.
 */
#ifndef GT_WORLD_PMIX_H
#define GT_WORLD_PMIX_H

#include <stdint.h>

struct gt_err;
struct gt_world_config;

/*
 * Fill in *config as gt_launcher_find() does, and this process's place among
 * those of its host, 0 of 0 if that is not known.  GT_EINPUT when the program
 * was built without PMIx.
 */
int gt_pmix_find(const char *iface, struct gt_world_config *config,
		 uint32_t *local_rank, uint32_t *local_size,
		 struct gt_err *err);

#endif
