/*
 * The processors that this process may use, and those that are near a device.
 */
#include "base/cpus.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>

uint32_t gt_cpus_count(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return (uint32_t)CPU_COUNT(&set);
}

/* "0-3,8": those that are in `all` as well. */
static void gt_cpus_read(FILE *file, const cpu_set_t *all, cpu_set_t *near)
{
	unsigned int first, last;

	CPU_ZERO(near);
	while (fscanf(file, "%u", &first) == 1) {
		if (fscanf(file, "-%u", &last) != 1)
			last = first;
		for (unsigned int cpu = first; cpu <= last && cpu < CPU_SETSIZE;
		     cpu++)
			if (CPU_ISSET(cpu, all))
				CPU_SET(cpu, near);
		if (fgetc(file) != ',')
			break;
	}
}

int gt_cpus_near(pthread_t thread, const char *device)
{
	char path[PATH_MAX];
	cpu_set_t all, near;
	FILE *file;

	snprintf(path, sizeof(path), "%s/local_cpulist", device);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (sched_getaffinity(0, sizeof(all), &all))
		CPU_ZERO(&all);
	gt_cpus_read(file, &all, &near);
	fclose(file);
	return CPU_COUNT(&near) && !CPU_EQUAL(&near, &all) &&
	       !pthread_setaffinity_np(thread, sizeof(near), &near);
}

int gt_cpus_visit(uint32_t number)
{
	int cpu = -1, here = sched_getcpu();
	cpu_set_t all, one;

	if (sched_getaffinity(0, sizeof(all), &all))
		return 0;
	number %= (uint32_t)CPU_COUNT(&all);
	do
		cpu++;
	while (!CPU_ISSET(cpu, &all) || number--);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (cpu == here || sched_setaffinity(0, sizeof(one), &one))
		return 0;
	return !sched_setaffinity(0, sizeof(all), &all);
}
