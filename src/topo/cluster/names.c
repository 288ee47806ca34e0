/*
 * Reads names of nodes: lists such as "gpu[01-12],x7" become runs of nodes, and
 * no two nodes may have one name.
 */
#include "topo/cluster/make.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/unit.h"
#include "base/vec.h"
#include "topo/cluster/name_list.h"

enum { GT_NAME_MAX = 255 };

static int gt_names_add(struct gt_cluster *cluster,
			const struct gt_cluster_run *run, struct gt_err *err)
{
	struct gt_cluster_run *runs;

	if (run->count > GT_CLUSTER_MAX_NODES - cluster->nnodes)
		return gt_err_set(err, GT_EINPUT, NULL, "more than %d nodes",
				  GT_CLUSTER_MAX_NODES);
	runs = gt_vec_grow_in(cluster->arena, cluster->runs, cluster->nruns,
			      &cluster->runs_room, sizeof(*runs));
	if (!run->prefix || !run->suffix || !runs)
		return gt_err_nomem(err);
	cluster->runs = runs;
	cluster->runs[cluster->nruns] = *run;
	cluster->runs[cluster->nruns++].first = cluster->nnodes;
	cluster->nnodes += run->count;
	cluster->kinds[run->kind].nnodes += run->count;
	return GT_OK;
}

int gt_cluster_add_nodes(struct gt_cluster *cluster, uint32_t kind,
			 uint32_t count, struct gt_err *err)
{
	struct gt_cluster_run run = {.kind = kind,
				     .count = count,
				     .suffix = "",
				     .number = cluster->kinds[kind].nnodes};

	run.prefix = gt_arena_printf(cluster->arena, "%s-",
				     cluster->kinds[kind].name);
	return gt_names_add(cluster, &run, err);
}

static int gt_names_wrong(const char *name, size_t len, struct gt_err *err)
{
	return gt_err_set(err, GT_EINPUT, NULL,
			  "'%.*s' is no name or range such as 'gpu[01-16]'",
			  (int)(len < 80 ? len : 80), name);
}

/*
 * Parses a range such as "01-16", or a number such as "7", which stand between
 * brackets; width is the number of digits where it begins with 0.
 */
static int gt_names_range(const char *text, size_t len, uint32_t *from,
			  uint32_t *to, int *width)
{
	char copy[32], *dash;
	int64_t low, high;

	if (!len || len >= sizeof(copy))
		return 0;
	memcpy(copy, text, len);
	copy[len] = '\0';
	dash = strchr(copy, '-');
	if (dash)
		*dash++ = '\0';
	*width = copy[0] == '0' ? (int)strlen(copy) : 0;
	if (!gt_unit_int(copy, 0, INT32_MAX, &low))
		return 0;
	high = low;
	if (dash && !gt_unit_int(dash, low, INT32_MAX, &high))
		return 0;
	*from = (uint32_t)low;
	*to = (uint32_t)high;
	return 1;
}

/* Adds the nodes of one word "prefix[ranges]suffix", a run for each range. */
static int gt_names_ranges(struct gt_cluster *cluster, uint32_t kind,
			   const char *name, size_t len, struct gt_err *err)
{
	const char *open = memchr(name, '[', len), *at = open + 1;
	const char *close = memchr(name, ']', len);
	struct gt_cluster_run run = {.kind = kind, .named = 1};
	uint32_t to;
	int rc = GT_OK;

	if (!close || close < open)
		return gt_names_wrong(name, len, err);
	run.prefix = gt_arena_printf(cluster->arena, "%.*s", (int)(open - name),
				     name);
	run.suffix = gt_arena_printf(cluster->arena, "%.*s",
				     (int)(name + len - close - 1), close + 1);
	while (!rc && at <= close) {
		size_t piece = strcspn(at, ",]");

		if (!gt_names_range(at, piece, &run.number, &to, &run.width))
			return gt_names_wrong(name, len, err);
		run.count = to - run.number + 1;
		rc = gt_names_add(cluster, &run, err);
		at += piece + 1;
	}
	return rc;
}

static int gt_names_one(struct gt_cluster *cluster, uint32_t kind,
			const char *text, size_t len, struct gt_err *err)
{
	const char *name =
		gt_arena_printf(cluster->arena, "%.*s", (int)len, text);
	struct gt_cluster_run run;

	if (!name)
		return gt_err_nomem(err);
	run = gt_name_list_split(cluster->arena, name);
	run.kind = kind;
	run.named = 1;
	return gt_names_add(cluster, &run, err);
}

int gt_cluster_add_names(struct gt_cluster *cluster, uint32_t kind,
			 const char *names, struct gt_err *err)
{
	int rc = GT_OK;

	for (;;) {
		size_t len = strcspn(names, ",[");

		if (names[len] == '[') {
			len += strcspn(names + len, "]");
			len += strcspn(names + len, ",");
		}
		if (!len || len > GT_NAME_MAX || memchr(names, ':', len) ||
		    memchr(names, '/', len))
			return gt_names_wrong(names, len, err);
		rc = memchr(names, '[', len)
			     ? gt_names_ranges(cluster, kind, names, len, err)
			     : gt_names_one(cluster, kind, names, len, err);
		if (rc || !names[len])
			return rc;
		names += len + 1;
	}
}

static int gt_names_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * The names of one run differ by their numbers, so only several runs can have a
 * name twice.
 */
int gt_cluster_check_names(const struct gt_cluster *cluster, struct gt_err *err)
{
	struct gt_arena *arena;
	char **names, text[2 * GT_NAME_MAX];
	int rc = GT_OK;

	if (cluster->nruns < 2)
		return GT_OK;
	arena = gt_arena_new();
	names = arena ? gt_arena_array(arena, cluster->nnodes, sizeof(*names))
		      : NULL;
	for (uint32_t i = 0; names && i < cluster->nnodes; i++) {
		gt_cluster_node_name(cluster, i, text, sizeof(text));
		names[i] = gt_arena_strdup(arena, text);
		if (!names[i])
			names = NULL;
	}
	if (!names)
		rc = gt_err_nomem(err);
	else
		qsort(names, cluster->nnodes, sizeof(*names), gt_names_compare);
	for (uint32_t i = 1; !rc && i < cluster->nnodes; i++)
		if (!strcmp(names[i - 1], names[i]))
			rc = gt_err_set(err, GT_EINPUT, NULL,
					"two nodes are named '%.80s'",
					names[i]);
	gt_arena_free(arena);
	return rc;
}
