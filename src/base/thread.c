/* Threads that get no signals: these are for the thread that waits. */
#include "base/thread.h"

#include <signal.h>
#include <string.h>

#include "base/err.h"

int gt_thread_start(pthread_t *thread, void *(*body)(void *), void *arg,
		    struct gt_err *err)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(thread, NULL, body, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc)
		return gt_err_set(err, GT_ESYS, NULL,
				  "cannot start a thread: %s", strerror(rc));
	return GT_OK;
}
