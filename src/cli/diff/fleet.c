/*
 * Groups servers that are wired alike and prints each group against the norm.
 */
#include "cli/diff/fleet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cli/diff/cost.h"
#include "cli/diff/fleet_inside.h"
#include "topo/cluster/name_list.h"
#include "topo/diff/device_tree.h"
#include "topo/diff/diff.h"
#include "topo/diff/match.h"

enum { GT_FLEET_MIN_JOB = 16 };

int gt_fleet_ignore(const char *list, unsigned *ignore, struct gt_err *err)
{
	unsigned mask = 0;
	size_t len;
	int i;

	for (; list && *list; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		for (i = 0; i < GT_NPROPS; i++)
			if (len == strlen(gt_prop_name((enum gt_prop)i)) &&
			    !strncmp(list, gt_prop_name((enum gt_prop)i), len))
				break;
		if (i == GT_NPROPS && (len != 6 || strncmp(list, "nvlink", 6)))
			return gt_err_set(
				err, GT_EINPUT, NULL,
				"--ignore '%.*s' is none of model, subsystem, "
				"class, width, speed, cur-width, cur-speed, "
				"driver, driver-version, firmware, state, "
				"layer, acs, p2p, mig, visible, iommu, gdr, "
				"nvlink",
				(int)len, list);
		mask |= 1u << i;
	}
	*ignore = mask;
	return GT_OK;
}

void gt_fleet_free(struct gt_fleet *fleet)
{
	if (!fleet)
		return;
	for (uint32_t i = 0; i < fleet->nfiles; i++)
		gt_device_tree_free(fleet->servers[i]);
	gt_arena_free(fleet->arena);
}

int gt_fleet_differs(const struct gt_fleet *fleet)
{
	for (uint32_t i = 0; i < fleet->ngroups; i++)
		if (gt_fleet_group_differs(fleet, i))
			return 1;
	return 0;
}

static int gt_fleet_arrays(struct gt_fleet *fleet, struct gt_arena *arena,
			   uint32_t n)
{
	fleet->arena = arena;
	fleet->nfiles = n;
	fleet->servers = gt_arena_array(arena, n, sizeof(*fleet->servers));
	fleet->hashes = gt_arena_array(arena, n, sizeof(*fleet->hashes));
	fleet->faults = gt_arena_array(arena, n, sizeof(*fleet->faults));
	fleet->names = gt_arena_array(arena, n, sizeof(*fleet->names));
	fleet->group = gt_arena_array(arena, n, sizeof(*fleet->group));
	fleet->groups = gt_arena_array(arena, n, sizeof(*fleet->groups));
	return fleet->servers && fleet->hashes && fleet->faults &&
	       fleet->names && fleet->group && fleet->groups;
}

static struct gt_fleet *gt_fleet_new(uint32_t n)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_fleet *fleet =
		arena ? gt_arena_alloc(arena, sizeof(*fleet)) : NULL;

	if (fleet && gt_fleet_arrays(fleet, arena, n))
		return fleet;
	gt_arena_free(arena);
	return NULL;
}

/*
 * One hash is not proof: the match must be found, too.  -1 where memory ran
 * out.
 */
static int fleet_is_isomorphic(struct gt_fleet *fleet, uint32_t i, uint32_t j)
{
	if (!fleet->servers[i] || fleet->hashes[i] != fleet->hashes[j])
		return 0;
	return gt_match_is_isomorphic(fleet->servers[i], fleet->servers[j]);
}

/*
 * Puts a file into the group that it belongs to; one that cannot be read is a
 * group of its own.
 */
static int gt_fleet_add(struct gt_fleet *fleet, uint32_t i, struct gt_err *err)
{
	uint32_t g = fleet->servers[i] ? 0 : fleet->ngroups;
	int same = 0;

	for (; g < fleet->ngroups; g++) {
		same = fleet_is_isomorphic(fleet, fleet->groups[g].first, i);
		if (same)
			break;
	}
	if (same < 0)
		return gt_err_nomem(err);
	if (g == fleet->ngroups)
		fleet->groups[fleet->ngroups++].first = i;
	fleet->groups[g].nfiles++;
	fleet->group[i] = g;
	return GT_OK;
}

/*
 * Makes groups and chooses the norm.  If several groups are the largest, the
 * one of the earliest file is.
 */
