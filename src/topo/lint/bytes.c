/*
 * This half of lint reads the bytes of a file as NCCL's reader does, which is
 * no XML parser: blanks, tabs, comments and entities that it would take for
 * something else.
 */
#include "topo/lint/linter.h"

#include <string.h>

enum {
	GT_LINT_MAX_VALUE = 254, /* characters, which is one too many */
	GT_LINT_MAX_ATTRS = 16,
	GT_LINT_MAX_ELEMS = 256, /* elements, which is one too many */
};

/* The state of one pass over the bytes. */
struct gt_bytes {
	struct gt_linter *l;
	const char *text;
	size_t at, len;
	uint32_t nelems;
};

static int gt_bytes_is(const struct gt_bytes *b, const char *word)
{
	size_t n = strlen(word);

	return b->len - b->at >= n && !memcmp(b->text + b->at, word, n);
}

static int gt_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Returns the first place at or behind the present one where `word` ends. */
static size_t gt_bytes_behind(const struct gt_bytes *b, const char *word)
{
	const char *found =
		memmem(b->text + b->at, b->len - b->at, word, strlen(word));

	return found ? (size_t)(found - b->text) + strlen(word) : b->len;
}

/*
 * Returns whether this is the first finding of a rule; for a fault that is on
 * every line one is enough.
 */
static int gt_bytes_first(const struct gt_bytes *b, enum gt_lint_rule rule)
{
	return !b->l->seen[rule];
}

/* Looks at what stands between two tags. */
static void gt_bytes_between(struct gt_bytes *b)
{
	size_t begin = b->at, end, first;
	int tab = 0;

	while (b->at < b->len && b->text[b->at] != '<')
		tab |= b->text[b->at++] == '\t';
	first = begin;
	while (first < b->at && gt_blank(b->text[first]))
		first++;
	end = b->at;
	while (end > first && gt_blank(b->text[end - 1]))
		end--;
	if (end > first) {
		gt_linter_report(b->l, GT_LINT_TEXT_RULE, first, "remove it",
				 "text between elements");
		gt_linter_edit(b->l, GT_LINT_TEXT_RULE, first, end - first, "");
	}
	for (size_t i = begin; tab && i < b->at; i++) {
		if (b->text[i] != '\t')
			continue;
		if (gt_bytes_first(b, GT_LINT_TAB_RULE))
			gt_linter_report(b->l, GT_LINT_TAB_RULE, i,
					 "use blanks",
					 "a tab between elements");
		if (i < first || i >= end)
			gt_linter_edit(b->l, GT_LINT_TAB_RULE, i, 1, "  ");
	}
}

static void gt_bytes_comment(struct gt_bytes *b)
{
	size_t i = b->at + 4;

	while (i < b->len && !strchr("= >/\n\r", b->text[i]))
		i++;
	if (i < b->len && b->text[i] == '=') {
		gt_linter_report(b->l, GT_LINT_COMMENT_RULE, b->at,
				 "put a blank first",
				 "a comment whose first word has a '='");
		gt_linter_edit(b->l, GT_LINT_COMMENT_RULE, b->at + 4, 0, " ");
	}
	b->at = gt_bytes_behind(b, "-->");
}

/*
 * Tells of "<?...?>" or "<!...>", which are to be removed with their line ends.
 */
static void gt_bytes_remove(struct gt_bytes *b, enum gt_lint_rule rule,
			    const char *end, const char *what)
{
	size_t begin = b->at;

	gt_linter_report(b->l, rule, begin, "remove it", "%s", what);
	b->at = gt_bytes_behind(b, end);
	while (b->at < b->len &&
	       (b->text[b->at] == '\n' || b->text[b->at] == '\r'))
		b->at++;
	gt_linter_edit(b->l, rule, begin, b->at - begin, "");
}

static void gt_bytes_end_tag(struct gt_bytes *b)
{
	size_t begin = b->at + 2, end = gt_bytes_behind(b, ">");
	size_t i = begin;

	while (i < end && !gt_blank(b->text[i]))
		i++;
	b->at = end;
	if (i >= end)
		return;
	gt_linter_report(b->l, GT_LINT_END_TAG_RULE, begin - 2,
			 "remove the blank", "a blank inside an end tag");
	gt_linter_edit(b->l, GT_LINT_END_TAG_RULE, i, end - 1 - i, "");
}

