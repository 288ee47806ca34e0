/* A port for a job whose process 0 listens at it later. */
#ifndef GT_TESTS_UNIT_PORT_H
#define GT_TESTS_UNIT_PORT_H

#include "unit/test.h"

#include <unistd.h>

#include "base/clock.h"
#include "world/net.h"

/*
 * Below those that the kernel gives to whoever asks for any, and so also to a
 * process of the job that knocks before process 0 listens.
 */
static inline int test_free_port(void)
{
	uint64_t start = (uint64_t)gt_clock_ns() + (uint64_t)getpid() * 7919;
	struct gt_net_address address;
	int fd, port, tries = 0;

	do {
		assert_true(tries < 100);
		/* Steps of a prime (Knuth's factor) come to all of them. */
		port = 10000 +
		       (int)((start + (uint64_t)tries++ * 2654435761u) % 20000);
		assert_int_equal(gt_net_resolve("127.0.0.1", (uint16_t)port,
						&address, NULL),
				 0);
	} while (gt_net_listen(&address, &fd, NULL));
	close(fd);
	return port;
}

#endif
