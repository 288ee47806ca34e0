/*
 * Has the numbers of NCCL's rules.
 */
#include "topo/nccl/rules.h"

#define GT_COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define GT_GBS(n)   ((int64_t)(n)*1000000)

void gt_nccl_rules_init(int sm, struct gt_nccl_rules *rules)
{
	static const int64_t old[] = {
		GT_GBS(40), GT_GBS(30), GT_GBS(20), GT_GBS(18), GT_GBS(15),
		GT_GBS(12), GT_GBS(10), GT_GBS(9),  GT_GBS(7),  GT_GBS(6),
		GT_GBS(5),  GT_GBS(4),  GT_GBS(3),
	};
	static const int64_t sm90[] = {
		GT_GBS(60), GT_GBS(50), GT_GBS(40), GT_GBS(30),
		GT_GBS(24), GT_GBS(20), GT_GBS(15), GT_GBS(12),
		GT_GBS(11), GT_GBS(6),  GT_GBS(3),
	};
	static const int64_t sm100[] = {
		GT_GBS(90), GT_GBS(80), GT_GBS(70), GT_GBS(60),
		GT_GBS(50), GT_GBS(45), GT_GBS(40), GT_GBS(30),
		GT_GBS(24), GT_GBS(20), GT_GBS(19), GT_GBS(18),
	};

	*rules = (struct gt_nccl_rules){
		.speeds_kbs = old,
		.nspeeds = GT_COUNT(old),
		.max_channels = 32,
		.tries_same = 256,
		.tries = 16384,
		.tries_all = 524288,
		.enough = 1,
		.kinds_in_turn = 1,
		.amd_same = 1,
	};
	if (sm >= 90) {
		rules->speeds_kbs = sm >= 100 ? sm100 : sm90;
		rules->nspeeds = sm >= 100 ? GT_COUNT(sm100) : GT_COUNT(sm90);
	}
}
