/* Begins and ends the sections of a page. */
#include "cli/page/part.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "cli/page/html.h"

void gt_page_begin(struct gt_page *page, const char *title, int is_file)
{
	void (*put)(struct gt_buf *, const char *) =
		is_file ? gt_html_file : gt_html_text;

	page->nsections++;
	gt_buf_printf(page->out, "<section id=\"s%u\"><h2>", page->nsections);
	put(page->out, title);
	gt_buf_puts(page->out, "</h2>\n");
	gt_buf_printf(page->links, "<a href=\"#s%u\">", page->nsections);
	put(page->links, title);
	gt_buf_puts(page->links, "</a>\n");
}

void gt_page_end(struct gt_page *page)
{
	gt_buf_puts(page->out, "</section>\n");
}

const char *gt_page_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

int gt_page_parse(const struct gt_buf *text, struct gt_json_doc **doc,
		  struct gt_err *err)
{
	return text->failed ? gt_err_nomem(err)
			    : gt_json_parse("data", gt_buf_text(text),
					    text->len, doc, err);
}
