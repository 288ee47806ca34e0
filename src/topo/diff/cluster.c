/*
 * Compares two clusters, line by line: nodes by name or by number, ports on
 * rails, levels of switches, cables.  Kinds of nodes are matched first, by
 * name, by the hash of their servers, or by a node's name.
 */
#include "topo/diff/cluster.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/tint.h"
#include "topo/cluster/cluster.h"
#include "topo/diff/device_tree.h"

enum { GT_DIFF_NAMES = 16, GT_DIFF_NAME = 512 };

struct gt_cluster_diff {
	const struct gt_cluster *a, *b;
	/* which kind of b each kind of a is, or GT_NONE */
	const uint32_t *kind;
	int colour;
	struct gt_buf *out;
	uint32_t *n;
};

static void add_line(struct gt_cluster_diff *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void add_line(struct gt_cluster_diff *d, const char *fmt, ...)
{
	char text[2048];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	gt_tint_put(d->out, d->colour, GT_TINT_BOLD, d->b->source);
	gt_buf_puts(d->out, ": ");
	gt_buf_put_plain(d->out, text);
	gt_buf_puts(d->out, "\n");
	++*d->n;
}

/* Computes the hash of each kind's server; every file is read once. */
static int kind_hashes(const struct gt_cluster *cluster, uint64_t *hashes,
		       struct gt_err *err)
{
	const struct gt_cluster_kind *kinds = cluster->kinds;
	struct gt_device_tree *tree;
	uint32_t k;
	int rc;

	for (uint32_t i = 0; i < cluster->nkinds; i++) {
		for (k = 0; k < i; k++)
			if (!strcmp(kinds[k].file, kinds[i].file))
				break;
		if (k < i) {
			hashes[i] = hashes[k];
			continue;
		}
		rc = gt_device_tree_read(kinds[i].file, 0, &tree, err);
		if (rc)
			return rc;
		hashes[i] = gt_device_tree_hash(tree);
		gt_device_tree_free(tree);
		if (!hashes[i])
			return gt_err_nomem(err);
	}
	return GT_OK;
}

/*
 * Returns the kind in b of the first node of this kind of a that was given a
 * name which b has, too; GT_NONE when there is none.
 */
static uint32_t kind_by_node_name(const struct gt_cluster *a, uint32_t kind,
				  const struct gt_cluster *b)
{
	uint32_t node = GT_NONE;
	char name[GT_DIFF_NAME];

	for (uint32_t i = 0; i < a->nruns && node == GT_NONE; i++) {
		const struct gt_cluster_run *run = &a->runs[i];

		for (uint32_t k = 0; run->kind == kind && run->named &&
				     k < run->count && node == GT_NONE;
		     k++) {
			gt_cluster_node_name(a, run->first + k, name,
					     sizeof(name));
			node = gt_cluster_node_find(b, name);
		}
	}
	return node == GT_NONE ? node : gt_cluster_run_of(b, node)->kind;
}

/* Gives a kind of a its match in b, unless that has one or is GT_NONE. */
static void take_kind(uint32_t *kind, char *taken, uint32_t i, uint32_t k)
{
	if (k == GT_NONE || taken[k])
		return;
	kind[i] = k;
	taken[k] = 1;
}

int gt_cluster_diff_kinds(const struct gt_cluster *a,
			  const struct gt_cluster *b, struct gt_arena *arena,
			  uint32_t *kind, struct gt_err *err)
{
	uint64_t *of_a = gt_arena_array(arena, a->nkinds, sizeof(*of_a));
	uint64_t *of_b = gt_arena_array(arena, b->nkinds, sizeof(*of_b));
	char *taken = gt_arena_array(arena, b->nkinds, 1);
	int rc;

	if (!of_a || !of_b || !taken)
		return gt_err_nomem(err);
	rc = kind_hashes(a, of_a, err);
	if (!rc)
		rc = kind_hashes(b, of_b, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < a->nkinds; i++)
		kind[i] = GT_NONE;
	for (uint32_t i = 0; i < a->nkinds; i++)
		for (uint32_t k = 0; k < b->nkinds && kind[i] == GT_NONE; k++)
			if (!strcmp(a->kinds[i].name, b->kinds[k].name))
				take_kind(kind, taken, i, k);
	for (uint32_t i = 0; i < a->nkinds; i++)
		for (uint32_t k = 0; k < b->nkinds && kind[i] == GT_NONE; k++)
			if (of_a[i] == of_b[k])
				take_kind(kind, taken, i, k);
	for (uint32_t i = 0; i < a->nkinds; i++)
		if (kind[i] == GT_NONE)
			take_kind(kind, taken, i, kind_by_node_name(a, i, b));
	return GT_OK;
}

/* Counts the nodes of a that were given a name which b has, too. */
static uint32_t count_common_names(const struct gt_cluster *a,
				   const struct gt_cluster *b)
{
	uint32_t n = 0;
	char name[GT_DIFF_NAME];

	for (uint32_t i = 0; i < a->nnodes; i++) {
		if (!gt_cluster_run_of(a, i)->named)
			continue;
		gt_cluster_node_name(a, i, name, sizeof(name));
		n += gt_cluster_node_find(b, name) != GT_NONE;
	}
	return n;
}

static const char *kind_name(const struct gt_cluster *cluster, uint32_t node)
{
	return gt_cluster_kind_of(cluster, node)->name;
}

/*
 * Looks for every node of one cluster in the other by name.  With `back` only
 * nodes that are not there are told, for the rest was told the first time.
 */
static void diff_nodes_by_name(struct gt_cluster_diff *d, int back)
{
	const struct gt_cluster *from = back ? d->b : d->a;
	const struct gt_cluster *to = back ? d->a : d->b;
	uint32_t node, more = 0, said = 0;
	char name[GT_DIFF_NAME];

	for (uint32_t i = 0; i < from->nnodes; i++) {
		gt_cluster_node_name(from, i, name, sizeof(name));
		node = gt_cluster_node_find(to, name);
		if (node != GT_NONE &&
		    (back || d->kind[gt_cluster_run_of(from, i)->kind] ==
				     gt_cluster_run_of(to, node)->kind))
			continue;
		if (said++ >= GT_DIFF_NAMES)
			more++;
		else if (node == GT_NONE)
			add_line(d, "node '%s' (%s) is %s", name,
				 kind_name(from, i),
				 back ? "extra" : "missing");
		else
			add_line(d, "node '%s' is %s, not %s", name,
				 kind_name(to, node), kind_name(from, i));
	}
	if (more)
		add_line(d, "%u more nodes are %s", more,
			 back ? "extra" : "missing or others");
}

static void diff_nodes_by_count(struct gt_cluster_diff *d)
{
	const struct gt_cluster *a = d->a, *b = d->b;

	for (uint32_t i = 0; i < a->nkinds; i++) {
		uint32_t k = d->kind[i];
		uint32_t there = k == GT_NONE ? 0 : b->kinds[k].nnodes;

		if (there != a->kinds[i].nnodes)
			add_line(d, "%u nodes of kind '%s' instead of %u",
				 there, a->kinds[i].name, a->kinds[i].nnodes);
	}
	for (uint32_t k = 0; k < b->nkinds; k++) {
		uint32_t i = 0;

		while (i < a->nkinds && d->kind[i] != k)
			i++;
		if (i == a->nkinds)
			add_line(d, "%u nodes of kind '%s' instead of 0",
				 b->kinds[k].nnodes, b->kinds[k].name);
	}
}

/* Counts the ports on a rail. */
static uint32_t ports_on_rail(const struct gt_cluster_ports *ports,
			      uint32_t rail)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ports->n; i++)
		n += ports->list[i].rail == rail;
	return n;
}

