/* Prints findings, as the two formats of `gtopo lint` need them. */
#include "cli/lint/print.h"

#include "base/buf.h"
#include "base/json_writer.h"
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
	struct gt_json_writer json;

	gt_buf_puts(out, first ? "\n " : ",\n ");
	gt_json_begin(&json, out);
	gt_json_open_object(&json, NULL, GT_JSON_FLAT);
	gt_json_put_text(&json, "severity", gt_lint_severity_name(severity));
	gt_json_put_text(&json, "rule", gt_lint_rule_name(finding->rule));
	gt_json_put_text(&json, "file", lint->name);
	gt_json_put_text(&json, "where", finding->where);
	gt_json_put_text(&json, "text", finding->text);
	if (finding->remedy)
		gt_json_put_text(&json, "remedy", finding->remedy);
	gt_json_end(&json);
}
