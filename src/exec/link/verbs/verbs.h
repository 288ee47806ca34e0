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
	GT_VERBS_KNOWN_BY =
		0x7fff, /* the bits of a generation that an id has */
};

/* Immediate data: a generation, credits (0: a slice), the FIFO's number. */
static inline uint32_t gt_verbs_imm(uint32_t generation, uint32_t credits,
				    uint32_t fifo)
{
	return (generation & 255) << 24 | credits << 16 | fifo;
}

/* A network card is so far from a GPU, as NCCL calls it. */
enum gt_verbs_distance {
	GT_VERBS_LOC,  /* nearer than any two are */
	GT_VERBS_PIX,  /* one PCIe switch between them */
	GT_VERBS_PXB,  /* several */
	GT_VERBS_PHB,  /* the host bridge */
	GT_VERBS_NODE, /* several host bridges of a NUMA node */
	GT_VERBS_SYS,  /* the link between NUMA nodes, or nobody knows */
};

/*
 * Memory of a local rank's device for its slots, which the card reads and
 * writes by itself.
 */
struct gt_verbs_gdr_memory {
	struct gt_link_device_memory memory;
	struct ibv_mr *mr; /* NULL: slots are the host's */
	uint32_t nfifos;   /* how many FIFOs have slots there */
	uint64_t behind;   /* the offset where slots end and flushes read */
	int flushes;       /* bytes are there when a read behind them is */
	int is_dirty;      /* slices have come since the last read began */
	int is_read;       /* that read has not ended yet */
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
	uint32_t far_rkey;      /* sends: the key of the slots over there, */
	uint64_t far_slots;     /* and where they are */
	struct gt_verbs_gdr_memory *gdr; /* NULL: the slots are the host's */
	/*
	 * Receives, if the memory is flushed: slices that came, and how many of
	 * these the last read is behind.
	 */
	uint64_t arrived, covered;
};

struct gt_verbs_peer {
	struct ibv_qp *qp; /* NULL: the two have no FIFO */
	int connected;
	uint32_t psn;
	uint32_t nfifos;
	struct gt_verbs_fifo *fifos;
	uint32_t turn;
	uint32_t in_flight;        /* messages: the device knows no more */
	uint32_t slices_in_flight; /* of these */
};

/* The place of a port in its network, as others are told. */
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
	/* GPUs that are as near as this have slots in their memory. */
	enum gt_verbs_distance reach;
	struct gt_verbs_place place;
	uint32_t most_cqe;
	/* The time since when the port is down; 0: it is up. */
	_Atomic int64_t down_ns;
	/*
	 * 0, or the event with which the device has failed (enum
	 * ibv_event_type) + 1.
	 */
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

/*
 * The reason why a connection broke is an enum ibv_wc_status, or an enum
 * ibv_event_type and this.
 */
enum { GT_VERBS_EVENT = 1 << 16 };

static inline uint64_t gt_verbs_broken(uint32_t process, int why)
{
	return (uint64_t)why << 32 | (process + 1);
}

/* Note that the connection to a process has broken; the first reason counts. */
static inline void gt_verbs_break(struct gt_verbs_link *link, uint32_t process,
				  int why)
{
	uint64_t none = 0;

	atomic_compare_exchange_strong(&link->broken, &none,
				       gt_verbs_broken(process, why));
}

/*
 * port.c: read what the environment says of ports; GT_EINPUT: it makes no
 * sense.
 */
int gt_verbs_port_init(struct gt_verbs_port *port, struct gt_err *err);

/*
 * Do that first, then open the port that GTOPO_IB_HCA names ("mlx5_0" or
 * "mlx5_0:1"), or else the first active one, of the card with that PCI bus id
 * unless it is NULL.  Its address is the one of GTOPO_IB_GID_INDEX, or the best
 * for RoCE v2, and packets go with GTOPO_IB_TC and GTOPO_IB_SL.
 */
