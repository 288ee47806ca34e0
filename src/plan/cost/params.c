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
		[GT_PROTOCOL_SIMPLE] = {.base_us = 6.3,
					.host_base_us = 6.3,
					.hop_us = {3.85, 5.7, 5.7, 14, 6.9},
					.rate = 0.99,
					.host_rate = 0.64,
					.host_one_way_rate = 1.065,
					.worker_gbs = 33.7,
					.local_gbs = 3900},
		[GT_PROTOCOL_LL] = {.base_us = 1.85,
				    .host_base_us = 1.85,
				    .hop_us = {1.8, 2.3, 2.3, 4, 2.8},
				    .rate = 0.5,
				    .host_rate = 0.307,
				    .host_one_way_rate = 0.56,
				    .worker_gbs = 2900,
				    .local_gbs = 3900},
		[GT_PROTOCOL_LL128] = {.base_us = 1.85,
				       .host_base_us = 1.85,
				       .hop_us = {1.8, 2.5, 2.5, 4, 2.8},
				       .rate = 0.89,
				       .host_rate = 0.307,
				       .host_one_way_rate = 0.56,
				       .worker_gbs = 45,
				       .local_gbs = 2200},
		[GT_PROTOCOL_DIRECT] = {.base_us = 4.8,
					.host_base_us = 4.8,
					.hop_us = {2.7, 5.7, 5.7, 14, 6.9},
					.rate = 0.96,
					.host_rate = 0.64,
					.host_one_way_rate = 1.065,
					.worker_gbs = 2900,
					.local_gbs = 39000},
		[GT_PROTOCOL_CE] = {.base_us = 2,
				    .host_base_us = 27,
				    .hop_us = {9, 10, 10, 14, 7.1},
				    .rate = 1.057,
				    .host_rate = 0.96,
				    .host_one_way_rate = 1.19,
				    .worker_gbs = 400,
				    .local_gbs = 3900},
	};

	return params[protocol];
}
