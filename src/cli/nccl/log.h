/*
 * gtopo nccl on a log: what NCCL did in a job, and what makes it slow.
 */
#ifndef GT_CLI_NCCL_LOG_H
#define GT_CLI_NCCL_LOG_H

#include <stdint.h>

struct gt_buf;
struct gt_nccl_advice;
struct gt_nccl_log;

struct gt_nccl_log_told {
	const char *file;
	const struct gt_nccl_log *log;
	const struct gt_nccl_advice *advice;
	uint32_t nadvice;
	int colour;
};

void gt_nccl_log_print(const struct gt_nccl_log_told *told, struct gt_buf *out);
void gt_nccl_log_print_json(const struct gt_nccl_log_told *told,
			    struct gt_buf *out);

#endif
