/*
 * Open files handed from process to process of one host, over datagram sockets
 * that exist only meanwhile.
 */
#ifndef GT_EXEC_LINK_FD_PASSING_H
#define GT_EXEC_LINK_FD_PASSING_H

#include <stdint.h>

struct gt_err;
struct gt_world;

enum { GT_PASS_FILES = 250 }; /* the kernel takes 253 at once */

/* What goes together. */
struct gt_pass {
	uint32_t tag; /* tells what it is */
	uint32_t n;
	uint64_t words[GT_PASS_FILES]; /* one beside each file */
	int fds[GT_PASS_FILES];
};

/* What one process hands out and takes. */
struct gt_pass_swap {
	struct gt_world *world;
	const uint8_t *with; /* NULL, or whether each process is among them */
	const struct gt_pass *mine;
	uint32_t nmine;
	uint32_t ntheirs; /* of all others together */
	struct gt_pass *theirs;
};

/*
 * A meeting: hand mine to all other processes, which get copies, and take
 * theirs, in any order.  Those files are the caller's to close; on a failure
 * there are none.  Who hands files to whom is on one host with it, and they
 * know how many to expect.
 */
int gt_pass_swap(const struct gt_pass_swap *swap, struct gt_err *err);

void gt_pass_close(struct gt_pass *pass);

#endif
