/* The GPUs that were picked, in the formats of those who want to know. */
#ifndef GT_CLI_PICK_PRINT_H
#define GT_CLI_PICK_PRINT_H

#include "topo/graph/topo.h"

struct gt_buf;
struct gt_pick;

/* Print for people what was picked, and why. */
void gt_pick_print(const struct gt_topo *topo, const struct gt_pick *pick,
		   struct gt_buf *out);

/* Print JSON, schema gtopo.pick/1 of gtopo-pick(1). */
void gt_pick_print_json(const struct gt_topo *topo, enum gt_rates rates,
			const struct gt_pick *pick, struct gt_buf *out);

/* Print the variables that show a program of CUDA these GPUs and no others. */
void gt_pick_print_cuda(const struct gt_topo *topo, const struct gt_pick *pick,
			struct gt_buf *out);

/* Print the option that gives each of Slurm's tasks one of these GPUs. */
void gt_pick_print_slurm(const struct gt_topo *topo, const struct gt_pick *pick,
			 struct gt_buf *out);

#endif
