/* Reads files, links and folders of sysfs. */
#include "topo/probe/sysfs.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes a path; 1 when all of it fits. */
static int gt_sysfs_path(char path[PATH_MAX], const char *root, const char *fmt,
			 va_list ap)
{
	size_t len = strlen(root);
	int n;

	if (len >= PATH_MAX)
		return 0;
	memcpy(path, root, len + 1);
	n = vsnprintf(path + len, PATH_MAX - len, fmt, ap);
	return n > 0 && (size_t)n < PATH_MAX - len;
}

static size_t gt_sysfs_line(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "re");

	text[0] = '\0';
	if (!file)
		return 0;
	/*
	 * Some attributes open well and then fail, as the speed of a link that
	 * is down.
	 */
	if (!fgets(text, (int)size, file))
		text[0] = '\0';
	fclose(file);
	text[strcspn(text, "\n")] = '\0';
	return strlen(text);
}

size_t gt_sysfs_text(const char *root, char *text, size_t size, const char *fmt,
		     ...)
{
	char path[PATH_MAX];
	va_list ap;
	int ok;

	va_start(ap, fmt);
	ok = gt_sysfs_path(path, root, fmt, ap);
	va_end(ap);
	text[0] = '\0';
	return ok ? gt_sysfs_line(path, text, size) : 0;
}

long gt_sysfs_long(const char *root, long missing, const char *fmt, ...)
{
	char path[PATH_MAX], text[64], *end;
	va_list ap;
	long value;
	int ok;

	va_start(ap, fmt);
	ok = gt_sysfs_path(path, root, fmt, ap);
	va_end(ap);
	if (!ok || !gt_sysfs_line(path, text, sizeof(text)))
		return missing;
	value = strtol(text, &end, 0);
	return end == text ? missing : value;
}

int gt_sysfs_real(const char *root, char *path, const char *fmt, ...)
{
	char link[PATH_MAX], base[PATH_MAX];
	va_list ap;
	size_t len;
	int ok;

	va_start(ap, fmt);
	ok = gt_sysfs_path(link, root, fmt, ap);
	va_end(ap);
	if (!ok || !realpath(link, path))
		return 0;
	if (!root[0] || !realpath(root, base))
		return 1;
	len = strlen(base);
	if (!strncmp(path, base, len))
		memmove(path, path + len, strlen(path + len) + 1);
	return 1;
}

static int gt_sysfs_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int gt_sysfs_each(const char *root, const char *dir,
		  int (*f)(const char *name, void *arg), void *arg)
{
	char path[PATH_MAX];
	struct dirent **names;
	int n, rc = 0;

	if (snprintf(path, sizeof(path), "%s%s", root, dir) >= PATH_MAX)
		return 0;
	n = scandir(path, &names, gt_sysfs_visible, versionsort);
	if (n < 0)
		return 0;
	for (int i = 0; i < n; i++) {
		if (!rc)
			rc = f(names[i]->d_name, arg);
		free(names[i]);
	}
	free(names);
	return rc;
}

enum { GT_LOWER_MAX = 4 }; /* at most so many interfaces over interfaces */

struct gt_lower {
	const char *root;
	char *path;
	int depth;
	char dir[PATH_MAX]; /* the folder of the interface being looked at */
};

static int gt_sysfs_lower(const char *name, void *arg)
{
	struct gt_lower *upper = arg, lower = *upper;

	if (strncmp(name, "lower_", 6))
		return 0;
	if (snprintf(lower.dir, sizeof(lower.dir), "/sys/class/net/%s",
		     name + 6) >= PATH_MAX)
		return 0;
	if (gt_sysfs_real(lower.root, lower.path, "%s/device", lower.dir))
		return 1;
	return ++lower.depth < GT_LOWER_MAX &&
	       gt_sysfs_each(lower.root, lower.dir, gt_sysfs_lower, &lower);
}

int gt_sysfs_netdev(const char *root, char *path, const char *netdev)
{
	struct gt_lower upper = {.root = root, .path = path};

	if (gt_sysfs_real(root, path, "/sys/class/net/%s/device", netdev))
		return 1;
	return snprintf(upper.dir, sizeof(upper.dir), "/sys/class/net/%s",
			netdev) < PATH_MAX &&
	       gt_sysfs_each(root, upper.dir, gt_sysfs_lower, &upper);
}

/*
 * Returns whether the text is "0000:18:00.0", also with the longer domains of
 * some controllers.
 */
static int gt_sysfs_is_busid(const char *text, size_t len)
{
	unsigned domain, bus, dev, fn;
	int used = 0;

	return sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &dev, &fn,
		      &used) == 4 &&
	       (size_t)used == len && len >= sizeof("0000:00:00.0") - 1;
}

int gt_sysfs_busid(const char *path, char *busid, size_t size)
{
	size_t len;
	int found = 0;

	for (const char *p = path; *p; p += len) {
		p += strspn(p, "/");
		len = strcspn(p, "/");
		if (len < size && gt_sysfs_is_busid(p, len)) {
			memcpy(busid, p, len);
			busid[len] = '\0';
			found = 1;
		}
	}
	return found;
}
