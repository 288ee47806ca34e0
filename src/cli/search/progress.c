/* Writes the line over itself, and clears it before anything else is said. */
#include "cli/search/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "search/problem/budget.h"

/* Not for searches that are over before anybody wonders. */
enum { GT_PROGRESS_FIRST_NS = 500000000, GT_PROGRESS_EVERY_NS = 100000000 };

static void gt_progress_tell(void *arg, const char *what, uint32_t round,
			     double value_gbs)
{
	struct gt_progress *progress = arg;
	int64_t now_ns = gt_clock_ns();

	if (now_ns < progress->next_ns)
		return;
	progress->next_ns = now_ns + GT_PROGRESS_EVERY_NS;
	progress->shown = 1;
	fprintf(stderr, "\rsearching %s: round %u, %g GB/s\033[K", what, round,
		value_gbs);
}

void gt_progress_start(struct gt_progress *progress, struct gt_budget *budget)
{
	progress->shown = 0;
	progress->next_ns = gt_clock_ns() + GT_PROGRESS_FIRST_NS;
	if (!isatty(STDERR_FILENO))
		return;
	budget->tell = gt_progress_tell;
	budget->arg = progress;
}

void gt_progress_end(const struct gt_progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
}
