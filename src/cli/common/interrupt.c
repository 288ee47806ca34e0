/* The signal handler, which may do no more than set a flag. */
#include "cli/common/interrupt.h"

#include <signal.h>
#include <stddef.h>

/* A signal handler gets no argument, so what it sets is global. */
static _Atomic int gt_interrupted;

static void gt_interrupt_on_signal(int number)
{
	gt_interrupted = number;
}

/* The second signal kills: somebody is in a hurry. */
const _Atomic int *gt_interrupt_catch(void)
{
	struct sigaction action = {.sa_handler = gt_interrupt_on_signal,
				   .sa_flags = (int)SA_RESETHAND};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	return &gt_interrupted;
}
