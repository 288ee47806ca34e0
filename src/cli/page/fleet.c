/*
 * Tells which servers are not like the others, and shows the norm and, of the
 * groups that differ, the first few.
 */
#include "cli/page/part.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/diff/fleet.h"
#include "cli/page/html.h"
#include "cli/page/table.h"
#include "topo/cluster/name_list.h"

enum {
	GT_FLEET_VIEWS = 3, /* of groups that differ */
	GT_FLEET_FINDINGS = 40,
};

static const struct gt_column columns[] = {
	{"rule", "differs", GT_CELL_SEVERITY},
	{"device", "device", GT_CELL_TEXT},
	{"bus_id", "bus id", GT_CELL_CODE},
	{"text", "finding", GT_CELL_TEXT},
	{"bound_gbs", "bound inside, GB/s", GT_CELL_NUMBER},
	{"between_bound_gbs", "bound between, GB/s", GT_CELL_NUMBER},
};

/* A group of the document that gtopo diff writes. */
struct group {
	struct gt_json files, findings;
	uint32_t nfiles, nfindings;
};

static int read_group(const struct gt_json *array, uint32_t i,
		      struct gt_json *object, struct group *group)
{
	gt_json_item(array, i, object);
	return gt_json_need(object, "files", &group->files, NULL) ||
	       gt_json_array(&group->files, &group->nfiles, NULL) ||
	       gt_json_need(object, "findings", &group->findings, NULL) ||
	       gt_json_array(&group->findings, &group->nfindings, NULL);
}

static const char *file_of(const struct group *group, uint32_t i)
{
	const char *text = "";
	struct gt_json item;

	gt_json_item(&group->files, i, &item);
	gt_json_text(&item, &text, NULL);
	return text;
}

/*
 * Names the servers of a group as schedulers do, "node[001-036,038]", but for
 * the first few.
 */
static void put_files(struct gt_page *page, const struct group *group,
		      uint32_t first)
{
	uint32_t n = group->nfiles - first;
	const char **files = gt_arena_array(page->arena, n, sizeof(*files));
	struct gt_buf list = GT_BUF_INIT;
	const char **names = gt_arena_array(page->arena, n, sizeof(*names));
	int is_named = 0;

	for (uint32_t i = 0; files && i < n; i++)
		files[i] = file_of(group, first + i);
	if (files && names)
		is_named = gt_name_list_of_files(page->arena, files, n, names);
	if (is_named)
		gt_name_list_add(page->arena, names, n, &list);
	page->out->failed |= !is_named || list.failed;
	gt_buf_puts(page->out, "<p class=\"files\">");
	gt_html_text(page->out, list.len ? list.text : "");
	gt_buf_puts(page->out, "</p>\n");
	gt_buf_release(&list);
}

/* Returns a number of a group, or 0 where it has none. */
static double number_of(const struct gt_json *object, const char *key)
{
	struct gt_json value;
	double number;

	return gt_json_get(object, key, &value) &&
			       !gt_json_double(&value, &number, NULL)
		       ? number
		       : 0;
}

/*
 * Writes what a job loses inside one such server and between as many as gtopo
 * diff asks of, with the rates that it has.
 */
static void put_bounds(const struct gt_json *object, uint32_t nnodes,
		       struct gt_buf *out)
{
	double inside = number_of(object, "bound_gbs");
	double norm_inside = number_of(object, "norm_bound_gbs");
	double between = number_of(object, "between_bound_gbs");
	double norm_between = number_of(object, "norm_between_bound_gbs");

	if (inside > 0 && norm_inside > 0)
		gt_buf_printf(out,
			      "<p class=\"%s\">all-reduce bound inside %.4g "
			      "GB/s, %.4g for the norm</p>\n",
			      inside < norm_inside ? "bad" : "quiet", inside,
			      norm_inside);
	if (between > 0 && norm_between > 0)
		gt_buf_printf(
			out,
			"<p class=\"%s\">all-reduce bound between %u such "
			"nodes %.4g GB/s, %.4g between those of the "
			"norm</p>\n",
			between < norm_between ? "bad" : "quiet", nnodes,
			between, norm_between);
}

static void put_group(struct gt_page *page, const struct gt_json *object,
		      const struct group *group, uint32_t nnodes)
{
	const struct gt_table table = {.columns = columns,
				       .ncolumns = GT_COLUMNS(columns),
				       .max_rows = GT_FLEET_FINDINGS};

	if (!group->nfindings)
		return;
	gt_buf_printf(page->out, "<h3 class=\"bad\">%u differ%s</h3>\n",
		      group->nfiles, group->nfiles == 1 ? "s" : " alike");
	put_files(page, group, 0);
	put_bounds(object, nnodes, page->out);
	gt_table(&table, &group->findings, page->out);
}

static int is_unreadable(const struct group *group)
{
	struct gt_json finding;
	const char *rule;

	gt_json_item(&group->findings, 0, &finding);
	rule = gt_json_member_text(&finding, "rule");
	return rule && !strcmp(rule, "unreadable");
}

