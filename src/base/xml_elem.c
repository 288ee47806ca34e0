/* Access to the elements and attributes of a document that was parsed. */
#include "base/xml.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/rat.h"
#include "base/unit.h"
#include "base/xml_doc.h"

static const xmlNode *gt_xml_node(const struct gt_xml_elem *elem)
{
	return (const xmlNode *)(const void *)elem;
}

static const struct gt_xml_elem *gt_xml_elem(const xmlNode *node)
{
	while (node && node->type != XML_ELEMENT_NODE)
		node = node->next;
	return (const struct gt_xml_elem *)(const void *)node;
}

const char *gt_xml_source(const struct gt_xml *xml)
{
	return xml->name;
}

const struct gt_xml_elem *gt_xml_root(const struct gt_xml *xml)
{
	return gt_xml_elem(xmlDocGetRootElement(xml->doc));
}

const struct gt_xml_elem *gt_xml_child(const struct gt_xml_elem *elem)
{
	return gt_xml_elem(gt_xml_node(elem)->children);
}

const struct gt_xml_elem *gt_xml_next(const struct gt_xml_elem *elem)
{
	return gt_xml_elem(gt_xml_node(elem)->next);
}

const struct gt_xml_elem *gt_xml_parent(const struct gt_xml_elem *elem)
{
	const xmlNode *node = gt_xml_node(elem)->parent;

	return node && node->type == XML_ELEMENT_NODE ? gt_xml_elem(node)
						      : NULL;
}

const struct gt_xml_elem *gt_xml_find(const struct gt_xml_elem *elem,
				      const char *name)
{
	const struct gt_xml_elem *child = gt_xml_child(elem);

	while (child && !gt_xml_is(child, name))
		child = gt_xml_next(child);
	return child;
}

const char *gt_xml_name(const struct gt_xml_elem *elem)
{
	return (const char *)gt_xml_node(elem)->name;
}

int gt_xml_is(const struct gt_xml_elem *elem, const char *name)
{
	const xmlNs *ns = gt_xml_node(elem)->ns;

	return !(ns && ns->prefix) && !strcmp(gt_xml_name(elem), name);
}

uint32_t gt_xml_line(const struct gt_xml_elem *elem)
{
	const struct gt_xml_tag *tag = gt_xml_node(elem)->_private;

	return tag ? tag->line : 0;
}

const char *gt_xml_attr(const struct gt_xml_elem *elem, const char *attr)
{
	const xmlAttr *a = gt_xml_node(elem)->properties;
	const xmlNode *value;

	while (a && (a->ns || strcmp((const char *)a->name, attr)))
		a = a->next;
	if (!a)
		return NULL;
	/* Entities cannot be declared, so a value is one text or nothing. */
	value = a->children;
	return value && value->content ? (const char *)value->content : "";
}

const char *gt_xml_text(const struct gt_xml_elem *elem, const char *attr)
{
	const char *text = elem ? gt_xml_attr(elem, attr) : NULL;

	return text ? text : "";
}

/* The value without blanks around it; 0 when it is absent or blank. */
static int gt_xml_word(const struct gt_xml_elem *elem, const char *attr,
		       char word[64])
{
	const char *text = gt_xml_attr(elem, attr);
	size_t len;

	if (!text)
		return 0;
	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	snprintf(word, 64, "%.*s", (int)(len < 64 ? len : 63), text);
	return len > 0;
}

static int gt_xml_no_number(const struct gt_xml_elem *elem, const char *attr,
			    struct gt_err *err)
{
	return gt_xml_fail(elem, attr, err, "%s '%.64s' is not a number", attr,
			   gt_xml_attr(elem, attr));
}

int gt_xml_int(const struct gt_xml_elem *elem, const char *attr, int *value,
	       struct gt_err *err)
{
	int64_t number;
	char word[64];

