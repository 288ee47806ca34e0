/* Looks for reference machines in the folders that the header names. */
#include "cli/common/reference.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/word.h"
#include "cli/common/opt.h"

enum { GT_REFERENCE_MAX = 1024 };

/* Returns the folder of this program in `dir`; 0 when it is not known. */
static int gt_reference_program(char dir[PATH_MAX])
{
	ssize_t len = readlink("/proc/self/exe", dir, PATH_MAX - 1);
	char *slash;

	if (len <= 0)
		return 0;
	dir[len] = '\0';
	slash = strrchr(dir, '/');
	if (!slash)
		return 0;
	*slash = '\0';
	return 1;
}

/* Returns the folder of reference machines; NULL when memory ran out. */
static const char *gt_reference_dir(struct gt_arena *arena)
{
	/* An installed copy, a build tree in the sources, the sources. */
	static const char *const beside[] = {"../share/gtopo/xml",
					     "../share/xml", "share/xml"};
	const char *dir = getenv("GTOPO_XML");
	char program[PATH_MAX], real[PATH_MAX];

	if (dir && *dir)
		return dir;
	if (!gt_reference_program(program))
		return GT_DATADIR "/xml";
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		dir = gt_arena_printf(arena, "%s/%s", program, beside[i]);
		if (!dir)
			return NULL;
		if (realpath(dir, real) && !access(real, R_OK | X_OK))
			return gt_arena_strdup(arena, real);
	}
	return GT_DATADIR "/xml";
}

static int gt_reference_order(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strcmp(*a, *b);
}

/* Adds the name of "NAME.xml"; other files are schemas. */
static void gt_reference_add(struct gt_arena *arena, const char *file,
			     const char **names, size_t *n)
{
	size_t len = strlen(file);

	if (*n == GT_REFERENCE_MAX || len < 5 ||
	    strcmp(file + len - 4, ".xml") != 0)
		return;
	names[*n] = gt_arena_printf(arena, "%.*s", (int)(len - 4), file);
	*n += names[*n] != NULL;
}

const char **gt_reference_names(struct gt_arena *arena)
{
	const char *path = gt_reference_dir(arena);
	const char **names =
		gt_arena_array(arena, GT_REFERENCE_MAX + 1, sizeof(*names));
	DIR *dir = path ? opendir(path) : NULL;
	struct dirent *entry;
	size_t n = 0;

	while (names && dir && (entry = readdir(dir)))
		gt_reference_add(arena, entry->d_name, names, &n);
	if (dir)
		closedir(dir);
	if (n)
		qsort(names, n, sizeof(*names), gt_reference_order);
	return path ? names : NULL;
}

static const char *gt_reference_name(int i, const void *names)
{
	return ((const char *const *)names)[i];
}

/* Returns the shortest name that ends in "-h100" for "h100", or NULL. */
static const char *gt_reference_ending(const char *word, const char **names)
{
	const char *best = NULL;
	size_t n = strlen(word);

	for (; n && names && *names; names++) {
		size_t len = strlen(*names);

		if (len > n && (*names)[len - n - 1] == '-' &&
		    gt_word_is(*names + len - n, word) &&
		    (!best || len < strlen(best)))
			best = *names;
	}
	return best;
}

/* Returns the name that was probably meant, or NULL. */
static const char *gt_reference_near(const char *word, const char **names)
{
	const char *ending = gt_reference_ending(word, names);
	int n = 0;

	while (names && names[n])
		n++;
	return ending ? ending
		      : gt_opt_nearest(word, n, gt_reference_name, names);
}

/*
 * Help for somebody who wrote an unknown word: the name probably meant, or
 * NULL, and all names, "dgx-1v, dgx-2".
 */
struct hints {
	const char *near;
	struct gt_buf list;
};

/* Gathers the hints, whose list the caller releases also after a failure. */
static int gt_reference_hints(const char *word, struct gt_arena *arena,
			      struct hints *hints, struct gt_err *err)
{
	const char **names = gt_reference_names(arena);

	*hints = (struct hints){gt_reference_near(word, names), GT_BUF_INIT};
	for (int i = 0; names && names[i]; i++)
		gt_buf_printf(&hints->list, "%s%s", i ? ", " : "", names[i]);
	return names && !hints->list.failed ? GT_OK : gt_err_nomem(err);
}

