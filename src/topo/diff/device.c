/*
 * Reads what is compared of a device from its element: ids, link, driver,
 * firmware, state, in the words that people are told.
 */
#include "topo/diff/device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/rat.h"
#include "base/xml.h"
#include "topo/diff/gdr.h"
#include "topo/diff/mix.h"
#include "topo/graph/model.h"
#include "topo/graph/topo.h"

const char *gt_prop_name(enum gt_prop prop)
{
	static const char *const names[] = {
		"model",     "subsystem", "class",
		"width",     "speed",     "cur-width",
		"cur-speed", "driver",    "driver-version",
		"firmware",  "state",     "layer",
		"acs",       "p2p",       "mig",
		"visible",   "iommu",     "gdr",
	};

	return names[prop];
}

const char *gt_device_kind_name(enum gt_device_kind kind)
{
	static const char *const names[] = {
		"server", "CPU", "switch", "GPU", "NIC", "port", "device",
	};

	return names[kind];
}

/* The device that is being read. */
struct gt_props {
	struct gt_arena *arena;
	unsigned ignore;
	struct gt_device *dev;
};

/*
 * Sets a property, in lower case; it stays "" where nothing is known or wanted.
 * Switches that files make up for virtual machines have ids of 0.
 */
static void gt_props_set(struct gt_props *p, enum gt_prop prop, char *text)
{
	if (p->ignore >> prop & 1 || !text || !strcmp(text, ":") ||
	    !strcmp(text, "0x0000:0x0000"))
		return;
	for (char *c = text; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	p->dev->props[prop] = text;
}

static void gt_props_copy(struct gt_props *p, enum gt_prop prop,
			  const char *text)
{
	gt_props_set(p, prop, gt_arena_strdup(p->arena, text));
}

/* Reads "32.0 GT/s x16", or half of it, as "32" and "16". */
static void gt_props_link(struct gt_props *p, const char *attr,
			  enum gt_prop width, enum gt_prop speed)
{
	struct gt_pci_rate rate =
		gt_model_rate(gt_xml_text(p->dev->elem, attr));
	char number[GT_RAT_TEXT_MAX];

	if (rate.width)
		gt_props_set(p, width,
			     gt_arena_printf(p->arena, "%d", rate.width));
	if (rate.gts.num)
		gt_props_copy(p, speed, gt_rat_print(rate.gts, number));
}

/* Reads "mlx5_core 23.10" as a driver and its version. */
static void gt_props_driver(struct gt_props *p)
{
	const char *text = gt_xml_text(p->dev->elem, "gt_driver");
	size_t len = strcspn(text, " ");

	gt_props_set(p, GT_PROP_DRIVER,
		     gt_arena_printf(p->arena, "%.*s", (int)len, text));
	if (text[len])
		gt_props_copy(p, GT_PROP_DRIVER_VERSION, text + len + 1);
}

/* With these bits a port sends requests of peers, or their answers, up. */
static void gt_props_acs(struct gt_props *p)
{
	const char *acs = gt_xml_text(p->dev->elem, "gt_port_acs");

	if (*acs)
		gt_props_copy(p, GT_PROP_ACS,
			      strtoul(acs, NULL, 16) & 0xc ? "on" : "off");
}

/*
 * Reads what the GPU may do with most others; one that is shut off has a fault
 * of its own.
 */
static void gt_props_p2p(struct gt_props *p, const char *row)
{
	char best[8] = "", word[8];
	int most = 0, n;

	for (const char *at = row; *at; at += strcspn(at, " ")) {
		at += strspn(at, " ");
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, " "), at);
		n = 0;
		for (const char *o = row; (o = strstr(o, word)); o++)
			n++;
		if (strlen(word) == 3 && n > most) {
			most = n;
			memcpy(best, word, sizeof(best));
		}
	}
	gt_props_copy(p, GT_PROP_P2P, best);
}

static void gt_props_gpu(struct gt_props *p, const struct gt_xml_elem *gpu)
{
	const char *mig = gt_xml_text(gpu, "gt_mig");

	p->dev->props[GT_PROP_CUR_SPEED] = "";
	if (!gpu)
		return;
	gt_props_copy(p, GT_PROP_FIRMWARE, gt_xml_text(gpu, "gt_firmware"));
	gt_props_copy(p, GT_PROP_VISIBLE,
		      gt_xml_attr(gpu, "gt_hidden") ? "no" : "yes");
	gt_props_p2p(p, gt_xml_text(gpu, "gt_p2p"));
	gt_props_copy(p, GT_PROP_GDR, gt_gdr_of_device(gpu));
	if (*mig)
		gt_props_copy(p, GT_PROP_MIG, *mig == '1' ? "on" : "off");
}

