/*
 * Plans that were found, in the user's folder for such: a file for each
 * machine, version of gtopo, and list of GPUs.  A file that is damaged, or not
 * the user's, is a plan that is not there; nothing here can fail a
 * communicator.
 */
#ifndef GT_NCCL_PLAN_CACHE_H
#define GT_NCCL_PLAN_CACHE_H

#include <limits.h>

struct gt_buf;

struct gt_plan_cache {
	char path[PATH_MAX]; /* "": there is no cache */
};

/*
 * Find the place for what `key` tells of, as text.  There is none where
 * GTOPO_CACHE is 0, and without a home.
 */
void gt_plan_cache_find(const char *key, struct gt_plan_cache *cache);

/*
 * Append what is there; 0: nothing is, or it is an hour old, or it cannot be
 * trusted, which is warned of.
 */
int gt_plan_cache_read(const struct gt_plan_cache *cache, struct gt_buf *text);

/* It was read, and is no plan for what was asked. */
void gt_plan_cache_distrust(const struct gt_plan_cache *cache, const char *why);

/* Keep a plan, where that can be. */
void gt_plan_cache_write(const struct gt_plan_cache *cache,
			 const struct gt_buf *text);

#endif
