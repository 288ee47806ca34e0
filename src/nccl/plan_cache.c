/* Files of plans under XDG_CACHE_HOME, or under ~/.cache. */
#include "nccl/plan_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "nccl/say.h"

enum {
	GT_PLAN_CACHE_BYTES_MOST = 64 << 20,
	/* A link that was down then may be up again. */
	GT_PLAN_CACHE_SECONDS = 3600,
};

/* The folder that caches are in: an absolute path, or it does not count. */
static int gt_plan_cache_folder(char folder[PATH_MAX])
{
	const char *xdg = secure_getenv("XDG_CACHE_HOME");
	const char *home = secure_getenv("HOME");
	int n = 0;

	if (xdg && *xdg == '/')
		n = snprintf(folder, PATH_MAX, "%s", xdg);
	else if (home && *home == '/')
		n = snprintf(folder, PATH_MAX, "%s/.cache", home);
	return n > 0 && n < PATH_MAX;
}

void gt_plan_cache_find(const char *key, struct gt_plan_cache *cache)
{
	const char *word = getenv("GTOPO_CACHE");
	char folder[PATH_MAX], digest[GT_DIGEST_TEXT_MAX];
	int n;

	cache->path[0] = '\0';
	if ((word && !strcmp(word, "0")) || !gt_plan_cache_folder(folder) ||
	    !gt_digest_text(key, strlen(key), digest))
		return;
	n = snprintf(cache->path, sizeof(cache->path), "%s/gtopo/plan-%s.json",
		     folder, strchr(digest, ':') + 1);
	if (n >= (int)sizeof(cache->path))
		cache->path[0] = '\0';
}

void gt_plan_cache_distrust(const struct gt_plan_cache *cache, const char *why)
{
	gt_say_log(GT_SAY_WARN, "%s is not used: %s", cache->path, why);
}

/* One that is old is as if it were not there, and is written again. */
static int gt_plan_cache_is_old(int fd)
{
	struct stat is;

	return !fstat(fd, &is) &&
	       time(NULL) - is.st_mtime > GT_PLAN_CACHE_SECONDS;
}

/* Nobody else may write it, or have it point elsewhere. */
static const char *gt_plan_cache_fault(int fd)
{
	struct stat is;

	if (fstat(fd, &is))
		return strerror(errno);
	if (!S_ISREG(is.st_mode))
		return "it is no file";
	if (is.st_uid != geteuid())
		return "it is another user's";
	if (is.st_mode & (S_IWGRP | S_IWOTH))
		return "others may write it";
	return NULL;
}

static const char *gt_plan_cache_slurp(int fd, struct gt_buf *text)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0 ||
	       (n < 0 && errno == EINTR)) {
		if (n > 0)
			gt_buf_add(text, bytes, (size_t)n);
		if (text->len > GT_PLAN_CACHE_BYTES_MOST)
			return "it is too large";
	}
	if (n < 0)
		return strerror(errno);
	return text->failed ? "out of memory" : NULL;
}

int gt_plan_cache_read(const struct gt_plan_cache *cache, struct gt_buf *text)
{
	const char *fault;
	int fd;

	if (!*cache->path)
		return 0;
	fd = open(cache->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			gt_plan_cache_distrust(cache, strerror(errno));
		return 0;
	}
	if (gt_plan_cache_is_old(fd)) {
		close(fd);
		return 0;
	}
	fault = gt_plan_cache_fault(fd);
	if (!fault)
		fault = gt_plan_cache_slurp(fd, text);
	close(fd);
	if (fault)
		gt_plan_cache_distrust(cache, fault);
	return !fault;
}

/* Make the folders on the way to the file. */
static void gt_plan_cache_make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, S_IRWXU);
		*slash = '/';
	}
}

/*
 * Write a file that gets its name when it is whole.  What a crash of the
 * machine leaves of it is found when it is read.
 */
static int gt_plan_cache_put(const char *path, const struct gt_buf *text)
{
	char passing[PATH_MAX];
	size_t done = 0;
	ssize_t n = 0;
	int fd;

	if (snprintf(passing, sizeof(passing), "%s.XXXXXX", path) >=
	    (int)sizeof(passing)) {
		errno = ENAMETOOLONG;
		return 0;
	}
	fd = mkostemp(passing, O_CLOEXEC);
	if (fd < 0)
		return 0;
	while (done < text->len &&
	       ((n = write(fd, text->text + done, text->len - done)) >= 0 ||
		errno == EINTR))
		done += n > 0 ? (size_t)n : 0;
	if (done == text->len && !close(fd) && !rename(passing, path))
		return 1;
	if (done < text->len)
		close(fd);
	unlink(passing);
	return 0;
}

void gt_plan_cache_write(const struct gt_plan_cache *cache,
			 const struct gt_buf *text)
{
	struct gt_plan_cache made = *cache;

	if (!*cache->path)
		return;
	gt_plan_cache_make_folders(made.path);
	if (!gt_plan_cache_put(made.path, text))
		gt_say_log(GT_SAY_INFO, "the plan is not kept as %s: %s",
			   made.path, strerror(errno));
}
