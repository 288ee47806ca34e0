/*
 * A simulation of RDMA devices, for tests only: a library that is loaded before
 * libibverbs (LD_PRELOAD) and stands for it.  It offers two devices, soft0 and
 * soft1, with reliable connections between processes of one host, and does
 * what is laid down for those and no more:
 *
 *   - blocks of a write come in any order, and blocks of several writes of one
 *     connection between each other; only completions are in order;
 *   - connections know nothing of one another's order;
 *   - keys, bounds and rights of memory are checked where it lies;
 *   - who does not answer breaks a connection after all retries.
 *
 * Nothing is to be learned from its times.  Memory may be a GPU's, as a dma-buf
 * (its addresses must be the GPU's own there), which then is read and written
 * by CUDA's driver in the process that has it; where there is no GPU, a file of
 * memfd_create() stands for a dma-buf.  GTOPO_SOFT_VERBS is a list of:
 *
 *   no-dmabuf  a dma-buf cannot be registered
 *   peermem    a GPU's address can be, without one
 *   late       what is written to a dma-buf comes there later than its
 *              completion, but before a read through the device ends
 *
 * From when the file exists that GTOPO_SOFT_CUT names, all cables are cut.
 */
#ifndef SOFT_H
#define SOFT_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

enum {
	SOFT_DEVICES = 2,
	SOFT_BLOCK = 16384,
	SOFT_WINDOW = 8, /* messages of a connection on their way */
	SOFT_MIXED = 3,  /* of these, with blocks between each other's */
	SOFT_KEYS = 1024,
	SOFT_QPS = 4096,
	SOFT_MOST_CQE = 1 << 16,
};

struct soft_memory {
	struct ibv_mr mr;
	uint64_t base; /* as remote and local addresses say it */
	int access;
	int is_gpu;
	int is_device; /* a dma-buf, or what stands for it */
};

struct soft_cq {
	struct ibv_cq cq;
	struct ibv_wc *done; /* [cq.cqe] */
	uint32_t at, n;
	int armed, failed;
};

struct soft_channel {
	struct ibv_comp_channel channel;
	int write_fd;
};

struct soft_context {
	struct ibv_context context;
	int write_fd; /* of async_fd */
};

/* Blocks of one message in the order in which they are sent. */
struct soft_blocks {
	uint16_t *order;
	uint32_t n, sent;
};

struct soft_send {
	uint64_t wr_id, local, remote;
	uint32_t lkey, rkey, bytes, imm;
	enum ibv_wr_opcode opcode;
	int is_signaled, is_done;
	struct soft_blocks blocks;
	uint32_t came; /* of a read */
};

/* A message that comes in. */
struct soft_arrival {
	int is_open, is_read, has_imm, is_bad;
	uint32_t came, nblocks, bytes, rkey, imm;
	uint64_t at;
};

/* A read that is answered. */
struct soft_answer {
	int is_open;
	uint32_t psn, bytes, rkey;
	uint64_t at;
	struct soft_blocks blocks;
};

struct soft_qp {
	struct ibv_qp qp;
	struct ibv_qp_cap cap;
	uint32_t far_pid, far_qpn;
	int access;
	int64_t patience_ns;
	int64_t silent_ns; /* since when nobody is there; 0: somebody is */
	struct soft_send *sends; /* [cap.max_send_wr] */
	uint32_t head, next;     /* not completed, not posted: numbers */
	uint64_t *receives;      /* [cap.max_recv_wr] */
	uint32_t received, posted;
	uint32_t expected;
	struct soft_arrival arrivals[SOFT_WINDOW];
	struct soft_answer answers[SOFT_WINDOW];
};

enum soft_kind { SOFT_WRITE, SOFT_READ, SOFT_ANSWER, SOFT_ACK, SOFT_NAK };

struct soft_packet {
	uint32_t kind, from_pid, from_qpn, to_qpn;
	uint32_t psn, nblocks, bytes, rkey;
	uint64_t at;
	uint32_t block, length;
	uint32_t has_imm, imm;
	uint32_t status, reserved;
	char data[SOFT_BLOCK];
};

/* One for all of it. */
extern pthread_mutex_t soft_lock;

/* soft_device.c; all of it with the lock. */
struct soft_qp *soft_qp_find(uint32_t number);
struct soft_qp *soft_qp_next(uint32_t *i); /* NULL: no more */
void soft_complete(struct ibv_cq *cq, const struct ibv_wc *wc);
void soft_qp_event(struct soft_qp *qp, enum ibv_event_type type);
void soft_qp_fail(struct soft_qp *qp, enum ibv_wc_status status);
void soft_qp_retire(struct soft_qp *qp); /* what is done, in order */

/* soft_memory.c */
int soft_has_word(const char *word);
struct soft_memory *soft_memory_find(uint32_t key, uint64_t at, uint64_t bytes,
				     int access);
int soft_memory_read(const struct soft_memory *memory, uint64_t at, void *to,
		     uint32_t bytes);
int soft_memory_write(const struct soft_memory *memory, uint64_t at,
		      const void *from, uint32_t bytes);
/* Place what is late: all of it, or what is due; 1 while there is more. */
int soft_memory_settle(int all);

/* soft_wire.c */
int soft_wire_open(void);
void soft_wire_wake(void);
void soft_wire_settle(void); /* without the lock: until answers are out */
int soft_blocks_init(struct soft_blocks *blocks, uint32_t bytes);
void soft_deliver(struct soft_qp *qp);

#endif
