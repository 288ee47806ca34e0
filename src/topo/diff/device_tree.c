/*
 * Makes a device tree of topology XML: an element becomes a device, its
 * properties are read, NVLinks are joined to pairs of GPUs, and every subtree
 * gets a hash.
 */
#include "topo/diff/device_tree.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/bus_id.h"
#include "base/err.h"
#include "base/kind.h"
#include "base/vec.h"
#include "base/text.h"
#include "base/xml.h"
#include "topo/diff/mix.h"

enum { GT_DEVICE_TREE_MAX = 2048 };

struct gt_device_tree {
	struct gt_arena *arena;
	struct gt_xml *xml;
	struct gt_device *devs;
	uint32_t ndevs, room;
	unsigned ignore;
};

const char *gt_device_tree_source(const struct gt_device_tree *tree)
{
	return gt_xml_source(tree->xml);
}

uint32_t gt_device_tree_ndevices(const struct gt_device_tree *tree)
{
	return tree->ndevs;
}

const struct gt_device *gt_device_tree_device(const struct gt_device_tree *tree,
					      uint32_t i)
{
	return &tree->devs[i];
}

int gt_device_tree_nlinks(const struct gt_device_tree *tree, uint32_t from,
			  uint32_t to)
{
	const struct gt_device *dev = gt_device_tree_device(tree, from);

	for (uint32_t i = 0; i < dev->nlinks; i++)
		if (dev->links[i].to == to)
			return dev->links[i].count;
	return 0;
}

static enum gt_device_kind gt_device_tree_kind(const struct gt_xml_elem *elem)
{
	const char *class = gt_xml_text(elem, "class");

	if (gt_xml_is(elem, "cpu"))
		return GT_DEVICE_CPU;
	if (gt_xml_is(elem, "nic"))
		return GT_DEVICE_NIC;
	if (gt_xml_is(elem, "net"))
		return GT_DEVICE_PORT;
	if (gt_xml_find(elem, "gpu") || gt_starts_with(class, "0x03") ||
	    gt_starts_with(class, "0x12"))
		return GT_DEVICE_GPU;
	if (gt_xml_find(elem, "nic") || gt_starts_with(class, "0x02"))
		return GT_DEVICE_NIC;
	return gt_xml_find(elem, "pci") || gt_starts_with(class, "0x0604")
		       ? GT_DEVICE_SWITCH
		       : GT_DEVICE_OTHER;
}

static const char *gt_device_tree_name(struct gt_device_tree *tree,
				       const struct gt_device *dev,
				       const char *bus)
{
	const char *attr = dev->kind == GT_DEVICE_CPU ? "numaid" : "name";

	if (!dev->parent && dev != tree->devs && dev->kind != GT_DEVICE_CPU)
		return "server";
	return gt_arena_printf(tree->arena, "%s %s",
			       gt_device_kind_name(dev->kind),
			       bus ? bus : gt_xml_text(dev->elem, attr));
}

static int gt_device_tree_add(struct gt_device_tree *tree, uint32_t parent,
			      const struct gt_xml_elem *elem,
			      enum gt_device_kind kind, struct gt_err *err)
{
	const char *bus = gt_xml_attr(elem, "busid");
	uint32_t self = tree->ndevs;
	struct gt_device *dev, *devs;

	if (self == GT_DEVICE_TREE_MAX)
		return gt_xml_fail(elem, NULL, err, "more than %d devices",
				   GT_DEVICE_TREE_MAX);
	devs = gt_vec_grow_in(tree->arena, tree->devs, self, &tree->room,
			      sizeof(*devs));
	if (!devs)
		return gt_err_nomem(err);
	tree->devs = devs;
	dev = &devs[self];
	dev->kind = kind;
	dev->elem = elem;
	dev->parent = parent;
	dev->ndevs = 1;
	gt_device_read_props(tree->arena, tree->ignore, dev);
	if (bus)
		bus = gt_bus_id_normalize_dup(tree->arena, bus);
	dev->bus = bus;
	dev->name = self ? gt_device_tree_name(tree, dev, bus) : "server";
	if (!dev->name)
		return gt_err_nomem(err);
	tree->ndevs++;
	return GT_OK;
}

