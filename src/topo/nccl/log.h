/*
 * What a job's log says that ran with NCCL_DEBUG=INFO, of one rank or of many,
 * in any order, with or without what launchers put before each line.
 *
 * It is read line by line; lines that are not NCCL's are passed over.  What
 * belongs to one communicator is kept apart from what belongs to another.
 * Tables are bounded: what does not fit is counted and left out.
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

/* A communicator, of which several ranks' lines may tell. */
struct gt_nccl_log_comm {
	const char *name; /* its commId, or which split it is, or NULL */
	uint32_t nranks, nnodes, nlocal;
	uint32_t nheard; /* ranks that named it */
	uint32_t nrings;
	const uint32_t *rings[GT_NCCL_LOG_RINGS]; /* or NULL */
	struct gt_nccl_means means[GT_NCCL_LOG_MEANS];
	uint32_t nmeans;
	struct gt_nccl_logged_graph graphs[GT_NCCL_LOG_GRAPHS];
	uint32_t ngraphs;
	int fell_back;
};

/* NULL and 0 are what the log does not tell. */
struct gt_nccl_log {
	uint64_t nlines; /* of NCCL */
	const char *version;
	uint32_t nhosts; /* that wrote lines */
	const char *network;
	const char *ports;
	int no_rdma_device, no_verbs, no_peer_access;
	/* the largest first; there is one at least */
	const struct gt_nccl_log_comm *const *comms;
	uint32_t ncomms;
	struct gt_nccl_said env[GT_NCCL_LOG_ENV]; /* "NCCL_IB_DISABLE=1" */
	uint32_t nenv;
	struct gt_nccl_said warnings[GT_NCCL_LOG_WARNINGS];
	uint32_t nwarnings;
	uint64_t ncomms_left_out;
	uint64_t nleft_out; /* lines that did not fit, of anything above */
};

/*
 * Read a log; memory is the arena's, `name` stands for it in messages.
 * GT_EINPUT when no line is NCCL's.
 */
int gt_nccl_log_read(const char *name, const char *text, size_t len,
		     struct gt_arena *arena, struct gt_nccl_log *log,
		     struct gt_err *err);

/*
 * Returns on how many machines the communicator is that is on most, 0 where the
 * log does not tell.
 */
uint32_t gt_nccl_log_nnodes(const struct gt_nccl_log *log);

#endif
