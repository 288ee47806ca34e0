/*
 * Makes a cluster file of the topology files of its nodes: equal servers become
 * one kind, names become ranges, and ports near GPUs are in the fabric.
 */
#include "topo/synth/fuse.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"
#include "topo/cluster/name_list.h"
#include "topo/diff/match.h"
#include "topo/graph/path.h"
#include "topo/diff/device_tree.h"
#include "topo/graph/topo.h"

/* Servers that are alike; the first stands for all. */
struct gt_fuse_kind {
	struct gt_device_tree *tree;
	uint64_t hash;
	uint32_t first;
	const char *nets; /* its attribute, as it is written, or "" */
	/* its attributes file and nets, as they are written */
	const char *where;
};

struct gt_fuser {
	const struct gt_fuse *fuse;
	struct gt_arena *arena;
	struct gt_buf *out;
	struct gt_fuse_kind *kinds;
	uint32_t nkinds;
	uint32_t n;         /* the files that could be read */
	uint32_t *kind;     /* the kind of each of these */
	const char **names; /* of each of these; at first of all files */
};

static int gt_fuse_by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sets *twice to a word that the list has twice, or to NULL. */
static int gt_fuse_twice(const struct gt_fuser *f, const char *const *list,
			 const char **twice, struct gt_err *err)
{
	uint32_t n = f->fuse->nfiles;
	const char **sorted = gt_arena_array(f->arena, n, sizeof(*sorted));

	*twice = NULL;
	if (!sorted)
		return gt_err_nomem(err);
	memcpy(sorted, list, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), gt_fuse_by_name);
	for (uint32_t i = 1; i < n; i++)
		if (!strcmp(sorted[i - 1], sorted[i]))
			*twice = sorted[i];
	return GT_OK;
}

static int gt_fuse_unique(const struct gt_fuser *f, struct gt_err *err)
{
	const char *twice;
	int rc = gt_fuse_twice(f, f->fuse->files, &twice, err);

	if (!rc && twice)
		return gt_err_set(err, GT_EINPUT, twice,
				  "is there twice; for copies of one machine "
				  "'gtopo search' has --nodes, and a node of a "
				  "cluster file a count");
	if (!rc)
		rc = gt_fuse_twice(f, f->names, &twice, err);
	if (!rc && twice)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "two nodes would be named '%.80s'; rename "
				  "their files",
				  twice);
	return rc;
}

static int gt_fuse_names(struct gt_fuser *f, struct gt_err *err)
{
	if (!gt_name_list_of_files(f->arena, f->fuse->files, f->fuse->nfiles,
				   f->names))
		return gt_err_nomem(err);
	for (uint32_t i = 0; i < f->fuse->nfiles; i++)
		if (!*f->names[i] || strpbrk(f->names[i], ":,[]\"&<") ||
		    !gt_utf8_is_valid(f->names[i]))
			return gt_err_set(err, GT_EINPUT, NULL,
					  "'%.80s' is no name for a node",
					  f->names[i]);
	return gt_fuse_unique(f, err);
}

/* Returns how near the port is to any GPU. */
static enum gt_path_kind gt_fuse_near(const struct gt_topo *topo,
				      const struct gt_paths *paths,
				      uint32_t net)
{
	enum gt_path_kind best = GT_PATH_DIS;

	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
		enum gt_path_kind kind =
			gt_paths_get(paths, net, gt_topo_gpu(topo, i))->kind;

		if (kind < best)
			best = kind;
	}
	return best;
}

void gt_fuse_near_nets(const struct gt_topo *topo, const struct gt_paths *paths,
		       struct gt_buf *out)
{
	uint32_t n = 0, nnets = gt_topo_nnets(topo), net;
	size_t before = out->len;

	for (uint32_t i = 0; i < nnets; i++) {
		net = gt_topo_net(topo, i);
		if (gt_fuse_near(topo, paths, net) <= GT_PATH_PXB)
			gt_buf_printf(out, "%s%d", n++ ? "," : "",
				      gt_topo_node(topo, net)->dev);
	}
	if (n == nnets)
		out->len = before;
}

/*
 * Writes the ports near GPUs, where there are such and others: the others are
 * for storage.
 */
static int gt_fuse_nets(const char *file, struct gt_buf *out,
			struct gt_err *err)
{
	struct gt_buf list = GT_BUF_INIT;
	struct gt_paths *paths = NULL;
	struct gt_topo *topo;
	int rc = gt_topo_read(file, GT_RATES_MEASURED, &topo, err);