/* Adds all devices below an element; the XML parser bounds the depth. */
static int gt_device_tree_walk(struct gt_device_tree *tree, uint32_t parent,
			       const struct gt_xml_elem *above,
			       struct gt_err *err)
{
	const struct gt_xml_elem *elem = gt_xml_child(above);
	uint32_t last = 0, self;
	int rc = GT_OK;

	for (; elem && !rc; elem = gt_xml_next(elem)) {
		int inside = gt_xml_is(elem, "nic") && gt_xml_is(above, "pci");

		if (!inside && !gt_xml_is(elem, "cpu") &&
		    !gt_xml_is(elem, "pci") && !gt_xml_is(elem, "nic") &&
		    !gt_xml_is(elem, "net"))
			continue;
		self = inside ? parent : tree->ndevs;
		if (!inside)
			rc = gt_device_tree_add(tree, parent, elem,
						gt_device_tree_kind(elem), err);
		if (!rc)
			rc = gt_device_tree_walk(tree, self, elem, err);
		if (rc)
			return rc;
		if (inside)
			continue;
		*(last ? &tree->devs[last].next : &tree->devs[parent].first) =
			self;
		last = self;
	}
	return rc;
}

/* Returns the GPU of that bus id, 0 when there is none. */
static uint32_t gt_device_tree_gpu(const struct gt_device_tree *tree,
				   const char *bus)
{
	for (uint32_t i = 1; bus && i < tree->ndevs; i++)
		if (tree->devs[i].kind == GT_DEVICE_GPU && tree->devs[i].bus &&
		    !strcmp(tree->devs[i].bus, bus))
			return i;
	return 0;
}

/*
 * Adds a GPU's links.  Those to the same GPU count together, and so do those to
 * any switch.
 */
static void gt_device_tree_join(struct gt_device *dev,
				const struct gt_device_link *link)
{
	uint32_t i = 0;

	while (i < dev->nlinks && dev->links[i].to != link->to)
		i++;
	if (i == dev->nlinks)
		dev->links[dev->nlinks++] = *link;
	else
		dev->links[i].count += link->count;
}

/*
 * Finds where a link ends, as the graph is made: links to a GPU that is not in
 * the file, or to the GPU itself, count as not there.
 */
static uint32_t gt_device_tree_end(struct gt_device_tree *tree,
				   const struct gt_device *dev,
				   const struct gt_xml_elem *elem)
{
	const char *target = gt_xml_text(elem, "target");
	const char *tclass = gt_xml_text(elem, "tclass");
	uint32_t self = (uint32_t)(dev - tree->devs), to;
	const char *bus;

	if (gt_xml_is(elem, "c2c") || gt_starts_with(tclass, "0x068001"))
		return self;
	bus = gt_bus_id_normalize_dup(tree->arena, target);
	to = gt_device_tree_gpu(tree, bus);
	if (to && to != self)
		return to;
	return gt_starts_with(target, "fffffff") ||
			       gt_starts_with(tclass, "0x068000")
		       ? 0
		       : GT_UNMATCHED;
}

static int gt_device_tree_links(struct gt_device_tree *tree,
				struct gt_device *dev, struct gt_err *err)
{
	const struct gt_xml_elem *gpu = gt_xml_find(dev->elem, "gpu");
	const struct gt_xml_elem *elem = gpu ? gt_xml_child(gpu) : NULL;
	uint32_t n = 0;

	for (; elem; elem = gt_xml_next(elem))
		n++;
	dev->links = gt_arena_array(tree->arena, n, sizeof(*dev->links));
	dev->ends = gt_arena_array(tree->arena, n, sizeof(*dev->ends));
	if (!dev->links || !dev->ends)
		return gt_err_nomem(err);
	for (elem = gpu ? gt_xml_child(gpu) : NULL; elem;
	     elem = gt_xml_next(elem)) {
		struct gt_device_link link = {.elem = elem};

		if (!gt_xml_is(elem, "nvlink") && !gt_xml_is(elem, "xgmi") &&
		    !gt_xml_is(elem, "c2c"))
			continue;
		if (gt_xml_int(elem, "count", &link.count, err))
			return GT_EINPUT;
		link.to = gt_device_tree_end(tree, dev, elem);
		dev->ends[dev->nends].elem = elem;
		dev->ends[dev->nends++].to = link.to;
		if (link.to != GT_UNMATCHED && link.count)
			gt_device_tree_join(dev, &link);
	}
	return GT_OK;
}

