/*
 * ABI: functions that are there so that programs load, and say that they do
 * nothing.  Their arguments are not looked at, so none are declared: callers
 * put them where callees leave them alone.
 */
#include "nccl/abi.h"

#include "nccl/group.h"
#include "nccl/say.h"

#define GT_REFUSED(name, what)                                                 \
	GT_NCCL_API(gt_nccl_result, name, void)                                \
	{                                                                      \
		return gt_group_refuse_call(                                   \
			gt_say_error(GT_NCCL_INVALID_USAGE,                    \
				     "%s: gtopo does not have %s", #name,      \
				     what),                                    \
			#name);                                                \
	}

#include "nccl/refused.def"

/* It has slots for nothing, as what it is for is refused. */
GT_NCCL_API(int, ncclLLA2ACalcSlots, int most, int bytes)
{
	(void)most;
	(void)bytes;
	return 0;
}
