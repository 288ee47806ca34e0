/* The turn is a socket's name, which the system gives to one at a time. */
#include "exec/cuda/device/closing_turn.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "world/close_on_fork.h"

enum { GT_CLOSING_TURN_LOOK_NS = 200000 };

/* Names that begin with a zero are in no folder, and end with the socket. */
static int gt_closing_turn_try(int fd)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int len = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1,
			   "gtopo-closing-%u", (unsigned)geteuid());
	socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				      1 + (size_t)len);

	return bind(fd, (const struct sockaddr *)&name, bytes) == 0;
}

int gt_closing_turn_take(int64_t limit_ns)
{
	const struct timespec some = {0, GT_CLOSING_TURN_LOOK_NS};
	int64_t until = gt_clock_ns() + limit_ns;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	gt_close_on_fork_mark(fd);
	while (!gt_closing_turn_try(fd)) {
		if (gt_clock_ns() >= until) {
			close(fd);
			return -1;
		}
		nanosleep(&some, NULL);
	}
	return fd;
}

void gt_closing_turn_give(int turn)
{
	if (turn >= 0)
		close(turn);
}
