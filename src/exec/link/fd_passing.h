/*
 * This hands open files from process to process of one host, over datagram
 * sockets that exist only meanwhile.
 */
#ifndef GT_EXEC_LINK_FD_PASSING_H
#define GT_EXEC_LINK_FD_PASSING_H

#include <stdint.h>

struct gt_err;
struct gt_world;

enum { GT_FD_PACKET_MAX = 250 }; /* the kernel takes 253 at once */

/* Files that go together. */
struct gt_fd_packet {
	uint32_t tag; /* says what the files are */
	uint32_t n;
	uint64_t words[GT_FD_PACKET_MAX]; /* one beside each file */
	int fds[GT_FD_PACKET_MAX];
};

/* The files that one process hands out and takes in an exchange. */
struct gt_fd_exchange {
	struct gt_world *world;
	const uint8_t *with; /* NULL, or whether each process is among them */
	const struct gt_fd_packet *mine;
	uint32_t nmine;
	uint32_t ntheirs; /* of all others together */
	struct gt_fd_packet *theirs;
};

/*
 * Hand `mine` to all other processes, which get copies, and take theirs, in any
 * order; all processes call it together.  Those files are the caller's to
 * close; on a failure there are none.  Processes that hand files to each other
 * are on one host, and know how many to expect.
 */
int gt_fd_exchange(const struct gt_fd_exchange *swap, struct gt_err *err);

void gt_fd_packet_close(struct gt_fd_packet *pass);

#endif