/* Adds the line that says why a group's file cannot be read. */
static void note_unread(struct gt_page *page, const struct group *group)
{
	struct gt_json finding;
	const char *text;

	if (!group->nfindings || !is_unreadable(group))
		return;
	gt_json_item(&group->findings, 0, &finding);
	text = gt_json_member_text(&finding, "text");
	gt_buf_printf(page->unread, "%s\n", text ? text : "");
}

/*
 * Appends how many servers are as they should be, and which; what is expected
 * is the first file, and none of them.
 */
static void put_alike(struct gt_page *page, const struct gt_json *groups,
		      uint32_t n, int expected)
{
	uint32_t first = expected ? 1 : 0;
	struct gt_json object;
	struct group group;

	for (uint32_t i = 0; i < n; i++) {
		if (read_group(groups, i, &object, &group))
			continue;
		if (group.nfindings) {
			page->ndiffer += group.nfiles;
			continue;
		}
		if (group.nfiles <= first)
			continue;
		gt_buf_printf(page->out, "<h3 class=\"good\">%u as %s</h3>\n",
			      group.nfiles - first,
			      expected ? "expected" : "the norm");
		put_files(page, &group, first);
	}
}

/* Views of servers that differ; `like` says what each has. */
static int view_groups(struct gt_page *page, const struct gt_json *groups,
		       uint32_t n, const struct gt_page_view *like,
		       struct gt_err *err)
{
	struct gt_page_view view = *like;
	uint32_t views = 0;
	struct gt_json object;
	struct group group;
	int rc = GT_OK;

	for (uint32_t i = 0; i < n && views < GT_FLEET_VIEWS && !rc; i++) {
		if (read_group(groups, i, &object, &group) || !group.nfindings)
			continue;
		/* Of a file that cannot be read there is nothing to show. */
		if (is_unreadable(&group))
			continue;
		view.file = file_of(&group, 0);
		view.what = "differs from the norm; what differs is marked";
		view.differs = &group.findings;
		rc = gt_page_view(page, &view, err);
		views++;
	}
	return rc;
}

/*
 * One server that is compared with what is expected is what the page is about,
 * and what a plan is of; of a fleet it is the norm.
 */
static int view_servers(struct gt_page *page, const struct gt_page_fleet *ask,
			const struct gt_json *groups, uint32_t n,
			struct gt_page_view *norm, struct gt_err *err)
{
	const struct gt_page_view whole = {.plan = ask->plan},
				  brief = {.is_short = 1};
	uint32_t before = page->nviews;
	int rc;

	if (!ask->expected || ask->nfiles > 2) {
		rc = gt_page_view(page, norm, err);
		return rc ? rc : view_groups(page, groups, n, &brief, err);
	}
	rc = view_groups(page, groups, n, &whole, err);
	if (page->nviews > before) {
		norm->is_short = 1;
		norm->plan = NULL;
	}
	return rc ? rc : gt_page_view(page, norm, err);
}

static int put_fleet(struct gt_page *page, const struct gt_page_fleet *ask,
		     const struct gt_json *root, struct gt_err *err)
{
	struct gt_page_view norm = {.plan = ask->plan};
	struct gt_json groups, value, object;
	struct group group;
	uint32_t n = 0;
	int rc = gt_json_need(root, "groups", &groups, err);

	if (!rc)
		rc = gt_json_array(&groups, &n, err);
	if (!rc)
		rc = gt_json_need(root, "norm", &value, err);
	if (!rc)
		rc = gt_json_text(&value, &norm.file, err);
	if (rc)
		return rc;
	gt_page_begin(page, "Fleet", 0);
	put_alike(page, &groups, n, ask->expected);
	for (uint32_t i = 0; i < n; i++)
		if (!read_group(&groups, i, &object, &group)) {
			put_group(page, &object, &group,
				  (uint32_t)number_of(root, "nodes"));
			note_unread(page, &group);
		}
	gt_page_end(page);
	norm.what = ask->expected ? "what is expected" : "the norm";
	return view_servers(page, ask, &groups, n, &norm, err);
}

int gt_page_fleet(struct gt_page *page, const struct gt_page_fleet *ask,
		  struct gt_err *err)
{
	struct gt_buf json = GT_BUF_INIT;
	struct gt_json_doc *doc;
	struct gt_fleet *fleet;
	struct gt_json root;
	int rc = gt_fleet_compare(
		&(struct gt_fleet_query){.files = ask->files,
					 .nfiles = ask->nfiles,
					 .expected = ask->expected},
		&fleet, err);

	if (rc)
		return rc;
	gt_fleet_print_json(fleet, &json);
	rc = gt_page_parse(&json, &doc, err);
	if (!rc) {
		root = gt_json_root(doc);
		rc = put_fleet(page, ask, &root, err);
		gt_json_close(doc);
	}
	gt_buf_release(&json);
	gt_fleet_free(fleet);
	return rc;
}
