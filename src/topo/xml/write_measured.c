/*
 * Puts measurements into a topology that was written before: elements gt_host
 * and gt_peer below each GPU, and gt_gbs on the links whose bandwidth follows
 * from them.
 */
#include "topo/xml/measured.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/parser.h>
#include <libxml/tree.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/unit.h"
#include "topo/xml/write.h"

enum { GT_NCCL_ATTRS = 16 };

/* This is a link that gets a rate; links with one key are of a kind. */
struct gt_rated {
	struct gt_rated *next;
	xmlNodePtr node;
	const char *key;
	double gbs;
};

struct gt_marker {
	const struct gt_measured *measured;
	struct gt_arena *arena;
	struct gt_rated *rated;
	int failed;
};

static const char *gt_prop_of(struct gt_marker *m, xmlNodePtr node,
			      const char *name)
{
	xmlChar *text = xmlGetProp(node, (const xmlChar *)name);
	const char *copy = "";

	if (text)
		copy = gt_arena_strdup(m->arena, (const char *)text);
	xmlFree(text);
	if (!copy)
		m->failed = 1;
	return copy ? copy : "";
}

static int gt_node_is(xmlNodePtr node, const char *name)
{
	return node->type == XML_ELEMENT_NODE &&
	       !strcmp((const char *)node->name, name);
}

static xmlNodePtr gt_node_find(xmlNodePtr node, const char *name)
{
	for (node = node->children; node; node = node->next)
		if (gt_node_is(node, name))
			return node;
	return NULL;
}

static int gt_node_count(xmlNodePtr node)
{
	int n = 0;

	for (xmlAttrPtr attr = node->properties; attr; attr = attr->next)
		n++;
	return n;
}

/*
 * Writes a number with about four digits, which are more than two runs agree
 * on.
 */
static void gt_mark_number(struct gt_marker *m, xmlNodePtr node,
			   const char *name, double value)
{
	char text[32];

	if (value <= 0 || !node || gt_node_count(node) >= GT_NCCL_ATTRS)
		return;
	snprintf(text, sizeof(text), "%.*f",
		 value >= 1000  ? 0
		 : value >= 100 ? 1
		 : value >= 10  ? 2
				: 3,
		 value);
	if (!xmlNewProp(node, (const xmlChar *)name, (const xmlChar *)text))
		m->failed = 1;
}

static void gt_mark_rate(struct gt_marker *m, xmlNodePtr node, double gbs,
			 const char *key)
{
	struct gt_rated *rated = gt_arena_alloc(m->arena, sizeof(*rated));

	if (!rated || !key) {
		m->failed = 1;
		return;
	}
	if (gbs <= 0)
		return;
	*rated = (struct gt_rated){m->rated, node, key, gbs};
	m->rated = rated;
}

static xmlNodePtr gt_mark_child(struct gt_marker *m, xmlNodePtr gpu,
				const char *name)
{
	xmlNodePtr node = xmlNewChild(gpu, NULL, (const xmlChar *)name, NULL);

	if (!node)
		m->failed = 1;
	return node;
}

static void gt_mark_host(struct gt_marker *m, xmlNodePtr gpu, uint32_t i)
{
	const struct gt_measured_gpu *host = &m->measured->gpus[i];
	xmlNodePtr node;

	if (host->to_gbs <= 0 && host->from_gbs <= 0)
		return;
	node = gt_mark_child(m, gpu, "gt_host");
	gt_mark_number(m, node, "to_gbs", host->to_gbs);
	gt_mark_number(m, node, "from_gbs", host->from_gbs);
	gt_mark_number(m, node, "all_to_gbs", host->all_to_gbs);
	gt_mark_number(m, node, "all_from_gbs", host->all_from_gbs);
}

