/*
 * What the checks of libgtopo on GPUs share: a communicator with a stream, two
 * buffers and a count of wrong elements a rank, and operations on them.  All of
 * it is enqueued: fill, operation and comparison follow one another on the
 * streams, and sum_wrong() waits.
 */
#ifndef GT_TESTS_GPU_LIBRARY_H
#define GT_TESTS_GPU_LIBRARY_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "draw.h"
#include "gtopo.h"
#include "plan/ir/plan.h"

enum {
	MAX_RANKS = 16,
	/* Behind a buffer, for shifted operations: what CUDA IPC opens is in
	 * large pages only if all of it is. */
	TAIL_BYTES = 2 << 20,
};

struct rank {
	int gpu;
	cudaStream_t stream, other;
	char *input, *output;
	uint64_t *wrong;
	uint64_t *scalars; /* a type's, of the test data; on the GPU */
};

struct library {
	const char *plan;
	struct gtopo_comm *comm;
	struct gtopo_comm *base; /* of a job, that others are made beside */
	int nranks;
	int first, end; /* those of this process */
	uint64_t room;  /* bytes of each buffer */
	struct rank ranks[MAX_RANKS];
	unsigned map; /* flags of all communicators */
	int64_t deadline_ns;
	uint64_t operations, bad;
};

struct operation {
	enum gt_coll coll;
	enum gtopo_type type;
	enum gtopo_op op;
	uint64_t count, seed;
	int root, inplace;
	unsigned shift; /* elements */
	uint64_t at;    /* bytes, behind the buffers' beginning */
};

/* 0 with a line printed when something fails. */
int open_comm(struct library *lib, unsigned flags, int64_t timeout_ms);
void close_comm(struct library *lib);
int open_ranks(struct library *lib, uint64_t room);
void close_ranks(struct library *lib);

/* Does the whole fit into the buffers? */
int fits(const struct library *lib, const struct operation *op);

int fill(struct library *lib, const struct operation *op, int rank);
int call(struct library *lib, const struct operation *op, int rank);
int compare(struct library *lib, const struct operation *op, int rank);

/* All three for all ranks, in a group. */
int run(struct library *lib, const struct operation *op);

/* The same for n of them, in one group. */
int run_all(struct library *lib, const struct operation *ops, int n);

/* n operations, called by all ranks in one group; a library's code. */
int call_together(struct library *lib, const struct operation *ops, int n);

/* Of all ranks since the last time, or -1; until the streams are done. */
int64_t sum_wrong(struct library *lib);

/* 1, or a line printed. */
int cuda_ok(struct library *lib, const char *what, cudaError_t rc);

/* All local streams into graphs. */
struct graphs {
	cudaGraph_t graph[MAX_RANKS];
	cudaGraphExec_t exec[MAX_RANKS];
};

int capture_begin(struct library *lib);
int capture_end(struct library *lib, struct graphs *graphs);
int replay(struct library *lib, const struct graphs *graphs, int times);
void drop(struct library *lib, struct graphs *graphs);

/* A line of what went wrong, counted. */
void complain(struct library *lib, const char *what, const char *why);

/* A failure has this code and these words, and not too late. */
void expect(struct library *lib, const char *what, int rc, int want,
	    const char *words, int64_t begin_ns, int64_t limit_ms);

/* A new communicator works. */
int again(struct library *lib, int64_t limit_ms);

int late(const struct library *lib);

/* Does this process take itself for a host?  The first collectives that are
 * possible: over links those that a ring's plan has. */
int is_far(void);
int all_colls(void);

/* library_fp8.c: all pairs of numbers. */
int check_fp8(struct library *lib);

/* library_pieces.c: a GPU's memory, of pieces that only it reaches. */
int make_pieces(struct library *lib, int gpu, uint64_t bytes, char **made);
void free_pieces(char *made, uint64_t bytes);

/* The parts. */
int part_check(struct library *lib);
int part_graph(struct library *lib);
int part_threads(struct library *lib);
int part_overlap(struct library *lib);
int part_register(struct library *lib);
int part_pieces(struct library *lib);
int part_fault(struct library *lib);
int part_pairs(struct library *lib);
int part_pairs_fault(struct library *lib);
int part_pairs_apart(struct library *lib);
int part_stress(struct library *lib);
int part_groups(struct library *lib);
int part_race(struct library *lib);
int part_orders(struct library *lib);
int part_apart(struct library *lib);

/* spin.cu */
int gt_spin_run(const uint32_t *go, struct CUstream_st *stream);

#endif
