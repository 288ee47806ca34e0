/*
 * What a job's log says that ran with NCCL_DEBUG=INFO, of one rank or of many,
 * in any order, with or without what launchers put before each line.
 *
 * It is read line by line; lines that are not NCCL's are passed over.  Tables
 * are bounded: what does not fit is counted and left out.
 */
#ifndef GT_TOPO_NCCL_LOG_H
#define GT_TOPO_NCCL_LOG_H

#include <stddef.h>
#include <stdint.h>

struct gt_arena;
struct gt_err;

enum {
	GT_NCCL_LOG_MEANS = 32,
	GT_NCCL_LOG_GRAPHS = 16,
	GT_NCCL_LOG_ENV = 64,
	GT_NCCL_LOG_WARNINGS = 16,
	GT_NCCL_LOG_RINGS = 64,
};

/* How ranks send to each other: "P2P/CUMEM", "SHM/direct", "NET/IB/GDRDMA". */
struct gt_nccl_means {
	const char *name;
	uint64_t n;        /* connections, one for each channel */
	uint32_t from, to; /* ranks of the first */
};

/* A line "Pattern 4, crossNic 0, nChannels 12, ...", of the subsystem GRAPH. */
struct gt_nccl_logged_graph {
	int pattern; /* enum gt_nccl_pattern */
	uint32_t nchannels;
	double intra_gbs, inter_gbs;
	char intra[4], inter[4]; /* kinds of routes, "NVL" */
};

struct gt_nccl_said {
	const char *text;
	uint64_t n;
};

/* NULL and 0 are what the log does not tell. */
struct gt_nccl_log {
	uint64_t nlines; /* of NCCL */
	const char *version;
	/* of the communicator with the most ranks */
	uint32_t nranks, nnodes, nlocal;
	uint32_t nhosts; /* that wrote lines */
	const char *network;
	const char *ports;
	int no_rdma_device, no_verbs, no_peer_access, fell_back;
	/* of the communicator with the most ranks whose rings are there */
	uint32_t nrings, nring_ranks;
	const uint32_t *rings[GT_NCCL_LOG_RINGS]; /* or NULL */
	struct gt_nccl_means means[GT_NCCL_LOG_MEANS];
	uint32_t nmeans;
	struct gt_nccl_logged_graph graphs[GT_NCCL_LOG_GRAPHS];
	uint32_t ngraphs;
	struct gt_nccl_said env[GT_NCCL_LOG_ENV]; /* "NCCL_IB_DISABLE=1" */
	uint32_t nenv;
	struct gt_nccl_said warnings[GT_NCCL_LOG_WARNINGS];
	uint32_t nwarnings;
	uint64_t nleft_out; /* settings and warnings that did not fit */
};

/*
 * Read a log; memory is the arena's, `name` stands for it in messages.
 * GT_EINPUT when no line is NCCL's.
 */
int gt_nccl_log_read(const char *name, const char *text, size_t len,
		     struct gt_arena *arena, struct gt_nccl_log *log,
		     struct gt_err *err);

/* Returns the value that a variable was set to, or NULL. */
const char *gt_nccl_log_env(const struct gt_nccl_log *log,
			    const char *variable);

#endif
