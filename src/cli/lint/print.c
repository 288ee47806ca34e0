/* Prints findings, as the two formats of lint and health need them. */
#include "cli/lint/print.h"

#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/json_writer.h"
#include "base/tint.h"
#include "topo/lint/lint.h"

enum {
	GT_LINT_REPEATS = 3,     /* findings of a rule that are told as one */
	GT_LINT_MAX_DEVICES = 8, /* so many of them are named */
};

/* Add "GPU0 0000:1b:00.0 (slot 3)", or what is known of it. */
static void gt_lint_print_device(const struct gt_lint_finding *finding,
				 struct gt_buf *out)
{
	if (finding->device)
		gt_buf_puts(out, finding->device);
	if (finding->bus_id)
		gt_buf_printf(out, "%s%s", finding->device ? " " : "",
			      finding->bus_id);
	if (finding->slot)
		gt_buf_printf(out, " (slot %s)", finding->slot);
}

/* Add what stands before the severity: the place, or host and device. */
static void gt_lint_print_place(const struct gt_lint *lint,
				const struct gt_lint_finding *finding,
				struct gt_lint_style style, struct gt_buf *out)
{
	if (!style.is_machine) {
		gt_buf_puts(out, finding->where);
		return;
	}
	gt_buf_printf(out, "%s%s", lint->host ? lint->host : lint->name,
		      finding->device || finding->bus_id ? " " : "");
	gt_lint_print_device(finding, out);
}

/* Add a part of a line, which must not control the terminal. */
static void gt_lint_print_part(struct gt_buf *part, enum gt_tint tint,
			       struct gt_lint_style style, struct gt_buf *out)
{
	gt_tint_put(out, style.colour, tint, part->len ? part->text : "");
	out->failed |= part->failed;
	part->len = 0;
}

static int gt_lint_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* Name the devices of all findings of a rule, " (GPU0, GPU1, ...)". */
static void gt_lint_print_devices(const struct gt_lint *lint,
				  enum gt_lint_rule rule, struct gt_buf *out)
{
	const char *last = NULL, *device;
	int n = 0;

	for (uint32_t i = 0; i < lint->nfindings; i++) {
		const struct gt_lint_finding *finding = &lint->findings[i];

		device = finding->device;
		if (finding->rule != rule || !device ||
		    !strcmp(device, "switch") || gt_lint_same(last, device))
			continue;
		last = device;
		if (++n <= GT_LINT_MAX_DEVICES)
			gt_buf_printf(out, "%s%s", n == 1 ? " (" : ", ",
				      device);
	}
	if (n)
		gt_buf_puts(out, n > GT_LINT_MAX_DEVICES ? ", ...)" : ")");
}

/* Add what stands behind the severity. */
static void gt_lint_print_fault(const struct gt_lint *lint,
				const struct gt_lint_finding *finding,
				struct gt_lint_style style, uint32_t times,
				struct gt_buf *out)
{
	if (!style.is_machine && (finding->device || finding->bus_id)) {
		gt_lint_print_device(finding, out);
		gt_buf_puts(out, ": ");
	}
	gt_buf_puts(out, finding->text);
	if (finding->remedy)
		gt_buf_printf(out, "; %s%s", finding->remedy,
			      finding->is_repaired ? " (--fix does)" : "");
	if (times > 1) {
		gt_buf_printf(out, "; %u times", times);
		gt_lint_print_devices(lint, finding->rule, out);
		gt_buf_puts(out, ", --all shows each");
	}
	gt_buf_printf(out, " [%s]", gt_lint_rule_name(finding->rule));
}

static void gt_lint_print_line(const struct gt_lint *lint,
			       const struct gt_lint_finding *finding,
			       struct gt_lint_style style, uint32_t times,
			       struct gt_buf *out)
{
	static const enum gt_tint tints[] = {
		[GT_LINT_NOTE] = GT_TINT_CYAN,
		[GT_LINT_WARNING] = GT_TINT_YELLOW,
		[GT_LINT_ERROR] = GT_TINT_RED,
	};
	enum gt_lint_severity severity = gt_lint_rule_severity(finding->rule);
	struct gt_buf part = GT_BUF_INIT;

	gt_lint_print_place(lint, finding, style, &part);
	gt_lint_print_part(&part, GT_TINT_BOLD, style, out);
	gt_buf_puts(out, ": ");
	gt_buf_puts(&part, gt_lint_severity_name(severity));
	gt_lint_print_part(&part, tints[severity], style, out);
	gt_buf_puts(out, ": ");
	gt_lint_print_fault(lint, finding, style, times, &part);
	gt_lint_print_part(&part, GT_TINT_NONE, style, out);
	gt_buf_puts(out, "\n");
	gt_buf_release(&part);
}

void gt_lint_print(const struct gt_lint *lint, struct gt_lint_style style,
		   struct gt_buf *out)
{
	uint32_t times[GT_NLINTRULES] = {0};

	for (uint32_t i = 0; i < lint->nfindings; i++)
		times[lint->findings[i].rule]++;
	for (uint32_t i = 0; i < lint->nfindings; i++) {
		const struct gt_lint_finding *finding = &lint->findings[i];
		uint32_t *left = &times[finding->rule];
		int is_one = style.is_each || *left < GT_LINT_REPEATS;

		if (!*left ||
		    (style.is_machine &&
		     gt_lint_rule_severity(finding->rule) == GT_LINT_NOTE))
			continue;
		gt_lint_print_line(lint, finding, style, is_one ? 1 : *left,
				   out);
		*left = is_one ? *left : 0;
	}
}

static void gt_lint_put(struct gt_json_writer *json, const char *key,
			const char *text)
{
	if (text)
		gt_json_put_text(json, key, text);
}

void gt_lint_print_json(const struct gt_lint *lint, const char **between,
			struct gt_buf *out)
{
	for (uint32_t i = 0; i < lint->nfindings; i++) {
		const struct gt_lint_finding *finding = &lint->findings[i];
		struct gt_json_writer json;

		gt_buf_puts(out, *between);
		*between = ",\n ";
		gt_json_begin(&json, out);
		gt_json_open_object(&json, NULL, GT_JSON_FLAT);
		gt_json_put_text(&json, "severity",
				 gt_lint_severity_name(
					 gt_lint_rule_severity(finding->rule)));
		gt_json_put_text(&json, "rule",
				 gt_lint_rule_name(finding->rule));
		gt_json_put_text(&json, "file", lint->name);
		gt_json_put_text(&json, "where", finding->where);
		gt_lint_put(&json, "host", lint->host);
		gt_lint_put(&json, "device", finding->device);
		gt_lint_put(&json, "bus_id", finding->bus_id);
		gt_lint_put(&json, "slot", finding->slot);
		gt_json_put_text(&json, "text", finding->text);
		gt_lint_put(&json, "remedy", finding->remedy);
		gt_json_put_bool(&json, "fix", finding->is_repaired);
		gt_json_end(&json);
	}
}