int gt_verbs_port_open(struct gt_verbs_port *port,
		       const struct gt_link_config *config, struct gt_err *err);
void gt_verbs_port_close(struct gt_verbs_port *port);

/*
 * Find how packets get from the port to another port; NULL, or why they do not.
 */
const char *gt_verbs_route(const struct gt_verbs_port *port,
			   const struct gt_verbs_place *far,
			   struct ibv_ah_attr *route);

/* distance.c: read GTOPO_NET_GDR_LEVEL; GT_EINPUT: it makes no sense. */
int gt_verbs_reach_read(enum gt_verbs_distance *reach, struct gt_err *err);

/* The name of a distance, "PIX". */
const char *gt_verbs_distance_name(enum gt_verbs_distance distance);

/* The distance between two PCI functions, by their paths in /sys/devices. */
enum gt_verbs_distance gt_verbs_distance(const char *card, const char *gpu);

/* The distance between the port's card and the GPU of that PCI bus id. */
enum gt_verbs_distance gt_verbs_distance_to_gpu(
	const struct gt_verbs_port *port, const char *bus_id);

/*
 * qp.c: make a queue pair in *peer, and connect it to another; _connect returns
 * NULL, or why it cannot.
 */
int gt_verbs_qp_new(struct gt_verbs_link *link, struct gt_verbs_peer *peer,
		    struct gt_err *err);
const char *gt_verbs_qp_connect(struct gt_verbs_link *link,
				struct gt_verbs_peer *peer,
				const struct gt_verbs_place *far, uint32_t qpn,
				uint32_t psn);

/*
 * direct.c: get memory of devices for the slots of ranks whose devices and
 * whose card are near each other, as far as the device and the card can do it;
 * why others have none is told, not an error.  _of: the memory of a
 * connection's rank, or NULL: it has its slots in the host's memory.  _take:
 * where the next FIFO of that rank has its slots.
 */
void gt_verbs_gdr_memories_new(struct gt_verbs_link *link,
			       const struct gt_link_conn *conns,
			       uint32_t nconns);
void gt_verbs_gdr_memories_free(struct gt_verbs_link *link);
struct gt_verbs_gdr_memory *gt_verbs_gdr_memory_of(
	struct gt_verbs_link *link, const struct gt_link_conn *conn);
char *gt_verbs_gdr_memory_take(struct gt_verbs_gdr_memory *gdr,
			       const struct gt_link_shape *shape);

/*
 * Begin a read behind what has come to devices' memory; 0: there was nothing to
 * do.  Slices are the rank's when the read behind them has ended, which
 * _flushed notes.
 */
int gt_verbs_flush(struct gt_verbs_link *link);
void gt_verbs_flushed(struct gt_verbs_link *link, const struct ibv_wc *wc);

/* event.c: cheap; GT_OK while device, port and connections work. */
int gt_verbs_check(struct gt_exec_link *link, struct gt_err *err);

/*
 * proxy.c: what its proxy does.  Before slots are freed, _drain waits until the
 * device has read them, or an answer can no longer come.
 */
extern const struct gt_proxied_link_ops gt_verbs_proxy;
void gt_verbs_drain(struct gt_verbs_link *link);

/*
 * The id of a message's completion: connection, generation, FIFO, and whether
 * it was a slice, which frees a slot unless the FIFOs of its generation are
 * gone.  For a flush the process is one more than there are, and the FIFO is
 * the rank's number.
 */
static inline uint64_t gt_verbs_id(uint32_t process, uint32_t generation,
				   uint32_t fifo, int slice)
{
	return (uint64_t)process << 32 | (uint64_t)slice << 31 |
	       (generation & GT_VERBS_KNOWN_BY) << 16 | fifo;
}

/* Let one more message arrive; 0 or an errno. */
int gt_verbs_receive(struct ibv_qp *qp, uint32_t process);

#endif
