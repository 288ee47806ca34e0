/* Puts what memories of NUMA nodes were measured to carry into a topology. */
#include "topo/xml/measured.h"

#include <stdio.h>
#include <string.h>

#include <libxml/parser.h>
#include <libxml/tree.h>

#include "base/buf.h"
#include "base/err.h"
#include "topo/xml/write.h"

/* What firmware said of the node is less sure, and its mark goes with it. */
static int gt_memory_put(xmlNodePtr cpu, double gbs, struct gt_err *err)
{
	char text[32];

	xmlUnsetProp(cpu, (const xmlChar *)"gt_assumed");
	snprintf(text, sizeof(text), "%.1f", gbs);
	return xmlSetProp(cpu, (const xmlChar *)"gt_memory_gbs",
			  (const xmlChar *)text)
		       ? GT_OK
		       : gt_err_nomem(err);
}

static int gt_memory_look(xmlNodePtr cpu, gt_memory_measurer measure,
			  struct gt_err *err)
{
	xmlChar *affinity = xmlGetProp(cpu, (const xmlChar *)"affinity");
	double gbs = 0;
	int rc = GT_OK;

	if (affinity)
		rc = measure((const char *)affinity, &gbs, err);
	xmlFree(affinity);
	return rc || gbs < GT_MEMORY_LEAST_GBS ? rc
					       : gt_memory_put(cpu, gbs, err);
}

int gt_measured_write_memory(gt_memory_measurer measure, struct gt_buf *xml,
			     struct gt_err *err)
{
	struct gt_buf out = GT_BUF_INIT;
	xmlDocPtr doc = NULL;
	int rc = GT_OK;

	if (xml->len <= INT32_MAX)
		doc = xmlReadMemory(xml->text, (int)xml->len, NULL, NULL,
				    XML_PARSE_NOBLANKS | XML_PARSE_NONET |
					    XML_PARSE_NOERROR |
					    XML_PARSE_NOWARNING);
	if (!doc)
		return gt_err_nomem(err);
	for (xmlNodePtr node = xmlDocGetRootElement(doc)->children; node && !rc;
	     node = node->next)
		if (node->type == XML_ELEMENT_NODE &&
		    !strcmp((const char *)node->name, "cpu"))
			rc = gt_memory_look(node, measure, err);
	if (!rc && gt_xml_save(doc, &out))
		rc = gt_err_nomem(err);
	xmlFreeDoc(doc);
	if (rc) {
		gt_buf_release(&out);
		return rc;
	}
	gt_buf_release(xml);
	*xml = out;
	return GT_OK;
}
