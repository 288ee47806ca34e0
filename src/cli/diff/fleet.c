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
#include "base/json_writer.h"
#include "cli/diff/cost.h"
#include "topo/diff/diff.h"
#include "topo/diff/match.h"
#include "topo/diff/device_tree.h"

/* Servers that are alike; the first of them stands for all. */
struct gt_fleet_group {
	uint32_t first, nfiles;
	struct gt_diff diff;
	struct gt_diff_costs costs;
};

struct gt_fleet {
	struct gt_arena *arena;
	uint32_t nfiles, ngroups, norm;
	int expected;
	struct gt_device_tree **servers;
	uint64_t *hashes;
	uint32_t *group; /* of each file */
	struct gt_fleet_group *groups;
};

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
				"layer, acs, p2p, mig, visible, iommu, nvlink",
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
		if (fleet->groups[i].diff.nfindings)
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
	fleet->group = gt_arena_array(arena, n, sizeof(*fleet->group));
	fleet->groups = gt_arena_array(arena, n, sizeof(*fleet->groups));
	return fleet->servers && fleet->hashes && fleet->group && fleet->groups;
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

/* One hash is not proof: the match must be found, too. */
static int fleet_is_isomorphic(struct gt_fleet *fleet, uint32_t i, uint32_t j)
{
	return fleet->hashes[i] == fleet->hashes[j] &&
	       gt_match_is_isomorphic(fleet->servers[i], fleet->servers[j]);
}

static void gt_fleet_sort(struct gt_fleet *fleet)
{
	for (uint32_t i = 0; i < fleet->nfiles; i++) {
		uint32_t g = 0;

		while (g < fleet->ngroups &&
		       !fleet_is_isomorphic(fleet, fleet->groups[g].first, i))
			g++;
		if (g == fleet->ngroups)
			fleet->groups[fleet->ngroups++].first = i;
		fleet->groups[g].nfiles++;
		fleet->group[i] = g;
		if (fleet->groups[g].nfiles >
			    fleet->groups[fleet->norm].nfiles &&
		    !fleet->expected)
			fleet->norm = g;
	}
	/*
	 * If several groups are the largest, the one of the earliest file is
	 * the norm.
	 */
	for (uint32_t g = 0; g < fleet->ngroups && !fleet->expected; g++)
		if (fleet->groups[g].nfiles ==
		    fleet->groups[fleet->norm].nfiles) {
			fleet->norm = g;
			break;
		}
}

static int gt_fleet_run(struct gt_fleet *fleet,
			const struct gt_fleet_query *ask, struct gt_err *err)
{
	const struct gt_device_tree *norm;
	int rc = GT_OK;

	for (uint32_t i = 0; i < fleet->nfiles && !rc; i++) {
		if (ask->last && i == fleet->nfiles - 1)
			rc = gt_device_tree_parse(
				ask->files[i], ask->last->text, ask->last->len,
				ask->ignore, &fleet->servers[i], err);
		else
			rc = gt_device_tree_read(ask->files[i], ask->ignore,
						 &fleet->servers[i], err);
		if (!rc)
			fleet->hashes[i] =
				gt_device_tree_hash(fleet->servers[i]);
	}
	if (rc)
		return rc;
	gt_fleet_sort(fleet);
	norm = fleet->servers[fleet->groups[fleet->norm].first];
	for (uint32_t g = 0; g < fleet->ngroups && !rc; g++) {
		struct gt_fleet_group *group = &fleet->groups[g];

		if (g == fleet->norm)
			continue;
		rc = gt_diff_find(norm, fleet->servers[group->first],
				  fleet->arena, &group->diff, err);
		if (!rc && group->diff.nfindings)
			rc = gt_diff_costs_find(&group->diff, fleet->arena,
						&group->costs, err);
	}
	return rc;
}

int gt_fleet_compare(const struct gt_fleet_query *ask, struct gt_fleet **out,
		     struct gt_err *err)
{
	struct gt_fleet *fleet = gt_fleet_new(ask->nfiles);
	int rc;

	if (!fleet)
		return gt_err_nomem(err);
	fleet->expected = ask->expected;
	rc = gt_fleet_run(fleet, ask, err);
	if (rc)
		gt_fleet_free(fleet);
	else
		*out = fleet;
	return rc;
}

static void gt_fleet_bounds(struct gt_buf *out, const struct gt_diff_bound *was,
			    const struct gt_diff_bound *is)
{
	if (!was->found || !is->found)
		return;
	if (!gt_rat_cmp(was->gbs, is->gbs))
		gt_buf_puts(out, "; all-reduce bound unchanged");
	else
		gt_buf_printf(out, "; all-reduce bound %.4g GB/s, not %.4g",
			      gt_rat_double(is->gbs), gt_rat_double(was->gbs));
}

static void gt_fleet_names(const struct gt_fleet *fleet, uint32_t g,
			   struct gt_buf *out)
{
	uint32_t begin = fleet->expected ? 1 : 0;

	for (uint32_t i = begin; i < fleet->nfiles; i++)
		if (fleet->group[i] == g)
			gt_buf_printf(out, " %s",
				      gt_device_tree_source(fleet->servers[i]));
}

static void gt_fleet_print_group(const struct gt_fleet *fleet, uint32_t g,
				 struct gt_buf *out)
{
	const struct gt_fleet_group *group = &fleet->groups[g];
	const struct gt_diff *diff = &group->diff;
	int many = fleet->nfiles > 2;

