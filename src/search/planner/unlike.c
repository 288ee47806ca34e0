/* Finds the norm among a cluster's kinds of nodes, and what others lack. */
#include "search/planner/unlike.h"

#include <inttypes.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "search/planner/job_bound.h"
#include "topo/cluster/cluster.h"
#include "topo/diff/device_tree.h"
#include "topo/diff/diff.h"
#include "topo/graph/topo.h"

/* Kinds beyond these are counted only. */
enum { NAME_MAX_BYTES = 512, MAX_KINDS = 8 };

/* What a cluster would reach whose nodes are all of a kind. */
struct worth {
	int known;
	struct gt_rat gbs;
};

static void name_first(const struct gt_cluster *cluster, uint32_t kind,
		       char name[NAME_MAX_BYTES])
{
	*name = '\0';
	for (uint32_t i = 0; i < cluster->nruns && !*name; i++)
		if (cluster->runs[i].kind == kind)
			gt_cluster_node_name(cluster, cluster->runs[i].first,
					     name, NAME_MAX_BYTES);
}

void gt_unlike_put_nodes(const struct gt_cluster *cluster, uint32_t kind,
			 struct gt_buf *out)
{
	uint32_t more = cluster->kinds[kind].nnodes - 1;
	char name[NAME_MAX_BYTES];

	name_first(cluster, kind, name);
	gt_buf_printf(out, "node%s '%s'", gt_plural(more + 1), name);
	if (more)
		gt_buf_printf(out, " and %" PRIu32 " more", more);
}

/* ---- the norm ---------------------------------------------------------- */

/* Is the first of more worth than the second, or as much in more nodes? */
static int is_better(const struct gt_cluster *cluster,
		     const struct worth *worths, uint32_t a, uint32_t b)
{
	int order = worths[a].known - worths[b].known;

	if (!order && worths[a].known)
		order = gt_rat_cmp(worths[a].gbs, worths[b].gbs);
	return order ? order > 0
		     : cluster->kinds[a].nnodes > cluster->kinds[b].nnodes;
}

static int find_norm(const struct gt_cluster *cluster, struct worth *worths,
		     uint32_t *norm, struct gt_err *err)
{
	*norm = 0;
	for (uint32_t k = 0; k < cluster->nkinds; k++) {
		int rc = gt_job_bound_of_kind(cluster, &cluster->kinds[k],
					      &worths[k].known, &worths[k].gbs,
					      err);

		if (rc)
			return rc;
		if (is_better(cluster, worths, k, *norm))
			*norm = k;
	}
	return GT_OK;
}

/* ---- what a kind lacks ------------------------------------------------- */

static const char *port_id(const struct gt_cluster_kind *kind, uint32_t port)
{
	return gt_topo_node(kind->topo,
			    kind->ports[GT_FABRIC_NET].list[port].device)
		->id;
}

/* The kind's port in the network that is the norm's, or NULL. */
static const struct gt_cluster_port *find_port(
	const struct gt_cluster_kind *kind, const struct gt_cluster_kind *norm,
	uint32_t port)
{
	const struct gt_cluster_ports *ports = &kind->ports[GT_FABRIC_NET];
	uint32_t rail = norm->ports[GT_FABRIC_NET].list[port].rail;

	for (uint32_t i = 0; i < ports->n; i++)
		if (ports->list[i].rail == rail &&
		    !strcmp(port_id(kind, i), port_id(norm, port)))
			return &ports->list[i];
	return NULL;
}

/* Are the same ports in the networks of both, on the same rails? */
static int has_ports(const struct gt_cluster_kind *kind,
		     const struct gt_cluster_kind *norm)
{
	uint32_t n = norm->ports[GT_FABRIC_NET].n;

	for (uint32_t i = 0; i < n; i++)
		if (!find_port(kind, norm, i))
			return 0;
	return kind->ports[GT_FABRIC_NET].n == n;
}

/* Append which of the norm's ports are not in the kind's network. */
static void put_ports(const struct gt_cluster_kind *kind,
		      const struct gt_cluster_kind *norm, struct gt_buf *out)
{
	const struct gt_cluster_ports *ports = &norm->ports[GT_FABRIC_NET];
	uint32_t n = 0;

	for (uint32_t i = 0; i < ports->n; i++) {
		const struct gt_cluster_port *port = &ports->list[i];

		if (find_port(kind, norm, i))
			continue;
		gt_buf_printf(out, "%sNET%d on rail %" PRIu32,
			      n++ ? ", " : "no port ",
			      gt_topo_node(norm->topo, port->device)->dev,
			      port->rail);
	}
	gt_buf_puts(out, n ? " of the network" : "other ports in the network");
}

/* Append what tells nodes from the norm's by a difference of their files. */
static void put_files(const struct gt_cluster_kind *kind,
		      const struct gt_cluster_kind *norm,
		      const struct gt_buf *first, struct gt_buf *out)
{
	if (!first->len && has_ports(kind, norm)) {
		gt_buf_printf(out, "'gtopo diff %s %s' tells no difference",
			      norm->file, kind->file);
	} else if (!first->len) {
		put_ports(kind, norm, out);
	} else {
		gt_buf_printf(out, "%s ('gtopo diff %s %s' tells what is less)",
			      first->text, norm->file, kind->file);
	}
}

