/*
 * Reads cluster files (gtopo-cluster(5)): nodes with their kinds, then the
 * fabrics between them.  A file whose root is <system> is read as a topology
 * instead.
 */
#include "topo/cluster/make.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "base/xml.h"
#include "topo/xml/reader.h"

/* These attributes tell one kind from another while the file is read. */
struct gt_cluster_seen {
	const char *file, *nets;
	uint32_t topo;
};

struct gt_cluster_reader {
	struct gt_cluster *cluster;
	enum gt_rates rates;
	struct gt_cluster_seen *seen; /* for each kind */
	uint32_t room;
};

/* Errors that have no place yet get that of the attribute. */
static int gt_cluster_at(const struct gt_xml_elem *elem, const char *attr,
			 int rc, struct gt_err *err)
{
	char where[512];

	if (rc == GT_EINPUT) {
		gt_xml_where(elem, attr, where, sizeof(where));
		gt_err_at(err, "%s", where);
	}
	return rc;
}

/* Node files lie beside the cluster file; returns the path to open. */
static const char *gt_cluster_path(struct gt_cluster *cluster, const char *file)
{
	const char *slash = strrchr(cluster->source, '/');

	if (*file == '/' || !slash)
		return gt_arena_strdup(cluster->arena, file);
	return gt_arena_printf(cluster->arena, "%.*s/%s",
			       (int)(slash - cluster->source), cluster->source,
			       file);
}

/*
 * Makes the name of a kind from its file, "dgx-h100" of "../dgx-h100.xml", with
 * a number when it is taken.
 */
static const char *gt_cluster_kind_name(struct gt_cluster *cluster,
					const char *file)
{
	const char *base = strrchr(file, '/');
	uint32_t n = 1, i;
	size_t len;
	char *name;

	base = base ? base + 1 : file;
	len = strlen(base);
	if (len > 4 && !strcmp(base + len - 4, ".xml"))
		len -= 4;
	name = gt_arena_printf(cluster->arena, "%.*s", (int)len, base);
	do {
		for (i = 0; name && i < cluster->nkinds; i++)
			if (!strcmp(cluster->kinds[i].name, name))
				break;
		if (name && i < cluster->nkinds)
			name = gt_arena_printf(cluster->arena, "%.*s.%u",
					       (int)len, base, ++n);
	} while (name && i < cluster->nkinds);
	return name;
}

static int gt_cluster_topo(struct gt_cluster_reader *reader,
			   const struct gt_xml_elem *elem, const char *path,
			   uint32_t *index, struct gt_err *err)
{
	struct gt_cluster *cluster = reader->cluster;
	struct gt_topo **topos;
	int rc;

	for (uint32_t i = 0; i < cluster->nkinds; i++)
		if (!strcmp(cluster->kinds[i].file, path)) {
			*index = reader->seen[i].topo;
			return GT_OK;
		}
	topos = gt_vec_grow_in(cluster->arena, cluster->topos, cluster->ntopos,
			       &cluster->topos_room, sizeof(*topos));
	if (!topos)
		return gt_err_nomem(err);
	cluster->topos = topos;
	rc = gt_topo_read(path, reader->rates, &cluster->topos[cluster->ntopos],
			  err);
	if (rc)
		return gt_cluster_at(elem, "file", rc, err);
	*index = cluster->ntopos++;
	return gt_topo_check(cluster->topos[*index], err);
}

static int gt_cluster_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/*
 * Returns the kind that was made of the same attributes before, or the number
 * of kinds; `name` may be NULL, then any name will do.
 */
static uint32_t kind_find(const struct gt_cluster_reader *reader,
			  const struct gt_cluster_seen *seen, const char *name)
{
	const struct gt_cluster *cluster = reader->cluster;
	uint32_t i = 0;

	while (i < cluster->nkinds &&
	       (strcmp(reader->seen[i].file, seen->file) ||
		!gt_cluster_same(reader->seen[i].nets, seen->nets) ||
		(name && strcmp(name, cluster->kinds[i].name))))
		i++;
	return i;
}

static int gt_cluster_kind(struct gt_cluster_reader *reader,
			   const struct gt_xml_elem *elem, uint32_t *index,
			   struct gt_err *err)
{
	struct gt_cluster *cluster = reader->cluster;
	struct gt_cluster_seen seen = {gt_xml_attr(elem, "file"),
				       gt_xml_attr(elem, "nets"), 0};
	struct gt_cluster_seen *all;
	const char *name = gt_xml_attr(elem, "kind");
	struct gt_cluster_kind kind = {0};
	int rc;

	if (!seen.file || !*seen.file)
		return gt_xml_fail(elem, NULL, err, "node has no file");
	*index = kind_find(reader, &seen, name);
	if (*index < cluster->nkinds)
		return GT_OK;
	for (uint32_t i = 0; name && i < cluster->nkinds; i++)
		if (!strcmp(cluster->kinds[i].name, name))
			return gt_xml_fail(elem, "kind", err,
					   "kind '%.80s' is another file or "
					   "other nets before",
					   name);
	kind.file = gt_cluster_path(cluster, seen.file);
	if (!kind.file)
		return gt_err_nomem(err);
	rc = gt_cluster_topo(reader, elem, kind.file, &seen.topo, err);
	if (rc)
		return rc;
	kind.name = name ? gt_arena_strdup(cluster->arena, name)
			 : gt_cluster_kind_name(cluster, seen.file);
	kind.topo = cluster->topos[seen.topo];
	all = gt_vec_grow_in(cluster->arena, reader->seen, cluster->nkinds,
			     &reader->room, sizeof(seen));
	if (!all)
		return gt_err_nomem(err);
	reader->seen = all;
	reader->seen[cluster->nkinds] = seen;
	return gt_cluster_at(
		elem, "nets",
		gt_cluster_add_kind(cluster, &kind, seen.nets, err), err);
}

