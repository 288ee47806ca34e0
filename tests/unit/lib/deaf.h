/*
 * A process that loses a connection just before it hears the end of a round of
 * its world (world/world.h), which others hear.
 */
#ifndef GT_TESTS_UNIT_LIB_DEAF_H
#define GT_TESTS_UNIT_LIB_DEAF_H

#include <arpa/inet.h>
#include <endian.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "world/internal.h"

enum { DEAF_FDS = 4096 };

/*
 * The round whose end is not heard next, once; 0: all is heard.  It is one of a
 * world that comes of a regrouping, or of one `beside` that.
 */
static _Atomic uint64_t deaf_round;
static _Atomic int deaf_beside;

/* Connections on which it was heard who is left, and the last round heard of
 * on others [0] and these [1]. */
static _Atomic int deaf_is_new[DEAF_FDS];
static _Atomic uint64_t deaf_last[2];

/*
 * Is the end of that round in what has come?  Notes what else is.  Frames come
 * whole, as they are short; what is none of them is a greeting.
 */
static inline int deaf_look(int fd, const char *bytes, size_t len,
			    uint64_t round)
{
	uint32_t head[2];
	uint64_t seq;
	int found = 0;

	for (size_t at = 0; at + GT_WIRE_HEADER_BYTES <= len;
	     at += GT_WIRE_HEADER_BYTES + ntohl(head[1])) {
		memcpy(head, bytes + at, sizeof(head));
		memcpy(&seq, bytes + at + sizeof(head), sizeof(seq));
		seq = be64toh(seq);
		if (ntohl(head[0]) == GT_FRAME_ROLL)
			atomic_store(&deaf_is_new[fd], 1);
		if (ntohl(head[0]) != GT_FRAME_ALL)
			continue;
		if (seq > atomic_load(&deaf_last[deaf_is_new[fd]]))
			atomic_store(&deaf_last[deaf_is_new[fd]], seq);
		found |= seq == round && deaf_is_new[fd] != deaf_beside;
	}
	return found;
}

/* Begin not to hear the end of a round. */
static inline void deaf_begin(uint64_t round, int beside)
{
	for (int fd = 0; fd < DEAF_FDS; fd++)
		atomic_store(&deaf_is_new[fd], 0);
	atomic_store(&deaf_last[0], 0);
	atomic_store(&deaf_last[1], 0);
	atomic_store(&deaf_beside, beside);
	atomic_store(&deaf_round, round);
}

/* In the place of libc's, also for libraries. */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *bytes,
						    size_t len, int flags)
{
	ssize_t got = syscall(SYS_recvfrom, fd, bytes, len, flags, NULL, NULL);
	uint64_t round = atomic_load(&deaf_round);

	if (got <= 0 || !round || fd >= DEAF_FDS ||
	    !deaf_look(fd, bytes, (size_t)got, round) ||
	    !atomic_compare_exchange_strong(&deaf_round, &round, 0))
		return got;
	shutdown(fd, SHUT_RDWR);
	return 0;
}

#endif
