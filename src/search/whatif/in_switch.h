/*
 * What an all-reduce reaches at most, as bus bandwidth, if NVSwitches multicast
 * and reduce (NCCL's NVLS) as GPUs drive them: from GPUs of Hopper on, all of
 * which have links to NVSwitches, on one machine or on all nodes of a cluster
 * whose NVLinks join them.  0 elsewhere, and for other collectives.
 *
 * It is no bound of what is planned here: no plan has switches compute, and no
 * engine calls multicast.  Whether driver and virtual machine allow it is not
 * known.
 */
#ifndef GT_SEARCH_WHATIF_IN_SWITCH_H
#define GT_SEARCH_WHATIF_IN_SWITCH_H

#include "base/rat.h"

struct gt_cluster_request;
struct gt_search_request;

struct gt_rat gt_whatif_in_switch(const struct gt_search_request *request);
struct gt_rat gt_whatif_in_switch_of_cluster(
	const struct gt_cluster_request *request);

#endif
