/*
 * GPUs' streams, SIMULATED: what is put on them is kept and then played in many
 * orders, each of which some machine could come to.  A stream is in order, all
 * else is not:
 *
 * - a meeting or a barrier tells, later it goes on, when all others have told;
 * - a copy or a sum is done in halves, between which others go on, so that who
 *   overwrites what is still being read, or reads what is still being written,
 *   is found out;
 * - copies of a GPU wait for nothing but their streams; or for all copies that
 *   are before them in a queue, in any order that streams and events leave
 *   open, be it alike on all ranks or not; or everything of a GPU goes in the
 *   order in which it was put.
 */
#ifndef GT_TESTS_UNIT_EXEC_CUDA_P2P_STREAMS_H
#define GT_TESTS_UNIT_EXEC_CUDA_P2P_STREAMS_H

#include <cuda_runtime_api.h>

#include "exec/cuda/p2p/detour_slots.h"

/*
 * Of a rank: that of requests, the one beside, that of meetings, then each
 * lane's out and in.
 */
enum {
	STREAM_MAIN,
	STREAM_SIDE,
	STREAM_MEET,
	STREAM_LANES,
	STREAMS = STREAM_LANES + 2 * GT_DETOUR_LANES,
	STREAMS_OPS = 2 * GT_NCOLLS, /* at most */
	STREAMS_MAIN_STEPS = 2,      /* of copies without a detour */
};

/* A copy within a GPU is a kernel to it, and waits in no queue of copies. */
enum kind { COPY, LOCAL, MEET, BARRIER, SUM, RECORD, AWAIT, CALL };

struct command {
	enum kind kind;
	uint32_t op;
	uint32_t step;  /* how many of its lane came before; main: its own */
	uint32_t mark;  /* of a record, from 1 on */
	uint32_t place; /* among all of its rank */
	uint32_t turn;  /* among its rank's copies, or all, in this play */
	uint32_t bytes;
	char *to;
	const char *from;
	void *args; /* of a kernel; its own */
	void (*call)(uint32_t op, uint32_t rank);
};

struct stream {
	struct command *commands;
	uint32_t n, room;
	uint32_t rank;
	/* Of this play: */
	uint32_t at;
	uint32_t half;   /* of commands[at]: what is done */
	uint32_t urge;   /* the most urgent goes first */
	uint32_t queued; /* commands[] whose turn is known */
};

struct streams {
	uint32_t nranks;
	struct stream all[GT_P2P_RANKS * STREAMS];
	uint32_t nops;               /* put so far; the one that is put now */
	uint32_t steps[STREAMS_OPS]; /* of each lane */
	int alike[STREAMS_OPS];      /* has to be: the order of copies */
	int any_order;  /* there are no steps: all that streams leave open */
	int in_graph;   /* all may be in one queue, in any order of that kind */
	uint32_t heads; /* 1: kernels beside a barrier tell its stage, too */
	uint32_t meetings[GT_P2P_RANKS]; /* of this operation, so far */
	uint32_t places[GT_P2P_RANKS];
	uint32_t marks;
	/* Of this play: */
	uint64_t seed;
	uint8_t *marked;
	uint32_t done[GT_P2P_RANKS], copied[GT_P2P_RANKS];
};

extern struct streams streams;

void streams_open(uint32_t nranks);
void streams_close(void);

struct stream *streams_of(uint32_t rank, uint32_t which);
uint32_t streams_which(const struct stream *stream);

/* A command of operation nops, to be filled in. */
struct command *streams_put(struct stream *stream, enum kind kind);

/* An event of CUDA's, here a number, is recorded on a stream, and awaited. */
void streams_record(struct stream *stream, uint32_t *event);
void streams_await(struct stream *stream, const uint32_t *event);

/* They stand for cudaEventRecord() and cudaStreamWaitEvent(). */
cudaError_t streams_event_record(cudaEvent_t event, cudaStream_t on);
cudaError_t streams_event_await(cudaStream_t on, cudaEvent_t event,
				unsigned int flags);

/* An operation is put on all ranks' streams. */
void streams_next(void);

/* All that was put, in an order by this number; who hangs fails the test. */
void streams_play(uint64_t seed);

/*
 * The edges of the graph that a rank's streams become when they are captured,
 * and its nodes.  As CUDA does: a stream's next node has edges from the last
 * one and from all that the stream has waited for since; a stream that only
 * waits collects.
 */
uint64_t streams_edges(uint32_t rank, uint64_t *nodes);

/*
 * Is all that a rank's streams end with waited for by the main one, by itself
 * or through others?  Else CUDA does not end a capture.
 */
int streams_joined(uint32_t rank);

/*
 * Of each of n ranks the main stream waits for all others in the end, and the
 * graph has not many more edges than nodes.
 */
void streams_expect_few_edges(uint32_t n);

/* Any number below; the state goes on. */
uint32_t streams_draw(uint64_t *state, uint32_t below);

#endif
