/*
 * Compares the links between GPUs with what their other ends tell.  All are
 * listed by their ends first, because files may have thousands.
 */
#include "topo/lint/links.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bus_id.h"
#include "base/xml.h"
#include "topo/lint/device.h"
#include "topo/lint/inventory.h"
#include "topo/lint/linter.h"

/* A link as one of its ends lists it. */
struct gt_lint_link {
	const struct gt_xml_elem *elem;
	const struct gt_lint_dev *from, *to; /* to: NULL if it is no GPU */
	int count;
};

struct gt_lint_links {
	struct gt_lint_graph *g;
	struct gt_lint_link *all;  /* as the file lists them */
	struct gt_lint_link *ends; /* by their ends, counts summed up */
	uint32_t n, nends;
};

const char *gt_lint_link_word(const struct gt_lint_dev *dev)
{
	return gt_lint_is_amd_gpu(dev->elem) ? "xGMI link" : "NVLink";
}

static int gt_lint_by_ends(const void *left, const void *right)
{
	const struct gt_lint_link *a = left, *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Returns how many links one GPU lists to another. */
static int gt_lint_count(const struct gt_lint_links *links,
			 const struct gt_lint_dev *from,
			 const struct gt_lint_dev *to)
{
	struct gt_lint_link want = {NULL, from, to, 0};
	const struct gt_lint_link *found =
		links->nends ? bsearch(&want, links->ends, links->nends,
				       sizeof(want), gt_lint_by_ends)
			     : NULL;

	return found ? found->count : 0;
}

/* Lists the links of a GPU if there is room yet; returns their number. */
static uint32_t gt_lint_list_links(struct gt_lint_links *links,
				   const struct gt_lint_dev *dev)
{
	const struct gt_xml_elem *link =
		dev->gpu ? gt_xml_child(dev->gpu) : NULL;
	const struct gt_lint_dev *to;
	const char *target;
	uint32_t n = 0;

	for (; link; link = gt_xml_next(link)) {
		if (!gt_lint_is_link(link))
			continue;
		n++;
		if (!links->all)
			continue;
		target = gt_bus_id_normalize_dup(links->g->l->arena,
						 gt_xml_text(link, "target"));
		links->g->l->failed |= !target;
		to = target ? gt_lint_find(links->g, target) : NULL;
		links->all[links->n++] = (struct gt_lint_link){
			link, dev, to && to->gpu ? to : NULL,
			gt_lint_int(link, "count")};
	}
	return n;
}

/* Adds up the counts of links that have the same ends. */
static void gt_lint_sum_links(struct gt_lint_links *links)
{
	memcpy(links->ends, links->all, links->n * sizeof(*links->all));
	qsort(links->ends, links->n, sizeof(*links->ends), gt_lint_by_ends);
	for (uint32_t i = 0; i < links->n; i++) {
		struct gt_lint_link *link = &links->ends[i];
		struct gt_lint_link *last = &links->ends[links->nends];

		if (links->nends && !gt_lint_by_ends(last - 1, link))
			last[-1].count =
				gt_lint_add(last[-1].count, link->count);
		else
			links->ends[links->nends++] = *link;
	}
}

/* Compares a link to another GPU with what that one says. */
static void gt_lint_peer(const struct gt_lint_links *links,
			 const struct gt_lint_link *at)
{
	const struct gt_lint_dev *dev = at->from, *peer = at->to;
	const struct gt_xml_elem *link = at->elem;
	struct gt_linter *l = links->g->l;
	int there = gt_lint_count(links, dev, peer);
	int back = gt_lint_count(links, peer, dev);

	if (peer == dev)
		gt_linter_report_elem(l, GT_LINT_NVLINK_SELF_RULE, link,
				      "target", "an %s to the GPU itself",
				      gt_lint_link_word(dev));
	else if (!back)
		gt_linter_report_elem(l, GT_LINT_NVLINK_ONE_SIDED_RULE, link,
				      "target", "'%s' has no %s back",
				      peer->key, gt_lint_link_word(dev));
	else if (there > back)
		gt_linter_report_elem(
			l, GT_LINT_NVLINK_COUNT_RULE, link, "count",
			"%d %ss to '%s', which has %d back", there,
			gt_lint_link_word(dev), peer->key, back);
}

static void gt_lint_link(const struct gt_lint_links *links,
			 const struct gt_lint_link *at)
{
	const struct gt_xml_elem *link = at->elem;
	const char *text = gt_xml_attr(link, "target");
	struct gt_linter *l = links->g->l;

	if (!text)
		return;
	if (at->count <= 0)
		gt_linter_report_elem(l, GT_LINT_NVLINK_COUNT_RULE, link,
				      "count", "count '%.64s' of %ss",
				      gt_xml_text(link, "count"),
				      gt_lint_link_word(at->from));
	else if (at->to)
		gt_lint_peer(links, at);
	else if (strncmp(text, "fffffff", 7) &&
		 strncmp(gt_xml_text(link, "tclass"), "0x06800", 7))
		gt_linter_report_elem(
			l, GT_LINT_NVLINK_NOWHERE_RULE, link, "target",
			"target '%.64s' is no GPU of this file", text);
}

void gt_lint_links(struct gt_lint_graph *g)
{
	struct gt_lint_links links = {.g = g};
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->npcis; i++)
		n += gt_lint_list_links(&links, &g->pcis[i]);
	if (!n)
		return;
	links.all = gt_arena_array(g->l->arena, n, sizeof(*links.all));
	links.ends = gt_arena_array(g->l->arena, n, sizeof(*links.ends));
	g->l->failed |= !links.all || !links.ends;
	for (uint32_t i = 0; i < g->npcis && !g->l->failed; i++)
		gt_lint_list_links(&links, &g->pcis[i]);
	if (g->l->failed)
		return;
	gt_lint_sum_links(&links);
	for (uint32_t i = 0; i < n; i++)
		gt_lint_link(&links, &links.all[i]);
}