static void gt_props_pci(struct gt_props *p)
{
	const struct gt_xml_elem *elem = p->dev->elem;
	const char *width = gt_xml_text(elem, "link_width");
	struct gt_rat gts = gt_model_gts(gt_xml_text(elem, "link_speed"));
	char number[GT_RAT_TEXT_MAX];

	gt_props_set(p, GT_PROP_MODEL,
		     gt_arena_printf(p->arena, "%s:%s",
				     gt_xml_text(elem, "vendor"),
				     gt_xml_text(elem, "device")));
	gt_props_set(p, GT_PROP_SUBSYSTEM,
		     gt_arena_printf(p->arena, "%s:%s",
				     gt_xml_text(elem, "subsystem_vendor"),
				     gt_xml_text(elem, "subsystem_device")));
	gt_props_copy(p, GT_PROP_CLASS, gt_xml_text(elem, "class"));
	gt_props_driver(p);
	gt_props_acs(p);
	/* The maximum of the link is the lesser of both ends'. */
	if (*width && strcmp(width, "0"))
		gt_props_copy(p, GT_PROP_WIDTH, width);
	if (gts.num)
		gt_props_copy(p, GT_PROP_SPEED, gt_rat_print(gts, number));
	gt_props_link(p, "gt_cur", GT_PROP_CUR_WIDTH, GT_PROP_CUR_SPEED);
	if (p->dev->kind == GT_DEVICE_NIC)
		gt_props_copy(
			p, GT_PROP_FIRMWARE,
			gt_xml_text(gt_xml_find(elem, "nic"), "gt_firmware"));
	if (p->dev->kind == GT_DEVICE_GPU)
		gt_props_gpu(p, gt_xml_find(elem, "gpu"));
}

/*
 * Reads the word of this port in an attribute of its card, which has a word for
 * each of its ports.
 */
static void gt_props_word(struct gt_props *p, enum gt_prop prop,
			  const char *attr)
{
	const struct gt_xml_elem *nic = gt_xml_parent(p->dev->elem);
	const char *word = gt_xml_text(nic, attr);

	for (const struct gt_xml_elem *net = gt_xml_child(nic);
	     net && net != p->dev->elem; net = gt_xml_next(net)) {
		if (!gt_xml_is(net, "net"))
			continue;
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	if (*word != '-')
		gt_props_set(p, prop,
			     gt_arena_printf(p->arena, "%.*s",
					     (int)strcspn(word, " "), word));
}

static void gt_props_port(struct gt_props *p)
{
	gt_props_copy(p, GT_PROP_SPEED, gt_xml_text(p->dev->elem, "speed"));
	gt_props_word(p, GT_PROP_STATE, "gt_state");
	gt_props_word(p, GT_PROP_LAYER, "gt_layer");
	gt_props_copy(p, GT_PROP_GDR, gt_gdr_of_device(p->dev->elem));
}

static void gt_props_server(struct gt_props *p)
{
	const struct gt_xml_elem *root = p->dev->elem;

	gt_props_copy(p, GT_PROP_IOMMU,
		      gt_xml_text(gt_xml_find(root, "gt_machine"), "iommu"));
	gt_props_copy(p, GT_PROP_GDR, gt_gdr_of_server(root));
}

void gt_device_read_props(struct gt_arena *arena, unsigned ignore,
			  struct gt_device *dev)
{
	struct gt_props p = {arena, ignore, dev};
	const struct gt_xml_elem *elem = dev->elem;

	for (int i = 0; i < GT_NPROPS; i++)
		dev->props[i] = "";
	if (gt_xml_is(elem, "pci"))
		gt_props_pci(&p);
	if (dev->kind == GT_DEVICE_CPU && gt_xml_attr(elem, "arch"))
		gt_props_set(&p, GT_PROP_MODEL,
			     gt_arena_printf(arena, "%s %s %s %s",
					     gt_xml_text(elem, "arch"),
					     gt_xml_text(elem, "vendor"),
					     gt_xml_text(elem, "familyid"),
					     gt_xml_text(elem, "modelid")));
	if (dev->kind == GT_DEVICE_PORT)
		gt_props_port(&p);
	if (dev->kind == GT_DEVICE_SERVER)
		gt_props_server(&p);
}

uint64_t gt_device_label(const struct gt_device *dev, unsigned without)
{
	uint64_t hash = (uint64_t)dev->kind + 1;

	for (int i = 0; i < GT_NPROPS; i++) {
		for (const char *c = dev->props[i]; *c && !(without >> i & 1);
		     c++)
			hash = gt_hash_mix(hash, (unsigned char)*c);
		hash = gt_hash_mix(hash, 256);
	}
	return hash;
}
