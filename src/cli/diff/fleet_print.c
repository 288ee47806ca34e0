/* Prints a fleet: each group against the norm, as text and as JSON. */
#include "cli/diff/fleet.h"

#include <config.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/tint.h"
#include "base/xml.h"
#include "cli/diff/fleet_inside.h"
#include "topo/cluster/name_list.h"
#include "topo/diff/device_tree.h"

/* The text of a fleet, as far as it is written. */
struct gt_fleet_text {
	const struct gt_fleet *fleet;
	int colour;
	struct gt_buf *out;
};

/* Writes "unchanged", or "381 GB/s, not 406.4"; a loss stands out. */
static void gt_fleet_change(const struct gt_fleet_text *text, struct gt_rat was,
			    struct gt_rat is)
{
	int order = gt_rat_cmp(is, was);
	char words[64];

	snprintf(words, sizeof(words), "%.4g GB/s, not %.4g", gt_rat_double(is),
		 gt_rat_double(was));
	gt_tint_put(text->out, text->colour,
		    order < 0 ? GT_TINT_RED : GT_TINT_NONE,
		    order ? words : "unchanged");
}

/* Writes what is left of GPUs, and what an all-reduce loses. */
static void gt_fleet_bounds(const struct gt_fleet_text *text,
			    const struct gt_diff_bound *was,
			    const struct gt_diff_bound *is)
{
	int between = was->found_between && is->found_between;

	if (was->asked && is->asked && was->ngpus != is->ngpus)
		gt_buf_printf(text->out, "; %u GPU%s, not %u", is->ngpus,
			      gt_plural(is->ngpus), was->ngpus);
	if (!was->found || !is->found)
		return;
	gt_buf_puts(text->out, "; all-reduce bound inside ");
	gt_fleet_change(text, was->gbs, is->gbs);
	if (!between)
		return;
	gt_buf_printf(text->out, ", between %u such nodes ",
		      text->fleet->nnodes);
	gt_fleet_change(text, was->between_gbs, is->between_gbs);
}

/* Names all nodes of a group, or of all that are as the norm (g: ngroups). */
static void gt_fleet_names(const struct gt_fleet_text *text, uint32_t g)
{
	const struct gt_fleet *fleet = text->fleet;
	const char **names =
		gt_arena_array(fleet->arena, fleet->nfiles, sizeof(*names));
	struct gt_buf list = GT_BUF_INIT;
	uint32_t n = 0;

	for (uint32_t i = fleet->expected ? 1 : 0; i < fleet->nfiles && names;
	     i++)
		if (g == fleet->ngroups
			    ? !gt_fleet_group_differs(fleet, fleet->group[i])
			    : fleet->group[i] == g)
			names[n++] = fleet->names[i];
	if (names)
		gt_name_list_add(fleet->arena, names, n, &list);
	text->out->failed |= list.failed || !names;
	gt_tint_put(text->out, text->colour, GT_TINT_BOLD,
		    list.len ? list.text : "");
	gt_buf_release(&list);
}

/* Of more findings than MANY only the first FEW are printed. */
enum { MANY = 16, FEW = 6 };

/* Writes "8 GPUs of 0x10de:0x2330", by the model of the first. */
static void put_gpus(const struct gt_device_tree *server, struct gt_buf *out)
{
	const char *model = "";
	uint32_t n = 0;

	for (uint32_t i = 0; i < gt_device_tree_ndevices(server); i++) {
		const struct gt_device *dev = gt_device_tree_device(server, i);

		if (dev->kind != GT_DEVICE_GPU)
			continue;
		if (!n++)
			model = dev->props[GT_PROP_MODEL];
	}
	gt_buf_printf(out, "%u GPU%s%s", n, gt_plural(n), *model ? " of " : "");
	gt_buf_put_plain(out, model);
}

/*
 * Says in a line that a server is of another kind, and returns how many of its
 * findings are worth a line each.
 */