static void diff_rails(struct gt_cluster_diff *d, uint32_t kind)
{
	const struct gt_cluster_kind *a = &d->a->kinds[kind];
	const struct gt_cluster_kind *b = &d->b->kinds[d->kind[kind]];
	uint32_t n = d->a->fabrics[GT_FABRIC_NET].nrails;

	if (n < d->b->fabrics[GT_FABRIC_NET].nrails)
		n = d->b->fabrics[GT_FABRIC_NET].nrails;
	for (uint32_t rail = 0; rail < n; rail++) {
		uint32_t was = ports_on_rail(&a->ports[GT_FABRIC_NET], rail);
		uint32_t is = ports_on_rail(&b->ports[GT_FABRIC_NET], rail);

		if (was != is)
			add_line(d,
				 "kind '%s': %u port%s on rail %u instead "
				 "of %u",
				 b->name, is, gt_plural(is), rail, was);
	}
}

static void diff_number(struct gt_cluster_diff *d, const char *what,
			uint32_t was, uint32_t is)
{
	if (was != is)
		add_line(d, "%s %u instead of %u", what, is, was);
}

/*
 * Compares uplinks.  Where both are fractions of what comes from below, only
 * the fractions are compared: with equal ones the levels differ only in size.
 */
static void diff_uplink(struct gt_cluster_diff *d, enum gt_fabric_kind over,
			uint32_t i)
{
	const struct gt_cluster_level *a = &d->a->fabrics[over].levels[i];
	const struct gt_cluster_level *b = &d->b->fabrics[over].levels[i];
	char was[GT_RAT_TEXT_MAX], is[GT_RAT_TEXT_MAX];

	if (!a->uplink_gbs.num && !b->uplink_gbs.num) {
		if (gt_rat_cmp(a->oversubscription, b->oversubscription))
			add_line(d, "%s level %u: oversubscribed %s, not %s",
				 gt_fabric_kind_name(over), i + 1,
				 gt_rat_print(b->oversubscription, is),
				 gt_rat_print(a->oversubscription, was));
		return;
	}
	if (gt_rat_cmp(a->uplink_gbs, b->uplink_gbs))
		add_line(d, "%s level %u: uplinks of %s GB/s, not %s",
			 gt_fabric_kind_name(over), i + 1,
			 b->uplink_gbs.num ? gt_rat_print(b->uplink_gbs, is)
					   : "a fraction of the",
			 a->uplink_gbs.num ? gt_rat_print(a->uplink_gbs, was)
					   : "a fraction");
}

