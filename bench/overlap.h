/*
 * What the parts of bench/overlap share: ranks with a stream for products and
 * one for collectives, ways that carry these (libgtopo's and NCCL's), loads of
 * both, and rows of what they took.
 *
 * Unless a comment says otherwise, functions are called by all processes of
 * the job alike and return 0, or a negative enum gt_code when a line on stderr
 * has said what failed.
 */
#ifndef GT_BENCH_OVERLAP_H
#define GT_BENCH_OVERLAP_H

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>

#include "blas.h"
#include "exec/engine.h"
#include "gtopo.h"
#include "quantile.h"

struct gt_err;
struct gt_nccl;
struct gt_world;
struct overlap;

enum {
	OVERLAP_RANKS = 16,
	OVERLAP_EDGES = 4,      /* events that order the streams */
	OVERLAP_PRIORITIES = 2, /* of collectives' streams: normal, high */
	OVERLAP_WAYS = 7,
	OVERLAP_KINDS = 4, /* of collectives, in a load */
	OVERLAP_HIDDENS = 8,
	OVERLAP_TEXT_MAX = 80,
};

/* What is measured. */
enum overlap_mode {
	OVERLAP_BESIDE, /* so many products beside so many collectives */
	OVERLAP_ALONE,  /* collectives without products */
	OVERLAP_FSDP,   /* all-gathers and reduce-scatters of layers */
	OVERLAP_DDP,    /* all-reduces of buckets */
	OVERLAP_NMODES
};

struct overlap_options {
	const char *plan, *commit;
	const char *file; /* NULL: no JSON is written */
	enum overlap_mode mode;
	int colls;           /* bits */
	uint64_t begin, end; /* bytes */
	int factor;
	int operations; /* of a run */
	int rounds;
	int size;                    /* of square matrices */
	int hidden[OVERLAP_HIDDENS]; /* widths of models; 0 ends them */
	int layers, tokens;          /* of a model, and of a rank's batch */
	int launches;                /* bits: 1 on streams, 2 as a graph */
	int priorities;              /* bits: 1 normal, 2 high */
	int ways;                    /* bits */
	int ctas;                    /* thread blocks; 0: as many as like */
	int procs, seconds;
};

struct overlap_rank {
	int gpu;
	cudaStream_t compute, comm[OVERLAP_PRIORITIES];
	cudaEvent_t begin, computed, done; /* of a run; they tell times */
	cudaEvent_t fork, edges[OVERLAP_EDGES];
	struct gt_blas *blas;
	void *operands[3];
	uint64_t *wrong;
	struct gt_buffers buffers[2]; /* the second ones are registered */
};

/* One that carries collectives. */
struct overlap_way {
	const char *name;
	int is_nccl;
	int is_open; /* it takes part */
	int registers;
	unsigned flags; /* of libgtopo's communicator */
	int variant;    /* enum gt_nccl_variant */
	struct gtopo_comm *comm;
	struct gt_nccl *nccl;
};

struct overlap {
	struct overlap_options options;
	struct gt_world *world; /* NULL: this process has all ranks */
	struct gtopo_comm *base;
	uint32_t nranks, first, end; /* [first, end) are this process's */
	int shares;                  /* ranks share GPUs */
	int nccl_version;            /* 0: it is not there */
	uint64_t room;               /* bytes of each buffer */
	struct overlap_rank ranks[OVERLAP_RANKS];
	struct overlap_way ways[OVERLAP_WAYS];
	int64_t deadline_ns;
	FILE *json; /* NULL: none is written here */
	uint32_t rows;
};

/*
 * overlap_options.c
 */

/* By one process; GT_EINPUT. */
int gt_overlap_parse(struct overlap_options *options, int argc, char **argv);

/*
 * overlap_job.c
 */

/*
 * Become as many processes as are wanted, which returns in each of them; the
 * one that was there before ends when they have, as they did.
 */
int gt_overlap_fork(struct overlap *o);

/*
 * overlap_rank.c
 */

/* Tell stderr; GT_ESYS.  By any thread. */
int gt_overlap_fail(const char *place, const char *fault);

/* Tell stderr of an error that somebody else has found; its code. */
int gt_overlap_err(const struct gt_err *err);

/* 0, or GT_ESYS when a CUDA call of the rank has failed.  By any thread. */
int gt_overlap_cuda(uint32_t rank, const char *what, cudaError_t rc);

/* The ranks' GPUs are known; streams, events, matrices and buffers are made. */
int gt_overlap_ranks_open(struct overlap *o);

/* Have a thread of each local rank, on its GPU, do a job; the worst result. */
int gt_overlap_each(struct overlap *o,
		    int (*job)(struct overlap *o, uint32_t rank, void *arg),
		    void *arg);

/*
 * Find the largest of a number that each process has; UINT64_MAX when one of
 * them has ended.
 */
uint64_t gt_overlap_most(const struct overlap *o, uint64_t number);

/*
 * overlap_way.c
 */

/* The name of a way, by its index; the bit of the one of that name, or 0. */
const char *gt_overlap_way_name(int index);
int gt_overlap_way_find(const char *name);

/* Open those of the options that can be; what of NCCL cannot stays closed. */
int gt_overlap_ways_open(struct overlap *o);
void gt_overlap_ways_close(struct overlap *o);