/* The first difference between two files; "" where there is none. */
static int put_first(const char *norm, const char *file, struct gt_arena *arena,
		     struct gt_buf *out, struct gt_err *err)
{
	struct gt_device_tree *a = NULL, *b = NULL;
	struct gt_diff diff = {.nfindings = 0};
	struct gt_err why;
	int rc;

	gt_err_init(&why);
	rc = gt_device_tree_read(norm, 0, &a, &why);
	if (!rc)
		rc = gt_device_tree_read(file, 0, &b, &why);
	if (!rc)
		rc = gt_diff_find(a, b, arena, &diff, &why);
	if (!rc && diff.nfindings) {
		gt_buf_puts(out, diff.findings[0].text);
		if (diff.nfindings > 1)
			gt_buf_printf(out, " and %" PRIu32 " more differences",
				      diff.nfindings - 1);
	}
	gt_device_tree_free(a);
	gt_device_tree_free(b);
	/* A file that has gone since leaves the rest to be told. */
	if (rc && rc != GT_ESYS)
		gt_buf_puts(out, "it cannot be read again");
	return rc == GT_ESYS ? gt_err_set(err, rc, why.where, "%s", why.text)
			     : GT_OK;
}

static int put_lack(const struct gt_cluster_kind *kind,
		    const struct gt_cluster_kind *norm, struct gt_arena *arena,
		    struct gt_buf *out, struct gt_err *err)
{
	struct gt_buf first = GT_BUF_INIT;
	int rc = GT_OK;

	if (!strcmp(kind->file, norm->file)) {
		gt_buf_puts(out, ": ");
		put_ports(kind, norm, out);
		return GT_OK;
	}
	gt_buf_printf(out, " of %s: ", kind->file);
	if (strcmp(gt_topo_digest(kind->topo), gt_topo_digest(norm->topo)))
		rc = put_first(norm->file, kind->file, arena, &first, err);
	put_files(kind, norm, &first, out);
	out->failed |= first.failed;
	gt_buf_release(&first);
	return rc;
}

/* ---- words ------------------------------------------------------------- */

/* Append what it costs that some nodes are of that kind. */
static void put_cost(const struct gt_cluster *cluster,
		     const struct worth *worths, uint32_t kind, uint32_t norm,
		     struct gt_buf *out)
{
	char name[NAME_MAX_BYTES];

	if (!worths[kind].known || !worths[norm].known)
		return;
	name_first(cluster, norm, name);
	gt_buf_printf(out, "; all-reduce of %" PRIu32 " nodes all like %s ",
		      cluster->nnodes,
		      cluster->kinds[kind].nnodes > 1 ? "these" : "it");
	if (gt_rat_cmp(worths[kind].gbs, worths[norm].gbs))
		gt_buf_printf(out, "reaches at most %.4g GB/s, like '%s' %.4g",
			      gt_rat_double(worths[kind].gbs), name,
			      gt_rat_double(worths[norm].gbs));
	else
		gt_buf_printf(out, "has the same bound as like '%s'", name);
}

static int put_kinds(const struct gt_cluster *cluster,
		     const struct worth *worths, uint32_t norm,
		     struct gt_arena *arena, struct gt_buf *out,
		     struct gt_err *err)
{
	uint32_t n = 0;
	int rc = GT_OK;

	for (uint32_t k = 0; k < cluster->nkinds && !rc; k++) {
		if (k == norm || n++ >= MAX_KINDS)
			continue;
		if (out->len)
			gt_buf_puts(out, "\n");
		gt_unlike_put_nodes(cluster, k, out);
		rc = put_lack(&cluster->kinds[k], &cluster->kinds[norm], arena,
			      out, err);
		put_cost(cluster, worths, k, norm, out);
	}
	if (n > MAX_KINDS)
		gt_buf_printf(out, "\nand %" PRIu32 " more kinds of nodes",
			      n - MAX_KINDS);
	return rc;
}

int gt_unlike_words(const struct gt_cluster *cluster, struct gt_arena *arena,
		    const char **words, struct gt_err *err)
{
	struct worth *worths =
		gt_arena_array(arena, cluster->nkinds, sizeof(*worths));
	struct gt_buf out = GT_BUF_INIT;
	uint32_t norm;
	int rc;

	*words = NULL;
	if (!worths)
		return gt_err_nomem(err);
	rc = find_norm(cluster, worths, &norm, err);
	if (!rc)
		rc = put_kinds(cluster, worths, norm, arena, &out, err);
	if (!rc && out.len && !out.failed)
		*words = gt_arena_strdup(arena, out.text);
	if (!rc && (out.failed || (out.len && !*words)))
		rc = gt_err_nomem(err);
	gt_buf_release(&out);
	return rc;
}