static int gt_fleet_sort(struct gt_fleet *fleet, struct gt_err *err)
{
	uint32_t most = 0;
	int rc = GT_OK;

	for (uint32_t i = 0; i < fleet->nfiles && !rc; i++)
		rc = gt_fleet_add(fleet, i, err);
	for (uint32_t g = 0; g < fleet->ngroups && !fleet->expected; g++) {
		const struct gt_fleet_group *group = &fleet->groups[g];

		if (!fleet->servers[group->first] || group->nfiles <= most)
			continue;
		most = group->nfiles;
		fleet->norm = g;
	}
	return rc;
}

static int gt_fleet_read_one(struct gt_fleet *fleet,
			     const struct gt_fleet_query *ask, uint32_t i,
			     struct gt_err *err)
{
	if (ask->last && i == fleet->nfiles - 1)
		return gt_device_tree_parse(ask->files[i], ask->last->text,
					    ask->last->len, ask->ignore,
					    &fleet->servers[i], err);
	return gt_device_tree_read(ask->files[i], ask->ignore,
				   &fleet->servers[i], err);
}

/*
 * Reads all files.  Those that are no topology are put aside as long as two
 * others, or the one that is expected and another, can be compared.
 */
static int gt_fleet_read(struct gt_fleet *fleet,
			 const struct gt_fleet_query *ask, struct gt_err *err)
{
	struct gt_err first, why;
	char words[sizeof(why.where) + sizeof(why.text)];
	uint32_t ngood = 0;
	int rc = GT_OK;

	gt_err_init(&first);
	for (uint32_t i = 0; i < fleet->nfiles; i++) {
		gt_err_init(&why);
		rc = gt_fleet_read_one(fleet, ask, i, &why);
		if (!rc) {
			fleet->hashes[i] =
				gt_device_tree_hash(fleet->servers[i]);
			if (!fleet->hashes[i])
				return gt_err_nomem(err);
			ngood++;
			continue;
		}
		if (!first.code)
			first = why;
		if (rc != GT_EINPUT || (fleet->expected && !i))
			break;
		gt_err_words(&why, words, sizeof(words));
		fleet->servers[i] = NULL;
		fleet->faults[i] = gt_arena_strdup(fleet->arena, words);
		if (!fleet->faults[i])
			return gt_err_nomem(err);
	}
	if (first.code && (rc == GT_ESYS || ngood < 2))
		return gt_err_set(err, first.code, first.where, "%s",
				  first.text);
	return GT_OK;
}

static int gt_fleet_run(struct gt_fleet *fleet,
			const struct gt_fleet_query *ask, struct gt_err *err)
{
	const struct gt_device_tree *norm;
	int rc = gt_fleet_read(fleet, ask, err);

	if (!rc && !gt_name_list_of_files(fleet->arena, ask->files,
					  fleet->nfiles, fleet->names))
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_fleet_sort(fleet, err);
	if (rc)
		return rc;
	norm = fleet->servers[fleet->groups[fleet->norm].first];
	for (uint32_t g = 0; g < fleet->ngroups && !rc; g++) {
		struct gt_fleet_group *group = &fleet->groups[g];

		if (g == fleet->norm || !fleet->servers[group->first])
			continue;
		rc = gt_diff_find(norm, fleet->servers[group->first],
				  fleet->arena, &group->diff, err);
		if (!rc && group->diff.nfindings)
			rc = gt_diff_costs_find(&group->diff, fleet->nnodes,
						fleet->arena, &group->costs,
						err);
		if (!rc && group->diff.nfindings)
			gt_diff_costs_sort(&group->diff, &group->costs);
	}
	return rc;
}

/*
 * Returns how many nodes a job has unless it is said: as many as are compared,
 * but enough that the network counts, not NVLink.
 */
static uint32_t gt_fleet_job(const struct gt_fleet_query *ask)
{
	uint32_t n = ask->nfiles - (uint32_t)ask->expected;

	return n < GT_FLEET_MIN_JOB ? GT_FLEET_MIN_JOB : n;
}

int gt_fleet_compare(const struct gt_fleet_query *ask, struct gt_fleet **out,
		     struct gt_err *err)
{
	struct gt_fleet *fleet = gt_fleet_new(ask->nfiles);
	int rc;

	if (!fleet)
		return gt_err_nomem(err);
	fleet->expected = ask->expected;
	fleet->files = ask->files;
	fleet->nnodes = ask->nnodes;
	fleet->all = ask->all;
	if (!fleet->nnodes)
		fleet->nnodes = gt_fleet_job(ask);
	rc = gt_fleet_run(fleet, ask, err);
	if (rc)
		gt_fleet_free(fleet);
	else
		*out = fleet;
	return rc;
}
