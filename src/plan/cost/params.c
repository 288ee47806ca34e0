/* The defaults of the cost model, as they were fitted to measurements. */
#include "plan/cost/params.h"

const char *gt_cost_hop_name(enum gt_cost_hop hop)
{
	static const char *const names[] = {"NVL", "PCI", "SYS", "NET", "HOST"};

	return names[hop];
}

struct gt_cost_params gt_cost_default(enum gt_protocol protocol)
{
	static const struct gt_cost_params params[] = {
		[GT_PROTOCOL_SIMPLE] = {6.3,
					{3.85, 5.7, 5.7, 14, 6.9},
					0.99,
					0.72,
					33.7,
					3900},
		[GT_PROTOCOL_LL] =
			{1.85, {1.8, 2.3, 2.3, 4, 4.05}, 0.5, 0.34, 2900, 3900},
		[GT_PROTOCOL_LL128] =
			{1.85, {1.8, 2.5, 2.5, 4, 4.05}, 0.89, 0.34, 45, 2200},
		[GT_PROTOCOL_DIRECT] = {4.8,
					{2.7, 5.7, 5.7, 14, 6.9},
					0.96,
					0.72,
					2900,
					39000},
		[GT_PROTOCOL_CE] =
			{2, {9, 10, 10, 14, 20}, 1.057, 0.74, 400, 3900},
	};

	return params[protocol];
}
