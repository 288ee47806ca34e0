/* Counts the findings of a health report by their labels. */
#include "cli/health/prometheus.h"

#include <config.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/vec.h"
#include "topo/graph/topo.h"

static const char *const severities[] = {"error", "warning", "note"};

enum { NSEVERITIES = sizeof(severities) / sizeof(severities[0]) };

/* The labels of each finding, and how many there are of each severity. */
struct metrics {
	struct gt_arena *arena;
	const char **labels;
	uint32_t n, room;
	uint32_t of_severity[NSEVERITIES];
};

/* Appends one label, as text of Prometheus; nothing where there is no value. */
static void put_label(struct gt_buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	gt_buf_printf(out, "%s%s=\"", out->len ? "," : "", name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			gt_buf_puts(out, "\\");
		if (*value == '\n')
			gt_buf_puts(out, "\\n");
		else
			gt_buf_add(out, value, 1);
	}
	gt_buf_puts(out, "\"");
}

/* A missing device has its name from the machine that is expected. */
static const char *label_of(const struct gt_json *finding, const char *name)
{
	const char *text = gt_json_member_text(finding, name);

	return text || strcmp(name, "device")
		       ? text
		       : gt_json_member_text(finding, "norm_device");
}

static int add_finding(struct metrics *metrics, const struct gt_json *finding,
		       struct gt_err *err)
{
	static const char *const names[] = {"severity", "rule", "device",
					    "bus_id", "slot"};
	const char *severity = gt_json_member_text(finding, "severity");
	struct gt_buf labels = GT_BUF_INIT;
	const char *kept, **grown;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put_label(&labels, names[i], label_of(finding, names[i]));
	for (int i = 0; i < NSEVERITIES && severity; i++)
		metrics->of_severity[i] += !strcmp(severity, severities[i]);
	kept = labels.failed
		       ? NULL
		       : gt_arena_strdup(metrics->arena, gt_buf_text(&labels));
	gt_buf_release(&labels);
	grown = gt_vec_grow_in(metrics->arena, metrics->labels, metrics->n,
			       &metrics->room, sizeof(*grown));
	if (!kept || !grown)
		return gt_err_nomem(err);
	metrics->labels = grown;
	metrics->labels[metrics->n++] = kept;
	return GT_OK;
}

/* Adds the findings of a member that is an array; there may be none. */
static int add_findings(struct metrics *metrics, const struct gt_json *object,
			const char *key, struct gt_err *err)
{
	struct gt_json array, item;
	uint32_t n = 0;
	int rc = GT_OK;

	if (!gt_json_get(object, key, &array) ||
	    gt_json_array(&array, &n, NULL))
		return GT_OK;
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&array, i, &item);
		rc = add_finding(metrics, &item, err);
	}
	return rc;
}

/* Adds what differs from the expected machine, if one was named. */
static int add_differences(struct metrics *metrics, const struct gt_json *root,
			   struct gt_err *err)
{
	struct gt_json diff, groups, group;
	uint32_t n = 0;
	int rc = GT_OK;

	if (!gt_json_get(root, "diff", &diff) || gt_json_is_null(&diff))
		return GT_OK;
	rc = gt_json_need(&diff, "groups", &groups, err);
	if (!rc)
		rc = gt_json_array(&groups, &n, err);
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&groups, i, &group);
		rc = add_findings(metrics, &group, "findings", err);
	}
	return rc;
}

static void put_head(struct gt_buf *out, const char *name, const char *help)
{
	gt_buf_printf(out, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name);
}

static int compare(const void *left, const void *right)
{
	const char *const *a = left, *const *b = right;

	return strcmp(*a, *b);
}

static void put_findings(struct metrics *metrics, struct gt_buf *out)
{
	uint32_t n;

	put_head(out, "gtopo_health_findings",
		 "Findings of each severity, notes included.");
	for (int i = 0; i < NSEVERITIES; i++)
		gt_buf_printf(out,
			      "gtopo_health_findings{severity=\"%s\"} %u\n",
			      severities[i], metrics->of_severity[i]);
	if (!metrics->n)
		return;
	put_head(out, "gtopo_health_device_findings",
		 "Findings of a rule about a device.");
	qsort(metrics->labels, metrics->n, sizeof(*metrics->labels), compare);
	for (uint32_t i = 0; i < metrics->n; i += n) {
		n = 1;
		while (i + n < metrics->n &&
		       !strcmp(metrics->labels[i], metrics->labels[i + n]))
			n++;
		gt_buf_printf(out, "gtopo_health_device_findings{%s} %u\n",
			      metrics->labels[i], n);
	}
}

/* Writes what the machine is, so that a lost GPU shows as a number, too. */
static void put_machine(const struct gt_topo *topo, struct gt_buf *out)
{
	struct gt_buf labels = GT_BUF_INIT;

	put_head(out, "gtopo_health_devices",
		 "GPUs and network ports that were found.");
	gt_buf_printf(out,
		      "gtopo_health_devices{kind=\"gpu\"} %u\n"
		      "gtopo_health_devices{kind=\"port\"} %u\n",
		      gt_topo_ngpus(topo), gt_topo_nnets(topo));
	put_head(out, "gtopo_health_info",
		 "Which gtopo looked, and the digest of what it saw.");
	put_label(&labels, "version", PACKAGE_VERSION);
	put_label(&labels, "digest", gt_topo_digest(topo));
	put_label(&labels, "shape_digest", gt_topo_shape_digest(topo));
	gt_buf_printf(out, "gtopo_health_info{%s} 1\n",
		      labels.failed ? "" : gt_buf_text(&labels));
	out->failed |= labels.failed;
	gt_buf_release(&labels);
}

static int is_healthy(const struct gt_json *root)
{
	struct gt_json value;
	int healthy = 0;

	if (gt_json_get(root, "healthy", &value))
		gt_json_bool(&value, &healthy, NULL);
	return healthy;
}

static void put_all(struct metrics *metrics, const struct gt_json *root,
		    const struct gt_topo *topo, struct gt_buf *out)
{
	put_head(out, "gtopo_health_healthy",
		 "1 if nothing is worse than a note.");
	gt_buf_printf(out, "gtopo_health_healthy %d\n", is_healthy(root));
	put_findings(metrics, out);
	put_machine(topo, out);
	put_head(out, "gtopo_health_timestamp_seconds",
		 "When this was so, in seconds since 1970.");
	gt_buf_printf(out, "gtopo_health_timestamp_seconds %lld\n",
		      (long long)time(NULL));
}

int gt_prometheus(const struct gt_buf *json, const struct gt_topo *topo,
		  struct gt_arena *arena, struct gt_buf *out,
		  struct gt_err *err)
{
	struct metrics metrics = {.arena = arena};
	struct gt_json_doc *doc;
	struct gt_json root;
	int rc = json->failed ? gt_err_nomem(err)
			      : gt_json_parse("health", json->text, json->len,
					      &doc, err);

	if (rc)
		return rc;
	root = gt_json_root(doc);
	rc = add_findings(&metrics, &root, "lint", err);
	if (!rc)
		rc = add_differences(&metrics, &root, err);
	if (!rc)
		rc = add_findings(&metrics, &root, "reach", err);
	if (!rc)
		put_all(&metrics, &root, topo, out);
	gt_json_close(doc);
	return rc;
}
