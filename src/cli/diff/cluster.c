/* Prints the differences of two clusters. */
#include "cli/diff/cluster.h"

#include <config.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/tint.h"
#include "base/xml.h"
#include "cli/diff/fleet.h"
#include "topo/cluster/cluster.h"
#include "topo/diff/cluster.h"

int gt_diff_is_cluster(const char *path)
{
	struct gt_xml *xml;
	int is;

	if (!strcmp(path, "-") || gt_xml_read(path, &xml, NULL))
		return 0;
	is = gt_xml_is(gt_xml_root(xml), "cluster");
	gt_xml_free(xml);
	return is;
}

static int gt_diff_read(const char *path, struct gt_cluster **cluster,
			struct gt_err *err)
{
	struct gt_topo *topo;
	int rc = gt_cluster_read(path, GT_RATES_MEASURED, cluster, &topo, err);

	if (rc || *cluster)
		return rc;
	gt_topo_free(topo);
	return gt_err_set(err, GT_EINPUT, path,
			  "is a server; the file before is a cluster");
}

/* Compare the servers of a kind, and tell it as gtopo diff does of two. */
static int gt_diff_kind(const struct gt_diff_clusters *ask,
			const struct gt_cluster_kind *a,
			const struct gt_cluster_kind *b, struct gt_buf *out,
			uint32_t *n, struct gt_err *err)
{
	const char *files[2] = {a->file, b->file};
	uint32_t nnodes = ask->nnodes ? ask->nnodes : b->nnodes;
	struct gt_buf text = GT_BUF_INIT;
	struct gt_fleet *fleet;
	int rc;

	if (!strcmp(a->file, b->file))
		return GT_OK;
	rc = gt_fleet_compare(
		&(struct gt_fleet_query){.files = files,
					 .nfiles = 2,
					 .ignore = ask->ignore,
					 .all = ask->all || ask->json,
					 .nnodes = nnodes < 2 ? 0 : nnodes},
		&fleet, err);
	if (rc)
		return rc;
	gt_fleet_print(fleet, ask->colour && !ask->json, &text);
	gt_fleet_free(fleet);
	for (size_t i = 0; i < text.len; i++)
		*n += text.text[i] == '\n';
	if (text.len)
		gt_buf_add(out, text.text, text.len);
	out->failed |= text.failed;
	gt_buf_release(&text);
	return GT_OK;
}

/* A file may stand for several kinds: its servers are compared once. */
static int gt_diff_seen(const struct gt_cluster *a, const struct gt_cluster *b,
			const uint32_t *kind, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (kind[k] != GT_NONE &&
		    !strcmp(a->kinds[k].file, a->kinds[i].file) &&
		    !strcmp(b->kinds[kind[k]].file, b->kinds[kind[i]].file))
			return 1;
	return 0;
}

static int gt_diff_two(const struct gt_diff_clusters *ask,
		       const struct gt_cluster *a, const struct gt_cluster *b,
		       struct gt_buf *out, uint32_t *n, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	uint32_t *kind = NULL;
	int rc = GT_OK;

	if (arena)
		kind = gt_arena_array(arena, a->nkinds, sizeof(*kind));
	if (!kind)
		rc = gt_err_nomem(err);
	if (!rc)
		rc = gt_cluster_diff_kinds(a, b, arena, kind, err);
	if (!rc)
		gt_cluster_diff_print(a, b, kind, ask->colour && !ask->json,
				      out, n);
	for (uint32_t i = 0; !rc && i < a->nkinds; i++)
		if (kind[i] != GT_NONE && !gt_diff_seen(a, b, kind, i))
			rc = gt_diff_kind(ask, &a->kinds[i], &b->kinds[kind[i]],
					  out, n, err);
	gt_arena_free(arena);
	return rc;
}

/* Append the lines of a file as JSON. */
static void gt_diff_json(const char *path, struct gt_buf *lines,
			 struct gt_buf *out, int first)
{
	const char *separator = "";
	char *line, *rest = lines->text;

