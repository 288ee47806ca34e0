/*
 * Small reads below /sys, or below a directory that stands for / (tests).
 *
 * Everything in sysfs may be missing, unreadable or empty: nothing here is an
 * error, the caller gets "unknown".  Thread safe.
 */
#ifndef GT_TOPO_PROBE_SYSFS_H
#define GT_TOPO_PROBE_SYSFS_H

#include <stddef.h>

/*
 * The first line of the file `root` + path, without the newline, in text.
 * Returns its length, 0 when there is nothing to read (text is then "").
 */
size_t gt_sysfs_text(const char *root, char *text, size_t size, const char *fmt,
		     ...) __attribute__((format(printf, 4, 5)));

/* Returns a decimal or 0x number at the start of the file, or `missing`. */
long gt_sysfs_long(const char *root, long missing, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Find where a path leads, without root; 0 when nowhere.  `path` has room for
 * PATH_MAX.
 */
int gt_sysfs_real(const char *root, char *path, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Call f for each name in a directory, in natural order (eth2 before eth10).
 * Stops at and returns the first result that is not 0; 0 too when there is
 * no such directory.
 */
int gt_sysfs_each(const char *root, const char *dir,
		  int (*f)(const char *name, void *arg), void *arg);

/*
 * Find the device below an interface: its own, or that of the first interface
 * that a bond, VLAN or bridge runs over.  The result is as in gt_sysfs_real().
 */
int gt_sysfs_netdev(const char *root, char *path, const char *netdev);

/*
 * Find the last component of a real path that is a PCI address
 * ("0000:18:00.0"), copied into busid (of `size`); 0 when there is none.
 */
int gt_sysfs_busid(const char *path, char *busid, size_t size);

#endif