/*
 * Where some GPUs could be asked, those that could not are hidden from
 * programs.
 */
static void gt_device_tree_hidden(struct gt_device_tree *tree)
{
	uint32_t asked = 0;

	for (uint32_t i = 1; i < tree->ndevs; i++)
		asked += gt_xml_find(tree->devs[i].elem, "gpu") != NULL;
	for (uint32_t i = 1; i < tree->ndevs && asked; i++)
		if (tree->devs[i].kind == GT_DEVICE_GPU &&
		    !gt_xml_find(tree->devs[i].elem, "gpu") &&
		    !(tree->ignore >> GT_PROP_VISIBLE & 1))
			tree->devs[i].props[GT_PROP_VISIBLE] = "no";
}

static int gt_device_tree_make(struct gt_device_tree *tree, struct gt_err *err)
{
	const struct gt_xml_elem *root = gt_xml_root(tree->xml);
	const char *says;
	int rc;

	if (gt_xml_is(root, "cluster"))
		return gt_xml_fail(root, NULL, err,
				   "is a cluster file, where one server's "
				   "topology is needed; name the file of one "
				   "of its nodes");
	says = gt_kind_of_root(gt_xml_name(root));
	if (says)
		return gt_xml_fail(root, NULL, err, "%s", says);
	if (!gt_xml_is(root, "system"))
		return gt_xml_fail(root, NULL, err,
				   "root element '%.64s' is not 'system': not "
				   "a topology",
				   gt_xml_name(root));
	rc = gt_device_tree_add(tree, 0, root, GT_DEVICE_SERVER, err);
	if (!rc)
		rc = gt_device_tree_walk(tree, 0, root, err);
	if (!rc)
		gt_device_tree_hidden(tree);
	for (uint32_t i = 1; i < tree->ndevs && !rc; i++)
		if (tree->devs[i].kind == GT_DEVICE_GPU &&
		    !(tree->ignore >> GT_NPROPS & 1))
			rc = gt_device_tree_links(tree, &tree->devs[i], err);
	for (uint32_t i = tree->ndevs - 1; i > 0 && !rc; i--)
		tree->devs[tree->devs[i].parent].ndevs += tree->devs[i].ndevs;
	return rc;
}

static void gt_device_tree_labels(struct gt_device_tree *tree)
{
	for (uint32_t i = 0; i < tree->ndevs; i++) {
		tree->devs[i].own = gt_device_label(&tree->devs[i], 0);
		tree->devs[i].tree = tree->devs[i].own;
	}
	for (uint32_t i = tree->ndevs - 1; i > 0; i--)
		tree->devs[tree->devs[i].parent].tree +=
			gt_hash_mix(tree->devs[i].tree, 1);
}

/* Makes a tree of a document, which it takes, also when it fails. */
static int gt_device_tree_new(struct gt_xml *xml, unsigned ignore,
			      struct gt_device_tree **out, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_device_tree *tree =
		arena ? gt_arena_alloc(arena, sizeof(*tree)) : NULL;
	int rc;

	if (!tree) {
		gt_xml_free(xml);
		gt_arena_free(arena);
		return gt_err_nomem(err);
	}
	tree->arena = arena;
	tree->xml = xml;
	tree->ignore = ignore;
	rc = gt_device_tree_make(tree, err);
	if (rc) {
		gt_device_tree_free(tree);
		return rc;
	}
	gt_device_tree_labels(tree);
	*out = tree;
	return GT_OK;
}

int gt_device_tree_read(const char *path, unsigned ignore,
			struct gt_device_tree **tree, struct gt_err *err)
{
	struct gt_xml *xml;
	int rc = gt_xml_read(path, &xml, err);

	return rc ? rc : gt_device_tree_new(xml, ignore, tree, err);
}

int gt_device_tree_parse(const char *name, const char *text, size_t len,
			 unsigned ignore, struct gt_device_tree **tree,
			 struct gt_err *err)
{
	struct gt_xml *xml;
	int rc = gt_xml_parse(name, text, len, &xml, err);

	return rc ? rc : gt_device_tree_new(xml, ignore, tree, err);
}

void gt_device_tree_free(struct gt_device_tree *tree)
{
	if (!tree)
		return;
	gt_xml_free(tree->xml);
	gt_arena_free(tree->arena);
}