static uint32_t gt_fleet_print_kind(const struct gt_fleet_text *text,
				    const struct gt_diff *diff)
{
	struct gt_buf norm = GT_BUF_INIT, other = GT_BUF_INIT;
	struct gt_buf *out = text->out;
	uint32_t told = diff->nfindings;

	put_gpus(diff->a, &norm);
	put_gpus(diff->b, &other);
	out->failed |= norm.failed || other.failed;
	/* Many faults of a machine with the norm's GPUs are faults all. */
	if (diff->nfindings > MANY && !text->fleet->all && !out->failed &&
	    strcmp(norm.text, other.text) != 0) {
		told = FEW;
		gt_buf_puts(out, text->fleet->nfiles > 2 ? "  " : "");
		gt_tint_put(out, text->colour, GT_TINT_BOLD,
			    gt_device_tree_source(diff->b));
		gt_buf_printf(out,
			      ": a different kind of machine: %s where the "
			      "norm has %s; %u differences, of which %d follow "
			      "('gtopo diff --all' tells all)\n",
			      other.text, norm.text, diff->nfindings, FEW);
	}
	gt_buf_release(&norm);
	gt_buf_release(&other);
	return told;
}

static void gt_fleet_print_findings(const struct gt_fleet_text *text,
				    uint32_t g)
{
	const struct gt_fleet_group *group = &text->fleet->groups[g];
	const struct gt_diff *diff = &group->diff;
	int many = text->fleet->nfiles > 2;
	struct gt_buf *out = text->out;
	uint32_t n = gt_fleet_print_kind(text, diff);

	for (uint32_t i = 0; i < n; i++) {
		gt_buf_puts(out, many ? "  " : "");
		gt_tint_put(out, text->colour, GT_TINT_BOLD,
			    diff->findings[i].where);
		gt_buf_puts(out, ": ");
		gt_buf_put_plain(out, diff->findings[i].text);
		gt_fleet_bounds(text, &group->costs.norm,
				&group->costs.each[i]);
		gt_buf_puts(out, "\n");
	}
	if (!many && diff->nfindings > 1) {
		gt_tint_put(out, text->colour, GT_TINT_BOLD,
			    gt_device_tree_source(diff->b));
		gt_buf_printf(out, ": all %u together", diff->nfindings);
		gt_fleet_bounds(text, &group->costs.norm, &group->costs.other);
		gt_buf_puts(out, "\n");
	}
}

static void gt_fleet_print_group(const struct gt_fleet_text *text, uint32_t g)
{
	const struct gt_fleet_group *group = &text->fleet->groups[g];
	const char *fault = text->fleet->faults[group->first];
	struct gt_buf *out = text->out;
	char words[48];

	snprintf(words, sizeof(words), "%u %s", group->nfiles,
		 fault                ? "cannot be read"
		 : group->nfiles == 1 ? "differs"
				      : "differ alike");
	if (fault || text->fleet->nfiles > 2) {
		gt_tint_put(out, text->colour, GT_TINT_RED, words);
		gt_buf_puts(out, ": ");
		gt_fleet_names(text, g);
	}
	if (fault) {
		gt_buf_puts(out, "\n  ");
		gt_buf_put_plain(out, fault);
		gt_buf_puts(out, "\n");
		return;
	}
	if (text->fleet->nfiles > 2) {
		gt_fleet_bounds(text, &group->costs.norm, &group->costs.other);
		gt_buf_puts(out, "\n");
	}
	gt_fleet_print_findings(text, g);
}

/* Writes how many servers are as they should be, and which. */
static void gt_fleet_print_alike(const struct gt_fleet_text *text)
{
	const struct gt_fleet *fleet = text->fleet;
	uint32_t alike = 0;
	char words[48];

	for (uint32_t g = 0; g < fleet->ngroups; g++)
		if (!gt_fleet_group_differs(fleet, g))
			alike += fleet->groups[g].nfiles;
	if (fleet->nfiles <= 2 || alike <= (uint32_t)fleet->expected)
		return;
	snprintf(words, sizeof(words), "%u as %s",
		 alike - (uint32_t)fleet->expected,
		 fleet->expected ? "expected" : "the norm");
	gt_tint_put(text->out, text->colour, GT_TINT_GREEN, words);
	gt_buf_puts(text->out, ": ");
	gt_fleet_names(text, fleet->ngroups);
	gt_buf_puts(text->out, "\n");
}

void gt_fleet_print(const struct gt_fleet *fleet, int colour,
		    struct gt_buf *out)
{
	const struct gt_fleet_text text = {fleet, colour, out};

	if (!gt_fleet_differs(fleet))
		return;
	gt_fleet_print_alike(&text);
	for (uint32_t g = 0; g < fleet->ngroups; g++)
		if (gt_fleet_group_differs(fleet, g))
			gt_fleet_print_group(&text, g);
}