/* Looks at blanks inside a tag, from b->at on. */
static void gt_bytes_blanks(struct gt_bytes *b)
{
	size_t begin = b->at, lines = 0;
	enum gt_lint_rule rule;
	int ends, equals;

	for (; b->at < b->len && gt_blank(b->text[b->at]); b->at++)
		lines += b->text[b->at] != ' ';
	ends = b->at < b->len && strchr("/>", b->text[b->at]) != NULL;
	equals = b->text[begin - 1] == '=' ||
		 (b->at < b->len && b->text[b->at] == '=');
	if (!equals && !lines && !ends && b->at - begin <= 1)
		return;
	rule = equals  ? GT_LINT_EQUALS_RULE
	       : lines ? GT_LINT_LINE_END_RULE
		       : GT_LINT_BLANKS_RULE;
	gt_linter_report(b->l, rule, begin,
			 equals  ? "remove them"
			 : lines ? "use one blank"
			 : ends  ? "remove them"
				 : "leave one",
			 "%s",
			 equals  ? "blanks around '='"
			 : lines ? "a line end or tab inside a tag"
				 : "blanks that NCCL takes for an attribute");
	gt_linter_edit(b->l, rule, begin, b->at - begin,
		       ends || equals ? "" : " ");
}

static void gt_bytes_value(struct gt_bytes *b)
{
	char quote = b->text[b->at];
	size_t begin = ++b->at;

	for (; b->at < b->len && b->text[b->at] != quote; b->at++)
		if (b->text[b->at] == '&')
			gt_linter_report(
				b->l, GT_LINT_ENTITY_RULE, b->at,
				"use another character",
				"an entity, which NCCL leaves as it is");
	if (b->at - begin >= GT_LINT_MAX_VALUE)
		gt_linter_report(b->l, GT_LINT_LONG_RULE, begin, "shorten it",
				 "a value of %zu characters, NCCL reads %d",
				 b->at - begin, GT_LINT_MAX_VALUE - 1);
	b->at++;
}

/*
 * Returns whether NCCL knows the element; each of those takes one of its
 * places.
 */
static int gt_bytes_counts(const char *name, size_t len)
{
	static const char *const names[] = {"system", "cpu", "pci",
					    "gpu",    "nic", "net",
					    "nvlink", "c2c", "pcilink"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i]) == len && !memcmp(names[i], name, len))
			return 1;
	return 0;
}

static void gt_bytes_tag(struct gt_bytes *b)
{
	size_t begin = b->at++, name = b->at;
	int nattrs = 0;

	while (b->at < b->len && !gt_blank(b->text[b->at]) &&
	       !strchr("/>", b->text[b->at]))
		b->at++;
	if (gt_bytes_counts(b->text + name, b->at - name) &&
	    ++b->nelems == GT_LINT_MAX_ELEMS)
		gt_linter_report(b->l, GT_LINT_ELEMENTS_RULE, begin,
				 "leave out devices that are not used",
				 "element %d, NCCL reads %d", GT_LINT_MAX_ELEMS,
				 GT_LINT_MAX_ELEMS - 1);
	while (b->at < b->len && b->text[b->at] != '>') {
		char c = b->text[b->at];

		if (gt_blank(c)) {
			gt_bytes_blanks(b);
		} else if (c == '"' || c == '\'') {
			nattrs++;
			gt_bytes_value(b);
		} else {
			b->at++;
		}
	}
	if (nattrs > GT_LINT_MAX_ATTRS)
		gt_linter_report(b->l, GT_LINT_ATTRIBUTES_RULE, begin,
				 "put those that NCCL needs first",
				 "%d attributes, NCCL reads %d", nattrs,
				 GT_LINT_MAX_ATTRS);
	b->at += b->at < b->len;
}

void gt_lint_bytes(struct gt_linter *l)
{
	struct gt_bytes b = {
		.l = l, .text = l->lint->text, .len = l->lint->len};

	if (b.len && memchr(b.text, '\0', b.len < 4 ? b.len : 4)) {
		gt_linter_report(l, GT_LINT_BOM_RULE, 0,
				 "let 'iconv -t UTF-8' write it anew",
				 "not in an encoding that NCCL reads");
		return;
	}
	if (gt_bytes_is(&b, "\xef\xbb\xbf")) {
		gt_linter_report(l, GT_LINT_BOM_RULE, 0, "remove it",
				 "a byte order mark");
		gt_linter_edit(l, GT_LINT_BOM_RULE, 0, 3, "");
		b.at = 3;
	}
	while (b.at < b.len) {
		if (b.text[b.at] != '<')
			gt_bytes_between(&b);
		else if (gt_bytes_is(&b, "<!--"))
			gt_bytes_comment(&b);
		else if (gt_bytes_is(&b, "<?"))
			gt_bytes_remove(&b, GT_LINT_DECLARATION_RULE, "?>",
					"an XML declaration");
		else if (gt_bytes_is(&b, "<![CDATA["))
			gt_bytes_remove(&b, GT_LINT_TEXT_RULE, "]]>",
					"text between elements");
		else if (gt_bytes_is(&b, "<!"))
			gt_bytes_remove(&b, GT_LINT_DOCTYPE_RULE, ">",
					"a document type");
		else if (gt_bytes_is(&b, "</"))
			gt_bytes_end_tag(&b);
		else
			gt_bytes_tag(&b);
	}
}