	if (rc)
		return rc;
	rc = gt_paths_new(topo, &paths, err);
	if (!rc)
		gt_fuse_near_nets(topo, paths, &list);
	if (list.len)
		gt_buf_printf(out, " nets=\"%.*s\"", (int)list.len, list.text);
	out->failed |= list.failed;
	gt_buf_release(&list);
	gt_paths_free(paths);
	gt_topo_free(topo);
	return rc;
}

/*
 * Returns the path of a node's file as seen from the cluster's; it is libc's to
 * free.
 */
static char *gt_fuse_path(const char *file, const char *beside)
{
	char cluster[PATH_MAX], node[PATH_MAX], *slash;
	size_t len;

	snprintf(cluster, sizeof(cluster), "%s", beside ? beside : "x");
	slash = strrchr(cluster, '/');
	if (!slash)
		return strdup(file);
	slash[slash == cluster] = '\0';
	slash = realpath(cluster, NULL);
	if (!slash || !realpath(file, node)) {
		free(slash);
		return realpath(file, NULL);
	}
	len = strlen(slash);
	if (!strncmp(node, slash, len) && node[len] == '/')
		memmove(node, node + len + 1, strlen(node + len));
	free(slash);
	return strdup(node);
}

static int gt_fuse_where(const struct gt_fuser *f, struct gt_fuse_kind *kind,
			 struct gt_err *err)
{
	const char *file = f->fuse->files[kind->first];
	char *path = gt_fuse_path(file, f->fuse->beside);
	int rc = GT_OK;

	if (!path)
		return gt_err_nomem(err);
	if (strpbrk(path, "\"&<") || !gt_utf8_is_valid(path))
		rc = gt_err_set(err, GT_EINPUT, path,
				"a path with '\"', '&' or '<', or that is no "
				"UTF-8, cannot be written");
	else
		kind->where =
			gt_arena_printf(f->arena, "\"%s\"%s", path, kind->nets);
	if (!rc && !kind->where)
		rc = gt_err_nomem(err);
	free(path);
	return rc;
}

/* Finds which ports of the kind are in the fabric. */
static int gt_fuse_ports(const struct gt_fuser *f, struct gt_fuse_kind *kind,
			 struct gt_err *err)
{
	struct gt_buf nets = GT_BUF_INIT;
	int rc = GT_OK;

	if (f->fuse->nets)
		gt_buf_printf(&nets, " nets=\"%s\"", f->fuse->nets);
	else
		rc = gt_fuse_nets(f->fuse->files[kind->first], &nets, err);
	if (!rc)
		kind->nets = gt_arena_strdup(f->arena, gt_buf_text(&nets));
	if (!rc && (nets.failed || !kind->nets))
		rc = gt_err_nomem(err);
	gt_buf_release(&nets);
	return rc;
}

/* Finds the file's kind, or makes one; *kind is set on success alone. */
static int gt_fuse_group(struct gt_fuser *f, uint32_t i, uint32_t *kind,
			 struct gt_err *err)
{
	struct gt_fuse_kind made = {.first = i};
	uint32_t k = 0;
	int same = 0;
	int rc = gt_device_tree_read(f->fuse->files[i], f->fuse->ignore,
				     &made.tree, err);

	if (rc)
		return rc;
	made.hash = gt_device_tree_hash(made.tree);
	for (; k < f->nkinds; k++) {
		if (f->kinds[k].hash == made.hash)
			same = gt_match_is_isomorphic(f->kinds[k].tree,
						      made.tree);
		if (same)
			break;
	}
	if (!made.hash || same < 0)
		rc = gt_err_nomem(err);
	else if (k == f->nkinds)
		rc = gt_fuse_ports(f, &made, err);
	if (!rc && k == f->nkinds)
		f->kinds[f->nkinds++] = made;
	else
		gt_device_tree_free(made.tree);
	if (!rc)
		*kind = k;
	return rc;
}

/*
 * Stops at a file that cannot be read.  Where nodes in a row share a switch,
 * others would come to stand in for the one left out, and change switches.
 */
static int gt_fuse_stop(const struct gt_fuser *f, int rc,
			const struct gt_err *why, struct gt_err *err)
{
	const struct gt_fuse *fuse = f->fuse;
	int in_rows = rc != GT_ESYS && fuse->nfiles > 1 &&
		      (fuse->leaf || fuse->nvlink);

	return gt_err_set(err, rc, why->where, "%s%s", why->text,
			  in_rows ? "; without its node others would move to "
				    "other switches: mend the file, or leave "
				    "out --leaf and --nvlink"
				  : "");
}