/* Complains of a name; the words say what there is, and where. */
static int gt_reference_unknown(const char *word, struct gt_arena *arena,
				const char *dir, struct gt_err *err)
{
	struct hints hints;
	int rc = gt_reference_hints(word, arena, &hints, err);

	if (!rc && hints.near)
		rc = gt_err_set(
			err, GT_EINPUT, NULL,
			"'%.64s' is no reference machine in '%.256s'; did "
			"you mean '%s'?",
			word, dir, hints.near);
	else if (!rc && hints.list.len)
		rc = gt_err_set(
			err, GT_EINPUT, NULL,
			"'%.64s' is no reference machine in '%.256s', which "
			"has %.512s; GTOPO_XML names another folder, and a "
			"file is written with a '.' or '/'",
			word, dir, hints.list.text);
	else if (!rc)
		rc = gt_err_set(
			err, GT_EINPUT, NULL,
			"'%.64s' is no reference machine, for there are none "
			"in '%.256s'; GTOPO_XML names another folder, and a "
			"file is written with a '.' or '/'",
			word, dir);
	gt_buf_release(&hints.list);
	return rc;
}

/* Complains of an operand that is nothing. */
static int gt_reference_no_operand(const char *word, struct gt_arena *arena,
				   struct gt_err *err)
{
	struct hints hints;
	int rc = gt_reference_hints(word, arena, &hints, err);

	if (!rc && hints.near)
		rc = gt_err_set(
			err, GT_EINPUT, word,
			"is no file and no reference machine; did you mean "
			"'%s'?",
			hints.near);
	else if (!rc)
		rc = gt_err_set(err, GT_EINPUT, word,
				"is no file and no reference machine%s%.512s",
				hints.list.len ? "; of these there are " : "",
				hints.list.len ? hints.list.text : "");
	gt_buf_release(&hints.list);
	return rc;
}

/*
 * Sets *path to the file of that machine, whether there is one or not: of that
 * very name, or of one that people mean by it.
 */
static int gt_reference_path(const char *word, struct gt_arena *arena,
			     const char **dir, const char **path)
{
	const char **names = NULL;

	*dir = gt_reference_dir(arena);
	*path = *dir ? gt_arena_printf(arena, "%s/%s.xml", *dir, word) : NULL;
	if (*path && access(*path, R_OK))
		names = gt_reference_names(arena);
	for (; names && *names; names++)
		if (gt_word_is(*names, word))
			*path = gt_arena_printf(arena, "%s/%s.xml", *dir,
						*names);
	return *path != NULL;
}

int gt_reference_find(const char *word, struct gt_arena *arena,
		      const char **path, struct gt_err *err)
{
	const char *dir, *file;

	if (strpbrk(word, "./")) {
		*path = word;
		return GT_OK;
	}
	if (!gt_reference_path(word, arena, &dir, &file))
		return gt_err_nomem(err);
	if (access(file, R_OK))
		return gt_reference_unknown(word, arena, dir, err);
	*path = file;
	return GT_OK;
}

/* A folder of that name, as jobs' plans lie in, is no file to be read. */
static int is_file(const char *word)
{
	struct stat what;

	return !stat(word, &what) && !S_ISDIR(what.st_mode);
}

/* Names of reference machines are written without the ".xml" of their files. */
static int gt_reference_no_suffix(const char *word, struct gt_arena *arena,
				  struct gt_err *err)
{
	size_t len = strlen(word);
	const char *dir, *file, *name;

	if (len < 5 || strcmp(word + len - 4, ".xml") != 0 ||
	    strchr(word, '/') || is_file(word))
		return GT_OK;
	name = gt_arena_printf(arena, "%.*s", (int)(len - 4), word);
	if (!name || !gt_reference_path(name, arena, &dir, &file))
		return gt_err_nomem(err);
	if (access(file, R_OK))
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, word,
			  "there is no such file; of the reference machine "
			  "leave out '.xml': '%.256s'",
			  name);
}

int gt_reference_no_plan(const char *word, struct gt_err *err)
{
	struct gt_arena *arena;
	const char *dir, *file;
	int rc = GT_OK;

	if (strpbrk(word, "./") || is_file(word))
		return GT_OK;
	arena = gt_arena_new();
	if (!arena)
		return gt_err_nomem(err);
	if (!gt_reference_path(word, arena, &dir, &file))
		rc = gt_err_nomem(err);
	else if (!access(file, R_OK))
		rc = gt_err_set(err, GT_EINPUT, word,
				"is a machine, where a plan is needed; 'gtopo "
				"search -o plan.json %.256s' makes one",
				word);
	gt_arena_free(arena);
	return rc;
}

int gt_reference_operand(const char *word, struct gt_arena *arena,
			 const char **path, struct gt_err *err)
{
	const char *dir, *file;

	*path = word;
	if (strpbrk(word, "./"))
		return gt_reference_no_suffix(word, arena, err);
	if (!strcmp(word, "-") || is_file(word))
		return GT_OK;
	if (!gt_reference_path(word, arena, &dir, &file))
		return gt_err_nomem(err);
	if (!access(file, R_OK)) {
		*path = file;
		return GT_OK;
	}
	return gt_reference_no_operand(word, arena, err);
}