/* Puts a rate as it is, and as a number; the keys begin with `of`. */
static void put_gbs(struct gt_json_writer *json, const char *of,
		    const char *what, struct gt_rat gbs)
{
	char text[GT_RAT_TEXT_MAX], key[40];

	snprintf(key, sizeof(key), "%s%s", of, what);
	gt_json_put_text(json, key, gt_rat_print(gbs, text));
	snprintf(key, sizeof(key), "%s%s_gbs", of, what);
	gt_json_put_double(json, key, "%.6g", gt_rat_double(gbs));
}

static void put_bound(struct gt_json_writer *json, const char *of,
		      const struct gt_diff_bound *bound)
{
	char key[24];

	if (!bound->asked)
		return;
	snprintf(key, sizeof(key), "%sgpus", of);
	gt_json_put_int(json, key, bound->ngpus);
	if (bound->found)
		put_gbs(json, of, "bound", bound->gbs);
	if (bound->found_between)
		put_gbs(json, of, "between_bound", bound->between_gbs);
}

static void put_device(struct gt_json_writer *json, const char *key,
		       const struct gt_device_tree *server, uint32_t dev)
{
	if (dev != GT_UNMATCHED)
		gt_json_put_text(json, key,
				 gt_device_tree_device(server, dev)->name);
}

/*
 * Begin a finding as gtopo lint does; whoever says what servers should be like
 * makes a difference an error.  "kind" is what the rule was called at first.
 */
static void put_rule(struct gt_json_writer *json, const char *name)
{
	gt_json_put_text(json, "severity", "error");
	gt_json_put_text(json, "rule", name);
	gt_json_put_text(json, "kind", name);
}

/* The bus id stands alone, too, as in lint. */
static void put_bus_id(struct gt_json_writer *json,
		       const struct gt_device_tree *server, uint32_t dev)
{
	const char *bus_id =
		dev == GT_UNMATCHED
			? NULL
			: gt_xml_attr(gt_device_tree_device(server, dev)->elem,
				      "busid");

	if (bus_id)
		gt_json_put_text(json, "bus_id", bus_id);
}

static void put_finding(const struct gt_fleet_group *group, uint32_t i,
			struct gt_buf *out)
{
	const struct gt_diff_finding *finding = &group->diff.findings[i];
	struct gt_json_writer json;

	gt_buf_puts(out, i ? ",\n    " : "\n    ");
	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	put_rule(&json, gt_diff_name(finding));
	put_device(&json, "norm_device", group->diff.a, finding->dev_a);
	put_device(&json, "device", group->diff.b, finding->dev_b);
	put_bus_id(&json, group->diff.b, finding->dev_b);
	if (finding->kind == GT_DIFF_NVLINK && finding->to_a &&
	    finding->to_a != finding->dev_a) {
		put_device(&json, "norm_peer", group->diff.a, finding->to_a);
		put_device(&json, "peer", group->diff.b, finding->to_b);
	}
	gt_json_put_text(&json, "where", finding->where);
	gt_json_put_text(&json, "text", finding->text);
	put_bound(&json, "", &group->costs.each[i]);
	gt_json_end(&json);
}

/* Says as a finding why a file cannot be read. */
static void put_fault(const char *fault, struct gt_buf *out)
{
	struct gt_json_writer json;

	gt_buf_puts(out, "\n    ");
	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	put_rule(&json, "unreadable");
	gt_json_put_text(&json, "text", fault);
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
			gt_json_put_text(&json, NULL, fleet->files[i]);
	gt_json_end(&json);
	put_bound(&json, "norm_", &group->costs.norm);
	put_bound(&json, "", &group->costs.other);
	gt_json_open_array(&json, "findings", GT_JSON_FLAT);
	for (uint32_t i = 0; i < group->diff.nfindings; i++)
		put_finding(group, i, out);
	if (fleet->faults[group->first])
		put_fault(fleet->faults[group->first], out);
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
	gt_json_put_text(&json, "gtopo", PACKAGE_VERSION);
	gt_json_put_text(&json, "norm", fleet->files[norm->first]);
	gt_json_put_bool(&json, "expected", fleet->expected);
	gt_json_put_int(&json, "nodes", fleet->nnodes);
	gt_json_open_array(&json, "groups", GT_JSON_FLAT);
	for (uint32_t g = 0; g < fleet->ngroups; g++)
		put_group(fleet, g, out);
	gt_buf_puts(out, "\n");
	gt_json_end(&json);
	gt_json_end(&json);
	gt_buf_puts(out, "\n");
}