	if (!gt_xml_word(elem, attr, word))
		return GT_OK;
	if (!gt_unit_int(word, INT64_MIN, INT64_MAX, &number))
		return gt_xml_no_number(elem, attr, err);
	if (number < INT_MIN || number > INT_MAX)
		return gt_xml_fail(elem, attr, err, "%s '%s' is out of range",
				   attr, word);
	*value = (int)number;
	return GT_OK;
}

int gt_xml_rat(const struct gt_xml_elem *elem, const char *attr,
	       struct gt_rat *value, struct gt_err *err)
{
	char word[64];

	if (!gt_xml_word(elem, attr, word))
		return GT_OK;
	if (!gt_rat_parse(word, value))
		return gt_xml_no_number(elem, attr, err);
	return GT_OK;
}

/* The attribute's offset within the start tag at `at`, or `at` itself. */
static size_t gt_xml_attr_at(const struct gt_xml *xml, size_t at,
			     const char *attr)
{
	const char *text = xml->text;
	size_t len = strlen(attr), i = at + 1;
	char quote;

	while (i < xml->len && !isspace((unsigned char)text[i]) &&
	       text[i] != '>')
		i++;
	while (i < xml->len && text[i] != '>') {
		if (!strncmp(text + i, attr, len) &&
		    isspace((unsigned char)text[i - 1]) &&
		    strchr("= \t\r\n", text[i + len]))
			return i;
		quote = text[i++];
		if (quote != '"' && quote != '\'')
			continue;
		while (i < xml->len && text[i++] != quote)
			;
	}
	return at;
}

/* The place is not known where libxml2 converted the encoding. */
static int gt_xml_located(const struct gt_xml_elem *elem)
{
	const struct gt_xml *xml = gt_xml_node(elem)->doc->_private;
	const struct gt_xml_tag *tag = gt_xml_node(elem)->_private;

	return tag->at != SIZE_MAX &&
	       !strncmp(xml->text + tag->at + 1, gt_xml_name(elem),
			strlen(gt_xml_name(elem)));
}

int gt_xml_span(const struct gt_xml_elem *elem, const char *attr, size_t *at,
		size_t *len)
{
	const struct gt_xml *xml = gt_xml_node(elem)->doc->_private;
	const struct gt_xml_tag *tag = gt_xml_node(elem)->_private;
	size_t begin, end;

	if (!gt_xml_located(elem))
		return 0;
	begin = attr ? gt_xml_attr_at(xml, tag->at, attr) : tag->at;
	end = begin;
	if (begin != tag->at) {
		begin += strcspn(xml->text + begin, "\"'") + 1;
		if (begin > xml->len)
			return 0;
		end = begin;
		while (end < xml->len && xml->text[end] != xml->text[begin - 1])
			end++;
	} else if (attr) {
		return 0;
	}
	*at = begin;
	*len = end - begin;
	return 1;
}

void gt_xml_where(const struct gt_xml_elem *elem, const char *attr, char *text,
		  size_t size)
{
	const struct gt_xml *xml = gt_xml_node(elem)->doc->_private;
	const struct gt_xml_tag *tag = gt_xml_node(elem)->_private;
	size_t at, start;
	uint32_t line = tag->line;

	if (!gt_xml_located(elem)) {
		snprintf(text, size, "%s:%u", xml->name, line);
		return;
	}
	at = attr ? gt_xml_attr_at(xml, tag->at, attr) : tag->at;
	for (size_t i = tag->at; i < at; i++)
		line += xml->text[i] == '\n';
	for (start = at; start && xml->text[start - 1] != '\n'; start--)
		;
	snprintf(text, size, "%s:%u:%zu", xml->name, line, at - start + 1);
}

int gt_xml_fail(const struct gt_xml_elem *elem, const char *attr,
		struct gt_err *err, const char *fmt, ...)
{
	char where[512], text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	gt_xml_where(elem, attr, where, sizeof(where));
	return gt_err_set(err, GT_EINPUT, where, "%s", text);
}
