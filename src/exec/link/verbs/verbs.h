/*
 * Inside the verbs link: what its setup (link.c, port.c,
 * qp.c, direct.c), its proxy thread (proxy.c) and who asks how
 * it is (event.c) share.  As with TCP, both sides have slots and
 * whoever carries, the proxy or a rank that attends, owns everything here.
 *
 * A reliable connection joins two processes.  A slice is one RDMA write with
 * immediate data from the sender's slot into the receiver's; the immediate
 * says which FIFO, and its completion at the receiver means that the bytes
 * are there, in whatever order packets took (InfiniBand Architecture
 * Specification 1.4, 9.7.5).  A credit is such a write of no bytes.
 */
#ifndef GT_EXEC_LINK_VERBS_VERBS_H
#define GT_EXEC_LINK_VERBS_VERBS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "exec/link/bell.h"
#include "exec/link/fifo.h"
#include "exec/link/proxied_link.h"

enum {
	GT_VERBS_SENDS = 256,  /* in flight to one process, at most */
	GT_VERBS_RECEIVES = 2, /* that may arrive from it, for each of these */
	GT_VERBS_MOST_FIFOS = 1 << 16,
	GT_VERBS_MOST_CREDITS = 127, /* in one message */
	GT_VERBS_KNOWN_BY = 0x7fff,  /* what an id has of a generation */
};

/* Immediate data: a generation, credits (0: a slice), the FIFO's number. */
static inline uint32_t gt_verbs_imm(uint32_t generation, uint32_t credits,
				    uint32_t fifo)
{
	return (generation & 255) << 24 | credits << 16 | fifo;
}

/* How far a network card is from a GPU, as NCCL calls it. */
enum gt_verbs_distance {
	GT_VERBS_LOC,  /* nearer than there are any */
	GT_VERBS_PIX,  /* one PCIe switch between them */
	GT_VERBS_PXB,  /* several */
	GT_VERBS_PHB,  /* the host bridge */
	GT_VERBS_NODE, /* several of those, of a NUMA node */
	GT_VERBS_SYS,  /* what is between NUMA nodes, or nobody knows */
};

/* Slots of a local rank in its device's memory, which the card gets at. */
struct gt_verbs_gdr_memory {
	struct gt_link_device_memory memory;
	struct ibv_mr *mr; /* NULL: slots are the host's */
	uint32_t nfifos;   /* that have slots there */
	uint64_t behind;   /* where those end, and flushes read */
	int flushes;       /* bytes are there when a read behind them is */
	int is_dirty;      /* slices have come since the last read began */
	int is_read;       /* it has not ended yet */
};

/* A FIFO whose other end is in another process. */
struct gt_verbs_fifo {
	struct gt_fifo *counters;
	struct gt_fifo_end end; /* the proxy's: it stands for the far rank */
	int sends;              /* the local rank is the sender */
	uint64_t posted;        /* sends: slices handed to the device */
	uint64_t credit;        /* sends: what the far side has consumed */
	uint64_t told;          /* receives: credits passed on */
	uint32_t lkey;          /* of the slots here */
	uint32_t far_rkey;      /* sends: of those over there, */
	uint64_t far_slots;     /* and where they are */
	struct gt_verbs_gdr_memory *room; /* NULL: the slots are the host's */
	uint64_t arrived; /* receives, in a room that flushes: slices */
	uint64_t covered; /* of these, what the last read is behind */
};

struct gt_verbs_peer {
	struct ibv_qp *qp; /* NULL: nothing in common */
	int connected;
	uint32_t psn;
	uint32_t nfifos;
	struct gt_verbs_fifo *fifos;
	uint32_t turn;
	uint32_t in_flight;        /* messages: the device knows no more */
	uint32_t slices_in_flight; /* of these */
};

/* Where a port is in its network, as others are told. */
struct gt_verbs_place {
	union ibv_gid gid;
	uint32_t lid, mtu;
	uint32_t is_ethernet;
	uint32_t needs_global; /* it takes nothing without a GID */
};

/* The port that this process uses. */
struct gt_verbs_port {
	struct ibv_context *context;
	uint8_t number;
	uint8_t gid_index;
	uint8_t traffic_class, service_level;
	uint8_t always_flushes;
	enum gt_verbs_distance reach; /* GPUs that are as near have rooms */
	struct gt_verbs_place place;
	uint32_t most_cqe;
	/* Since when it is down; 0: it is up. */
	_Atomic int64_t down_ns;
	/* enum ibv_event_type + 1: the device works no more. */
	atomic_int is_gone;
};

struct gt_verbs_link {
	struct gt_proxied_link base;
	uint32_t nprocesses;
	struct gt_verbs_port port;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	uint32_t sends; /* in flight to one process, at most */
	struct ibv_mr *mr;
	struct gt_verbs_peer *peers;
	struct gt_verbs_gdr_memory *gdr; /* [config.nranks] */
	struct gt_verbs_peer loop; /* to itself: reads that flush such memory */
	uint32_t reads;            /* on it, in flight */
	int has_told;              /* whether slots are in such memory */
	uint32_t generation;
	struct pollfd polls[2];  /* base.polls */
	_Atomic uint64_t broken; /* 0, or gt_verbs_broken() */
	atomic_int listens;      /* somebody reads the device's events */
	int64_t patience_ns; /* a message is sent again for so long until the
				connection counts as broken */
};

