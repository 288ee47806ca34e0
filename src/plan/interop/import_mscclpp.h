/*
 * An MSCCL++ execution plan as its file has it, and what belongs together in
 * it.  MSCCL++ writes to and reads from others' memory and says by signals
 * when; steps of gtopo send messages.  So each put becomes a message, which
 * the other side takes where it waits for the signal behind the put; what is
 * got the owner sends with the signal that was awaited before; a packet is a
 * message that its readers take when they read it.
 *
 * import_mscclpp_read.c reads, import_mscclpp_order.c finds what comes before
 * what, import_mscclpp_match.c which messages there are, and import_mscclpp.c
 * makes steps.
 */
#ifndef GT_PLAN_INTEROP_IMPORT_MSCCLPP_H
#define GT_PLAN_INTEROP_IMPORT_MSCCLPP_H

#include "plan/interop/algorithm.h"

struct gt_json;

enum {
	GT_MPP_NONE = UINT32_MAX,
	GT_MPP_TYPES = 2,   /* of channels: memory, port */
	GT_MPP_JOINED = 64, /* puts that may become one step */
	GT_MPP_PARTS = 64,  /* of a chunk, by groups of thread blocks */
};

enum gt_mpp_kind {
	GT_MPP_NOTHING,
	GT_MPP_MOVE, /* the i-th source to the i-th target */
	GT_MPP_SUM,  /* of all sources, to all targets */
	GT_MPP_SIGNAL,
	GT_MPP_WAIT,
	GT_MPP_BARRIER,
	GT_MPP_REFUSED,
};

struct gt_mpp_word {
	const char *name;
	enum gt_mpp_kind kind;
	int signals; /* after what else it does */
	int relaxed; /* does not say that data have come */
	/* The first source, and target, that is a packet. */
	uint32_t src_packets, dst_packets;
	const char *instead; /* refused: what to do */
};

struct gt_mpp_buf {
	uint32_t rank; /* whose */
	enum gt_algo_buf buf;
	uint32_t at, size; /* chunks */
	/* Of others: by what it comes or goes, and the signal it goes with. */
	uint32_t link;
	const struct gt_mpp_signal *signal;
};

/* One that a thread block sends, or takes. */
struct gt_mpp_message {
	struct gt_mpp_message *next;
	struct gt_mpp_buf place; /* that it comes from, or goes to */
	const char *where;       /* who asked for it, else NULL */
};

struct gt_mpp_messages {
	struct gt_mpp_message *first, *last;
};

struct gt_mpp_op {
	const char *where; /* in the file */
	const struct gt_mpp_word *word;
	uint32_t nsrc, ndst, nchannels;
	struct gt_mpp_buf *src, *dst;
	uint32_t *channels;        /* the GPU's */
	uint32_t barrier, nblocks; /* of a barrier */
	uint32_t part, nparts;     /* that this thread block does of it */
	uint32_t segment;          /* barriers before it */
	/* Packets taken before it, and sent after it. */
	struct gt_mpp_messages taken, sent;
};

/*
 * A signal on a channel, and the wait for it on the other side's: what is
 * taken then, and what is sent for others to get.
 */
struct gt_mpp_signal {
	uint32_t op;
	int relaxed;
	int needless; /* a message tells as much, or nobody goes on */
	struct gt_mpp_messages taken, sent;
};

/* Links of a channel, or of a thread block's packets. */
struct gt_mpp_link {
	struct gt_mpp_link *next;
	uint32_t rank, tb, operand; /* of the other end; which of its step's */
	uint32_t link;
};

/* One side of a channel: what its GPU signals there, and awaits. */
struct gt_mpp_channel {
	uint32_t type, peer;
	uint32_t next, back; /* with the same peer; the peer's: or none */
	uint32_t signal_tb, wait_tb;
	uint32_t nsignals, signals_room, nwaits, waits_room;
	struct gt_mpp_signal *signals;
	uint32_t *waits; /* operations */
	struct gt_mpp_link *puts, *gets;
	uint32_t flags;              /* the link of signals, or none */
	uint32_t signalled, awaited; /* while steps are made */
};

struct gt_mpp_tb {
	uint32_t nops;
	struct gt_mpp_op *ops;
	/* By type: the GPU's channels and remote buffers, as ops call them. */
	uint32_t nchannels[GT_MPP_TYPES], nbufs[GT_MPP_TYPES];
	uint32_t *channels[GT_MPP_TYPES], *bufs[GT_MPP_TYPES];
	/* By segment: how many operations of each thread block are over. */
	uint32_t nclocks, clocks_room;
	uint32_t **clocks;
	uint32_t packets; /* where in scratch its copies of packets begin */
	struct gt_mpp_link *packet_links;
	uint32_t *barriers; /* by thread block: its flags to this one */
};

struct gt_mpp_gpu {
	uint32_t ninput, noutput, nscratch;
	uint32_t nchannels, channels_room, nbufs, ntbs;
	struct gt_mpp_channel *channels;
	uint32_t ntypes[GT_MPP_TYPES], *types[GT_MPP_TYPES];
	uint32_t *peers; /* by rank: the first channel with it, or none */
	struct gt_mpp_buf *bufs; /* of others */
	struct gt_mpp_tb *tbs;
};

struct gt_mpp {
	struct gt_algo_file *algo;
	struct gt_arena *arena;
	uint32_t ngpus;
	struct gt_mpp_gpu *gpus;
};

/* Read all of it; everything is in mpp->arena. */
int gt_mpp_read(const struct gt_json *root, struct gt_mpp *mpp,
		struct gt_err *err);
int gt_mpp_read_ops(struct gt_mpp *mpp, const struct gt_json *at, uint32_t rank,
		    uint32_t tb, struct gt_err *err);

/*
 * Pair channels and their signals with waits, and find what barriers put in
 * order.
 */
int gt_mpp_order(struct gt_mpp *mpp, struct gt_err *err);

/* Is operation i of thread block a over when operation j of b begins? */
int gt_mpp_before(const struct gt_mpp_gpu *gpu, uint32_t a, uint32_t i,
		  uint32_t b, uint32_t j);

/* Make links, and say which messages go by them when. */
int gt_mpp_match(struct gt_mpp *mpp, struct gt_err *err);
int gt_mpp_packets(struct gt_mpp *mpp, struct gt_err *err);

/*
 * Does an operation put elsewhere what those just before it put?  Then they
 * are one step.
 */
int gt_mpp_joins(const struct gt_mpp_tb *tb, uint32_t i);

int gt_mpp_add_message(struct gt_mpp *mpp, struct gt_mpp_messages *messages,
		       const struct gt_mpp_buf *place, const char *where,
		       struct gt_err *err);

/* The link of that key in a list, made if there is none. */
int gt_mpp_link(struct gt_mpp *mpp, struct gt_mpp_link **list,
		struct gt_mpp_link key, const struct gt_algo_link *ends,
		uint32_t *link, struct gt_err *err);

/* Complain about an operation. */
int gt_mpp_fail(const struct gt_mpp_op *op, struct gt_err *err, const char *fmt,
		...) __attribute__((format(printf, 3, 4)));

#endif
