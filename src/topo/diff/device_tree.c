#include "topo/diff/device_tree.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/xml.h"
#include "topo/xml/digest.h"
#include "topo/diff/properties.h"

enum { GT_SERVER_MAX_DEVS = 2048 };

struct gt_server {
	struct gt_arena *arena;
	struct gt_xml *xml;
	struct gt_dev *devs;
	const char **bus; /* canonical bus id of each device, or NULL */
	uint32_t ndevs, size;
	unsigned ignore;
};

const char *gt_server_source(const struct gt_server *server)
{
	return gt_xml_source(server->xml);
}

uint32_t gt_server_ndevs(const struct gt_server *server)
{
	return server->ndevs;
}

const struct gt_dev *gt_server_dev(const struct gt_server *server, uint32_t i)
{
	return &server->devs[i];
}

const char *gt_prop_name(enum gt_prop prop)
{
	static const char *const names[] = {
		"model",     "subsystem", "class",
		"width",     "speed",     "cur-width",
		"cur-speed", "driver",    "driver-version",
		"firmware",  "state",     "layer",
		"acs",       "p2p",       "mig",
		"visible",   "iommu",
	};

	return names[prop];
}

const char *gt_dev_kind_name(enum gt_dev_kind kind)
{
	static const char *const names[] = {
		"server", "CPU", "switch", "GPU", "NIC", "port", "device",
	};

	return names[kind];
}

static int gt_starts(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

static const char *gt_server_text(const struct gt_xml_elem *elem,
				  const char *attr)
{
	const char *text = gt_xml_attr(elem, attr);

	return text ? text : "";
}

static enum gt_dev_kind gt_server_kind(const struct gt_xml_elem *elem)
{
	const char *class = gt_server_text(elem, "class");

	if (gt_xml_is(elem, "cpu"))
		return GT_DEV_CPU;
	if (gt_xml_is(elem, "nic"))
		return GT_DEV_NIC;
	if (gt_xml_is(elem, "net"))
		return GT_DEV_PORT;
	if (gt_xml_find(elem, "gpu") || gt_starts(class, "0x03") ||
	    gt_starts(class, "0x12"))
		return GT_DEV_GPU;
	if (gt_xml_find(elem, "nic") || gt_starts(class, "0x02"))
		return GT_DEV_NIC;
	return gt_xml_find(elem, "pci") || gt_starts(class, "0x0604")
		       ? GT_DEV_SWITCH
		       : GT_DEV_OTHER;
}

static const char *gt_server_name(struct gt_server *server,
				  const struct gt_dev *dev, const char *bus)
{
	const char *attr = dev->kind == GT_DEV_CPU ? "numaid" : "name";

	if (!dev->parent && dev != server->devs && dev->kind != GT_DEV_CPU)
		return "server";
	return gt_arena_printf(server->arena, "%s %s",
			       gt_dev_kind_name(dev->kind),
			       bus ? bus : gt_server_text(dev->elem, attr));
}

static int gt_server_grow(struct gt_server *server, struct gt_err *err)
{
	uint32_t size = server->size ? server->size * 2 : 64;
	struct gt_dev *devs;
	const char **bus;

	if (server->ndevs < server->size)
		return GT_OK;
	devs = gt_arena_array(server->arena, size, sizeof(*devs));
	bus = gt_arena_array(server->arena, size, sizeof(*bus));
	if (!devs || !bus)
		return gt_err_nomem(err);
	if (server->ndevs) {
		memcpy(devs, server->devs, server->ndevs * sizeof(*devs));
		memcpy(bus, server->bus, server->ndevs * sizeof(*bus));
	}
	server->devs = devs;
	server->bus = bus;
	server->size = size;
	return GT_OK;
}

static int gt_server_add(struct gt_server *server, uint32_t parent,
			 const struct gt_xml_elem *elem, enum gt_dev_kind kind,
			 struct gt_err *err)
{
	const char *bus = gt_xml_attr(elem, "busid");
	uint32_t self = server->ndevs;
	struct gt_dev *dev;

	if (self == GT_SERVER_MAX_DEVS)
		return gt_xml_fail(elem, NULL, err, "more than %d devices",
				   GT_SERVER_MAX_DEVS);
	if (gt_server_grow(server, err))
		return GT_ESYS;
	dev = &server->devs[self];
	dev->kind = kind;
	dev->elem = elem;
	dev->parent = parent;
	dev->ndevs = 1;
	gt_server_props(server->arena, server->ignore, dev);
	if (bus)
		bus = gt_digest_bus_id(server->arena, bus);
	server->bus[self] = bus;
	dev->name = self ? gt_server_name(server, dev, bus) : "server";
	if (!dev->name)
		return gt_err_nomem(err);
	server->ndevs++;
	return GT_OK;
}

/* What is below an element; XML's depth is bounded. */
static int gt_server_walk(struct gt_server *server, uint32_t parent,
			  const struct gt_xml_elem *above, struct gt_err *err)
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
		self = inside ? parent : server->ndevs;
		if (!inside)
			rc = gt_server_add(server, parent, elem,
					   gt_server_kind(elem), err);
		if (!rc)
			rc = gt_server_walk(server, self, elem, err);
		if (rc)
			return rc;
		if (inside)
			continue;
		*(last ? &server->devs[last].next
		       : &server->devs[parent].first) = self;
		last = self;
	}
	return rc;
}

static uint32_t gt_server_by_bus(const struct gt_server *server,
				 const char *bus)
{
	for (uint32_t i = 1; bus && i < server->ndevs; i++)
		if (server->bus[i] && !strcmp(server->bus[i], bus))
			return i;
	return 0;
}

