/*
 * Shows a machine: its picture, what is wrong, its devices, the links that run
 * full first, and its tree.  Of a cluster there are picture and tree.
 */
#include "cli/page/part.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/draw.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "base/xml.h"
#include "cli/lint/print.h"
#include "cli/page/html.h"
#include "cli/page/table.h"
#include "cli/show/plan.h"
#include "topo/cluster/cluster.h"
#include "topo/cluster/make.h"
#include "topo/graph/part.h"
#include "topo/graph/path.h"
#include "topo/graph/topo.h"
#include "topo/lint/lint.h"
#include "topo/view/dot.h"
#include "topo/view/print.h"
#include "topo/view/show.h"

enum {
	GT_VIEW_MAX_BYTES = 64 << 20,
	GT_VIEW_FINDINGS = 200,
	GT_VIEW_DEVICES = 300,
	GT_VIEW_BOTTLENECKS = 24,
	/* circles and arrows of lanes; each is some 450 bytes */
	GT_VIEW_LANE_PARTS = 400,
	GT_VIEW_KINDS = 3, /* of a cluster, that are shown */
};

static const struct gt_column finding_columns[] = {
	{"severity", "", GT_CELL_SEVERITY}, {"host", "host", GT_CELL_TEXT},
	{"device", "device", GT_CELL_TEXT}, {"bus_id", "bus id", GT_CELL_CODE},
	{"slot", "slot", GT_CELL_TEXT},     {"text", "finding", GT_CELL_TEXT},
	{"remedy", "remedy", GT_CELL_TEXT}, {"rule", "rule", GT_CELL_TEXT},
};

static const struct gt_column device_columns[] = {
	{"kind", "kind", GT_CELL_TEXT},
	{"dev", "number", GT_CELL_NUMBER},
	{"bus_id", "bus id", GT_CELL_CODE},
	{"name", "name", GT_CELL_TEXT},
	{"model", "model", GT_CELL_TEXT},
	{"pcie", "link", GT_CELL_TEXT},
	{"slot", "slot", GT_CELL_TEXT},
	{"facts", "facts", GT_CELL_TEXT},
	{"up", "hangs on", GT_CELL_CODE},
	{"problem", "problem", GT_CELL_SEVERITY},
};

static const struct gt_column bottleneck_columns[] = {
	{"from", "from", GT_CELL_TEXT},
	{"to", "to", GT_CELL_TEXT},
	{"kind", "kind", GT_CELL_TEXT},
	{"bw_gbs", "GB/s", GT_CELL_NUMBER},
	{"pairs", "pairs", GT_CELL_NUMBER},
	{"each_gbs", "GB/s for each", GT_CELL_BAR},
};

static const char *const devices[] = {"GPU", "NIC", "NET", NULL};

/* Append a picture, or, where Graphviz is not here, that there is none. */
static int put_picture(struct gt_page *page, const struct gt_buf *dot,
		       const char *label, struct gt_err *err)
{
	struct gt_buf svg = GT_BUF_INIT;
	struct gt_err why;
	int rc;

	if (dot->failed)
		return gt_err_nomem(err);
	gt_err_init(&why);
	rc = gt_draw(dot->text, "svg", &svg, &why);
	if (rc == GT_EINPUT) {
		gt_buf_puts(page->out, "<p class=\"missing\">No picture: ");
		gt_html_text(page->out, why.text);
		gt_buf_puts(page->out, "</p>\n");
		rc = GT_OK;
	} else if (!rc) {
		gt_buf_printf(page->out,
			      "<figure class=\"wide\" data-view=\"%u\">",
			      page->nviews);
		gt_html_svg(page->out, gt_buf_text(&svg), label);
		gt_buf_puts(page->out, "</figure>\n");
	} else {
		rc = gt_err_set(err, rc, NULL, "%s", why.text);
	}
	gt_buf_release(&svg);
	return rc;
}

/* Offer to switch each lane of the picture off; without a script nothing is. */
static void put_lanes(struct gt_page *page,
		      const struct gt_dot_overlay *overlay)
{
	if (!overlay->ngroups)
		return;
	gt_buf_printf(page->out,
		      "<fieldset class=\"lanes\" data-view=\"%u\">"
		      "<legend>channels</legend>\n",
		      page->nviews);
	for (uint32_t i = 0; i < overlay->ngroups; i++) {
		gt_buf_printf(page->out,
			      "<label><input type=\"checkbox\" "
			      "checked=\"checked\" value=\"%u\"/> ",
			      i);
		gt_html_text(page->out, overlay->groups[i].name);
		gt_buf_puts(page->out, "</label>\n");
	}
	gt_buf_puts(page->out, "</fieldset>\n");
}

