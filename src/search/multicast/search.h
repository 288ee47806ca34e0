/*
 * Plans in which switches multicast and add up: NVSwitches (NCCL's NVLS), or
 * those of the network between nodes whose NVSwitches do (CollNet, SHARP).
 *
 * GPUs drive switches.  For an all-reduce each of n GPUs reads its part of the
 * sums and writes it to all: every link carries all bytes and that part once
 * more.  The best parts are found in closed form, with prices that prove them.
 */
#ifndef GT_SEARCH_MULTICAST_SEARCH_H
#define GT_SEARCH_MULTICAST_SEARCH_H

struct gt_err;
struct gt_plan;
struct gt_search_request;

/*
 * Find the plan of a machine or a flat cluster; `joins`: over the network's
 * switches, for an all-reduce.  GT_EINPUT for what switches do not do; GT_ENO,
 * and what is missing, where they cannot.
 */
int gt_multicast_search(const struct gt_search_request *request, int joins,
			struct gt_plan **plan, struct gt_err *err);

#endif
