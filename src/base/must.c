/* Says which of the things that must hold does not, and aborts. */
#include "base/must.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void gt_must_abort(const char *what, const char *file, int line)
{
	fprintf(stderr, "gtopo: %s:%d: this must hold: %s\n", file, line, what);
	abort();
}