/* Parse what a command wrote, and append one of its arrays as a table. */
static int put_table(struct gt_page *page, const struct gt_buf *json,
		     const char *key, const struct gt_table *table,
		     struct gt_err *err)
{
	struct gt_json_doc *doc;
	struct gt_json root, array;
	int rc = gt_page_parse(json, &doc, err);

	if (rc)
		return rc;
	root = gt_json_root(doc);
	if (gt_json_get(&root, key, &array) && gt_table_nrows(table, &array))
		gt_table(table, &array, page->out);
	else
		gt_buf_puts(page->out, "<p class=\"quiet\">none</p>\n");
	gt_json_close(doc);
	return GT_OK;
}

/* Writes findings of some severities, "findings" of the document. */
static void put_severities(struct gt_page *page, const struct gt_json *findings,
			   const char *const *severities, int are_notes)
{
	const struct gt_table table = {.columns = finding_columns,
				       .ncolumns = GT_COLUMNS(finding_columns),
				       .only = "severity",
				       .words = severities,
				       .max_rows = GT_VIEW_FINDINGS};
	uint32_t n = gt_table_nrows(&table, findings);

	if (!are_notes)
		page->nfindings += n;
	if (n && are_notes)
		gt_buf_printf(page->out,
			      "<details><summary>%u note%s</summary>\n", n,
			      gt_plural(n));
	if (n)
		gt_table(&table, findings, page->out);
	else if (!are_notes)
		gt_buf_puts(page->out, "<p class=\"quiet\">none</p>\n");
	gt_buf_puts(page->out, n && are_notes ? "</details>\n" : "");
}

static int put_findings(struct gt_page *page, const struct gt_topo *topo,
			const struct gt_lint *lint, struct gt_err *err)
{
	static const char *const bad[] = {"error", "warning", NULL};
	static const char *const notes[] = {"note", NULL};
	struct gt_buf json = GT_BUF_INIT;
	struct gt_json_doc *doc;
	struct gt_json root, findings;
	const char *between = "\n";
	int rc;

	gt_buf_puts(&json, "{\"findings\": [");
	gt_lint_print_json(lint, &between, &json);
	gt_buf_puts(&json, "]}");
	gt_buf_puts(page->out, "<h3>Findings</h3>\n");
	rc = gt_page_parse(&json, &doc, err);
	gt_buf_release(&json);
	if (rc)
		return rc;
	root = gt_json_root(doc);
	rc = gt_json_need(&root, "findings", &findings, err);
	if (!rc) {
		put_severities(page, &findings, bad, 0);
		put_severities(page, &findings, notes, 1);
	}
	gt_json_close(doc);
	for (uint32_t i = 0; i < gt_topo_nwarnings(topo); i++) {
		gt_buf_puts(page->out, "<p class=\"quiet\">");
		gt_html_text(page->out, gt_topo_warning(topo, i));
		gt_buf_puts(page->out, "</p>\n");
	}
	return rc;
}

/* A machine with its links' line rates, and with what they reach. */
struct shown {
	const struct gt_topo *topo, *reached;
	const struct gt_lint *lint;
};

/* Bottlenecks are of what links reach, as in gtopo paths and gtopo diff. */
static int put_bottlenecks(struct gt_page *page, const struct gt_topo *topo,
			   struct gt_err *err)
{
	const struct gt_table table = {.columns = bottleneck_columns,
				       .ncolumns =
					       sizeof(bottleneck_columns) /
					       sizeof(bottleneck_columns[0]),
				       .max_rows = GT_VIEW_BOTTLENECKS};
	struct gt_buf json = GT_BUF_INIT;
	struct gt_paths *paths;
	int rc;

	if (gt_topo_ngpus(topo) < 2)
		return GT_OK;
	rc = gt_paths_new(topo, &paths, err);
	if (rc)
		return rc;
	gt_print_bottlenecks_json(topo, paths, &json);
	gt_paths_free(paths);
	gt_buf_puts(page->out,
		    "<h3>Bottlenecks</h3>\n<p class=\"quiet\">Links that "
		    "several pairs of GPUs share, by what each pair gets when "
		    "all send at once, one way; GB/s as measured where the "
		    "file says so, else NCCL's constants, which are below the "
		    "line rates of the picture.</p>\n");
	rc = put_table(page, &json, "bottlenecks", &table, err);
	gt_buf_release(&json);
	return rc;
}

