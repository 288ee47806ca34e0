/* The turn is a socket's name, which the system gives to one at a time. */
#include "exec/cuda/device/closing_turn.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

enum { GT_CLOSING_TURN_LOOK_NS = 200000 };

/* This process's turn, or below 0: no two threads have it at once. */
static _Atomic int gt_closing_turn_held = -1;
static pthread_once_t gt_closing_turn_once = PTHREAD_ONCE_INIT;

/* A child that outlives its parent would keep the name. */
static void gt_closing_turn_drop(void)
{
	int held = atomic_exchange(&gt_closing_turn_held, -1);

	if (held >= 0)
		close(held);
}

static void gt_closing_turn_watch_forks(void)
{
	pthread_atfork(NULL, NULL, gt_closing_turn_drop);
}

/* Names that begin with a zero are in no folder, and end with the socket. */
static int gt_closing_turn_try(int fd)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
			   "gtopo-closing-%u", (unsigned)geteuid());
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				      1 + (size_t)len);

	if (!bind(fd, (const struct sockaddr *)&name, bytes))
		return fd;
	return errno == EADDRINUSE ? GT_CLOSING_TURN_BUSY
				   : GT_CLOSING_TURN_NONE;
}

int gt_closing_turn_take(int64_t limit_ns)
{
	const struct timespec some = {0, GT_CLOSING_TURN_LOOK_NS};
	int64_t until = gt_clock_ns() + limit_ns;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), turn;

	if (fd < 0)
		return GT_CLOSING_TURN_NONE;
	pthread_once(&gt_closing_turn_once, gt_closing_turn_watch_forks);
	turn = gt_closing_turn_try(fd);
	while (turn == GT_CLOSING_TURN_BUSY && gt_clock_ns() < until) {
		nanosleep(&some, NULL);
		turn = gt_closing_turn_try(fd);
	}
	if (turn < 0)
		close(fd);
	else
		atomic_store(&gt_closing_turn_held, turn);
	return turn;
}

void gt_closing_turn_give(int turn)
{
	if (turn < 0)
		return;
	atomic_store(&gt_closing_turn_held, -1);
	close(turn);
}