/* Groups all files; those that cannot be read are told of and left out. */
static int gt_fuse_groups(struct gt_fuser *f, struct gt_err *err)
{
	const struct gt_fuse *fuse = f->fuse;
	int strict = !fuse->skipped || fuse->nfiles == 1 || fuse->leaf ||
		     fuse->nvlink;

	for (uint32_t i = 0; i < f->fuse->nfiles; i++) {
		struct gt_err why;
		uint32_t kind;
		int rc;

		gt_err_init(&why);
		rc = gt_fuse_group(f, i, &kind, &why);
		if (rc && (rc == GT_ESYS || strict))
			return gt_fuse_stop(f, rc, &why, err);
		if (rc) {
			f->fuse->skipped(f->fuse->arg, &why);
			continue;
		}
		f->kind[f->n] = kind;
		f->names[f->n++] = f->names[i];
	}
	if (!f->n)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "none of the files can be read");
	return GT_OK;
}

/*
 * Writes the nodes in the order of the files, for levels take in nodes in a
 * row.
 */
static void gt_fuse_nodes(const struct gt_fuser *f)
{
	uint32_t n = f->n, end;

	for (uint32_t i = 0; i < n; i = end) {
		for (end = i + 1; end < n && f->kind[end] == f->kind[i];)
			end++;
		gt_buf_printf(f->out, "  <node file=%s names=\"",
			      f->kinds[f->kind[i]].where);
		gt_name_list_add(f->arena, f->names + i, end - i, f->out);
		gt_buf_puts(f->out, "\"/>\n");
	}
}

static void gt_fuse_fabric(const struct gt_fuser *f)
{
	const struct gt_fuse *fuse = f->fuse;
	const char *rail = fuse->rails ? " rail=\"each\"" : "";

	if (fuse->nvlink)
		gt_buf_printf(f->out,
			      "  <fabric over=\"nvlink\">\n    <level "
			      "nodes=\"%d\"/>\n  </fabric>\n",
			      fuse->nvlink);
	gt_buf_puts(f->out, "  <fabric>\n");
	if (fuse->leaf) {
		gt_buf_printf(f->out, "    <level nodes=\"%d\"%s", fuse->leaf,
			      rail);
		if (fuse->over)
			gt_buf_printf(f->out, " oversubscription=\"%s\"",
				      fuse->over);
		gt_buf_puts(f->out, "/>\n    <level/>\n");
	} else {
		gt_buf_printf(f->out, "    <level%s/>\n", rail);
	}
	gt_buf_puts(f->out, "  </fabric>\n");
}

static int gt_fuse_run(struct gt_fuser *f, struct gt_err *err)
{
	uint32_t n = f->fuse->nfiles;
	int rc;

	f->kinds = gt_arena_array(f->arena, n, sizeof(*f->kinds));
	f->kind = gt_arena_array(f->arena, n, sizeof(*f->kind));
	f->names = gt_arena_array(f->arena, n, sizeof(*f->names));
	if (!f->kinds || !f->kind || !f->names)
		return gt_err_nomem(err);
	rc = gt_fuse_names(f, err);
	if (!rc)
		rc = gt_fuse_groups(f, err);
	for (uint32_t k = 0; k < f->nkinds && !rc; k++)
		rc = gt_fuse_where(f, &f->kinds[k], err);
	if (rc)
		return rc;
	gt_buf_puts(f->out, "<cluster version=\"1\"");
	if (f->fuse->name)
		gt_buf_printf(f->out, " name=\"%s\"", f->fuse->name);
	gt_buf_puts(f->out, ">\n");
	gt_fuse_nodes(f);
	gt_fuse_fabric(f);
	gt_buf_puts(f->out, "</cluster>\n");
	return f->out->failed ? gt_err_nomem(err) : GT_OK;
}

int gt_fuse_write(const struct gt_fuse *fuse, struct gt_buf *out,
		  struct gt_err *err)
{
	struct gt_fuser f = {.fuse = fuse, .out = out};
	int rc;

	f.arena = gt_arena_new();
	if (!f.arena)
		return gt_err_nomem(err);
	rc = gt_fuse_run(&f, err);
	for (uint32_t k = 0; k < f.nkinds; k++)
		gt_device_tree_free(f.kinds[k].tree);
	gt_arena_free(f.arena);
	return rc;
}