/* Append the devices, and all of the graph to what scripts know. */
static int put_devices(struct gt_page *page, const struct gt_topo *topo,
		       int is_short, struct gt_err *err)
{
	const struct gt_table table = {.columns = device_columns,
				       .ncolumns = GT_COLUMNS(device_columns),
				       .only = "kind",
				       .words = devices,
				       .max_rows = GT_VIEW_DEVICES};
	struct gt_buf json = GT_BUF_INIT;
	int rc = GT_OK;

	gt_print_topo_json(topo, GT_RATES_LINE, &json);
	if (!is_short) {
		gt_buf_puts(page->out, "<h3>Devices</h3>\n");
		rc = put_table(page, &json, "nodes", &table, err);
	}
	gt_buf_puts(page->data,
		    page->nviews ? ",\n{\"machine\": " : "{\"machine\": ");
	gt_buf_puts(page->data, json.failed ? "" : gt_buf_text(&json));
	page->data->failed |= json.failed;
	gt_buf_release(&json);
	return rc;
}

/* Tell scripts which devices are not as in the norm. */
static void put_marks(struct gt_page *page, const struct gt_json *findings)
{
	struct gt_json_writer json;
	struct gt_json item, value;
	const char *bus_id;
	uint32_t n = 0;

	gt_json_array(findings, &n, NULL);
	gt_buf_puts(page->data, ", \"marks\": ");
	gt_json_begin(&json, page->data);
	gt_json_open_array(&json, NULL, GT_JSON_FLAT);
	for (uint32_t i = 0; i < n; i++) {
		gt_json_item(findings, i, &item);
		if (gt_json_get(&item, "bus_id", &value) &&
		    !gt_json_text(&value, &bus_id, NULL))
			gt_json_put_text(&json, NULL, bus_id);
	}
	gt_json_end(&json);
}

static void put_tree(struct gt_page *page, struct gt_buf *tree)
{
	gt_buf_puts(page->out, "<details open=\"open\"><summary>Tree</summary>"
			       "<pre>");
	gt_html_text(page->out, tree->failed ? "" : gt_buf_text(tree));
	page->out->failed |= tree->failed;
	gt_buf_puts(page->out, "</pre></details>\n");
	gt_buf_release(tree);
}

/*
 * Leave lanes out of which the page would become too large, the last first, and
 * say how many.
 */
static void cut_lanes(struct gt_page *page, uint32_t ngpus,
		      struct gt_dot_overlay *overlay)
{
	uint32_t n = 0, arrows = 0, all = overlay->ngroups;

	while (n < all) {
		uint32_t end = arrows;

		/* Arrows are in order of their lanes. */
		while (end < overlay->narrows &&
		       overlay->arrows[end].group == n)
			end++;
		if (n && end + (n + 1) * ngpus > GT_VIEW_LANE_PARTS)
			break;
		arrows = end;
		n++;
	}
	overlay->ngroups = n;
	overlay->narrows = arrows;
	if (n < all)
		gt_buf_printf(page->out,
			      "<p class=\"quiet\">%u more lanes of channels "
			      "are not drawn; 'gtopo show --plan' draws them."
			      "</p>\n",
			      all - n);
}

/* Append the picture of a machine with a plan's channels, and their switches.
 */
static int put_machine_picture(struct gt_page *page,
			       const struct gt_page_view *view,
			       const struct shown *shown, struct gt_err *err)
{
	const struct gt_topo *topo = shown->topo;
	struct gt_dot_overlay overlay = {.ngroups = 0};
	struct gt_dot_more more = {.lint = shown->lint, .overlay = NULL};
	struct gt_buf dot = GT_BUF_INIT;
	int rc = GT_OK;

	if (view->plan) {
		rc = gt_show_plan_overlay(view->plan, topo, page->arena,
					  &overlay, err);
		more.overlay = &overlay;
	}
	if (rc)
		return rc;
	cut_lanes(page, gt_topo_ngpus(topo), &overlay);
	gt_dot(topo, more, &dot);
	put_lanes(page, &overlay);
	rc = put_picture(page, &dot, gt_topo_source(topo), err);
	gt_buf_release(&dot);
	return rc;
}

