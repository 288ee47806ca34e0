/*
 * The thread of a communicator (lib/launch.h says what it may do when).
 */
#ifndef GT_LIB_THREAD_H
#define GT_LIB_THREAD_H

/* The thread's start routine; arg is the communicator. */
void *gt_thread_main(void *arg);

#endif
