/*
 * Which part of the bytes each tree through switches carries, and the prices
 * of links that prove that no parts carry more.
 */
#ifndef GT_SEARCH_MULTICAST_PARTS_H
#define GT_SEARCH_MULTICAST_PARTS_H

#include <stdint.h>

#include "base/rat.h"

struct gt_err;
struct gt_multicast_site;
struct gt_proposal;

/*
 * Fill in the rates of the proposal's channels, one a tree in their order, and
 * value, bound and prices.  Channels of no rate are left out.
 */
int gt_multicast_parts(const struct gt_multicast_site *site,
		       struct gt_proposal *proposal, struct gt_err *err);

#endif