static void diff_level(struct gt_cluster_diff *d, enum gt_fabric_kind over,
		       uint32_t i)
{
	const struct gt_cluster_level *a = &d->a->fabrics[over].levels[i];
	const struct gt_cluster_level *b = &d->b->fabrics[over].levels[i];
	char what[64];

	snprintf(what, sizeof(what), "%s level %u: nodes below a switch are",
		 gt_fabric_kind_name(over), i + 1);
	if (a->nodes < d->a->nnodes || b->nodes < d->b->nnodes)
		diff_number(d, what, a->nodes, b->nodes);
	if (a->by_rail != b->by_rail)
		add_line(d, "%s level %u: switches have %s, not %s",
			 gt_fabric_kind_name(over), i + 1,
			 b->by_rail ? "one rail each" : "all rails",
			 a->by_rail ? "one rail each" : "all rails");
	if (i + 1 < d->a->fabrics[over].nlevels)
		diff_uplink(d, over, i);
}

static void end_name(const struct gt_cluster *cluster, enum gt_fabric_kind over,
		     const struct gt_cluster_end *end, char *text, size_t size)
{
	const struct gt_cluster_kind *kind;
	char name[GT_DIFF_NAME];

	if (end->node == GT_NONE) {
		snprintf(text, size, "%s",
			 cluster->fabrics[over].switches[end->at]);
		return;
	}
	kind = gt_cluster_kind_of(cluster, end->node);
	gt_cluster_node_name(cluster, end->node, name, sizeof(name));
	snprintf(
		text, size, "%.400s:%d", name,
		gt_topo_node(kind->topo, kind->ports[over].list[end->at].device)
			->dev);
}

/*
 * A cable is compared by the names of its ends, of which the lesser comes
 * first.
 */
struct gt_named_cable {
	const char *text;
	struct gt_rat gbs;
};

static const char *cable_name(const struct gt_cluster *cluster,
			      enum gt_fabric_kind over,
			      const struct gt_cluster_cable *cable,
			      struct gt_arena *arena)
{
	char ends[2][GT_DIFF_NAME];
	int turn;

	for (int i = 0; i < 2; i++)
		end_name(cluster, over, &cable->ends[i], ends[i],
			 sizeof(ends[i]));
	turn = strcmp(ends[0], ends[1]) > 0;
	return gt_arena_printf(arena, "%s to %s", ends[turn], ends[!turn]);
}