static int gt_cluster_node(struct gt_cluster_reader *reader,
			   const struct gt_xml_elem *elem, struct gt_err *err)
{
	const char *names = gt_xml_attr(elem, "names");
	uint32_t kind;
	int count = 1, rc;

	if (gt_xml_int(elem, "count", &count, err))
		return GT_EINPUT;
	if (names && gt_xml_attr(elem, "count"))
		return gt_xml_fail(elem, "count", err,
				   "count and names are both there");
	if (count < 1)
		return gt_xml_fail(elem, "count", err,
				   "count '%d' is less than 1", count);
	rc = gt_cluster_kind(reader, elem, &kind, err);
	if (rc)
		return rc;
	rc = names ? gt_cluster_add_names(reader->cluster, kind, names, err)
		   : gt_cluster_add_nodes(reader->cluster, kind,
					  (uint32_t)count, err);
	return gt_cluster_at(elem, names ? "names" : "count", rc, err);
}

static int gt_cluster_root(const struct gt_xml_elem *root, struct gt_err *err)
{
	int version = 0;

	if (gt_xml_int(root, "version", &version, err))
		return GT_EINPUT;
	if (version != 1)
		return gt_xml_fail(root, "version", err,
				   "version '%d' of a cluster is not known "
				   "(1 is)",
				   version);
	return GT_OK;
}

static int read_whole(struct gt_cluster_reader *reader,
		      const struct gt_xml_elem *root, struct gt_err *err)
{
	struct gt_cluster *cluster = reader->cluster;
	const char *name = gt_xml_attr(root, "name");
	const struct gt_xml_elem *elem;
	int rc = gt_cluster_root(root, err), fabrics = 0;

	if (!rc && name) {
		cluster->name = gt_arena_strdup(cluster->arena, name);
		rc = cluster->name ? GT_OK : gt_err_nomem(err);
	}
	for (elem = gt_xml_child(root); elem && !rc; elem = gt_xml_next(elem))
		if (gt_xml_is(elem, "node"))
			rc = gt_cluster_node(reader, elem, err);
		else if (gt_xml_is(elem, "fabric"))
			fabrics = 1;
		else
			rc = gt_xml_fail(elem, NULL, err,
					 "'%.64s' is neither node nor fabric",
					 gt_xml_name(elem));
	if (!rc && !cluster->nnodes)
		rc = gt_xml_fail(root, NULL, err, "cluster has no node");
	if (!rc)
		rc = gt_cluster_at(root, NULL,
				   gt_cluster_check_names(cluster, err), err);
	for (elem = gt_xml_child(root); elem && !rc; elem = gt_xml_next(elem))
		if (gt_xml_is(elem, "fabric"))
			rc = gt_cluster_add_fabric(cluster, elem, err);
	if (!rc && !fabrics)
		rc = gt_cluster_one_switch(cluster, GT_FABRIC_NET, err);
	return rc;
}

int gt_cluster_from_xml(const struct gt_xml *xml, enum gt_rates rates,
			struct gt_cluster **out, struct gt_err *err)
{
	struct gt_cluster_reader reader = {.rates = rates};
	int rc = gt_cluster_new(gt_xml_source(xml), &reader.cluster, err);

	if (rc)
		return rc;
	rc = read_whole(&reader, gt_xml_root(xml), err);
	if (rc)
		gt_cluster_free(reader.cluster);
	else
		*out = reader.cluster;
	return rc;
}

/* Makes one or the other of a document, which it frees. */
static int read_either(struct gt_xml *xml, enum gt_rates rates,
		       struct gt_cluster **cluster, struct gt_topo **topo,
		       struct gt_err *err)
{
	struct gt_cluster *several = NULL;
	struct gt_topo *one = NULL;
	int rc;

	if (gt_xml_is(gt_xml_root(xml), "cluster"))
		rc = gt_cluster_from_xml(xml, rates, &several, err);
	else
		rc = gt_topo_from_xml(xml, rates, &one, err);
	gt_xml_free(xml);
	if (rc)
		return rc;
	*cluster = several;
	*topo = one;
	return GT_OK;
}

int gt_cluster_read(const char *path, enum gt_rates rates,
		    struct gt_cluster **cluster, struct gt_topo **topo,
		    struct gt_err *err)
{
	struct gt_xml *xml;
	int rc = gt_xml_read(path, &xml, err);

	return rc ? rc : read_either(xml, rates, cluster, topo, err);
}

int gt_cluster_parse(const char *name, const char *text, size_t len,
		     enum gt_rates rates, struct gt_cluster **cluster,
		     struct gt_topo **topo, struct gt_err *err)
{
	struct gt_xml *xml;
	int rc = gt_xml_parse(name, text, len, &xml, err);

	return rc ? rc : read_either(xml, rates, cluster, topo, err);
}
