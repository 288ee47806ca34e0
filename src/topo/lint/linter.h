/*
 * The state of looking at one file, and how a rule tells what it found; shared
 * by lint.c, bytes.c (as NCCL's reader sees it), element.c (each element),
 * graph.c (all together) and facts.c (what only gtopo tells).
 */
#ifndef GT_TOPO_LINT_LINTER_H
#define GT_TOPO_LINT_LINTER_H

#include <stddef.h>

#include "topo/lint/finding.h"

struct gt_arena;
struct gt_xml;
struct gt_xml_elem;

struct gt_linter {
	struct gt_lint *lint;
	struct gt_arena *arena;
	uint32_t seen[GT_NLINTRULES]; /* findings of each rule so far */
	int failed;                   /* memory ran out */
	/* Lines are counted on from here; offsets mostly grow. */
	size_t counted, line, line_begin;
};

/* Add a finding; `where` and `text` are copied. */
void gt_linter_add(struct gt_linter *l, struct gt_lint_finding finding,
		   const char *where, const char *text);

/* Tell of a fault at this offset of the file. */
void gt_linter_report(struct gt_linter *l, enum gt_lint_rule rule, size_t at,
		      const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Tell of a fault at an attribute, or at the element when attr is NULL. */
void gt_linter_report_elem(struct gt_linter *l, enum gt_lint_rule rule,
			   const struct gt_xml_elem *elem, const char *attr,
			   const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* Give the last finding a remedy, which is copied. */
void gt_linter_remedy(struct gt_linter *l, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Suggest that bytes be replaced, which repairs the last finding if it is one
 * of this rule; the text is copied.
 */
void gt_linter_edit(struct gt_linter *l, enum gt_lint_rule rule, size_t at,
		    size_t len, const char *text);
/* Suggest another value of an attribute, if it is known where it is. */
void gt_linter_edit_attr(struct gt_linter *l, enum gt_lint_rule rule,
			 const struct gt_xml_elem *elem, const char *attr,
			 const char *value);

void gt_lint_bytes(struct gt_linter *l);
void gt_lint_elems(struct gt_linter *l, const struct gt_xml *xml);
void gt_lint_graph(struct gt_linter *l, const struct gt_xml *xml);

/*
 * Returns the numbers of a <gpu>'s NVLinks to NVSwitches that are down, "3 7",
 * or NULL.
 */
const char *gt_lint_nvlinks_down(const struct gt_xml_elem *gpu);
void gt_lint_facts(struct gt_linter *l, const struct gt_xml *xml);

#endif