static void gt_mark_peer(struct gt_marker *m, xmlNodePtr gpu, uint32_t from,
			 uint32_t to)
{
	const struct gt_measured_peer *peer =
		gt_measured_peer(m->measured, from, to);
	xmlNodePtr node;

	if (from == to || (peer->gbs <= 0 && peer->latency_ns <= 0))
		return;
	node = gt_mark_child(m, gpu, "gt_peer");
	if (node && !xmlNewProp(node, (const xmlChar *)"target",
				(const xmlChar *)m->measured->gpus[to].bus_id))
		m->failed = 1;
	gt_mark_number(m, node, "gbs", peer->gbs);
	gt_mark_number(m, node, "both_gbs", peer->both_gbs);
	gt_mark_number(m, node, "ring_gbs", peer->ring_gbs);
	gt_mark_number(m, node, "latency_ns", peer->latency_ns);
	gt_mark_number(m, node, "host_gbs", peer->host_gbs);
}

/*
 * Returns the lesser of what a GPU sends and gets in the ring, while all do,
 * for its links do both.
 */
static double gt_mark_ring(const struct gt_measured *measured, uint32_t gpu)
{
	double out = 0, in = 0;

	for (uint32_t i = 0; i < measured->ngpus; i++) {
		out += gt_measured_peer(measured, gpu, i)->ring_gbs;
		in += gt_measured_peer(measured, i, gpu)->ring_gbs;
	}
	return out < in ? out : in;
}

static int gt_is_switched(struct gt_marker *m, xmlNodePtr link)
{
	return !strncmp(gt_prop_of(m, link, "target"), "fffffff", 7) ||
	       !strncmp(gt_prop_of(m, link, "tclass"), "0x068000", 8);
}

/* Returns the number of NVLinks, which no file makes overflow. */
static double gt_mark_count(struct gt_marker *m, xmlNodePtr link)
{
	int64_t count = 0;

	gt_unit_int(gt_prop_of(m, link, "count"), 0, INT32_MAX, &count);
	return (double)count;
}

static void gt_mark_nvlink(struct gt_marker *m, xmlNodePtr link, uint32_t from,
			   double switched)
{
	const struct gt_measured *all = m->measured;
	uint32_t to = gt_measured_find(all, gt_prop_of(m, link, "target"));
	const char *count = gt_prop_of(m, link, "count");
	double gbs = 0;

	xmlUnsetProp(link, (const xmlChar *)"gt_gbs");
	if (gt_is_switched(m, link))
		gbs = gt_mark_ring(all, from) * gt_mark_count(m, link) /
		      switched;
	else if (to != UINT32_MAX)
		gbs = gt_measured_peer(all, from, to)->both_gbs;
	gt_mark_rate(m, link, gbs,
		     gt_arena_printf(m->arena, "nvlink %s", count));
}

static void gt_mark_gpu(struct gt_marker *m, xmlNodePtr pci, xmlNodePtr gpu,
			uint32_t i)
{
	const struct gt_measured_gpu *host = &m->measured->gpus[i];
	xmlNodePtr c2c = gt_node_find(gpu, "c2c"), next;
	double switched = 0;

	for (xmlNodePtr node = gpu->children; node; node = node->next)
		if (gt_node_is(node, "nvlink") && gt_is_switched(m, node))
			switched += gt_mark_count(m, node);
	for (xmlNodePtr node = gpu->children; node; node = next) {
		next = node->next;
		if (gt_node_is(node, "nvlink")) {
			gt_mark_nvlink(m, node, i, switched > 0 ? switched : 1);
		} else if (gt_node_is(node, "gt_host") ||
			   gt_node_is(node, "gt_peer")) {
			xmlUnlinkNode(node);
			xmlFreeNode(node);
		}
	}
	if (c2c)
		xmlUnsetProp(c2c, (const xmlChar *)"gt_gbs");
	gt_mark_rate(m, c2c ? c2c : pci,
		     host->to_gbs < host->from_gbs ? host->to_gbs
						   : host->from_gbs,
		     gt_arena_printf(m->arena, "gpu %s x%s",
				     gt_prop_of(m, pci, "link_speed"),
				     gt_prop_of(m, pci, "link_width")));
	gt_mark_host(m, gpu, i);
	for (uint32_t to = 0; to < m->measured->ngpus; to++)
		gt_mark_peer(m, gpu, i, to);
}

/*
 * Rates the link above a switch by the pairs of GPUs that meet there: below[]
 * has the child that each GPU is below.
 */
