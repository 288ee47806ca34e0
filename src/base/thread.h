/* Threads that take no signals, which are their starter's business. */
#ifndef GT_BASE_THREAD_H
#define GT_BASE_THREAD_H

#include <pthread.h>

struct gt_err;

/* As pthread_create(); GT_ESYS when there can be no more threads. */
int gt_thread_start(pthread_t *thread, void *(*body)(void *), void *arg,
		    struct gt_err *err);

#endif
