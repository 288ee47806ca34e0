/* Asks several times whether anybody listens at an address (world/knock.h). */
#include "world/knock.h"

#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "world/net.h"

static const int64_t gt_knock_turn_ns = GT_KNOCK_LEAST_NS / GT_KNOCK_TIMES;

void gt_knock_init(struct gt_knock *knock)
{
	*knock = (struct gt_knock){.times = 0};
	for (uint32_t i = 0; i < GT_KNOCK_TIMES; i++)
		knock->fds[i] = -1;
}

void gt_knock_end(struct gt_knock *knock)
{
	for (uint32_t i = 0; i < GT_KNOCK_TIMES; i++)
		if (knock->fds[i] >= 0)
			close(knock->fds[i]);
	gt_knock_init(knock);
}

/* What an errno of a connection says of the other side. */
static enum gt_knock_state gt_knock_judge(int error)
{
	return !error                      ? GT_KNOCK_OPEN
	       : error == EINPROGRESS      ? GT_KNOCK_WAITS
	       : error == ECONNREFUSED     ? GT_KNOCK_REFUSED
	       : gt_net_is_own_want(error) ? GT_KNOCK_WANT
					   : GT_KNOCK_SILENCE;
}

/* Ask once more, when it is time. */
static int gt_knock_again(struct gt_knock *knock,
			  const struct gt_net_address *address,
			  int64_t limit_ns)
{
	int64_t now_ns = gt_clock_ns();

	if (!knock->times)
		knock->since_ns = now_ns;
	if (now_ns - knock->since_ns >= limit_ns)
		return ETIMEDOUT;
	if (knock->times == GT_KNOCK_TIMES ||
	    now_ns - knock->since_ns < knock->times * gt_knock_turn_ns)
		return EINPROGRESS;
	return gt_net_connect_start(address, &knock->fds[knock->times++]);
}

/* What the sockets say that there are: 0, an errno, or EINPROGRESS. */
static int gt_knock_answer(struct gt_knock *knock, int *fd)
{
	int error = EINPROGRESS;

	for (uint32_t i = 0; i < knock->times && error == EINPROGRESS; i++) {
		if (knock->fds[i] < 0)
			continue;
		error = gt_net_connect_state(knock->fds[i]);
		if (error)
			continue;
		*fd = knock->fds[i];
		knock->fds[i] = -1;
	}
	return error;
}

enum gt_knock_state gt_knock_look(struct gt_knock *knock,
				  const struct gt_net_address *address,
				  int64_t limit_ns, int *fd)
{
	int error = gt_knock_answer(knock, fd);

	if (error == EINPROGRESS) {
		error = gt_knock_again(knock, address, limit_ns);
		if (!error)
			error = gt_knock_answer(knock, fd);
	}
	if (error != EINPROGRESS)
		gt_knock_end(knock);
	/* It was there, and has ended since; its host says so next time. */
	if (error == ECONNRESET)
		error = EINPROGRESS;
	errno = error;
	return gt_knock_judge(error);
}
