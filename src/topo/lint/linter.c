/*
 * Collects findings and edits in the arena for the rules, with the place in the
 * file that people are shown.
 */
#include "topo/lint/linter.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/vec.h"
#include "base/xml.h"
#include "topo/lint/device.h"

void gt_linter_add(struct gt_linter *l, struct gt_lint_finding finding,
		   const char *where, const char *text)
{
	struct gt_lint *lint = l->lint;
	struct gt_lint_finding *grown;

	l->seen[finding.rule]++;
	if (l->failed)
		return;
	grown = gt_vec_grow_in(l->arena, lint->findings, lint->nfindings,
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

/* Counts lines up to an offset, from the start only if it lies behind. */
static void gt_linter_count(struct gt_linter *l, size_t at)
{
	const struct gt_lint *lint = l->lint;
	size_t i = at < l->counted ? 0 : l->counted;

	if (!i)
		l->line = l->line_begin = 0;
	for (; i < at && i < lint->len; i++)
		if (lint->text[i] == '\n') {
			l->line++;
			l->line_begin = i + 1;
		}
	l->counted = i;
}

void gt_linter_report(struct gt_linter *l, enum gt_lint_rule rule, size_t at,
		      const char *remedy, const char *fmt, ...)
{
	struct gt_lint_finding finding = {
		.rule = rule, .at = at, .remedy = remedy};
	char text[512], where[512];
	va_list ap;

	gt_linter_count(l, at);
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(where, sizeof(where), "%s:%zu:%zu", l->lint->name, l->line + 1,
		 at - l->line_begin + 1);
	gt_linter_add(l, finding, where, text);
}

/* Copies a word; NULL stands for none. */
static const char *gt_linter_keep(struct gt_linter *l, const char *word)
{
	const char *kept = *word ? gt_arena_strdup(l->arena, word) : NULL;

	l->failed |= *word && !kept;
	return kept;
}

void gt_linter_report_elem(struct gt_linter *l, enum gt_lint_rule rule,
			   const struct gt_xml_elem *elem, const char *attr,
			   const char *fmt, ...)
{
	struct gt_lint_finding finding = {.rule = rule};
	struct gt_lint_device device;
	char text[512], where[512];
	size_t len;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	gt_xml_where(elem, attr, where, sizeof(where));
	if (!gt_xml_span(elem, attr, &finding.at, &len))
		finding.at = SIZE_MAX;
	gt_lint_device(elem, &device);
	finding.device = gt_linter_keep(l, device.name);
	finding.bus_id = gt_linter_keep(l, device.bus_id);
	finding.slot = gt_linter_keep(l, device.slot);
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

void gt_linter_edit(struct gt_linter *l, enum gt_lint_rule rule, size_t at,
		    size_t len, const char *text)
{
	struct gt_lint *lint = l->lint;
	struct gt_lint_edit edit = {at, len, gt_arena_strdup(l->arena, text)};
	struct gt_lint_edit *grown;

	if (l->failed)
		return;
	grown = gt_vec_grow_in(l->arena, lint->edits, lint->nedits,
			       &lint->edits_size, sizeof(*grown));
	if (!grown || !edit.text) {
		l->failed = 1;
		return;
	}
	lint->edits = grown;
	lint->edits[lint->nedits++] = edit;
	if (lint->nfindings && lint->findings[lint->nfindings - 1].rule == rule)
		lint->findings[lint->nfindings - 1].is_repaired = 1;
}

void gt_linter_edit_attr(struct gt_linter *l, enum gt_lint_rule rule,
			 const struct gt_xml_elem *elem, const char *attr,
			 const char *value)
{
	size_t at, len;

	if (gt_xml_span(elem, attr, &at, &len))
		gt_linter_edit(l, rule, at, len, value);
}