	gt_buf_puts(out, first ? "\n  {\"file\": " : ",\n  {\"file\": ");
	gt_json_quote(out, path);
	gt_buf_puts(out, ", \"findings\": [");
	while (lines->len && (line = strsep(&rest, "\n")) && *line) {
		gt_buf_printf(out,
			      "%s\n    {\"severity\": \"error\", "
			      "\"rule\": \"cluster\", \"text\": ",
			      separator);
		gt_json_quote(out, line);
		gt_buf_puts(out, "}");
		separator = ",";
	}
	gt_buf_puts(out, "]}");
}

/* Say in a line why a file cannot be read. */
static void gt_diff_unread(const struct gt_diff_clusters *ask, const char *path,
			   const struct gt_err *why, struct gt_buf *out)
{
	char words[sizeof(why->where) + sizeof(why->text)];

	gt_err_words(why, words, sizeof(words));
	gt_tint_put(out, ask->colour && !ask->json, GT_TINT_BOLD, path);
	gt_buf_puts(out, ": cannot be read: ");
	gt_buf_put_plain(out, words);
	gt_buf_puts(out, "\n");
}

/* A comparison of clusters that is under way. */
struct gt_diff_run {
	const struct gt_diff_clusters *ask;
	struct gt_cluster *norm;
	struct gt_buf *out;
	uint32_t nfindings;
	uint32_t nread;    /* of the others */
	struct gt_err why; /* why the first that cannot be read cannot */
};

/* Print the i-th file's findings; that it cannot be read is one. */
static int gt_diff_other(struct gt_diff_run *run, uint32_t i,
			 struct gt_err *err)
{
	const char *path = run->ask->files[i];
	struct gt_buf lines = GT_BUF_INIT;
	struct gt_cluster *other = NULL;
	struct gt_err own;
	int rc;

	gt_err_init(&own);
	rc = gt_diff_read(path, &other, &own);
	if (!rc) {
		run->nread++;
		rc = gt_diff_two(run->ask, run->norm, other, &lines,
				 &run->nfindings, &own);
	} else if (rc == GT_EINPUT) {
		gt_diff_unread(run->ask, path, &own, &lines);
		gt_err_set(&run->why, rc, own.where, "%s", own.text);
		run->nfindings++;
		rc = GT_OK;
	}
	if (rc)
		gt_err_set(err, rc, own.where, "%s", own.text);
	else if (run->ask->json)
		gt_diff_json(path, &lines, run->out, i == 1);
	else if (lines.len)
		gt_buf_add(run->out, lines.text, lines.len);
	run->out->failed |= lines.failed;
	gt_buf_release(&lines);
	gt_cluster_free(other);
	return rc;
}

int gt_diff_clusters(const struct gt_diff_clusters *ask, struct gt_buf *out,
		     uint32_t *nfindings, struct gt_err *err)
{
	struct gt_diff_run run = {.ask = ask, .out = out};
	int rc = gt_diff_read(ask->files[0], &run.norm, err);

	if (rc)
		return rc;
	gt_err_init(&run.why);
	if (ask->json) {
		gt_buf_puts(out, "{\"schema\": \"gtopo.cluster-diff/1\", "
				 "\"gtopo\": \"" PACKAGE_VERSION "\", "
				 "\"norm\": ");
		gt_json_quote(out, run.norm->source);
		gt_buf_puts(out, ", \"clusters\": [");
	}
	for (uint32_t i = 1; i < ask->nfiles && !rc; i++)
		rc = gt_diff_other(&run, i, err);
	if (ask->json)
		gt_buf_puts(out, "\n]}\n");
	gt_cluster_free(run.norm);
	if (!rc && !run.nread)
		rc = gt_err_set(err, run.why.code, run.why.where, "%s",
				run.why.text);
	if (!rc && out->failed)
		rc = gt_err_nomem(err);
	if (!rc)
		*nfindings = run.nfindings;
	return rc;
}
