/*
 * Looks at a file in this order: its bytes as NCCL reads them, its elements,
 * all together, the facts; and last whether gtopo itself can read it.
 */
#include "topo/lint/lint.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/text.h"
#include "base/xml.h"
#include "topo/cluster/make.h"
#include "topo/lint/linter.h"
#include "topo/graph/topo.h"

enum { GT_LINT_MAX_BYTES = 64 << 20 };

int gt_lint_worst(const struct gt_lint *lint)
{
	int worst = -1;

	for (uint32_t i = 0; i < lint->nfindings; i++) {
		int severity =
			(int)gt_lint_rule_severity(lint->findings[i].rule);

		worst = severity > worst ? severity : worst;
	}
	return worst;
}

void gt_lint_leave_out(struct gt_lint *lint, const char ignored[GT_NLINTRULES])
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < lint->nfindings; i++)
		if (!ignored[lint->findings[i].rule])
			lint->findings[kept++] = lint->findings[i];
	lint->nfindings = kept;
}

void gt_lint_sort(struct gt_lint *lint)
{
	struct gt_lint_finding *all = lint->findings, moved;

	for (uint32_t i = 1; i < lint->nfindings; i++)
		for (uint32_t j = i;
		     j && gt_lint_rule_severity(all[j].rule) >
				  gt_lint_rule_severity(all[j - 1].rule);
		     j--) {
			moved = all[j];
			all[j] = all[j - 1];
			all[j - 1] = moved;
		}
}

static int gt_lint_order(const void *left, const void *right)
{
	const struct gt_lint_finding *a = left, *b = right;

	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return (a->rule > b->rule) - (a->rule < b->rule);
}

static int gt_lint_edit_order(const void *left, const void *right)
{
	const struct gt_lint_edit *a = left, *b = right;

	return (a->at > b->at) - (a->at < b->at);
}

/*
 * Tells what a reader complains of.  Memory that ran out is no fault of the
 * file.
 */
static void gt_lint_complain(struct gt_linter *l, const struct gt_err *err)
{
	if (err->code == GT_EINPUT)
		gt_linter_add(l, (struct gt_lint_finding){.at = SIZE_MAX},
			      err->where[0] ? err->where : l->lint->name,
			      err->text);
	else
		l->failed = 1;
}

/* Tells of what gtopo itself does not read, unless that was already said. */
static void gt_lint_read(struct gt_linter *l)
{
	const struct gt_lint *lint = l->lint;
	struct gt_err err;
	struct gt_topo *topo;

	gt_err_init(&err);
	if (!gt_topo_parse(lint->name, lint->text, lint->len, GT_RATES_NCCL,
			   &topo, &err)) {
		gt_topo_free(topo);
		return;
	}
	for (uint32_t i = 0; i < lint->nfindings; i++)
		if (gt_lint_rule_severity(lint->findings[i].rule) !=
			    GT_LINT_NOTE &&
		    !strcmp(lint->findings[i].where, err.where))
			return;
	gt_lint_complain(l, &err);
}

/*
 * Looks at a cluster file.  NCCL reads none, so all there is to say is what
 * gtopo says.
 */
/* The caller says which of its nodes' files are looked at, too. */
static void gt_lint_node_files(struct gt_linter *l,
			       const struct gt_cluster *cluster)
{
	struct gt_lint *lint = l->lint;

	lint->node_files = gt_arena_array(l->arena, cluster->nkinds,
					  sizeof(*lint->node_files));
	l->failed |= !lint->node_files;
	for (uint32_t i = 0; i < cluster->nkinds && !l->failed; i++) {
		const char *file =
			gt_arena_strdup(l->arena, cluster->kinds[i].file);

		l->failed |= !file;
		lint->node_files[lint->nnode_files++] = file;
	}
}

static void gt_lint_cluster(struct gt_linter *l, const struct gt_xml *xml)
{
	struct gt_cluster *cluster;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_cluster_from_xml(xml, GT_RATES_NCCL, &cluster, &err)) {
		gt_lint_complain(l, &err);
		return;
	}
	gt_lint_node_files(l, cluster);
	gt_cluster_free(cluster);
}

static void gt_lint_run(struct gt_linter *l)
{
	struct gt_lint *lint = l->lint;
	struct gt_xml *xml;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_xml_parse(lint->name, lint->text, lint->len, &xml, &err)) {
		/* Of JSON all is text, and to remove it is no remedy. */
		if (gt_first_char(lint->text, lint->len) != '{')
			gt_lint_bytes(l);
		gt_lint_complain(l, &err);
	} else if (gt_xml_is(gt_xml_root(xml), "cluster")) {
		gt_lint_cluster(l, xml);
		gt_xml_free(xml);
	} else {
		gt_lint_bytes(l);
		gt_lint_elems(l, xml);
		gt_lint_graph(l, xml);
		gt_lint_facts(l, xml);
		gt_xml_free(xml);
		gt_lint_read(l);
	}
	if (lint->nfindings)
		qsort(lint->findings, lint->nfindings, sizeof(*lint->findings),
		      gt_lint_order);
	if (lint->nedits)
		qsort(lint->edits, lint->nedits, sizeof(*lint->edits),
		      gt_lint_edit_order);
}

int gt_lint_text(const char *name, const char *text, size_t len,
		 struct gt_arena *arena, struct gt_lint *lint,
		 struct gt_err *err)
{
	struct gt_linter l = {.lint = lint, .arena = arena};
	char *copy = gt_arena_alloc(arena, len + 1);

	memset(lint, 0, sizeof(*lint));
	lint->name = gt_arena_strdup(arena, name);
	if (!copy || !lint->name) {
		gt_err_nomem(err);
		gt_err_at(err, "%s", name);
		return GT_ESYS;
	}
	if (len)
		memcpy(copy, text, len);
	lint->text = copy;
	lint->len = len;
	gt_lint_run(&l);
	if (!l.failed)
		return GT_OK;
	gt_err_nomem(err);
	gt_err_at(err, "%s", lint->name);
	return GT_ESYS;
}

int gt_lint_file(const char *path, struct gt_arena *arena, struct gt_lint *lint,
		 struct gt_err *err)
{
	const char *name = strcmp(path, "-") ? path : "standard input";
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_file_read(path, GT_LINT_MAX_BYTES, &text, err);

	if (!rc)
		rc = gt_lint_text(name, text.text, text.len, arena, lint, err);
	gt_buf_release(&text);
	if (rc)
		gt_err_at(err, "%s", name);
	return rc;
}

void gt_lint_fix(const struct gt_lint *lint, struct gt_buf *out)
{
	size_t done = 0;

	for (uint32_t i = 0; i < lint->nedits; i++) {
		const struct gt_lint_edit *edit = &lint->edits[i];

		if (edit->at < done) /* inside another repair */
			continue;
		gt_buf_add(out, lint->text + done, edit->at - done);
		gt_buf_puts(out, edit->text);
		done = edit->at + edit->len;
	}
	gt_buf_add(out, lint->text + done, lint->len - done);
}
