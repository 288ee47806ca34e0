/*
 * Pieces of a page: text, data and pictures as HTML that is XML, too.  What
 * comes from files is escaped here and nowhere else.
 */
#ifndef GT_CLI_PAGE_HTML_H
#define GT_CLI_PAGE_HTML_H

struct gt_buf;

/*
 * Append text for between tags and for attributes in double quotes; what is no
 * UTF-8, or no character of XML, becomes U+FFFD.
 */
void gt_html_text(struct gt_buf *out, const char *text);

/* Append the last part of a path, as gt_html_text() does. */
void gt_html_file(struct gt_buf *out, const char *path);

/* Append JSON for inside <script>, which no string in it can end. */
void gt_html_json(struct gt_buf *out, const char *json);

/*
 * Append a picture that Graphviz wrote, without what a page has no use for:
 * the prologue, comments, ids (a page has several pictures), the font and its
 * size.
 */
void gt_html_svg(struct gt_buf *out, const char *svg, const char *label);

/* Append the style sheet, and the script, that are compiled in. */
void gt_html_style(struct gt_buf *out);
void gt_html_script(struct gt_buf *out);

#endif
