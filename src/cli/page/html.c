/* Escapes what goes into a page, and holds its style sheet and script. */
#include "cli/page/html.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/utf8.h"

/* The build makes lines of C of page.css and page.js. */
static const char *const style[] = {
#include "cli/page/page_css.inc"
};
static const char *const script[] = {
#include "cli/page/page_js.inc"
};

/* Returns what stands for a character of HTML that means something, or NULL. */
static const char *entity(char c)
{
	switch (c) {
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '&':
		return "&amp;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* Returns whether XML has the character of so many bytes. */
static int is_in_xml(const char *text, size_t len)
{
	unsigned char c = (unsigned char)*text;

	if (len == 1)
		return (c >= ' ' && c != 0x7f) || c == '\n' || c == '\t';
	return !(len == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0) &&
	       strncmp(text, "\xef\xbf\xbe", 3) != 0 &&
	       strncmp(text, "\xef\xbf\xbf", 3) != 0;
}

void gt_html_text(struct gt_buf *out, const char *text)
{
	size_t len;

	for (; *text; text += len ? len : 1) {
		len = gt_utf8_char(text);
		if (entity(*text))
			gt_buf_puts(out, entity(*text));
		else if (len && is_in_xml(text, len))
			gt_buf_add(out, text, len);
		else
			gt_buf_puts(out, "\xef\xbf\xbd");
	}
}

void gt_html_file(struct gt_buf *out, const char *path)
{
	const char *slash = strrchr(path, '/');

	gt_html_text(out, slash && slash[1] ? slash + 1 : path);
}

void gt_html_json(struct gt_buf *out, const char *json)
{
	size_t len;

	for (; *json; json += len ? len : 1) {
		len = gt_utf8_char(json);
		if (*json == '<' || *json == '>' || *json == '&')
			gt_buf_printf(out, "\\u%04x", (unsigned)*json);
		else if (len && is_in_xml(json, len))
			gt_buf_add(out, json, len);
		else
			gt_buf_puts(out, "\xef\xbf\xbd");
	}
}

/* Returns whether an attribute begins here that a page's picture has not. */
static int is_dropped(const char *at, int is_root)
{
	return gt_starts_with(at, " id=\"") ||
	       gt_starts_with(at, " font-family=\"") ||
	       (is_root && (gt_starts_with(at, " width=\"") ||
			    gt_starts_with(at, " height=\"")));
}

/* Copies a tag up to its end, which is returned. */
static const char *copy_tag(struct gt_buf *out, const char *at, int is_root)
{
	const char *quote;

	while (*at && *at != '>') {
		quote = is_dropped(at, is_root) ? strchr(at, '"') : NULL;
		quote = quote ? strchr(quote + 1, '"') : NULL;
		if (!quote)
			gt_buf_add(out, at, 1);
		at = quote ? quote + 1 : at + 1;
	}
	return at;
}

/* A picture is drawn at most so many times as large as Graphviz wants it. */
#define GT_SVG_LARGEST 1.5

/* Returns how wide the picture is, of which the tag is `<svg width="700pt"`. */
static double svg_points(const char *tag)
{
	const char *width = strstr(tag, " width=\"");
	double points = width ? strtod(width + strlen(" width=\""), NULL) : 0;

	return points > 1 && points < 1e5 ? points : 1000;
}

void gt_html_svg(struct gt_buf *out, const char *svg, const char *label)
{
	const char *at = strstr(svg, "<svg"), *end;

	if (!at)
		return;
	gt_buf_puts(out, "<svg class=\"picture\" role=\"img\" aria-label=\"");
	gt_html_text(out, label);
	gt_buf_printf(out, "\" style=\"max-width:%.0fpx\"",
		      GT_SVG_LARGEST * svg_points(at));
	at = copy_tag(out, at + strlen("<svg"), 1);
	while (*at) {
		end = gt_starts_with(at, "<!--") ? strstr(at, "-->") : NULL;
		if (end)
			at = end + strlen("-->");
		else if (*at == '<')
			at = copy_tag(out, at, 0);
		else
			gt_buf_add(out, at++, 1);
	}
}

void gt_html_style(struct gt_buf *out)
{
	for (size_t i = 0; i < sizeof(style) / sizeof(style[0]); i++)
		gt_buf_puts(out, style[i]);
}

void gt_html_script(struct gt_buf *out)
{
	for (size_t i = 0; i < sizeof(script) / sizeof(script[0]); i++)
		gt_buf_puts(out, script[i]);
}