/* Put what the way's ranks call from now on on streams of that priority. */
int gt_overlap_way_prepare(struct overlap *o, struct overlap_way *way,
			   int priority);

/* A rank's part of a collective, on its stream; by the rank's thread. */
int gt_overlap_way_call(struct overlap *o, struct overlap_way *way,
			const struct gt_exec_request *req, uint32_t rank);

struct gt_buffers gt_overlap_way_buffers(const struct overlap *o,
					 const struct overlap_way *way,
					 uint32_t rank);

/* 0 unless something has failed that the way has begun.  By one process. */
int gt_overlap_way_state(struct overlap_way *way);

/*
 * The schedule of a request, "-" where nobody tells; GT_EINPUT, without a line,
 * when the plan has none.  By one process.
 */
int gt_overlap_way_schedule(struct overlap_way *way,
			    const struct gt_exec_request *req,
			    char text[OVERLAP_TEXT_MAX]);

/*
 * overlap_load.c
 */

enum overlap_what {
	OVERLAP_PRODUCT,
	OVERLAP_COLLECTIVE,
	OVERLAP_MARK,  /* an edge begins behind what is on the stream */
	OVERLAP_AWAIT, /* and ends before what comes later on the stream */
};

struct overlap_item {
	enum overlap_what what;
	struct gt_blas_product product; /* operands are left open */
	int kind;                       /* of the load's collectives */
	int comm, edge; /* is the stream that of collectives?  Which edge? */
};

/* What the streams of every rank get, in order. */
struct overlap_load {
	struct overlap_item *items;
	uint32_t n, room;
	struct gt_exec_request kinds[OVERLAP_KINDS];
	int nkinds;
};

/* These abort when memory runs out.  By one process. */
void gt_overlap_load_product(struct overlap_load *load, int m, int n, int k);
void gt_overlap_load_collective(struct overlap_load *load,
				const struct gt_exec_request *req);
void gt_overlap_load_edge(struct overlap_load *load, enum overlap_what what,
			  int comm, int edge);
void gt_overlap_load_free(struct overlap_load *load);

/* How a load is launched. */
struct overlap_run {
	const struct overlap_load *load;
	struct overlap_way *way; /* NULL: its collectives are left out */
	int priority;
	int products; /* 0: its products are left out */
	int graph;
	int blocks; /* of a graph's largest kernel; -1: not known */
	cudaGraphExec_t exec[OVERLAP_RANKS];
};

/* Of the slowest rank, from the beginning of a run. */
struct overlap_times {
	double computed_us; /* until the products were done */
	double done_us;     /* until all was */
};

/* Make the graphs of a run that is launched so; drop them. */
int gt_overlap_capture(struct overlap *o, struct overlap_run *run);
void gt_overlap_drop(struct overlap *o, struct overlap_run *run);

int gt_overlap_run(struct overlap *o, struct overlap_run *run,
		   struct overlap_times *times);

/*
 * overlap_check.c
 */

/*
 * Known inputs through a collective of the run's load, beside the first of its
 * products; how many elements of all outputs are wrong.
 */
int gt_overlap_check(struct overlap *o, const struct overlap_run *like,
		     int kind, uint64_t *wrong);

/*
 * overlap_row.c
 */

/* What a row is about. */
struct overlap_row_name {
	const char *what;
	uint64_t bytes; /* of a collective, or of a layer */
	int hidden;     /* 0: not a model's */
	int graph;
};

/* A way on streams of a priority, in a row: what it took in each round. */
struct overlap_entry {
	struct overlap_way *way;
	int priority;
	int blocks; /* of the largest kernel; -1: not known */
	uint64_t wrong;
	char schedule[OVERLAP_TEXT_MAX];
	struct overlap_run alone, beside;
	double alone_us[GT_QUANTILE_MOST];
	/* Beside products: until these were done, and until all was. */
	double computed_us[GT_QUANTILE_MOST], done_us[GT_QUANTILE_MOST];
};

struct overlap_row {
	const struct overlap_row_name *name;
	const struct overlap_load *load;
	uint32_t rounds, n;
	struct overlap_run products;
	double products_us[GT_QUANTILE_MOST];
	struct overlap_entry entries[OVERLAP_WAYS * OVERLAP_PRIORITIES];
};

/* All ways in turns, printed.  GT_ENO, without a line: wrong elements. */
int gt_overlap_row(struct overlap *o, const struct overlap_row_name *name,
		   const struct overlap_load *load);

/*
 * overlap_print.c; by one process
 */

/* The head of the table and of the JSON file, which is complete at any time. */
void gt_overlap_print_head(struct overlap *o);
void gt_overlap_print_row(struct overlap *o, const struct overlap_row *row);

/* The name of a mode. */
const char *gt_overlap_mode_name(enum overlap_mode mode);

/*
 * overlap_model.c
 */

/* Bytes of a layer's parameters, and of the largest buffer of a step. */
uint64_t gt_overlap_layer_bytes(int hidden);
uint64_t gt_overlap_model_bytes(int hidden);

/* Some steps of training a model of that size. */
void gt_overlap_model(const struct overlap *o, int hidden,
		      struct overlap_load *load);

#endif
