/*
 * A FIFO of slices from one thread to another, as plan/ir/program.h describes:
 * S slots, and two counters that only grow.
 *
 * Memory ordering.  Each counter has one writer, so no read-modify-write and
 * no lock is needed; four edges make the slots safe:
 *
 *   sender   fill slot (plain) -> data.store(k + 1, release)
 *   receiver data.load(acquire) > k -> read slot (plain)
 *   receiver read slot (plain) -> credit.store(k + 1, release)
 *   sender   credit.load(acquire) + S > k -> fill slot again (plain)
 *
 * The first two carry the bytes, the last two keep the sender from writing
 * over bytes that are still read.  A thread knows its own counter (`at`) and
 * remembers the other's (`seen`): a remembered value may be too small, never
 * too large, so the shared line is read only when the memory says "wait".
 * The counters lie on cache lines of their own: neither side's stores take
 * the line that the other one polls for another reason.
 */
#ifndef GT_EXEC_LINK_FIFO_H
#define GT_EXEC_LINK_FIFO_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct gt_bell;

enum { GT_CACHE_LINE_BYTES = 64 };

/* So many bytes as whole cache lines. */
static inline uint64_t gt_cache_lines_bytes(uint64_t bytes)
{
	return (bytes + GT_CACHE_LINE_BYTES - 1) / GT_CACHE_LINE_BYTES *
	       GT_CACHE_LINE_BYTES;
}

/*
 * The counters that both sides share; they may lie in memory that two processes
 * map.
 */
struct gt_fifo {
	_Alignas(GT_CACHE_LINE_BYTES) _Atomic uint64_t data;
	_Alignas(GT_CACHE_LINE_BYTES) _Atomic uint64_t credit;
};

/* One side of a FIFO; belongs to the thread that sends or receives. */
struct gt_fifo_end {
	struct gt_fifo *fifo;
	char *slots;           /* nslots * slot_bytes, as this side sees them */
	uint32_t *lengths;     /* NULL, or where a sender notes bytes by slot */
	struct gt_bell *other; /* rung when something was posted */
	size_t slot_bytes;
	uint32_t nslots;
	uint64_t at;   /* own counter: slices written or read so far */
	uint64_t seen; /* the other side's counter, as last read */
};

/* Make the FIFO empty. */
static inline void gt_fifo_init(struct gt_fifo *fifo)
{
	atomic_init(&fifo->data, 0);
	atomic_init(&fifo->credit, 0);
}

static inline int gt_fifo_can_send(struct gt_fifo_end *end)
{
	if (end->at - end->seen < end->nslots)
		return 1;
	end->seen =
		atomic_load_explicit(&end->fifo->credit, memory_order_acquire);
	return end->at - end->seen < end->nslots;
}

static inline int gt_fifo_can_receive(struct gt_fifo_end *end)
{
	if (end->at < end->seen)
		return 1;
	end->seen =
		atomic_load_explicit(&end->fifo->data, memory_order_acquire);
	return end->at < end->seen;
}

/* The slot of the next slice, on either side. */
static inline char *gt_fifo_slot(const struct gt_fifo_end *end)
{
	return end->slots + end->at % end->nslots * end->slot_bytes;
}

/* Announce that the slot of the next slice is filled. */
static inline void gt_fifo_sent(struct gt_fifo_end *end)
{
	atomic_store_explicit(&end->fifo->data, ++end->at,
			      memory_order_release);
}

/* Give back the slot of the next slice, which has been read. */
static inline void gt_fifo_received(struct gt_fifo_end *end)
{
	atomic_store_explicit(&end->fifo->credit, ++end->at,
			      memory_order_release);
}

#endif
