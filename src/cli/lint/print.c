#include "cli/lint/print.h"

#include "base/buf.h"
#include "base/json.h"
#include "topo/lint/lint.h"

void gt_lint_print(const struct gt_lint_finding *finding, struct gt_buf *out)
{
	enum gt_lint_severity severity = gt_lint_rule_severity(finding->rule);

	gt_buf_printf(out, "%s: %s: %s", finding->where,
		      gt_lint_severity_name(severity), finding->text);
	if (finding->remedy)
		gt_buf_printf(out, "; %s", finding->remedy);
	gt_buf_printf(out, " [%s]", gt_lint_rule_name(finding->rule));
}

void gt_lint_print_json(const struct gt_lint *lint,
			const struct gt_lint_finding *finding, int first,
			struct gt_buf *out)
{
	enum gt_lint_severity severity = gt_lint_rule_severity(finding->rule);

	gt_buf_printf(out, "%s\n {\"severity\": \"%s\", \"rule\": \"%s\", ",
		      first ? "" : ",", gt_lint_severity_name(severity),
		      gt_lint_rule_name(finding->rule));
	gt_buf_puts(out, "\"file\": ");
	gt_json_quote(out, lint->name);
	gt_buf_puts(out, ", \"where\": ");
	gt_json_quote(out, finding->where);
	gt_buf_puts(out, ", \"text\": ");
	gt_json_quote(out, finding->text);
	if (finding->remedy) {
		gt_buf_puts(out, ", \"remedy\": ");
		gt_json_quote(out, finding->remedy);
	}
	gt_buf_puts(out, "}");
}
