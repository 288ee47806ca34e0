/* Looks for reference machines in the folders that the header names. */
#include "cli/common/reference.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"

int gt_reference_find(const char *word, struct gt_arena *arena,
		      const char **path, struct gt_err *err)
{
	const char *dir = getenv("GTOPO_XML");
	const char *file;

	if (strpbrk(word, "./")) {
		*path = word;
		return GT_OK;
	}
	if (!dir || !*dir)
		dir = GT_DATADIR "/xml";
	file = gt_arena_printf(arena, "%s/%s.xml", dir, word);
	if (!file)
		return gt_err_nomem(err);
	if (access(file, R_OK))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "'%.64s' is no reference machine in '%.256s' "
				  "(a file is written with a '.' or '/')",
				  word, dir);
	*path = file;
	return GT_OK;
}
