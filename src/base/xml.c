/*
 * libxml2 parses the text; limits on its size and depth are kept while it does.
 */
#include "base/xml.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <libxml/SAX2.h>
#include <libxml/parser.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/file.h"
#include "base/kind.h"
#include "base/xml_doc.h"

enum {
	GT_XML_MAX_BYTES = 64 << 20,
	GT_XML_MAX_DEPTH = 256,
	GT_XML_MAX_ELEMS = 1 << 18,
	GT_XML_MAX_ATTRS = 1024,        /* of one element */
	GT_XML_MAX_ALL_ATTRS = 1 << 20, /* of all */
};

/* What the callbacks need; hangs at xmlParserCtxt._private. */
struct gt_xml_parse {
	struct gt_xml *xml;
	struct gt_err *err;
	uint32_t nelems;
	int rc;
};

static void gt_xml_stop(xmlParserCtxt *ctxt, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void gt_xml_stop(xmlParserCtxt *ctxt, const char *fmt, ...)
{
	struct gt_xml_parse *parse = ctxt->_private;
	char text[256], where[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!parse->rc) {
		snprintf(where, sizeof(where), "%s:%d:%d", parse->xml->name,
			 ctxt->input ? ctxt->input->line : 0,
			 ctxt->input ? ctxt->input->col : 0);
		parse->rc =
			gt_err_set(parse->err, GT_EINPUT, where, "%s", text);
	}
	xmlStopParser(ctxt);
}

/* libxml2 words the complaint; we take the first fatal one. */
static void gt_xml_complain(void *data, xmlErrorPtr error)
{
	xmlParserCtxt *ctxt = data;
	struct gt_xml_parse *parse = ctxt->_private;
	char text[256], where[512];
	size_t len;

	if (parse->rc)
		return;
	if (error->code == XML_ERR_NO_MEMORY)
		parse->rc = gt_err_nomem(parse->err);
	if (error->level != XML_ERR_FATAL || parse->rc)
		return;
	snprintf(text, sizeof(text), "%s",
		 error->message ? error->message : "not XML");
	len = strcspn(text, "\n");
	while (len && strchr(" !", text[len - 1]))
		len--;
	text[len] = '\0';
	text[0] = (char)tolower((unsigned char)text[0]);
	snprintf(where, sizeof(where), "%s:%d:%d", parse->xml->name,
		 error->line, error->int2);
	parse->rc = gt_err_set(parse->err, GT_EINPUT, where, "%s", text);
}

/*
 * libxml2 tells here what befalls it outside of a parser, which else would go
 * to standard error.
 */
static void gt_xml_hear(void *data, xmlErrorPtr error)
{
	struct gt_xml_parse *parse = data;

	if (error->code == XML_ERR_NO_MEMORY && !parse->rc)
		parse->rc = gt_err_nomem(parse->err);
}

static void gt_xml_entity(void *data, const xmlChar *name, int type,
			  const xmlChar *public_id, const xmlChar *system_id,
			  xmlChar *content)
{
	(void)type;
	(void)public_id;
	(void)system_id;
	(void)content;
	gt_xml_stop(data, "entity declaration '%.64s' is not accepted",
		    (const char *)name);
}

/* A start tag ended at the parser's place: its '<' is the nearest before. */
static void gt_xml_locate(xmlParserCtxt *ctxt, const struct gt_xml *xml,
			  struct gt_xml_tag *tag)
{
	const xmlParserInput *input = ctxt->input;
	size_t at = input->consumed + (size_t)(input->cur - input->base);

	tag->line = (uint32_t)input->line;
	tag->at = SIZE_MAX;
	if (at > xml->len)
		return;
	while (at && xml->text[at - 1] != '<')
		if (xml->text[--at] == '\n')
			tag->line--;
	if (at)
		tag->at = at - 1;
}

static void gt_xml_start(void *data, const xmlChar *name, const xmlChar *prefix,
			 const xmlChar *uri, int nspaces,
			 const xmlChar **spaces, int nattrs, int ndefaulted,
			 const xmlChar **attrs)
{
	xmlParserCtxt *ctxt = data;
	struct gt_xml_parse *parse = ctxt->_private;
	struct gt_xml_tag *tag;

	if (ctxt->nodeNr >= GT_XML_MAX_DEPTH) {
		gt_xml_stop(ctxt, "more than %d levels of elements",
			    GT_XML_MAX_DEPTH);
		return;
	}
	if (++parse->nelems > GT_XML_MAX_ELEMS) {
		gt_xml_stop(ctxt, "more than %d elements", GT_XML_MAX_ELEMS);
		return;
	}
	xmlSAX2StartElementNs(data, name, prefix, uri, nspaces, spaces, nattrs,
			      ndefaulted, attrs);
	tag = gt_arena_alloc(parse->xml->arena, sizeof(*tag));
	if (!tag || !ctxt->node) {
		parse->rc = gt_err_nomem(parse->err);
		xmlStopParser(ctxt);
		return;
	}
	gt_xml_locate(ctxt, parse->xml, tag);
	ctxt->node->_private = tag;
}

/*
 * libxml2 compares every attribute of a tag with every other, so a tag of
 * megabytes would take hours: count what looks like attributes first.
 */
static int gt_xml_sane(const struct gt_xml *xml, struct gt_err *err)
{
	size_t nattrs = 0, nall = 0;
	long line = 1;
	char where[512], before = '\0';

	for (size_t i = 0; i < xml->len; i++) {
		char c = xml->text[i];

		if (c == '\n')
			line++;
		if (isspace((unsigned char)c))
			continue;
		if (c == '<')
			nattrs = 0;
		if ((c == '"' || c == '\'') && before == '=') {
			nattrs++;
			nall++;
		}
		before = c;
		if (nattrs <= GT_XML_MAX_ATTRS && nall <= GT_XML_MAX_ALL_ATTRS)
			continue;
		snprintf(where, sizeof(where), "%s:%ld", xml->name, line);
		return gt_err_set(err, GT_EINPUT, where,
				  nall > GT_XML_MAX_ALL_ATTRS
					  ? "more than %d attributes"
					  : "more than %d attributes in one "
					    "element",
				  nall > GT_XML_MAX_ALL_ATTRS
					  ? GT_XML_MAX_ALL_ATTRS
					  : GT_XML_MAX_ATTRS);
	}
	return GT_OK;
}

static int gt_xml_run(struct gt_xml *xml, struct gt_err *err)
{
	struct gt_xml_parse parse = {.xml = xml, .err = err};
	xmlStructuredErrorFunc heard = xmlStructuredError;
	void *heard_by = xmlStructuredErrorContext;
	xmlParserCtxt *ctxt;

	xmlSetStructuredErrorFunc(&parse, gt_xml_hear);
	ctxt = xmlNewParserCtxt();
	if (!ctxt) {
		xmlSetStructuredErrorFunc(heard_by, heard);
		return gt_err_nomem(err);
	}
	ctxt->_private = &parse;
	ctxt->sax->serror = gt_xml_complain;
	ctxt->sax->entityDecl = gt_xml_entity;
	ctxt->sax->startElementNs = gt_xml_start;
	xml->doc = xmlCtxtReadMemory(
		ctxt, xml->text, (int)xml->len, xml->name, NULL,
		XML_PARSE_NONET | XML_PARSE_NOCDATA | XML_PARSE_COMPACT);
	if (!xml->doc && !parse.rc)
		parse.rc = gt_err_set(err, GT_EINPUT, xml->name, "not XML");
	if (xml->doc)
		xml->doc->_private = xml;
	xmlFreeParserCtxt(ctxt);
	xmlSetStructuredErrorFunc(heard_by, heard);
	return parse.rc;
}

int gt_xml_parse(const char *name, const char *text, size_t len,
		 struct gt_xml **out, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_xml *xml;
	int rc;

	if (!arena)
		return gt_err_nomem(err);
	xml = gt_arena_alloc(arena, sizeof(*xml));
	if (!xml) {
		gt_arena_free(arena);
		return gt_err_nomem(err);
	}
	xml->arena = arena;
	xml->len = len;
	xml->name = gt_arena_strdup(arena, name);
	xml->text = gt_arena_alloc(arena, len + 1);
	if (!xml->name || !xml->text) {
		rc = gt_err_nomem(err);
		goto free_xml;
	}
	if (len > GT_XML_MAX_BYTES)
		rc = gt_err_set(err, GT_EINPUT, name, "larger than %d bytes",
				GT_XML_MAX_BYTES);
	else if (!len)
		rc = gt_err_set(err, GT_EINPUT, name, "is empty");
	else
		rc = GT_OK;
	if (rc)
		goto free_xml;
	memcpy(xml->text, text, len);
	rc = gt_xml_sane(xml, err);
	if (!rc && gt_first_char(text, len) == '{')
		rc = gt_err_set(err, GT_EINPUT, name, "%s",
				gt_kind_of_json(text, len));
	if (!rc)
		rc = gt_xml_run(xml, err);
	if (rc)
		goto free_xml;
	*out = xml;
	return GT_OK;
free_xml:
	gt_xml_free(xml);
	return rc;
}

int gt_xml_read(const char *path, struct gt_xml **xml, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	const char *name = strcmp(path, "-") ? path : "standard input";
	int rc;

	rc = gt_file_read(path, GT_XML_MAX_BYTES, &text, err);
	if (!rc)
		rc = gt_xml_parse(name, text.text, text.len, xml, err);
	gt_buf_release(&text);
	return rc;
}

void gt_xml_free(struct gt_xml *xml)
{
	if (!xml)
		return;
	xmlFreeDoc(xml->doc);
	gt_arena_free(xml->arena);
}
