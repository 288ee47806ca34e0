/*
 * What a process holds, for tests that do the same again and again and look
 * whether something is left of it.
 */
#ifndef GT_TESTS_UNIT_HELD_H
#define GT_TESTS_UNIT_HELD_H

#include <dirent.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>

#include "base/err.h"

enum { HELD_LEAST_BYTES = 32 }; /* what the smallest allocation takes */

/* What a process has; all of it in units that a leak takes one of at least. */
struct held {
	size_t heap, maps, fds, threads;
};

static inline size_t held_entries(const char *folder)
{
	DIR *dir = opendir(folder);
	size_t n = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static inline size_t held_lines(const char *path)
{
	FILE *file = fopen(path, "r");
	size_t n = 0;
	int c;

	if (!file)
		return 0;
	while ((c = getc(file)) != EOF)
		n += c == '\n';
	fclose(file);
	return n;
}

/* Other C libraries do not say it; sanitizers look on their own. */
static inline size_t held_heap_bytes(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
#else
	return 0;
#endif
}

/* A sanitizer maps memory as it likes: 31 mappings more in 60 rounds. */
static inline size_t held_maps(void)
{
#ifdef __SANITIZE_ADDRESS__
	return 0;
#else
	return held_lines("/proc/self/maps");
#endif
}

static inline struct held held_now(void)
{
	struct held held = {.maps = held_maps(),
			    .fds = held_entries("/proc/self/fd"),
			    .threads = held_entries("/proc/self/task")};

	/* Reading these has filled the C library's caches. */
	held.heap = held_heap_bytes() / HELD_LEAST_BYTES;
	return held;
}

/* Less than one in two rounds may be left over by chance. */
static inline int held_one_more(const char *what, size_t before, size_t after,
				int rounds, struct gt_err *err)
{
	if (after < before + (size_t)rounds / 2)
		return GT_OK;
	return gt_err_set(err, GT_ENO, NULL, "%zu %s are left after %d rounds",
			  after - before, what, rounds);
}

/* GT_ENO: there is more of something after so many rounds. */
static inline int held_more(const struct held *before, const struct held *after,
			    int rounds, struct gt_err *err)
{
	int rc = held_one_more("allocations", before->heap, after->heap, rounds,
			       err);

	if (!rc)
		rc = held_one_more("mappings", before->maps, after->maps,
				   rounds, err);
	if (!rc)
		rc = held_one_more("descriptors", before->fds, after->fds,
				   rounds, err);
	if (!rc)
		rc = held_one_more("threads", before->threads, after->threads,
				   rounds, err);
	return rc;
}

#endif
