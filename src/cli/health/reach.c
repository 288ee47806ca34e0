/*
 * Compares measured rates with what they should be, and words those that fall
 * short.
 */
#include "cli/health/reach.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_writer.h"
#include "base/xml.h"
#include "cli/common/gpu_match.h"
#include "topo/xml/measured.h"
#include "topo/graph/part.h"
#include "topo/graph/path.h"
#include "topo/probe/pci_ids.h"
#include "topo/graph/topo.h"

/* NVLink and PCI Express keep 85 to 90% of their line rate for data. */
#define GT_REACH_LINE   0.7
#define GT_REACH_OTHERS 0.9

struct gt_reach {
	const struct gt_reach_query *ask;
	struct gt_arena *arena;
	struct gt_measured is, wanted; /* wanted: nothing, where unknown */
	uint32_t *image;               /* the wanted GPU of each, or none */
	double *rates;                 /* room for one a pair */
	struct gt_reach_finding *first, **last;
	int failed;
};

/*
 * The values that are compared of a GPU and the host, and of two GPUs; each may
 * differ by `times` the tolerance.  What all GPUs get of the host's memory
 * depends on who else uses it: on a virtual machine it fell from 45 to 40 GB/s
 * between two runs.
 */
struct gt_reach_value {
	const char *what;
	size_t at;
	int times;
	int is_latency;
};

static const struct gt_reach_value gt_reach_hosts[] = {
	{"from the host", offsetof(struct gt_measured_gpu, to_gbs), 1, 0},
	{"to the host", offsetof(struct gt_measured_gpu, from_gbs), 1, 0},
	{"from the host while all GPUs do",
	 offsetof(struct gt_measured_gpu, all_to_gbs), 3, 0},
	{"to the host while all GPUs do",
	 offsetof(struct gt_measured_gpu, all_from_gbs), 3, 0},
	{NULL, 0, 0, 0},
};

static const struct gt_reach_value gt_reach_peers[] = {
	{"alone", offsetof(struct gt_measured_peer, gbs), 1, 0},
	{"both ways at once", offsetof(struct gt_measured_peer, both_gbs), 1,
	 0},
	{"while all GPUs send", offsetof(struct gt_measured_peer, ring_gbs), 1,
	 0},
	{"latency", offsetof(struct gt_measured_peer, latency_ns), 2, 1},
	{NULL, 0, 0, 0},
};

static double gt_reach_get(const void *values, const struct gt_reach_value *v)
{
	double value;

	memcpy(&value, (const char *)values + v->at, sizeof(value));
	return value;
}

static const char *gt_reach_name(const struct gt_reach *reach, uint32_t gpu)
{
	return gpu == UINT32_MAX ? "host" : reach->is.gpus[gpu].bus_id;
}

static void gt_reach_add(struct gt_reach *reach, const char *kind,
			 uint32_t from, uint32_t to, char *text)
{
	struct gt_reach_finding *made =
		gt_arena_alloc(reach->arena, sizeof(*made));

	if (!made || !text) {
		reach->failed = 1;
		return;
	}
	made->kind = kind;
	made->from = gt_reach_name(reach, from);
	made->to = gt_reach_name(reach, to);
	made->text = text;
	*reach->last = made;
	reach->last = &made->next;
}

/* Add "GPU 0000:06:00.0 to 0000:07:00.0". */
static const char *gt_reach_who(struct gt_reach *reach, uint32_t from,
				uint32_t to)
{
	const char *name =
		to == UINT32_MAX ? gt_arena_printf(reach->arena, "GPU %s",
						   gt_reach_name(reach, from))
				 : gt_arena_printf(reach->arena, "GPU %s to %s",
						   gt_reach_name(reach, from),
						   gt_reach_name(reach, to));

	return name ? name : "";
}

/* Report the first value that is not as expected; 1 if any was expected. */
static int gt_reach_expected(struct gt_reach *reach, uint32_t from, uint32_t to,
			     const struct gt_reach_value *v, const void *is,
			     const void *wanted)
{
	double slack, have, want;
	int any = 0;

	for (; v->what; v++) {
		have = gt_reach_get(is, v);
		want = gt_reach_get(wanted, v);
		if (have <= 0 || want <= 0)
			continue;
		any = 1;
		slack = reach->ask->tolerance * v->times;
		if (v->is_latency ? have <= want * (1 + slack)
				  : have >= want * (1 - slack))
			continue;
		gt_reach_add(reach, "expected", from, to,
			     gt_arena_printf(reach->arena,
					     v->is_latency
						     ? "%s: %s %.0f ns, "
						       "expected %.0f"
						     : "%s: %s %.1f GB/s, "
						       "expected %.1f",
					     gt_reach_who(reach, from, to),
					     v->what, have, want));
		return 1;
	}
	return any;
}

