/*
 * Measured ways of NCCL as a table for its example tuner plugin, which reads
 * CSV: collective, least and most bytes, algorithm, protocol, channels, nodes,
 * ranks, pipelined operations, registered buffers.
 */
#ifndef GT_REPORT_NCCL_TUNER_H
#define GT_REPORT_NCCL_TUNER_H

#include <stdint.h>

struct gt_buf;
struct gt_err;
struct gt_json;

/* What went into the table. */
struct gt_nccl_tuner_stats {
	uint32_t nrows;   /* sizes with ways that were forced */
	uint32_t nmissed; /* of those, where the default is faster than all */
	uint32_t nlines;  /* of the table */
};

/*
 * Append the table of a race of bench/vs-nccl with -F.  Every size has a line,
 * also where NCCL's default is faster: the plugin (2.30.7) asks for one channel
 * wherever it finds none.  Captured operations count as registered there, so
 * lines are for both.  GT_EINPUT when it is no such race, or no way was forced.
 */
int gt_nccl_tuner_write(const struct gt_json *race, struct gt_buf *out,
			struct gt_nccl_tuner_stats *stats, struct gt_err *err);

#endif
