/*
 * The rules by which NCCL chooses rings and trees within one machine, those of
 * version 2.30.7, as data: so that one rule can be lifted, and what it costs be
 * told.  docs/design/nccl.md explains them.
 */
#ifndef GT_TOPO_NCCL_RULES_H
#define GT_TOPO_NCCL_RULES_H

#include <stdint.h>

#define GT_NCCL_VERSION "2.30.7"

struct gt_nccl_rules {
	/* the only speeds of channels that are tried, in kB/s, fastest first */
	const int64_t *speeds_kbs;
	uint32_t nspeeds;
	uint32_t max_channels;
	/*
	 * A search is given up after so many steps: with all channels alike,
	 * with different ones, and all searches together.
	 */
	int64_t tries_same, tries, tries_all;
	/*
	 * What fills a GPU's NVLinks, or its PCI link if that is wider, is
	 * enough.
	 */
	int enough;
	int kinds_in_turn; /* Worse routes wait until better ones fail. */
	/*
	 * Where an AMD processor comes first and routes go between processors,
	 * all channels are alike.
	 */
	int amd_same;
};

/* Gives the rules for GPUs of a compute capability. */
void gt_nccl_rules_init(int sm, struct gt_nccl_rules *rules);

#endif