static void gt_mark_switch(struct gt_marker *m, xmlNodePtr pci,
			   const uint32_t *below)
{
	double gbs = 0, pair;

	for (uint32_t i = 0; i < m->measured->ngpus; i++)
		for (uint32_t j = 0; j < m->measured->ngpus; j++) {
			pair = gt_measured_peer(m->measured, i, j)->host_gbs;
			if (below[i] && below[j] && below[i] != below[j] &&
			    pair > gbs)
				gbs = pair;
		}
	gt_mark_rate(m, pci, gbs,
		     gt_arena_printf(m->arena, "switch %s x%s",
				     gt_prop_of(m, pci, "link_speed"),
				     gt_prop_of(m, pci, "link_width")));
}

/*
 * Walks down from a node; over[] gets `number` for each GPU from here on.  The
 * XML parser bounds the depth.
 */
static void gt_mark_walk(struct gt_marker *m, xmlNodePtr node, uint32_t number,
			 uint32_t *over)
{
	uint32_t n = m->measured->ngpus, gpu = UINT32_MAX, child = 0;
	uint32_t *below = gt_arena_array(m->arena, n, sizeof(*below));
	xmlNodePtr found = gt_node_find(node, "gpu");

	if (!below) {
		m->failed = 1;
		return;
	}
	if (gt_node_is(node, "pci")) {
		xmlUnsetProp(node, (const xmlChar *)"gt_gbs");
		gpu = gt_measured_find(m->measured,
				       gt_prop_of(m, node, "busid"));
	}
	if (found && gpu != UINT32_MAX) {
		gt_mark_gpu(m, node, found, gpu);
		below[gpu] = ++child;
	}
	for (xmlNodePtr sub = node->children; sub; sub = sub->next)
		if (gt_node_is(sub, "cpu") || gt_node_is(sub, "pci"))
			gt_mark_walk(m, sub, ++child, below);
	if (gt_node_is(node, "pci") && !found)
		gt_mark_switch(m, node, below);
	for (uint32_t i = 0; i < n; i++)
		if (below[i])
			over[i] = number;
}

static int gt_rated_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Returns the median of the link's kind where its rates agree, else its own
 * rate.
 */
static double gt_mark_level(struct gt_marker *m, const struct gt_rated *rated,
			    double *rates)
{
	size_t n = 0;

	for (struct gt_rated *r = m->rated; r; r = r->next)
		if (!strcmp(r->key, rated->key))
			rates[n++] = r->gbs;
	qsort(rates, n, sizeof(*rates), gt_rated_cmp);
	return rates[n - 1] <= 1.03 * rates[0] ? rates[n / 2] : rated->gbs;
}

static void gt_mark_rates(struct gt_marker *m)
{
	size_t n = 0;
	double *rates;

	for (struct gt_rated *r = m->rated; r; r = r->next)
		n++;
	rates = gt_arena_array(m->arena, n, sizeof(*rates));
	if (!rates)
		m->failed = 1;
	for (struct gt_rated *r = m->rated; r && rates; r = r->next)
		gt_mark_number(m, r->node, "gt_gbs",
			       gt_mark_level(m, r, rates));
}

int gt_measured_write(const struct gt_measured *measured, struct gt_buf *xml,
		      struct gt_err *err)
{
	struct gt_marker m = {measured, gt_arena_new(), NULL, 0};
	struct gt_buf out = GT_BUF_INIT;
	xmlDocPtr doc = NULL;
	uint32_t *below;

	if (!m.arena)
		return gt_err_nomem(err);
	below = gt_arena_array(m.arena, measured->ngpus, sizeof(*below));
	if (below && xml->len <= INT32_MAX)
		doc = xmlReadMemory(xml->text, (int)xml->len, NULL, NULL,
				    XML_PARSE_NOBLANKS | XML_PARSE_NONET |
					    XML_PARSE_NOERROR |
					    XML_PARSE_NOWARNING);
	if (doc) {
		gt_mark_walk(&m, xmlDocGetRootElement(doc), 1, below);
		gt_mark_rates(&m);
		m.failed |= gt_xml_save(doc, &out);
	}
	xmlFreeDoc(doc);
	gt_arena_free(m.arena);
	if (!doc || m.failed) {
		gt_buf_release(&out);
		return gt_err_nomem(err);
	}
	gt_buf_release(xml);
	*xml = out;
	return GT_OK;
}
