/*
 * Makes the digests of a machine and of its shape: a line for each PCI
 * function, NVLink and port, sorted and hashed; and the one spelling of bus ids
 * that all of gtopo compares by.
 */
#include "topo/xml/digest.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bus_id.h"
#include "base/digest.h"
#include "base/err.h"
#include "base/rat.h"
#include "base/vec.h"
#include "base/xml.h"
#include "topo/graph/model.h"

struct gt_digest {
	struct gt_arena *arena;
	int shape;
	const char **lines;
	uint32_t nlines, room;
	int failed; /* memory ran out for a part of a line */
};

/*
 * Returns an attribute's text as it identifies: in lower case, "-" when
 * unknown.
 */
static const char *gt_digest_word(struct gt_digest *digest,
				  const struct gt_xml_elem *elem,
				  const char *attr)
{
	const char *text = elem ? gt_xml_attr(elem, attr) : NULL;
	char *lower;

	if (!text || !*text)
		return "-";
	lower = gt_arena_strdup(digest->arena, text);
	digest->failed |= !lower;
	for (char *c = lower; c && *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return lower ? lower : "-";
}

static const char *gt_digest_bus(struct gt_digest *digest,
				 const struct gt_xml_elem *elem,
				 const char *attr)
{
	const char *text = elem ? gt_xml_attr(elem, attr) : NULL;

	if (!text || digest->shape)
		return "-";
	text = gt_bus_id_normalize_dup(digest->arena, text);
	digest->failed |= !text;
	return text ? text : "-";
}

static int gt_digest_add(struct gt_digest *digest, const char *line,
			 struct gt_err *err)
{
	const char **grown;

	if (!line)
		return gt_err_nomem(err);
	grown = gt_vec_grow_in(digest->arena, digest->lines, digest->nlines,
			       &digest->room, sizeof(*grown));
	if (!grown)
		return gt_err_nomem(err);
	digest->lines = grown;
	digest->lines[digest->nlines++] = line;
	return GT_OK;
}

/* Returns what a function is wherever it sits: "0x060400 0x1000:0xc030". */
static const char *gt_digest_kind(struct gt_digest *digest,
				  const struct gt_xml_elem *pci)
{
	const char *kind = gt_arena_printf(
		digest->arena, "%s %s:%s", gt_digest_word(digest, pci, "class"),
		gt_digest_word(digest, pci, "vendor"),
		gt_digest_word(digest, pci, "device"));

	digest->failed |= !kind;
	return kind ? kind : "-";
}

/*
 * Returns maximum speed and width: gt_max="32.0 GT/s x16" where gtopo detected
 * it.  NCCL's own link_speed is the maximum, but for GPUs, where it is the
 * current one.
 */
static const char *gt_digest_link(struct gt_digest *digest,
				  const struct gt_xml_elem *pci)
{
	const char *speed = gt_xml_attr(pci, "gt_max");
	const char *width = speed ? strstr(speed, " x") : NULL;
	char gts[GT_RAT_TEXT_MAX], *link;

	if (width)
		width += 2;
	else if (!speed && !gt_xml_find(pci, "gpu")) {
		speed = gt_xml_attr(pci, "link_speed");
		width = gt_xml_attr(pci, "link_width");
	}
	gt_rat_print(gt_model_gts(speed ? speed : ""), gts);
	link = gt_arena_printf(digest->arena, "%s %s", gts,
			       width && *width ? width : "0");
	digest->failed |= !link;
	return link ? link : "-";
}

static int gt_digest_nets(struct gt_digest *digest,
			  const struct gt_xml_elem *pci,
			  const struct gt_xml_elem *nic, struct gt_err *err)
{
	const struct gt_xml_elem *net = gt_xml_child(nic);
	int rc = GT_OK;

	for (; net && !rc; net = gt_xml_next(net)) {
		if (!gt_xml_is(net, "net"))
			continue;
		rc = gt_digest_add(
			digest,
			gt_arena_printf(
				digest->arena, "net %s %s %s %s",
				gt_digest_bus(digest, pci, "busid"),
				digest->shape
					? "-"
					: gt_digest_word(digest, net, "guid"),
				gt_digest_word(digest, net, "port"),
				gt_digest_word(digest, net, "speed")),
			err);
	}
	return rc;
}

static int gt_digest_gpu(struct gt_digest *digest,
			 const struct gt_xml_elem *pci,
			 const struct gt_xml_elem *gpu, struct gt_err *err)
{
	const struct gt_xml_elem *link = gt_xml_child(gpu);
	int rc = GT_OK;

	for (; link && !rc; link = gt_xml_next(link)) {
		if (!gt_xml_is(link, "nvlink") && !gt_xml_is(link, "xgmi") &&
		    !gt_xml_is(link, "c2c"))
			continue;
		rc = gt_digest_add(
			digest,
			gt_arena_printf(digest->arena, "link %s %s %s %s %s",
					gt_digest_bus(digest, pci, "busid"),
					gt_xml_name(link),
					gt_digest_bus(digest, link, "target"),
					gt_digest_word(digest, link, "tclass"),
					gt_digest_word(digest, link, "count")),
			err);
	}
	return rc;
}

/*
 * Adds lines for all that hangs below a <system>, <cpu> or <pci>; the XML
 * parser bounds the depth.
 */
static int gt_digest_walk(struct gt_digest *digest,
			  const struct gt_xml_elem *parent, struct gt_err *err)
{
	const struct gt_xml_elem *elem = gt_xml_child(parent);
	const struct gt_xml_elem *up;
	int rc = GT_OK;

	up = gt_xml_is(parent, "pci") ? parent : NULL;
	for (; elem && !rc; elem = gt_xml_next(elem)) {
		if (gt_xml_is(elem, "nic"))
			rc = gt_digest_nets(digest, up, elem, err);
		else if (gt_xml_is(elem, "gpu") && up)
			rc = gt_digest_gpu(digest, up, elem, err);
		else if (gt_xml_is(elem, "pci"))
			rc = gt_digest_add(
				digest,
				gt_arena_printf(
					digest->arena, "pci %s %s %s %s",
					gt_digest_bus(digest, elem, "busid"),
					digest->shape && up
						? gt_digest_kind(digest, up)
						: gt_digest_bus(digest, up,
								"busid"),
					gt_digest_kind(digest, elem),
					gt_digest_link(digest, elem)),
				err);
		if (!rc && (gt_xml_is(elem, "pci") || gt_xml_is(elem, "cpu")))
			rc = gt_digest_walk(digest, elem, err);
	}
	return rc;
}

static int gt_digest_order(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int gt_digest_hash(const struct gt_digest *digest, const char **out,
			  struct gt_err *err)
{
	char text[GT_DIGEST_TEXT_MAX];
	struct gt_buf lines = GT_BUF_INIT;
	int good;

	for (uint32_t i = 0; i < digest->nlines; i++)
		gt_buf_printf(&lines, "%s\n", digest->lines[i]);
	good = !lines.failed &&
	       gt_digest_text(gt_buf_text(&lines), lines.len, text);
	*out = good ? gt_arena_strdup(digest->arena, text) : NULL;
	gt_buf_release(&lines);
	return *out ? GT_OK
		    : gt_err_set(err, GT_ESYS, NULL, "cannot make a digest");
}

int gt_digest_make(const struct gt_xml_elem *system, int shape,
		   struct gt_arena *arena, const char **out, struct gt_err *err)
{
	struct gt_digest digest = {.arena = arena, .shape = shape};
	int rc = gt_digest_walk(&digest, system, err);

	if (rc || digest.failed)
		return rc ? rc : gt_err_nomem(err);
	if (digest.nlines)
		qsort(digest.lines, digest.nlines, sizeof(*digest.lines),
		      gt_digest_order);
	return gt_digest_hash(&digest, out, err);
}
