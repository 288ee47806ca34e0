/*
 * Sockets that a forked child does not keep.  A child that outlives its parent
 * would hold connections open of which nobody hears any more, and the others
 * would take the parent for alive.
 *
 * A program forks when it likes, so this belongs to the process: only NCCL's
 * face wants it, whose handles mean nothing in a child anyway.  Jobs that fork
 * their own processes hand sockets on to them.
 */
#ifndef GT_WORLD_CLOSE_ON_FORK_H
#define GT_WORLD_CLOSE_ON_FORK_H

/* From now on children close what is marked.  Any thread calls it, any time. */
void gt_close_on_fork_begin(void);

/* Mark a socket, which is closed as any other. */
void gt_close_on_fork_mark(int fd);

#endif
