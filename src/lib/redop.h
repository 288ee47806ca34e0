/*
 * Operators that a rank makes by gtopo_op_create_premul().
 */
#ifndef GT_LIB_REDOP_H
#define GT_LIB_REDOP_H

#include "lib/state.h"

/*
 * With the mutex held: replace the number of an operator that the rank has made
 * by what it stands for; GTOPO_EINPUT if there is none for the call's type.
 */
int gt_redop_resolve(const struct gtopo_comm *comm, int rank,
		     struct gt_call *call);

#endif
