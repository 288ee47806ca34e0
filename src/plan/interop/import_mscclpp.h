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
	GT_MSCCLPP_NONE = UINT32_MAX,
	GT_MSCCLPP_TYPES = 2,   /* of channels: memory, port */
	GT_MSCCLPP_JOINED = 64, /* puts that may become one step */
	/* parts of a chunk, for groups of thread blocks */
	GT_MSCCLPP_PARTS = 64,
};

enum gt_mscclpp_kind {
	GT_MSCCLPP_NOTHING,
	GT_MSCCLPP_MOVE, /* the i-th source to the i-th target */
	GT_MSCCLPP_SUM,  /* of all sources, to all targets */
	GT_MSCCLPP_SIGNAL,
	GT_MSCCLPP_WAIT,
	GT_MSCCLPP_BARRIER,
	GT_MSCCLPP_REFUSED,
};

struct gt_mscclpp_word {
	const char *name;
	enum gt_mscclpp_kind kind;
	int signals; /* it signals after what else it does */
	int relaxed; /* it does not say that data have come */
	/*
	 * The index of the first source, and of the first target, that is a
	 * packet.
	 */
	uint32_t src_packets, dst_packets;
	const char *instead; /* for words that are refused: what to do */
};

struct gt_mscclpp_buf {
	uint32_t rank; /* the owner */
	enum gt_import_buf buf;
	uint32_t at, size; /* chunks */
	/*
	 * For buffers of others: the link by which it comes or goes, and the
	 * signal that it goes with.
	 */
	uint32_t link;
	const struct gt_mscclpp_signal *signal;
};

/* A message that a thread block sends, or takes. */
struct gt_mscclpp_message {
	struct gt_mscclpp_message *next;
	struct gt_mscclpp_buf place; /* that it comes from, or goes to */
	const char *where;           /* who asked for it, else NULL */
};

struct gt_mscclpp_messages {
	struct gt_mscclpp_message *first, *last;
};

struct gt_mscclpp_op {
	const char *where; /* in the file */
	const struct gt_mscclpp_word *word;
	uint32_t nsrc, ndst, nchannels;
	struct gt_mscclpp_buf *src, *dst;
	uint32_t *channels;        /* numbers of the GPU's channels */
	uint32_t barrier, nblocks; /* of a barrier */
	/* the part that this thread block does of it */
	uint32_t part, nparts;
	uint32_t segment; /* barriers before it */
	/* Packets taken before it, and sent after it. */
	struct gt_mscclpp_messages taken, sent;
};

/*
 * A signal on a channel, and the wait for it on the other side's: what is
 * taken then, and what is sent for others to get.
 */
struct gt_mscclpp_signal {
	uint32_t op;
	int relaxed;
	int needless; /* a message tells as much, or nobody goes on */
	struct gt_mscclpp_messages taken, sent;
};

/* A list of links, of a channel or of a thread block's packets. */
struct gt_mscclpp_link {
	struct gt_mscclpp_link *next;
	/* of the other end; and which operand of its step */
	uint32_t rank, tb, operand;
	uint32_t link;
};

/* One side of a channel: what its GPU signals there, and awaits. */
struct gt_mscclpp_channel {
	uint32_t type, peer;
	uint32_t next, back; /* with the same peer; the peer's: or none */
	uint32_t signal_tb, wait_tb;
	uint32_t nsignals, signals_room, nwaits, waits_room;
	struct gt_mscclpp_signal *signals;
	uint32_t *waits; /* operations */
	struct gt_mscclpp_link *puts, *gets;
	uint32_t flags;              /* the link of signals, or none */
	uint32_t signalled, awaited; /* while steps are made */
};

struct gt_mscclpp_tb {
	uint32_t nops;
	struct gt_mscclpp_op *ops;
	/* By type: the GPU's channels and remote buffers, as ops call them. */
	uint32_t nchannels[GT_MSCCLPP_TYPES], nbufs[GT_MSCCLPP_TYPES];
	uint32_t *channels[GT_MSCCLPP_TYPES], *bufs[GT_MSCCLPP_TYPES];
	/* By segment: how many operations of each thread block are over. */
	uint32_t nclocks, clocks_room;
	uint32_t **clocks;
	uint32_t packets; /* where in scratch its copies of packets begin */
	struct gt_mscclpp_link *packet_links;
	uint32_t *barriers; /* by thread block: its flags to this one */
};

struct gt_mscclpp_gpu {
	uint32_t ninput, noutput, nscratch;
	uint32_t nchannels, channels_room, nbufs, ntbs;
	struct gt_mscclpp_channel *channels;
	uint32_t ntypes[GT_MSCCLPP_TYPES], *types[GT_MSCCLPP_TYPES];
	uint32_t *peers; /* by rank: the first channel with it, or none */
	struct gt_mscclpp_buf *bufs; /* remote buffers */
	struct gt_mscclpp_tb *tbs;
};

struct gt_mscclpp {
	struct gt_import_file *algo;
	struct gt_arena *arena;
	uint32_t ngpus;
	struct gt_mscclpp_gpu *gpus;
};

/* Read all of the file; everything is in mpp->arena. */
int gt_mscclpp_read(const struct gt_json *root, struct gt_mscclpp *mpp,
		    struct gt_err *err);

/*
 * Pair channels and their signals with waits, and find what barriers put in
 * order.
 */
int gt_mscclpp_order(struct gt_mscclpp *mpp, struct gt_err *err);

/* Is operation i of thread block a over when operation j of b begins? */
int gt_mscclpp_before(const struct gt_mscclpp_gpu *gpu, uint32_t a, uint32_t i,
		      uint32_t b, uint32_t j);

/*
 * Make links, and say which messages go by them at which operation; then the
 * same for packets.
 */
int gt_mscclpp_match(struct gt_mscclpp *mpp, struct gt_err *err);
int gt_mscclpp_packets(struct gt_mscclpp *mpp, struct gt_err *err);

/*
 * Does operation i put elsewhere what those just before it put?  Then they are
 * one step.
 */
int gt_mscclpp_joins(const struct gt_mscclpp_tb *tb, uint32_t i);

int gt_mscclpp_add_message(struct gt_mscclpp *mpp,
			   struct gt_mscclpp_messages *messages,
			   const struct gt_mscclpp_buf *place,
			   const char *where, struct gt_err *err);

/* The link of this key in a list, which is made if there is none. */
int gt_mscclpp_link(struct gt_mscclpp *mpp, struct gt_mscclpp_link **list,
		    struct gt_mscclpp_link key,
		    const struct gt_import_link *ends, uint32_t *link,
		    struct gt_err *err);

/* Complain about an operation; the result is GT_EINPUT. */
int gt_mscclpp_fail(const struct gt_mscclpp_op *op, struct gt_err *err,
		    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
