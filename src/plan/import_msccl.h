/*
 * An MSCCL algorithm as it was read, and as far as it was executed.  Shared by
 * import_read.c, which reads it, and import_msccl.c, which makes programs of
 * it.
 */
#ifndef GT_PLAN_IMPORT_MSCCL_H
#define GT_PLAN_IMPORT_MSCCL_H

#include <stdint.h>

#include "plan/layout.h"

struct gt_arena;
struct gt_err;
struct gt_plan;
struct gt_xml;
struct gt_xml_elem;

enum gt_algo_type {
	GT_ALGO_TYPE_S,
	GT_ALGO_TYPE_R,
	GT_ALGO_TYPE_RCS,
	GT_ALGO_TYPE_RRS,
	GT_ALGO_TYPE_RRC,
	GT_ALGO_TYPE_RRCS,
	GT_ALGO_TYPE_CPY,
	GT_ALGO_TYPE_RE,
	GT_ALGO_TYPE_NOP,
	GT_NALGOTYPES
};

struct gt_algo_step {
	const struct gt_xml_elem *elem;
	enum gt_algo_type type;
	char src, dst; /* 'i', 'o', 's' */
	int src_at, dst_at;
	int count;
	int dep_tb, dep_step;       /* -1: none, or known already */
	struct gt_algo_wait *waits; /* who waits for this step */
	uint32_t nwaits;
};

/* A thread block that waits for a step of another one. */
struct gt_algo_wait {
	struct gt_algo_wait *next;
	uint16_t conn; /* of the one that posts */
};

/* A chunk on its way: which one, and how many ranks added to it. */
struct gt_algo_value {
	uint32_t chunk, count;
	int known;
	int written; /* since the input came */
};

struct gt_algo_tb {
	int send, recv, chan;
	uint32_t nsteps;
	struct gt_algo_step *steps;
	struct gt_algo_tb *from; /* that sends what this one receives */
	uint32_t nsent, ntaken, step;
	struct gt_algo_value *sent;
	struct gt_program *program;
	uint16_t recv_conn, send_conn;
	int32_t *
		dep_conn; /* by other thread block: the end that waits, or -1 */
};

struct gt_algo_gpu {
	uint32_t ntbs, nscratch;
	int has_input, has_output;
	struct gt_algo_tb *tbs;
	struct gt_algo_value *input, *output, *scratch;
};

struct gt_algo_file {
	struct gt_xml *xml;
	struct gt_arena *arena;
	enum gt_coll coll;
	enum gt_protocol protocol;
	int inplace; /* only: input and output are one */
	uint32_t ngpus, nchunks, unit, root;
	uint32_t most; /* chunks moved by one step */
	struct gt_algo_gpu *gpus;
};

/* Read all of it; everything is in the arena but the XML, the caller's. */
int gt_algo_read(const char *path, struct gt_algo_file *algo,
		 struct gt_err *err);

/* Make room for programs, one a thread block, and connect them. */
int gt_import_lanes(struct gt_algo_file *algo, struct gt_plan *plan,
		    struct gt_err *err);

/* Of the types of steps. */
int gt_algo_receives(enum gt_algo_type type);
int gt_algo_sends(enum gt_algo_type type);
int gt_algo_loads(enum gt_algo_type type);
int gt_algo_stores(enum gt_algo_type type);

#endif