static int gt_reach_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Judge a rate by its line rate (0: unknown), then by n others of its kind. */
static void gt_reach_plain(struct gt_reach *reach, uint32_t from, uint32_t to,
			   const char *what, double have, double line,
			   double usual)
{
	const char *who = gt_reach_who(reach, from, to);

	if (have < GT_REACH_LINE * line)
		gt_reach_add(reach, "line", from, to,
			     gt_arena_printf(reach->arena,
					     "%s: %s %.1f GB/s, %.0f%% of the "
					     "line rate of %.1f",
					     who, what, have, 100 * have / line,
					     line));
	else if (have < GT_REACH_OTHERS * usual)
		gt_reach_add(reach, "others", from, to,
			     gt_arena_printf(reach->arena,
					     "%s: %s %.1f GB/s, others of the "
					     "kind have %.1f",
					     who, what, have, usual));
}

static double gt_reach_median(double *rates, size_t n)
{
	qsort(rates, n, sizeof(*rates), gt_reach_cmp);
	return n ? rates[n / 2] : 0;
}

/* The machine's graph with line rates, and the GPUs' nodes in it. */
struct gt_reach_lines {
	struct gt_topo *topo;
	struct gt_paths *paths;
	uint32_t *nodes;
};

static double gt_reach_host_line(const struct gt_reach_lines *lines,
				 uint32_t gpu)
{
	const struct gt_pci *pci =
		gt_topo_node(lines->topo, lines->nodes[gpu])->pci;

	return !pci || (pci->assumed && strstr(pci->assumed, ":nccl"))
		       ? 0
		       : gt_rat_double(gt_pci_gbs(pci->link));
}

static void gt_reach_host(struct gt_reach *reach,
			  const struct gt_reach_lines *lines, uint32_t gpu)
{
	const struct gt_reach_value *v = gt_reach_hosts;
	double line = gt_reach_host_line(lines, gpu);
	size_t n;

	for (int k = 0; k < 2; k++, v++) {
		n = 0;
		for (uint32_t i = 0; i < reach->is.ngpus; i++)
			if (gt_reach_host_line(lines, i) == line &&
			    gt_reach_get(&reach->is.gpus[i], v) > 0)
				reach->rates[n++] =
					gt_reach_get(&reach->is.gpus[i], v);
		gt_reach_plain(reach, gpu, UINT32_MAX, v->what,
			       gt_reach_get(&reach->is.gpus[gpu], v), line,
			       gt_reach_median(reach->rates, n));
	}
}

/* Only NVLink's line rate is known from end to end. */
static void gt_reach_pair(struct gt_reach *reach,
			  const struct gt_reach_lines *lines, uint32_t from,
			  uint32_t to)
{
	const struct gt_path *path, *other;
	size_t n = 0;

	path = gt_paths_get(lines->paths, lines->nodes[from], lines->nodes[to]);
	for (uint32_t i = 0; i < reach->is.ngpus; i++)
		for (uint32_t j = 0; j < reach->is.ngpus; j++) {
			other = gt_paths_get(lines->paths, lines->nodes[i],
					     lines->nodes[j]);
			if (i != j && other->kind == path->kind &&
			    !gt_rat_cmp(other->gbs, path->gbs) &&
			    gt_measured_peer(&reach->is, i, j)->gbs > 0)
				reach->rates[n++] =
					gt_measured_peer(&reach->is, i, j)->gbs;
		}
	gt_reach_plain(reach, from, to, gt_reach_peers[0].what,
		       gt_measured_peer(&reach->is, from, to)->gbs,
		       path->kind == GT_PATH_NVL ? gt_rat_double(path->gbs) : 0,
		       gt_reach_median(reach->rates, n));
}

/* Report a GPU that programs should see and do not; 1 if it is one. */
static int gt_reach_hidden(struct gt_reach *reach, uint32_t gpu)
{
	const struct gt_measured_gpu *is = &reach->is.gpus[gpu];
	uint32_t image = reach->image[gpu];
	int wanted =
		image != UINT32_MAX && !reach->wanted.gpus[image].hidden[0];

	if (wanted && is->hidden[0])
		gt_reach_add(reach, "hidden", gpu, UINT32_MAX,
			     gt_arena_printf(reach->arena,
					     "GPU %s: hidden by %s", is->bus_id,
					     is->hidden));
	else if (reach->ask->measured && is->to_gbs <= 0)
		gt_reach_add(reach, "hidden", gpu, UINT32_MAX,
			     gt_arena_printf(reach->arena,
					     "GPU %s: not measured, CUDA does "
					     "not show it",
					     is->bus_id));
	else
		return 0;
	return 1;
}

/*
 * Are the two meant not to reach each other?  What is expected of others with
 * access is not of them.
 */
static int gt_reach_is_apart(const struct gt_reach *reach,
			     const struct gt_reach_lines *lines, uint32_t from,
			     uint32_t to)
{
	return reach->ask->p2p &&
	       gt_paths_get(lines->paths, lines->nodes[from], lines->nodes[to])
		       ->is_staged;
}