	if (many) {
		gt_buf_printf(out, "%u %s:", group->nfiles,
			      group->nfiles == 1 ? "differs" : "differ alike");
		gt_fleet_names(fleet, g, out);
		gt_fleet_bounds(out, &group->costs.norm, &group->costs.other);
		gt_buf_puts(out, "\n");
	}
	for (uint32_t i = 0; i < diff->nfindings; i++) {
		gt_buf_printf(out, "%s%s: %s", many ? "  " : "",
			      diff->findings[i].where, diff->findings[i].text);
		gt_fleet_bounds(out, &group->costs.norm, &group->costs.each[i]);
		gt_buf_puts(out, "\n");
	}
	if (!many && diff->nfindings > 1) {
		gt_buf_puts(out, "all together");
		gt_fleet_bounds(out, &group->costs.norm, &group->costs.other);
		gt_buf_puts(out, "\n");
	}
}

void gt_fleet_print(const struct gt_fleet *fleet, struct gt_buf *out)
{
	uint32_t alike = 0;

	if (!gt_fleet_differs(fleet))
		return;
	for (uint32_t g = 0; g < fleet->ngroups; g++)
		if (!fleet->groups[g].diff.nfindings)
			alike += fleet->groups[g].nfiles;
	if (fleet->nfiles > 2 && alike > (uint32_t)fleet->expected) {
		gt_buf_printf(out,
			      "%u as %s:", alike - (uint32_t)fleet->expected,
			      fleet->expected ? "expected" : "the norm");
		for (uint32_t g = 0; g < fleet->ngroups; g++)
			if (!fleet->groups[g].diff.nfindings)
				gt_fleet_names(fleet, g, out);
		gt_buf_puts(out, "\n");
	}
	for (uint32_t g = 0; g < fleet->ngroups; g++)
		if (fleet->groups[g].diff.nfindings)
			gt_fleet_print_group(fleet, g, out);
}

static void put_bound(struct gt_json_writer *json, const char *key,
		      const struct gt_diff_bound *bound)
{
	char text[GT_RAT_TEXT_MAX], key_gbs[24];

	if (!bound->found)
		return;
	snprintf(key_gbs, sizeof(key_gbs), "%s_gbs", key);
	gt_json_put_text(json, key, gt_rat_print(bound->gbs, text));
	gt_json_put_double(json, key_gbs, "%.6g", gt_rat_double(bound->gbs));
}

static void put_device(struct gt_json_writer *json, const char *key,
		       const struct gt_device_tree *server, uint32_t dev)
{
	if (dev != GT_UNMATCHED)
		gt_json_put_text(json, key,
				 gt_device_tree_device(server, dev)->name);
}

static void put_finding(const struct gt_fleet_group *group, uint32_t i,
			struct gt_buf *out)
{
	const struct gt_diff_finding *finding = &group->diff.findings[i];
	struct gt_json_writer json;

	gt_buf_puts(out, i ? ",\n    " : "\n    ");
	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	gt_json_put_text(&json, "kind", gt_diff_name(finding));
	put_device(&json, "norm_device", group->diff.a, finding->dev_a);
	put_device(&json, "device", group->diff.b, finding->dev_b);
	gt_json_put_text(&json, "where", finding->where);
	gt_json_put_text(&json, "text", finding->text);
	put_bound(&json, "bound", &group->costs.each[i]);
	gt_json_end(&json);
}

/* Write a group; its findings stand on lines of their own. */
static void put_group(const struct gt_fleet *fleet, uint32_t g,
		      struct gt_buf *out)
{
	const struct gt_fleet_group *group = &fleet->groups[g];
	struct gt_json_writer json;

	gt_buf_puts(out, g ? ",\n  " : "\n  ");
	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	gt_json_open_array(&json, "files", GT_JSON_FLAT);
	for (uint32_t i = 0; i < fleet->nfiles; i++)
		if (fleet->group[i] == g)
			gt_json_put_text(
				&json, NULL,
				gt_device_tree_source(fleet->servers[i]));
	gt_json_end(&json);
	put_bound(&json, "norm_bound", &group->costs.norm);
	put_bound(&json, "bound", &group->costs.other);
	gt_json_open_array(&json, "findings", GT_JSON_FLAT);
	for (uint32_t i = 0; i < group->diff.nfindings; i++)
		put_finding(group, i, out);
	gt_json_end(&json);
	gt_json_end(&json);
}

void gt_fleet_print_json(const struct gt_fleet *fleet, struct gt_buf *out)
{
	const struct gt_fleet_group *norm = &fleet->groups[fleet->norm];
	struct gt_json_writer json;

	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	gt_json_put_text(&json, "schema", "gtopo.diff/1");
	gt_json_put_text(&json, "norm",
			 gt_device_tree_source(fleet->servers[norm->first]));
	gt_json_put_bool(&json, "expected", fleet->expected);
	gt_json_open_array(&json, "groups", GT_JSON_FLAT);
	for (uint32_t g = 0; g < fleet->ngroups; g++)
		put_group(fleet, g, out);
	gt_buf_puts(out, "\n");
	gt_json_end(&json);
	gt_json_end(&json);
	gt_buf_puts(out, "\n");
}
