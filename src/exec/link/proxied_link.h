/*
 * The base of links that carry slices between slots on both sides: a proxy
 * thread, which ranks that have nothing else to do may relieve, and the memory
 * of its FIFOs (exec/link/proxied_fifo.h).
 *
 * A link has this as its first member, so that a pointer to the one is a
 * pointer to the other.  Whoever carries, the proxy or a rank, holds `busy`
 * meanwhile; nobody waits for it, as the holder does the work anyway.
 */
#ifndef GT_EXEC_LINK_PROXIED_LINK_H
#define GT_EXEC_LINK_PROXIED_LINK_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "exec/link/bell.h"
#include "exec/link/link.h"

struct gt_proxied_link;

struct gt_proxied_link_ops {
	/* Carry what can be carried now; 0: there was nothing. */
	int (*round)(struct gt_proxied_link *link);

	/* The link's gt_link_ops.progress, which the proxy calls as well. */
	int (*progress)(struct gt_exec_link *link);

	/* The proxy sleeps after so many rounds without anything to carry; 0:
	 * after every round. */
	uint32_t idle_rounds;

	/* It sleeps so long at most if nobody rings. */
	int64_t nap_ns;

	/*
	 * NULL if the proxy waits for the bell only.  Write to polls[0..] what
	 * it is to wait for besides; how many, or -1 if it must not sleep now.
	 */
	int (*arm)(struct gt_proxied_link *link, struct pollfd *polls);

	/* NULL, or what is to be done with these after it has slept. */
	void (*woken)(struct gt_proxied_link *link, const struct pollfd *polls);
};

struct gt_proxied_link {
	const struct gt_proxied_link_ops *ops;
	struct gt_link_config config;
	struct gt_link_shape shape;
	char *memory; /* counters, lengths and slots of all FIFOs */

	struct gt_bell bell;  /* ranks ring it when they have posted */
	int wake_fd;          /* its eventfd; -1: ops->arm is NULL */
	struct pollfd *polls; /* one more than arm() writes; its owner's */
	pthread_t thread;
	int has_thread;
	_Atomic int stop;
	_Atomic int busy;
	_Atomic int attended; /* how many ranks carry when they are idle */
};

/*
 * Make a link of `bytes` that begins with a struct gt_proxied_link; all but
 * that is zero.  NULL when memory, or a file where there is arm(), ran out.
 */
void *gt_proxied_link_new(size_t bytes, const struct gt_proxied_link_ops *ops,
			  const struct gt_link_config *config);

/* Stops the proxy and frees the link; NULL is allowed. */
void gt_proxied_link_free(struct gt_proxied_link *link);

/*
 * Start the proxy, on a processor near `device`, a folder of /sys, unless that
 * is NULL; and end it, 1: there was one.
 */
int gt_proxied_link_start(struct gt_proxied_link *link, const char *device,
			  struct gt_err *err);
int gt_proxied_link_stop(struct gt_proxied_link *link);

/* The proxy's loop; returns NULL when `stop` is set. */
void *gt_proxied_link_main(void *link);

/* Get memory for the FIFOs, GT_ESYS when there is none, and free it. */
int gt_proxied_link_alloc(struct gt_proxied_link *link, size_t bytes,
			  struct gt_err *err);
void gt_proxied_link_forget(struct gt_proxied_link *link);

/* The bell of the local rank whose connection it is. */
struct gt_bell *gt_proxied_link_bell(const struct gt_proxied_link *link,
				     const struct gt_link_conn *conn);

/* Take `busy`, or 0: somebody else has it; and give it back. */
static inline int gt_proxied_link_try(struct gt_proxied_link *link)
{
	return !atomic_exchange_explicit(&link->busy, 1, memory_order_acquire);
}

static inline void gt_proxied_link_leave(struct gt_proxied_link *link)
{
	atomic_store_explicit(&link->busy, 0, memory_order_release);
}

/* Members of struct gt_link_ops for links that need no more than this. */
void gt_proxied_link_attend(struct gt_exec_link *link, int change);
int gt_proxied_link_progress(struct gt_exec_link *link);

#endif
