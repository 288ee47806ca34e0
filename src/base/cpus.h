/* Processors that this process may use. */
#ifndef GT_BASE_CPUS_H
#define GT_BASE_CPUS_H

#include <pthread.h>
#include <stdint.h>

/* How many; at least 1. */
uint32_t gt_cpus_count(void);

/*
 * Keep a thread on those of them that are next to a device, which is a folder
 * of /sys with a local_cpulist.  1: it was bound; 0: nothing was changed, since
 * all or none of them are, or nobody knows.
 */
int gt_cpus_near(pthread_t thread, const char *device);

/*
 * Move the calling thread to the one of them with that number, counted round,
 * without tying it to it.  0: it was there, or cannot go.
 */
int gt_cpus_visit(uint32_t number);

#endif
