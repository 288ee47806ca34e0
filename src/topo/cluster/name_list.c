/*
 * Writes lists of names: names become runs of numbers, and runs that differ in
 * numbers alone share brackets.
 */
#include "topo/cluster/name_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "topo/cluster/cluster.h"

enum { GT_NAME_DIGITS = 9 }; /* longer numbers belong to the name */

/* Returns whether brackets after the prefix may hold both runs. */
static int gt_name_list_joins(const struct gt_cluster_run *a,
			      const struct gt_cluster_run *b)
{
	return a->width >= 0 && b->width >= 0 &&
	       !strcmp(a->prefix, b->prefix) && !strcmp(a->suffix, b->suffix);
}

static void gt_name_list_numbers(const struct gt_cluster_run *run,
				 struct gt_buf *out)
{
	gt_buf_printf(out, "%0*u", run->width, run->number);
	if (run->count > 1)
		gt_buf_printf(out, "-%0*u", run->width,
			      run->number + run->count - 1);
}

void gt_name_list_print(const struct gt_cluster_run *runs, uint32_t n,
			struct gt_buf *out)
{
	uint32_t end;
	int many;

	for (uint32_t i = 0; i < n; i = end) {
		for (end = i + 1;
		     end < n && gt_name_list_joins(&runs[i], &runs[end]);)
			end++;
		many = end > i + 1 || runs[i].count > 1;
		gt_buf_printf(out, "%s%s%s", i ? "," : "", runs[i].prefix,
			      many ? "[" : "");
		for (uint32_t k = i; k < end && runs[i].width >= 0; k++) {
			gt_buf_puts(out, k > i ? "," : "");
			gt_name_list_numbers(&runs[k], out);
		}
		gt_buf_printf(out, "%s%s", many ? "]" : "", runs[i].suffix);
	}
}

struct gt_cluster_run gt_name_list_split(struct gt_arena *arena,
					 const char *name)
{
	size_t len = strlen(name), start = len;
	struct gt_cluster_run run = {.count = 1, .width = -1, .suffix = ""};

	while (start && name[start - 1] >= '0' && name[start - 1] <= '9' &&
	       len - start < GT_NAME_DIGITS)
		start--;
	if (start == len) {
		run.prefix = name;
		return run;
	}
	run.prefix = gt_arena_printf(arena, "%.*s", (int)start, name);
	run.number = (uint32_t)strtoul(name + start, NULL, 10);
	run.width = name[start] == '0' ? (int)(len - start) : 0;
	return run;
}

/* Returns whether the name is the next one of the run. */
static int gt_name_list_follows(const struct gt_cluster_run *run,
				const struct gt_cluster_run *name)
{
	char here[16], there[16];

	if (!gt_name_list_joins(run, name) ||
	    name->number != run->number + run->count)
		return 0;
	snprintf(here, sizeof(here), "%0*u", run->width, name->number);
	snprintf(there, sizeof(there), "%0*u", name->width, name->number);
	return !strcmp(here, there);
}

void gt_name_list_add(struct gt_arena *arena, const char *const *names,
		      uint32_t n, struct gt_buf *out)
{
	struct gt_cluster_run *runs = gt_arena_array(arena, n, sizeof(*runs));
	uint32_t nruns = 0;

	for (uint32_t i = 0; i < n && runs; i++) {
		struct gt_cluster_run run = gt_name_list_split(arena, names[i]);

		if (!run.prefix) {
			runs = NULL;
			break;
		}
		if (nruns && gt_name_list_follows(&runs[nruns - 1], &run))
			runs[nruns - 1].count++;
		else
			runs[nruns++] = run;
	}
	if (runs)
		gt_name_list_print(runs, nruns, out);
	else
		out->failed = 1;
}

/*
 * Returns the last part of a path, or with `up` that of its folder; without
 * ".xml".
 */
static const char *gt_name_list_base(struct gt_arena *arena, const char *path,
				     int up)
{
	size_t end = strlen(path), start;

	for (start = end; start && path[start - 1] != '/';)
		start--;
	if (up && start) {
		end = start - 1;
		for (start = end; start && path[start - 1] != '/';)
			start--;
	}
	if (end - start > 4 && !strncmp(path + end - 4, ".xml", 4))
		end -= 4;
	return gt_arena_printf(arena, "%.*s", (int)(end - start), path + start);
}

int gt_name_list_of_files(struct gt_arena *arena, const char *const *files,
			  uint32_t n, const char **names)
{
	uint32_t same = 0;

	for (int up = 0; up < 2; up++) {
		for (uint32_t i = 0; i < n; i++) {
			names[i] = gt_name_list_base(arena, files[i], up);
			if (!names[i])
				return 0;
			same += !strcmp(names[i], names[0]);
		}
		if (n < 2 || same < n)
			break;
	}
	return 1;
}
