/*
 * Wraps the few calls of libxml2 that write elements and attributes in the form
 * NCCL's reader takes; out.h says what they leave out.
 */
#include "topo/xml/out.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "topo/probe/machine.h"

const xmlChar *gt_xml_out_str(const char *text)
{
	return (const xmlChar *)text;
}

xmlNodePtr gt_xml_out_add(struct gt_xml_out *out, xmlNodePtr parent,
			  const char *name)
{
	xmlNodePtr node =
		parent ? xmlNewChild(parent, NULL, gt_xml_out_str(name), NULL)
		       : xmlNewNode(NULL, gt_xml_out_str(name));

	out->nelements += strncmp(name, "gt_", 3) != 0;
	if (!node)
		out->failed = 1;
	return node;
}

/* A character that NCCL would not decode, or not survive, becomes '?'. */
static void gt_xml_out_clean(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || strchr("<>&\"'", *text))
			*text = '?';
}

void gt_xml_out_attr(struct gt_xml_out *out, xmlNodePtr node, const char *name,
		     const char *fmt, ...)
{
	char text[GT_XML_VALUE_MAX + 1];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_xml_out_clean(text);
	if (node &&
	    !xmlNewProp(node, gt_xml_out_str(name), gt_xml_out_str(text)))
		out->failed = 1;
}

void gt_xml_out_text(struct gt_xml_out *out, xmlNodePtr node, const char *name,
		     const char *text)
{
	if (text && *text)
		gt_xml_out_attr(out, node, name, "%s", text);
}

void gt_xml_out_list(struct gt_xml_out *out, xmlNodePtr node, const char *name,
		     const char *text)
{
	if (text && strlen(text) <= GT_XML_VALUE_MAX)
		gt_xml_out_text(out, node, name, text);
}

void gt_xml_out_int(struct gt_xml_out *out, xmlNodePtr node, const char *name,
		    int value, int unknown)
{
	if (value != unknown)
		gt_xml_out_attr(out, node, name, "%d", value);
}

void gt_xml_out_link(struct gt_xml_out *out, xmlNodePtr node, const char *name,
		     struct gt_machine_link link)
{
	char speed[32] = "", width[16] = "";

	if (link.speed_mts)
		snprintf(speed, sizeof(speed), "%.1f GT/s",
			 link.speed_mts / 1000.);
	if (link.width)
		snprintf(width, sizeof(width), "x%d", link.width);
	if (speed[0] || width[0])
		gt_xml_out_attr(out, node, name, "%s%s%s", speed,
				speed[0] && width[0] ? " " : "", width);
}
