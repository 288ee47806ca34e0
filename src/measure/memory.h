/*
 * Measuring how fast the processors of a NUMA node read its memory together:
 * DRAM is busy with reads or with writes, so both together are no faster.
 */
#ifndef GT_MEASURE_MEMORY_H
#define GT_MEASURE_MEMORY_H

struct gt_err;

/*
 * Measure a node whose processors are `affinity`, in 32-bit words as the kernel
 * writes them ("ffffffff,00000000"), with a thread on each that this process
 * may use.  *gbs is 0 where half of these reach much less: then it is they that
 * limit, as in a small virtual machine, and not the memory; and where
 * there are less than two, or not the memory.  It takes 1 GiB, and a second or
 * two.  GT_EINPUT for words that are no mask.
 */
int gt_measure_memory(const char *affinity, double *gbs, struct gt_err *err);

#endif
