/* Puts a page together: its head, its sections, and what its script knows. */
#include "cli/page/page.h"

#include <config.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cli/diff/cluster.h"
#include "cli/page/html.h"
#include "cli/page/part.h"

static int put_machines(struct gt_page *page, const struct gt_page_query *ask,
			struct gt_err *err)
{
	struct gt_page_fleet fleet = {.expected = ask->expect != NULL,
				      .nfiles = ask->nfiles};
	const char **files;
	int rc = gt_page_plan_drawn(ask->plan, &fleet.plan, err);

	if (rc)
		return rc;
	if (ask->nfiles == 1 && !ask->expect)
		return gt_page_view(
			page,
			&(struct gt_page_view){.file = ask->files[0],
					       .plan = fleet.plan},
			err);
	files = gt_arena_array(page->arena, ask->nfiles + 1, sizeof(*files));
	if (!files)
		return gt_err_nomem(err);
	files[0] = ask->expect;
	for (uint32_t i = 0; i < ask->nfiles; i++)
		files[i + (uint32_t)fleet.expected] = ask->files[i];
	fleet.nfiles += (uint32_t)fleet.expected;
	fleet.files = files;
	for (uint32_t i = 0; i < fleet.nfiles; i++)
		if (gt_diff_is_cluster(files[i]))
			return gt_err_set(err, GT_EINPUT, files[i],
					  "is a cluster, which has a page of "
					  "its own; gtopo diff compares "
					  "several");
	return gt_page_fleet(page, &fleet, err);
}

static int put_sections(struct gt_page *page, const struct gt_page_query *ask,
			struct gt_err *err)
{
	int rc = put_machines(page, ask, err);

	if (!rc && (ask->plan || ask->report))
		rc = gt_page_plan(page, ask->plan, ask->report, err);
	if (!rc && ask->trace)
		rc = gt_page_trace(page, ask->trace, err);
	return rc;
}

/* Say at the top whether something is wrong. */
static void put_badges(const struct gt_page *page, struct gt_buf *out)
{
	gt_buf_puts(out, "<p class=\"badges\">");
	if (page->nfindings)
		gt_buf_printf(out,
			      "<span class=\"badge bad\">%u finding%s</span> ",
			      page->nfindings, gt_plural(page->nfindings));
	if (page->ndiffer)
		gt_buf_printf(out,
			      "<span class=\"badge bad\">%u server%s "
			      "differ%s</span> ",
			      page->ndiffer, gt_plural(page->ndiffer),
			      page->ndiffer == 1 ? "s" : "");
	if (!page->nfindings && !page->ndiffer)
		gt_buf_puts(out, "<span class=\"badge good\">no findings"
				 "</span>");
	gt_buf_puts(out, "</p>\n");
}

static void put_title(const struct gt_page_query *ask, struct gt_buf *out)
{
	if (ask->nfiles > 1)
		gt_buf_printf(out, "%u servers", ask->nfiles);
	else
		gt_html_file(out, gt_page_name(ask->files[0]));
}

/* The page is HTML that is XML, too, so that its form can be checked. */
static void put_head(const struct gt_page_query *ask,
		     const struct gt_page *page, struct gt_buf *out)
{
	gt_buf_puts(out, "<!DOCTYPE html>\n"
			 "<html xmlns=\"http://www.w3.org/1999/xhtml\" "
			 "lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
			 "<meta name=\"viewport\" "
			 "content=\"width=device-width, initial-scale=1\"/>\n"
			 "<meta name=\"color-scheme\" "
			 "content=\"light dark\"/>\n<title>");
	put_title(ask, out);
	gt_buf_puts(out, " - gtopo</title>\n<style>\n");
	gt_html_style(out);
	gt_buf_puts(out, "</style>\n</head>\n<body>\n<header><h1>");
	put_title(ask, out);
	gt_buf_puts(out, "</h1>\n");
	put_badges(page, out);
	gt_buf_puts(out, "<nav>");
	gt_buf_puts(out, gt_buf_text(page->links));
	gt_buf_puts(out, "</nav></header>\n<main>\n");
}

static void put_foot(const struct gt_page *page, struct gt_buf *out)
{
	gt_buf_puts(out, "</main>\n<footer>gtopo " PACKAGE_VERSION
			 "<span class=\"help\">; keys: 1-9 go to a section, "
			 "Tab and arrows to a device, Esc closes</span>"
			 "</footer>\n<div id=\"card\" role=\"status\" "
			 "hidden=\"hidden\"></div>\n"
			 "<script type=\"application/json\" id=\"data\">[");
	gt_html_json(out, page->data->len ? gt_buf_text(page->data) : "");
	gt_buf_puts(out, "]</script>\n<script>\n//<![CDATA[\n");
	gt_html_script(out);
	gt_buf_puts(out, "//]]>\n</script>\n</body>\n</html>\n");
}

int gt_page(const struct gt_page_query *ask, struct gt_buf *out,
	    struct gt_err *err)
{
	struct gt_buf sections = GT_BUF_INIT, data = GT_BUF_INIT,
		      links = GT_BUF_INIT;
	struct gt_page page = {.arena = gt_arena_new(),
			       .out = &sections,
			       .data = &data,
			       .links = &links,
			       .p2p = ask->p2p,
			       .unread = ask->unread};
	int rc = page.arena ? put_sections(&page, ask, err) : gt_err_nomem(err);

	if (!rc && (sections.failed || data.failed || links.failed))
		rc = gt_err_nomem(err);
	if (!rc) {
		put_head(ask, &page, out);
		gt_buf_add(out, sections.text, sections.len);
		put_foot(&page, out);
	}
	gt_buf_release(&sections);
	gt_buf_release(&data);
	gt_buf_release(&links);
	gt_arena_free(page.arena);
	return rc;
}
