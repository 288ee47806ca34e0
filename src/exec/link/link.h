/*
 * A link carries FIFOs (exec/link/fifo.h) between this process and others.
 * Ranks know nothing of it: whatever is between, a rank writes slots on its
 * side and reads slots on its side, and is rung when there is something to do.
 *
 *   shm   both sides map the same memory; nothing is between
 *   tcp   each side has slots of its own, and a proxy thread in each process
 *         carries slices one way and credits the other
 *   verbs as tcp, by RDMA writes over reliable connections
 *   null  nothing is carried and all has always come: what else takes time
 *   trace one of the others, with every post written to a file
 *
 * A link belongs to one thread, as the engine does.  open and connect are
 * meetings (world/world.h): all processes call them in the same order, also
 * those that have nothing to connect.
 */
#ifndef GT_EXEC_LINK_LINK_H
#define GT_EXEC_LINK_LINK_H

#include <stddef.h>
#include <stdint.h>

struct gt_bell;
struct gt_err;
struct gt_fifo_end;
struct gt_exec_link;
struct gt_link_ops;
struct gt_notice;
struct gt_world;

/*
 * Memory of a rank's device for slots, which a network card reads and writes
 * without the host.
 */
struct gt_link_device_memory {
	char *base;
	uint64_t bytes;
	int dmabuf; /* the link's to close; -1: there is none */
	/* Bytes that a card has written are there before any that it or the
	 * host writes later. */
	int is_ordered;
	char bus_id[32]; /* of the device; "" if that is not known */
};

/*
 * The needs of a device that reads and writes slots by itself: pin() is called
 * for all memory of the host in which FIFOs of ranks here lie before it is
 * used, and unpin() after it; the memory begins and ends with a page.
 * device_memory_new(), which may be NULL, gets memory for a rank's slots on its
 * device; a link that cannot use it takes the host's.
 */
struct gt_link_memory_ops {
	int (*pin)(void *base, size_t bytes, struct gt_err *err);
	void (*unpin)(void *base);
	int (*device_memory_new)(void *arg, uint32_t rank, uint64_t bytes,
				 struct gt_link_device_memory *room,
				 struct gt_err *err);
	void (*device_memory_free)(void *arg, uint32_t rank,
				   struct gt_link_device_memory *room);
};

struct gt_link_config {
	struct gt_world *world;
	const char *iface;           /* NULL, or as in world/net.h */
	struct gt_bell *bells;       /* of the local ranks, in shared memory */
	uint32_t first_rank, nranks; /* the local ones */
	int bells_fd;                /* of that memory */
	const struct gt_link_memory_ops
		*pins;                  /* NULL: slots are the host's own */
	void *pins_arg;                 /* of pins' functions */
	const struct gt_notice *notice; /* NULL: nobody */
	/*
	 * trace: the link that is wrapped, and the file to write to, to whose
	 * name process p adds ".p".
	 */
	const struct gt_link_ops *inner;
	const char *trace;
	uint32_t streams; /* tcp: links like it side by side, or 0: it alone */
	const char *nic;  /* verbs: NULL, or the PCI bus id of its card */
};

/* One end of a FIFO whose other end is in another process. */
struct gt_link_conn {
	uint32_t process;   /* the other one */
	uint32_t from, to;  /* ranks */
	uint32_t lane, tag; /* which FIFO between the two */
	int sends;          /* this side is the sender */
	struct gt_fifo_end *end;
};

/* All FIFOs of one connect() have this shape. */
struct gt_link_shape {
	uint32_t nslots;
	uint32_t slot_bytes;
};

struct gt_link_ops {
	const char *name;
	int (*open)(const struct gt_link_config *config,
		    struct gt_exec_link **link, struct gt_err *err);
	void (*close)(struct gt_exec_link *link);

	/*
	 * Make these FIFOs, empty, and fill in their ends, of which `at` and
	 * `seen` are 0.  FIFOs of an earlier call are gone.
	 */
	int (*connect)(struct gt_exec_link *link,
		       const struct gt_link_shape *shape,
		       const struct gt_link_conn *conns, uint32_t nconns,
		       struct gt_err *err);

	/*
	 * NULL if the link can always be opened.  Says whether this process
	 * could open it on that card; GT_EINPUT when its environment makes no
	 * sense.
	 */
	int (*usable)(const char *nic, uint32_t *usable, struct gt_err *err);

	/* Cheap; GT_OK while the link works. */
	int (*check)(struct gt_exec_link *link, struct gt_err *err);

	/*
	 * NULL where nothing is between.  A rank that has nothing to do but
	 * stays on its processor may carry slices itself: it says so with
	 * attend(+1), calls progress() again and again, which returns 0 when
	 * there was nothing to do, and ends with attend(-1) before it sleeps.
	 * While a rank attends the proxy does not carry, which saves two
	 * hand-overs a slice.  May be called from any thread, between two
	 * connect() calls.
	 */
	void (*attend)(struct gt_exec_link *link, int change);
	int (*progress)(struct gt_exec_link *link);
};

extern const struct gt_link_ops gt_link_shm;
extern const struct gt_link_ops gt_link_tcp;
extern const struct gt_link_ops gt_link_verbs; /* if built with verbs */
extern const struct gt_link_ops gt_link_null;
extern const struct gt_link_ops gt_link_trace; /* around another one */

/*
 * The link of that name, or NULL; process_group.c has the table.  Trace has
 * none: it needs another link.
 */
const struct gt_link_ops *gt_link_find(const char *name);

#endif
