/* The GPUs that were picked, in the formats of those who want to know. */
#ifndef GT_CLI_PICK_PRINT_H
#define GT_CLI_PICK_PRINT_H

#include "topo/graph/topo.h"

struct gt_buf;
struct gt_cluster;
struct gt_err;
struct gt_pick;
struct gt_pick_several;

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

/*
 * several.c: the same four formats for GPUs of several nodes.  Slurm's options
 * say of all nodes which GPUs they are, so where these are not the same that is
 * GT_EINPUT.
 */
void gt_pick_several_print(const struct gt_cluster *cluster,
			   const struct gt_pick_several *pick,
			   struct gt_buf *out);
void gt_pick_several_print_json(const struct gt_cluster *cluster,
				enum gt_rates rates,
				const struct gt_pick_several *pick,
				struct gt_buf *out);
void gt_pick_several_print_cuda(const struct gt_cluster *cluster,
				const struct gt_pick_several *pick,
				struct gt_buf *out);
int gt_pick_several_print_slurm(const struct gt_cluster *cluster,
				const struct gt_pick_several *pick,
				struct gt_buf *out, struct gt_err *err);

#endif