static void gt_reach_gpu(struct gt_reach *reach,
			 const struct gt_reach_lines *lines, uint32_t gpu)
{
	const struct gt_measured *wanted = &reach->wanted;
	uint32_t image = reach->image[gpu], to;

	if (gt_reach_hidden(reach, gpu) || !reach->ask->measured)
		return;
	if (image == UINT32_MAX ||
	    !gt_reach_expected(reach, gpu, UINT32_MAX, gt_reach_hosts,
			       &reach->is.gpus[gpu], &wanted->gpus[image]))
		gt_reach_host(reach, lines, gpu);
	for (uint32_t k = 0; k < reach->is.ngpus; k++) {
		to = reach->image[k];
		if (k == gpu || reach->is.gpus[k].to_gbs <= 0)
			continue;
		if (image == UINT32_MAX || to == UINT32_MAX ||
		    gt_reach_is_apart(reach, lines, gpu, k) ||
		    !gt_reach_expected(reach, gpu, k, gt_reach_peers,
				       gt_measured_peer(&reach->is, gpu, k),
				       gt_measured_peer(wanted, image, to)))
			gt_reach_pair(reach, lines, gpu, k);
	}
}

static int gt_reach_lines_find(struct gt_reach *reach,
			       struct gt_reach_lines *lines, struct gt_err *err)
{
	const struct gt_buf *text = reach->ask->machine;
	uint32_t gpu, node;
	int rc = gt_topo_parse("this machine", text->text, text->len,
			       GT_RATES_LINE, &lines->topo, err);

	if (!rc)
		rc = gt_topo_part_gpus(lines->topo, reach->ask->p2p, err);
	if (!rc)
		rc = gt_paths_new(lines->topo, &lines->paths, err);
	lines->nodes = gt_arena_array(reach->arena, reach->is.ngpus,
				      sizeof(*lines->nodes));
	if (rc || !lines->nodes)
		return rc ? rc : gt_err_nomem(err);
	for (uint32_t i = 0; i < gt_topo_ngpus(lines->topo); i++) {
		node = gt_topo_gpu(lines->topo, i);
		gpu = gt_measured_find(&reach->is,
				       gt_topo_node(lines->topo, node)->bus_id);
		if (gpu != UINT32_MAX)
			lines->nodes[gpu] = node;
	}
	return GT_OK;
}

static int gt_reach_load(struct gt_reach *reach, struct gt_err *err)
{
	const struct gt_reach_query *ask = reach->ask;
	struct gt_xml *xml;
	size_t n;
	int rc = gt_xml_parse("this machine", ask->machine->text,
			      ask->machine->len, &xml, err);

	if (rc)
		return rc;
	rc = gt_measured_read(xml, reach->arena, &reach->is, err);
	gt_xml_free(xml);
	if (!rc && ask->expect) {
		rc = gt_xml_read(ask->expect, &xml, err);
		if (rc)
			return rc;
		rc = gt_measured_read(xml, reach->arena, &reach->wanted, err);
		gt_xml_free(xml);
	}
	n = reach->is.ngpus;
	reach->image = gt_arena_array(reach->arena, n, sizeof(*reach->image));
	reach->rates =
		gt_arena_array(reach->arena, n * n, sizeof(*reach->rates));
	if (rc || !reach->image || !reach->rates)
		return rc ? rc : gt_err_nomem(err);
	return gt_gpu_match(
		&(struct gt_gpu_match_query){&reach->wanted, ask->expect,
					     &reach->is, ask->machine},
		reach->arena, reach->image, err);
}

int gt_reach_find(const struct gt_reach_query *ask, struct gt_arena *arena,
		  struct gt_reach_finding **findings, struct gt_err *err)
{
	struct gt_reach reach = {.ask = ask, .arena = arena};
	struct gt_reach_lines lines = {0};
	int rc = gt_reach_load(&reach, err);

	reach.last = &reach.first;
	if (!rc)
		rc = gt_reach_lines_find(&reach, &lines, err);
	for (uint32_t i = 0; i < reach.is.ngpus && !rc; i++)
		gt_reach_gpu(&reach, &lines, i);
	gt_paths_free(lines.paths);
	gt_topo_free(lines.topo);
	if (!rc && reach.failed)
		rc = gt_err_nomem(err);
	if (!rc)
		*findings = reach.first;
	return rc;
}

void gt_reach_print(const struct gt_reach_finding *findings, struct gt_buf *out)
{
	for (; findings; findings = findings->next)
		gt_buf_printf(out, "%s\n", findings->text);
}

void gt_reach_print_json(const struct gt_reach_finding *findings,
			 struct gt_buf *out)
{
	struct gt_json_writer json;
	const char *between = "\n ";

	for (; findings; findings = findings->next) {
		gt_buf_puts(out, between);
		gt_json_begin(&json, out);
		gt_json_open_object(&json, NULL, GT_JSON_FLAT);
		gt_json_put_text(&json, "severity", "error");
		gt_json_put_text(&json, "rule", findings->kind);
		gt_json_put_text(&json, "kind", findings->kind);
		gt_json_put_text(&json, "device", findings->from);
		if (strcmp(findings->from, "host") != 0)
			gt_json_put_text(&json, "bus_id", findings->from);
		gt_json_put_text(&json, "from", findings->from);
		gt_json_put_text(&json, "to", findings->to);
		gt_json_put_text(&json, "text", findings->text);
		gt_json_end(&json);
		between = ",\n ";
	}
}
