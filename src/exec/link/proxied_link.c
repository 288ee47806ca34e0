/*
 * The proxy thread of a link: it carries while there is something to carry,
 * and sleeps while there is not or while ranks do its work.
 */
#include "exec/link/proxied_link.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/err.h"
#include "base/must.h"
#include "base/thread.h"
#include "exec/link/proxied_fifo.h"

void *gt_proxied_link_new(size_t bytes, const struct gt_proxied_link_ops *ops,
			  const struct gt_link_config *config)
{
	struct gt_proxied_link *link =
		aligned_alloc(_Alignof(struct gt_proxied_link), bytes);

	if (!link)
		return NULL;
	memset(link, 0, bytes);
	link->ops = ops;
	link->config = *config;
	link->wake_fd = -1;
	if (!ops->arm)
		return link;
	link->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	link->bell.poll_fd = link->wake_fd;
	if (link->wake_fd >= 0)
		return link;
	free(link);
	return NULL;
}

void gt_proxied_link_free(struct gt_proxied_link *link)
{
	if (!link)
		return;
	gt_proxied_link_stop(link);
	gt_proxied_link_forget(link);
	if (link->wake_fd >= 0)
		close(link->wake_fd);
	free(link);
}

int gt_proxied_link_alloc(struct gt_proxied_link *link, size_t bytes,
			  struct gt_err *err)
{
	link->memory = gt_proxied_fifo_alloc(&link->config, bytes, err);
	return link->memory ? GT_OK : GT_ESYS;
}

void gt_proxied_link_forget(struct gt_proxied_link *link)
{
	gt_proxied_fifo_free(&link->config, link->memory);
	link->memory = NULL;
}

struct gt_bell *gt_proxied_link_bell(const struct gt_proxied_link *link,
				     const struct gt_link_conn *conn)
{
	uint32_t rank = conn->sends ? conn->from : conn->to;

	return &link->config.bells[rank - link->config.first_rank];
}

static void gt_proxied_link_poll(struct gt_proxied_link *link, uint32_t seen)
{
	struct pollfd *polls = link->polls;
	int nap_ms = (int)(link->ops->nap_ns / 1000000), n;
	uint64_t calls;

	polls[0] = (struct pollfd){.fd = link->wake_fd, .events = POLLIN};
	/* Ranks that attend look after everything else. */
	if (atomic_load(&link->attended)) {
		poll(polls, 1, nap_ms);
	} else {
		atomic_store(&link->bell.asleep, 1);
		n = link->ops->arm(link, polls + 1);
		if (n >= 0 && gt_bell_look(&link->bell) == seen)
			poll(polls, (nfds_t)n + 1, nap_ms);
		atomic_store(&link->bell.asleep, 0);
		if (link->ops->woken)
			link->ops->woken(link, polls + 1);
	}
	if (read(link->wake_fd, &calls, sizeof(calls)) < 0)
		return; /* nobody rang */
}

/* Sleep until somebody rings or there is something; `seen` is from before the
 * last round, so nothing that came meanwhile is missed. */
static void gt_proxied_link_sleep(struct gt_proxied_link *link, uint32_t seen)
{
	if (link->ops->arm)
		gt_proxied_link_poll(link, seen);
	else
		gt_bell_wait(&link->bell, seen, link->ops->nap_ns);
}

void *gt_proxied_link_main(void *arg)
{
	struct gt_proxied_link *link = arg;
	uint32_t seen, idle = 0;

	while (!atomic_load_explicit(&link->stop, memory_order_relaxed)) {
		seen = gt_bell_look(&link->bell);
		idle = link->ops->progress((struct gt_exec_link *)link)
			       ? 0
			       : idle + 1;
		if (idle >= link->ops->idle_rounds ||
		    atomic_load(&link->attended))
			gt_proxied_link_sleep(link, seen);
	}
	return NULL;
}

int gt_proxied_link_start(struct gt_proxied_link *link, const char *device,
			  struct gt_err *err)
{
	int rc;

	/* Two proxies would move one slot twice. */
	GT_MUST(!link->has_thread);
	atomic_store(&link->stop, 0);
	rc = gt_thread_start(&link->thread, gt_proxied_link_main, link, err);
	link->has_thread = !rc;
	if (!rc && device)
		gt_cpus_near(link->thread, device);
	return rc;
}

int gt_proxied_link_stop(struct gt_proxied_link *link)
{
	if (!link->has_thread)
		return 0;
	atomic_store(&link->stop, 1);
	gt_bell_ring(&link->bell);
	pthread_join(link->thread, NULL);
	link->has_thread = 0;
	return 1;
}

/* The last rank to leave calls the proxy. */
void gt_proxied_link_attend(struct gt_exec_link *self, int change)
{
	struct gt_proxied_link *link = (struct gt_proxied_link *)self;
	uint64_t one = 1;

	if (atomic_fetch_add(&link->attended, change) + change)
		return;
	if (write(link->wake_fd, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

int gt_proxied_link_progress(struct gt_exec_link *self)
{
	struct gt_proxied_link *link = (struct gt_proxied_link *)self;
	int done;

	if (!gt_proxied_link_try(link))
		return 0;
	done = link->ops->round(link);
	gt_proxied_link_leave(link);
	return done;
}