/* Why a connection broke: enum ibv_wc_status, or enum ibv_event_type + this. */
enum { GT_VERBS_EVENT = 1 << 16 };

static inline uint64_t gt_verbs_broken(uint32_t process, int why)
{
	return (uint64_t)why << 32 | (process + 1);
}

/* The connection to that process has broken; the first word counts. */
static inline void gt_verbs_break(struct gt_verbs_link *link, uint32_t process,
				  int why)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&link->broken, &none,
				       gt_verbs_broken(process, why));
}

/* port.c: what the environment says; GT_EINPUT: it makes no sense. */
int gt_verbs_port_init(struct gt_verbs_port *port, struct gt_err *err);

/*
 * After that, which it does: the port that GTOPO_IB_HCA names ("mlx5_0" or
 * "mlx5_0:1"), or the first active one, of the card with that PCI bus id unless
 * it is NULL; its address is the one of GTOPO_IB_GID_INDEX, or the best for
 * RoCE v2, and packets go with GTOPO_IB_TC and GTOPO_IB_SL.
 */
int gt_verbs_port_open(struct gt_verbs_port *port,
		       const struct gt_link_config *config, struct gt_err *err);
void gt_verbs_port_close(struct gt_verbs_port *port);

/* How packets get from the port to that place; NULL, or why they do not. */
const char *gt_verbs_route(const struct gt_verbs_port *port,
			   const struct gt_verbs_place *far,
			   struct ibv_ah_attr *route);

/* distance.c: what GTOPO_NET_GDR_LEVEL says; GT_EINPUT: it makes no sense. */
int gt_verbs_reach_read(enum gt_verbs_distance *reach, struct gt_err *err);

/* "PIX" */
const char *gt_verbs_distance_name(enum gt_verbs_distance distance);

/* The distance between two PCI functions, by their paths in /sys/devices. */
enum gt_verbs_distance gt_verbs_distance(const char *card, const char *gpu);

/* The distance between the port's card and the GPU of that PCI bus id. */
enum gt_verbs_distance gt_verbs_distance_to_gpu(
	const struct gt_verbs_port *port, const char *bus_id);

/* qp.c: a queue pair in *peer; NULL, or why it cannot be connected. */
int gt_verbs_qp_new(struct gt_verbs_link *link, struct gt_verbs_peer *peer,
		    struct gt_err *err);
const char *gt_verbs_qp_connect(struct gt_verbs_link *link,
				struct gt_verbs_peer *peer,
				const struct gt_verbs_place *far, uint32_t qpn,
				uint32_t psn);

/*
 * direct.c: rooms for the slots of ranks whose devices and whose card are
 * near each other, as far as the device and the card can do it; why others have
 * none is told, not an error.  _take: where the next FIFO of a rank has its
 * slots, or NULL: in the host's memory.
 */
void gt_verbs_gdr_memories_new(struct gt_verbs_link *link,
			       const struct gt_link_conn *conns,
			       uint32_t nconns);
void gt_verbs_gdr_memories_free(struct gt_verbs_link *link);
struct gt_verbs_gdr_memory *gt_verbs_gdr_memory_of(
	struct gt_verbs_link *link, const struct gt_link_conn *conn);
char *gt_verbs_gdr_memory_take(struct gt_verbs_gdr_memory *room,
			       const struct gt_link_shape *shape);

/*
 * Read behind what has come to rooms; 0: there was nothing to do.  What a read
 * was behind is the ranks' when it has ended.
 */
int gt_verbs_flush(struct gt_verbs_link *link);
void gt_verbs_flushed(struct gt_verbs_link *link, const struct ibv_wc *wc);

/* event.c: whether device, port and connections still work; cheap. */
int gt_verbs_check(struct gt_exec_link *link, struct gt_err *err);

/*
 * proxy.c: what its proxy does.  Before slots are freed, _drain waits until the
 * device has read them, or an answer can no longer come.
 */
extern const struct gt_proxied_link_ops gt_verbs_proxy;
void gt_verbs_drain(struct gt_verbs_link *link);

/*
 * Which connection and FIFO a completion is of; slices free a slot, unless
 * those of their generation are gone.  Of the loop the process is nobody's and
 * the FIFO a room.
 */
static inline uint64_t gt_verbs_id(uint32_t process, uint32_t generation,
				   uint32_t fifo, int slice)
{
	return (uint64_t)process << 32 | (uint64_t)slice << 31 |
	       (generation & GT_VERBS_KNOWN_BY) << 16 | fifo;
}

/* Room for one more message to arrive; 0 or an errno. */
int gt_verbs_receive(struct ibv_qp *qp, uint32_t process);

#endif