static int put_machine(struct gt_page *page, const struct gt_page_view *view,
		       const struct shown *shown, struct gt_err *err)
{
	struct gt_show_style style = {.lint = shown->lint};
	const struct gt_topo *topo = shown->topo;
	struct gt_buf tree = GT_BUF_INIT;
	int rc = put_machine_picture(page, view, shown, err);

	if (!rc)
		rc = put_findings(page, topo, shown->lint, err);
	if (!rc && !view->is_short)
		rc = put_bottlenecks(page, shown->reached, err);
	if (!rc)
		rc = put_devices(page, topo, view->is_short, err);
	if (rc)
		return rc;
	if (view->differs)
		put_marks(page, view->differs);
	if (view->plan) {
		gt_buf_puts(page->data, ", \"lanes\": ");
		rc = gt_show_plan_lanes(view->plan, page->arena, page->data,
					err);
	}
	gt_buf_puts(page->data, "}");
	page->nviews++;
	if (rc || view->is_short)
		return rc;
	gt_show_tree(topo, &style, &tree);
	put_tree(page, &tree);
	return GT_OK;
}

/* Begin the section of a view, with what the machine is. */
static void begin_view(struct gt_page *page, const struct gt_page_view *view)
{
	gt_page_begin(page, view->file, 1);
	if (!view->what)
		return;
	gt_buf_puts(page->out, "<p class=\"what\">");
	gt_html_text(page->out, view->what);
	gt_buf_puts(page->out, "</p>\n");
}

static int view_machine(struct gt_page *page, const struct gt_page_view *view,
			const struct gt_buf *text, struct gt_err *err)
{
	struct gt_topo *topo, *reached = NULL;
	struct gt_lint lint;
	int rc = gt_topo_parse(view->file, gt_buf_text(text), text->len,
			       GT_RATES_LINE, &topo, err);

	if (rc)
		return rc;
	rc = gt_topo_check(topo, err);
	if (!rc)
		rc = gt_topo_part_gpus(topo, page->p2p, err);
	if (!rc)
		rc = gt_topo_parse(view->file, gt_buf_text(text), text->len,
				   GT_RATES_MEASURED, &reached, err);
	if (!rc)
		rc = gt_topo_part_gpus(reached, page->p2p, err);
	if (!rc)
		rc = gt_lint_text(view->file, gt_buf_text(text), text->len,
				  page->arena, &lint, err);
	if (!rc) {
		begin_view(page, view);
		rc = put_machine(page, view,
				 &(struct shown){topo, reached, &lint}, err);
		gt_page_end(page);
	}
	gt_topo_free(reached);
	gt_topo_free(topo);
	return rc;
}

static int view_cluster(struct gt_page *page, const struct gt_page_view *view,
			const struct gt_xml *xml, struct gt_err *err)
{
	struct gt_show_style style = {.lint = NULL};
	struct gt_buf dot = GT_BUF_INIT, tree = GT_BUF_INIT;
	struct gt_cluster *cluster;
	int rc = gt_cluster_from_xml(xml, GT_RATES_LINE, &cluster, err);

	if (rc)
		return rc;
	rc = gt_cluster_part_gpus(cluster, NULL, page->p2p, err);
	if (rc) {
		gt_cluster_free(cluster);
		return rc;
	}
	begin_view(page, view);
	gt_dot_cluster(cluster, &dot);
	rc = put_picture(page, &dot, cluster->source, err);
	gt_buf_release(&dot);
	gt_buf_puts(page->data, page->nviews++ ? ",\n{}" : "{}");
	gt_show_cluster(cluster, &style, &tree);
	put_tree(page, &tree);
	gt_page_end(page);
	for (uint32_t i = 0; !rc && i < cluster->nkinds && i < GT_VIEW_KINDS;
	     i++) {
		struct gt_page_view kind = {
			.file = cluster->kinds[i].file,
			.what = "a node of the cluster",
			.plan = cluster->nkinds == 1 ? view->plan : NULL};

		rc = gt_page_view(page, &kind, err);
	}
	gt_cluster_free(cluster);
	return rc;
}

int gt_page_view(struct gt_page *page, const struct gt_page_view *view,
		 struct gt_err *err)
{
	struct gt_page_view named = *view;
	struct gt_buf text = GT_BUF_INIT;
	struct gt_xml *xml;
	int is_cluster, rc;

	named.file = gt_page_name(view->file);
	rc = gt_file_read(view->file, GT_VIEW_MAX_BYTES, &text, err);
	if (!rc)
		rc = gt_xml_parse(named.file, gt_buf_text(&text), text.len,
				  &xml, err);
	if (rc)
		goto text;
	is_cluster = gt_xml_is(gt_xml_root(xml), "cluster");
	rc = is_cluster ? view_cluster(page, &named, xml, err)
			: view_machine(page, &named, &text, err);
	gt_xml_free(xml);
text:
	gt_buf_release(&text);
	return rc;
}
