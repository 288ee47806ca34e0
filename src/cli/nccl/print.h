/*
 * NCCL's choice on a machine, as text and as JSON.
 */
#ifndef GT_CLI_NCCL_PRINT_H
#define GT_CLI_NCCL_PRINT_H

#include <stdint.h>

struct gt_buf;
struct gt_lint;
struct gt_nccl_answer;
struct gt_nccl_remedy;
struct gt_topo;

/* All that is to be told of one machine. */
struct gt_nccl_told {
	const char *file;
	const struct gt_topo *topo;
	const struct gt_nccl_answer *answer;
	const struct gt_lint *lint;
	const struct gt_nccl_remedy *remedies;
	uint32_t nremedies;
	int colour;
};

void gt_nccl_print(const struct gt_nccl_told *told, struct gt_buf *out);
void gt_nccl_print_json(const struct gt_nccl_told *told, struct gt_buf *out);

#endif
