/* Decides whether a command's product is coloured. */
#include "cli/common/colour.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/common/command.h"

/*
 * Is the terminal one that a launcher made for its processes, as Open MPI does?
 * What they print goes on to wherever the launcher's own output goes.
 */
static int is_launched(void)
{
	return getenv("PMIX_RANK") != NULL;
}

int gt_colour(enum gt_colour_when when, const struct gt_cmd_args *args)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (when != GT_COLOUR_AUTO)
		return when == GT_COLOUR_ALWAYS;
	return !args->out && isatty(STDOUT_FILENO) && !is_launched() &&
	       !(no && *no) && term && strcmp(term, "dumb") != 0;
}
