#include "topo/lint/lint.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/xml.h"
#include "topo/cluster/make.h"
#include "topo/lint/linter.h"
#include "topo/graph/topo.h"

enum { GT_LINT_MAX_BYTES = 64 << 20 };

static const struct {
	const char *name;
	enum gt_lint_severity severity;
} gt_lint_rules[] = {
#define GT_LINT(id, name, severity, what) {name, GT_LINT_##severity},
#include "topo/lint/lint.def"
};

const char *gt_lint_rule_name(enum gt_lint_rule rule)
{
	return gt_lint_rules[rule].name;
}

enum gt_lint_severity gt_lint_rule_severity(enum gt_lint_rule rule)
{
	return gt_lint_rules[rule].severity;
}

const char *gt_lint_severity_name(enum gt_lint_severity severity)
{
	static const char *const names[] = {"note", "warning", "error"};

	return names[severity];
}

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

/* Room for one more; NULL when memory ran out. */
static void *gt_linter_grow(struct gt_linter *l, void *items, uint32_t n,
			    uint32_t *size, size_t bytes)
{
	void *grown;

	if (n < *size)
		return items;
	*size = n ? n * 2 : 32;
	grown = gt_arena_array(l->arena, *size, bytes);
	if (grown && n)
		memcpy(grown, items, n * bytes);
	return grown;
}

static void gt_linter_add(struct gt_linter *l, struct gt_lint_finding finding,
			  const char *where, const char *text)
{
	struct gt_lint *lint = l->lint;
	struct gt_lint_finding *grown;

	l->seen[finding.rule]++;
	if (l->failed)
		return;
	grown = gt_linter_grow(l, lint->findings, lint->nfindings,
			       &lint->findings_size, sizeof(*grown));
	finding.where = gt_arena_strdup(l->arena, where);
	finding.text = gt_arena_strdup(l->arena, text);
	if (!grown || !finding.where || !finding.text) {
		l->failed = 1;
		return;
	}
	lint->findings = grown;
	lint->findings[lint->nfindings++] = finding;
}

void gt_linter_report(struct gt_linter *l, enum gt_lint_rule rule, size_t at,
		      const char *remedy, const char *fmt, ...)
{
	const struct gt_lint *lint = l->lint;
	struct gt_lint_finding finding = {
		.rule = rule, .at = at, .remedy = remedy};
	char text[512], where[512];
	size_t line = 1, column = 1;
	va_list ap;

	for (size_t i = 0; i < at && i < lint->len; i++) {
		column = lint->text[i] == '\n' ? 1 : column + 1;
		line += lint->text[i] == '\n';
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(where, sizeof(where), "%s:%zu:%zu", lint->name, line, column);
	gt_linter_add(l, finding, where, text);
}

void gt_linter_report_elem(struct gt_linter *l, enum gt_lint_rule rule,
			   const struct gt_xml_elem *elem, const char *attr,
			   const char *fmt, ...)
{
	struct gt_lint_finding finding = {.rule = rule};
	char text[512], where[512];
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_xml_where(elem, attr, where, sizeof(where));
	if (!gt_xml_span(elem, attr, &finding.at, &len))
		finding.at = SIZE_MAX;
	gt_linter_add(l, finding, where, text);
}

void gt_linter_remedy(struct gt_linter *l, const char *fmt, ...)
{
	struct gt_lint *lint = l->lint;
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (lint->nfindings && !l->failed)
		lint->findings[lint->nfindings - 1].remedy =
			gt_arena_strdup(l->arena, text);
}

void gt_linter_edit(struct gt_linter *l, size_t at, size_t len,
		    const char *text)
{
	struct gt_lint *lint = l->lint;
	struct gt_lint_edit edit = {at, len, gt_arena_strdup(l->arena, text)};
	struct gt_lint_edit *grown;

	if (l->failed)
		return;
	grown = gt_linter_grow(l, lint->edits, lint->nedits, &lint->edits_size,
			       sizeof(*grown));
	if (!grown || !edit.text) {
		l->failed = 1;
		return;
	}
	lint->edits = grown;
	lint->edits[lint->nedits++] = edit;
}

void gt_linter_edit_attr(struct gt_linter *l, const struct gt_xml_elem *elem,
			 const char *attr, const char *value)
{
	size_t at, len;

	if (gt_xml_span(elem, attr, &at, &len))
		gt_linter_edit(l, at, len, value);
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

/* What gtopo itself does not read, unless that was already said. */
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
	gt_linter_add(l, (struct gt_lint_finding){.at = SIZE_MAX},
		      err.where[0] ? err.where : lint->name, err.text);
}

/* NCCL reads no clusters: all there is to say is what gtopo says. */
static void gt_lint_cluster(struct gt_linter *l, const struct gt_xml *xml)
{
	struct gt_cluster *cluster;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_cluster_from_xml(xml, GT_RATES_NCCL, &cluster, &err))
		gt_linter_add(l, (struct gt_lint_finding){.at = SIZE_MAX},
			      err.where[0] ? err.where : l->lint->name,
			      err.text);
	else
		gt_cluster_free(cluster);
}

static void gt_lint_run(struct gt_linter *l)
{
	struct gt_lint *lint = l->lint;
	struct gt_xml *xml;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_xml_parse(lint->name, lint->text, lint->len, &xml, &err)) {
		gt_lint_bytes(l);
		gt_linter_add(l, (struct gt_lint_finding){.at = SIZE_MAX},
			      err.where, err.text);
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
	if (!copy || !lint->name)
		return gt_err_nomem(err);
	if (len)
		memcpy(copy, text, len);
	lint->text = copy;
	lint->len = len;
	gt_lint_run(&l);
	return l.failed ? gt_err_nomem(err) : GT_OK;
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