/* Links to the same GPU, and those to any switch, count together. */
static void gt_server_join(struct gt_dev *dev, const struct gt_dev_link *link)
{
	uint32_t i = 0;

	while (i < dev->nlinks && dev->links[i].to != link->to)
		i++;
	if (i == dev->nlinks)
		dev->links[dev->nlinks++] = *link;
	else
		dev->links[i].count += link->count;
}

static int gt_server_links(struct gt_server *server, struct gt_dev *dev,
			   struct gt_err *err)
{
	const struct gt_xml_elem *gpu = gt_xml_find(dev->elem, "gpu");
	const struct gt_xml_elem *elem = gpu ? gt_xml_child(gpu) : NULL;
	uint32_t n = 0;

	for (; elem; elem = gt_xml_next(elem))
		n++;
	dev->links = gt_arena_array(server->arena, n, sizeof(*dev->links));
	if (!dev->links)
		return gt_err_nomem(err);
	for (elem = gpu ? gt_xml_child(gpu) : NULL; elem;
	     elem = gt_xml_next(elem)) {
		struct gt_dev_link link = {.elem = elem};
		const char *to = gt_xml_attr(elem, "target");

		if (!gt_xml_is(elem, "nvlink") && !gt_xml_is(elem, "xgmi") &&
		    !gt_xml_is(elem, "c2c"))
			continue;
		if (gt_xml_int(elem, "count", &link.count, err))
			return GT_EINPUT;
		if (to)
			to = gt_digest_bus_id(server->arena, to);
		link.to = gt_server_by_bus(server, to);
		/* One end may be the processor: the nearest, as for c2c. */
		if (link.to && server->devs[link.to].kind != GT_DEV_GPU)
			link.to = 0;
		if (link.to != (uint32_t)(dev - server->devs) && link.count)
			gt_server_join(dev, &link);
	}
	return GT_OK;
}

/* Where some GPUs could be asked, those that could not are hidden. */
static void gt_server_hidden(struct gt_server *server)
{
	uint32_t asked = 0;

	for (uint32_t i = 1; i < server->ndevs; i++)
		asked += gt_xml_find(server->devs[i].elem, "gpu") != NULL;
	for (uint32_t i = 1; i < server->ndevs && asked; i++)
		if (server->devs[i].kind == GT_DEV_GPU &&
		    !gt_xml_find(server->devs[i].elem, "gpu") &&
		    !(server->ignore >> GT_PROP_VISIBLE & 1))
			server->devs[i].props[GT_PROP_VISIBLE] = "no";
}

static int gt_server_make(struct gt_server *server, struct gt_err *err)
{
	const struct gt_xml_elem *root = gt_xml_root(server->xml);
	int rc;

	if (!gt_xml_is(root, "system"))
		return gt_xml_fail(root, NULL, err,
				   "root element '%.64s' is not 'system': not "
				   "a topology",
				   gt_xml_name(root));
	rc = gt_server_add(server, 0, root, GT_DEV_SERVER, err);
	if (!rc)
		rc = gt_server_walk(server, 0, root, err);
	if (!rc)
		gt_server_hidden(server);
	for (uint32_t i = 1; i < server->ndevs && !rc; i++)
		if (server->devs[i].kind == GT_DEV_GPU &&
		    !(server->ignore >> GT_NPROPS & 1))
			rc = gt_server_links(server, &server->devs[i], err);
	for (uint32_t i = server->ndevs - 1; i > 0 && !rc; i--)
		server->devs[server->devs[i].parent].ndevs +=
			server->devs[i].ndevs;
	return rc;
}

static uint64_t gt_server_label(const struct gt_dev *dev)
{
	uint64_t hash = (uint64_t)dev->kind + 1;

	for (int i = 0; i < GT_NPROPS; i++) {
		for (const char *c = dev->props[i]; *c; c++)
			hash = gt_server_mix(hash, (unsigned char)*c);
		hash = gt_server_mix(hash, 256);
	}
	return hash;
}

static void gt_server_labels(struct gt_server *server)
{
	for (uint32_t i = 0; i < server->ndevs; i++) {
		server->devs[i].own = gt_server_label(&server->devs[i]);
		server->devs[i].tree = server->devs[i].own;
	}
	for (uint32_t i = server->ndevs - 1; i > 0; i--)
		server->devs[server->devs[i].parent].tree +=
			gt_server_mix(server->devs[i].tree, 1);
}

/* Takes the document, also when it fails. */
static int gt_server_new(struct gt_xml *xml, unsigned ignore,
			 struct gt_server **out, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_server *server =
		arena ? gt_arena_alloc(arena, sizeof(*server)) : NULL;
	int rc;

	if (!server) {
		gt_xml_free(xml);
		gt_arena_free(arena);
		return gt_err_nomem(err);
	}
	server->arena = arena;
	server->xml = xml;
	server->ignore = ignore;
	rc = gt_server_make(server, err);
	if (rc) {
		gt_server_free(server);
		return rc;
	}
	gt_server_labels(server);
	*out = server;
	return GT_OK;
}

int gt_server_read(const char *path, unsigned ignore, struct gt_server **server,
		   struct gt_err *err)
{
	struct gt_xml *xml;
	int rc = gt_xml_read(path, &xml, err);

	return rc ? rc : gt_server_new(xml, ignore, server, err);
}

int gt_server_parse(const char *name, const char *text, size_t len,
		    unsigned ignore, struct gt_server **server,
		    struct gt_err *err)
{
	struct gt_xml *xml;
	int rc = gt_xml_parse(name, text, len, &xml, err);

	return rc ? rc : gt_server_new(xml, ignore, server, err);
}

void gt_server_free(struct gt_server *server)
{
	if (!server)
		return;
	gt_xml_free(server->xml);
	gt_arena_free(server->arena);
}
