/*
 * Writes labels for nodes of Kubernetes: what a machine is, and where it is in
 * the network.  Keys of the network are those that NVIDIA's topograph has, so
 * that what schedules by them needs no other rule.
 */
#include "topo/interop/interop.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "topo/cluster/cluster.h"
#include "topo/graph/topo.h"
#include "topo/interop/span.h"
#include "topo/view/show_text.h"

#define GT_K8S_NETWORK "network.topology.nvidia.com/"

enum {
	GT_K8S_VALUE = 64, /* a value's characters, and the NUL */
	GT_K8S_MODEL = 256,
	GT_K8S_DIGITS = 16,
};

/* How a label is written: "key=value", or in YAML. */
struct labels {
	int is_yaml;
	struct gt_buf *out;
};

/* Makes a value of text: other characters than a label may have become "-". */
static void make_value(const char *text, char value[GT_K8S_VALUE])
{
	size_t n = 0;

	for (; *text && n < GT_K8S_VALUE - 1; text++) {
		unsigned char c = (unsigned char)*text;
		int is_plain = c < 0x80 && isalnum(c);

		if (is_plain || (n && (c == '.' || c == '_')))
			value[n++] = (char)c;
		else if (n && value[n - 1] != '-')
			value[n++] = '-';
	}
	while (n && !isalnum((unsigned char)value[n - 1]))
		n--;
	value[n] = '\0';
}

static void put_label(const struct labels *labels, const char *key,
		      const char *text)
{
	char value[GT_K8S_VALUE];

	make_value(text, value);
	if (!*value)
		return;
	gt_buf_printf(labels->out,
		      labels->is_yaml ? "    %s: \"%s\"\n" : "%s=%s\n", key,
		      value);
}

static void put_number(const struct labels *labels, const char *key, double n)
{
	char text[GT_K8S_VALUE];

	snprintf(text, sizeof(text), "%.0f", n);
	put_label(labels, key, text);
}

/* Returns what a GPU sends over NVLink at most, in GB/s. */
static double nvlink_gbs(const struct gt_topo *topo, uint32_t gpu)
{
	double sum = 0;

	for (uint32_t i = 0; i < gt_topo_nlinks(topo); i++) {
		const struct gt_link *link = gt_topo_link(topo, i);

		if (link->kind == GT_LINK_NVL && link->from == gpu)
			sum += gt_rat_double(link->gbs);
	}
	return sum;
}

/* Writes what all GPUs have in common: model, architecture, least NVLink. */
static void put_gpus(const struct labels *labels, const struct gt_topo *topo)
{
	char first[GT_K8S_MODEL], model[GT_K8S_MODEL];
	double least = 0, gbs;
	int is_same = 1, sm = 0;

	for (uint32_t i = 0; i < gt_topo_ngpus(topo); i++) {
		const struct gt_node *gpu =
			gt_topo_node(topo, gt_topo_gpu(topo, i));

		gt_show_model(gpu, model, sizeof(model));
		gbs = nvlink_gbs(topo, gt_topo_gpu(topo, i));
		if (!i) {
			memcpy(first, model, sizeof(first));
			sm = gpu->sm;
			least = gbs;
		}
		is_same &= !strcmp(first, model) && gpu->sm == sm;
		least = gbs < least ? gbs : least;
	}
	if (gt_topo_ngpus(topo) && is_same) {
		put_label(labels, "gtopo/gpu-model", first);
		if (sm)
			put_number(labels, "gtopo/gpu-sm", sm);
	}
	if (least > 0)
		put_number(labels, "gtopo/nvlink-gbs", least);
}

static void put_machine(const struct labels *labels, const struct gt_topo *topo)
{
	const char *digest = gt_topo_shape_digest(topo);
	const char *digits = digest ? strchr(digest, ':') : NULL;
	char shape[GT_K8S_DIGITS + 1];
	uint32_t cpus = 0;

	for (uint32_t i = 0; i < gt_topo_nnodes(topo); i++)
		cpus += gt_topo_node(topo, i)->kind == GT_NODE_CPU;
	put_number(labels, "gtopo/gpus", gt_topo_ngpus(topo));
	put_gpus(labels, topo);
	put_number(labels, "gtopo/ports", gt_topo_nnets(topo));
	put_number(labels, "gtopo/numa-nodes", cpus);
	if (!digits)
		return;
	snprintf(shape, sizeof(shape), "%s", digits + 1);
	put_label(labels, "gtopo/shape", shape);
}

void gt_k8s_machine(const struct gt_topo *topo, struct gt_buf *out)
{
	const struct labels labels = {.out = out};

	put_machine(&labels, topo);
}

/* Writes the switches that a node hangs below, and its NVLink domain. */
static void put_place(const struct labels *labels,
		      const struct gt_cluster *cluster, uint32_t node)
{
	static const char *const keys[] = {GT_K8S_NETWORK "leaf",
					   GT_K8S_NETWORK "spine",
					   GT_K8S_NETWORK "core"};
	const struct gt_cluster_fabric *net = &cluster->fabrics[GT_FABRIC_NET];
	const struct gt_cluster_fabric *nvlink =
		&cluster->fabrics[GT_FABRIC_NVLINK];
	char name[GT_SPAN_NAME];

	for (uint32_t i = 0; i < net->nlevels && i < 3; i++)
		put_label(labels, keys[i],
			  gt_span_name(i, node / net->levels[i].nodes, name));
	if (!nvlink->nlevels)
		return;
	snprintf(name, sizeof(name), "nvlink%" PRIu32,
		 node / nvlink->levels[0].nodes);
	put_label(labels, GT_K8S_NETWORK "accelerator", name);
}

int gt_k8s_cluster(const struct gt_cluster *cluster, struct gt_buf *out,
		   struct gt_err *err)
{
	const struct labels labels = {.is_yaml = 1, .out = out};
	int rc = gt_span_check_names(cluster, 1, err);
	char name[256];

	for (uint32_t i = 0; i < cluster->nnodes && !rc; i++) {
		gt_cluster_node_name(cluster, i, name, sizeof(name));
		gt_buf_printf(out,
			      "---\napiVersion: v1\nkind: Node\nmetadata:\n"
			      "  name: \"%s\"\n  labels:\n",
			      name);
		put_machine(&labels, gt_cluster_kind_of(cluster, i)->topo);
		put_place(&labels, cluster, i);
	}
	return rc;
}