static int cable_order(const void *left, const void *right)
{
	const struct gt_named_cable *a = left, *b = right;
	int order = strcmp(a->text, b->text);

	return order ? order : gt_rat_cmp(a->gbs, b->gbs);
}

static struct gt_named_cable *list_cables(const struct gt_cluster *cluster,
					  enum gt_fabric_kind over,
					  struct gt_arena *arena)
{
	const struct gt_cluster_fabric *fabric = &cluster->fabrics[over];
	struct gt_named_cable *list =
		gt_arena_array(arena, fabric->ncables, sizeof(*list));

	for (uint32_t i = 0; list && i < fabric->ncables; i++) {
		list[i].text =
			cable_name(cluster, over, &fabric->cables[i], arena);
		list[i].gbs = fabric->cables[i].gbs;
		if (!list[i].text)
			return NULL;
	}
	if (list && fabric->ncables)
		qsort(list, fabric->ncables, sizeof(*list), cable_order);
	return list;
}

static void diff_cable(struct gt_cluster_diff *d, enum gt_fabric_kind over,
		       const struct gt_named_cable *a,
		       const struct gt_named_cable *b)
{
	char was[GT_RAT_TEXT_MAX], is[GT_RAT_TEXT_MAX];

	if (!a || !b)
		add_line(d, "%s link %s: is %s", gt_fabric_kind_name(over),
			 a ? a->text : b->text, a ? "missing" : "extra");
	else if (gt_rat_cmp(a->gbs, b->gbs))
		add_line(d, "%s link %s: %s GB/s instead of %s",
			 gt_fabric_kind_name(over), a->text,
			 gt_rat_print(b->gbs, is), gt_rat_print(a->gbs, was));
}

static void diff_cables(struct gt_cluster_diff *d, enum gt_fabric_kind over)
{
	uint32_t na = d->a->fabrics[over].ncables, i = 0;
	uint32_t nb = d->b->fabrics[over].ncables, k = 0;
	struct gt_arena *arena = gt_arena_new();
	struct gt_named_cable *a = NULL, *b = NULL;

	if (arena) {
		a = list_cables(d->a, over, arena);
		b = list_cables(d->b, over, arena);
	}
	if (!a || !b)
		d->out->failed = 1;
	while (a && b && (i < na || k < nb)) {
		int order = i == na   ? 1
			    : k == nb ? -1
				      : strcmp(a[i].text, b[k].text);

		diff_cable(d, over, order <= 0 ? &a[i] : NULL,
			   order >= 0 ? &b[k] : NULL);
		i += order <= 0;
		k += order >= 0;
	}
	gt_arena_free(arena);
}

static void diff_fabric(struct gt_cluster_diff *d, enum gt_fabric_kind over)
{
	const struct gt_cluster_fabric *a = &d->a->fabrics[over];
	const struct gt_cluster_fabric *b = &d->b->fabrics[over];
	char what[64];

	snprintf(what, sizeof(what), "%s: levels of switches are",
		 gt_fabric_kind_name(over));
	diff_number(d, what, a->nlevels, b->nlevels);
	for (uint32_t i = 0; a->nlevels == b->nlevels && i < a->nlevels; i++)
		diff_level(d, over, i);
	diff_cables(d, over);
}

void gt_cluster_diff_print(const struct gt_cluster *a,
			   const struct gt_cluster *b, const uint32_t *kind,
			   int colour, struct gt_buf *out, uint32_t *n)
{
	struct gt_cluster_diff d = {a, b, kind, colour, out, n};
	uint32_t fewer = a->nnodes < b->nnodes ? a->nnodes : b->nnodes;

	if (count_common_names(a, b) > fewer / 2) {
		diff_nodes_by_name(&d, 0);
		diff_nodes_by_name(&d, 1);
	} else {
		diff_nodes_by_count(&d);
	}
	for (uint32_t i = 0; i < a->nkinds; i++)
		if (kind[i] != GT_NONE)
			diff_rails(&d, i);
	for (int over = 0; over < GT_NFABRICKINDS; over++)
		diff_fabric(&d, (enum gt_fabric_kind)over);
}
