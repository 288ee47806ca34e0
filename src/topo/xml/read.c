/*
 * Reads topology XML as a whole: processors first, then all PCI functions below
 * them, then nodes, links and digests.
 */
#include "topo/graph/topo.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/kind.h"
#include "base/xml.h"
#include "topo/xml/digest.h"
#include "topo/graph/graph.h"
#include "topo/graph/memory.h"
#include "topo/xml/reader.h"

enum { GT_READER_MAX_CPUS = 256 };

static int gt_reader_cpu_new(struct gt_reader *reader,
			     const struct gt_xml_elem *elem, struct gt_err *err)
{
	struct gt_arena *arena = reader->topo->arena;
	struct gt_reader_cpu *cpu = &reader->cpus[reader->ncpus];
	struct gt_node node = {.kind = GT_NODE_CPU,
			       .dev = -2,
			       .rank = -1,
			       .line = gt_xml_line(elem)};

	if (reader->ncpus == GT_READER_MAX_CPUS)
		return gt_xml_fail(elem, NULL, err, "more than %d CPUs",
				   GT_READER_MAX_CPUS);
	cpu->elem = elem;
	cpu->cpu.arch = gt_xml_attr(elem, "arch");
	cpu->cpu.vendor = gt_xml_attr(elem, "vendor");
	if (gt_xml_int(elem, "numaid", &node.dev, err) ||
	    gt_xml_int(elem, "familyid", &cpu->cpu.family, err) ||
	    gt_xml_int(elem, "modelid", &cpu->cpu.model, err) ||
	    gt_reader_memory_gbs(reader, elem, &node.memory_gbs, err))
		return GT_EINPUT;
	if (node.dev < -1)
		return gt_xml_fail(elem, NULL, err, "cpu has no numaid");
	for (uint32_t i = 0; i < reader->ncpus; i++)
		if (reader->topo->nodes[reader->cpus[i].node].dev == node.dev)
			return gt_xml_fail(
				elem, "numaid", err,
				"numaid '%d' appears twice, first on line %u",
				node.dev, gt_xml_line(reader->cpus[i].elem));
	node.charge = gt_model_pcie_overhead(&cpu->cpu);
	node.make = gt_model_make(&cpu->cpu);
	node.id = gt_arena_printf(arena, "CPU/%d", node.dev);
	node.name = gt_reader_cpu_name(reader, cpu);
	if (gt_xml_attr(elem, "affinity"))
		node.affinity =
			gt_arena_strdup(arena, gt_xml_attr(elem, "affinity"));
	if (!node.id || !node.name ||
	    (gt_xml_attr(elem, "affinity") && !node.affinity))
		return gt_err_nomem(err);
	reader->ncpus++;
	return gt_graph_node(reader->topo, &node, &cpu->node, err);
}

/* Reads the processors, and lists all PCI functions below them. */
static int gt_reader_scan(struct gt_reader *reader,
			  const struct gt_xml_elem *root, struct gt_err *err)
{
	const struct gt_xml_elem *elem, *sub;
	int rc = GT_OK;

	reader->cpus =
		gt_arena_array(reader->topo->arena, GT_READER_MAX_CPUS + 1,
			       sizeof(*reader->cpus));
	if (!reader->cpus)
		return gt_err_nomem(err);
	for (elem = gt_xml_child(root); elem; elem = gt_xml_next(elem)) {
		if (!gt_xml_is(elem, "cpu"))
			continue;
		rc = gt_reader_cpu_new(reader, elem, err);
		for (sub = gt_xml_child(elem); sub && !rc;
		     sub = gt_xml_next(sub)) {
			if (gt_xml_is(sub, "pci"))
				rc = gt_reader_collect(reader, sub, GT_NONE,
						       err);
			else if (gt_xml_is(sub, "nic"))
				reader->no_nic = 0;
		}
		if (rc)
			return rc;
	}
	if (!reader->ncpus)
		return gt_xml_fail(root, NULL, err,
				   "system has no cpu element");
	return GT_OK;
}

static int gt_reader_build(struct gt_reader *reader, struct gt_err *err)
{
	int rc = gt_reader_index(reader, err);

	for (uint32_t i = 0; i < reader->nfns && !rc; i++)
		rc = gt_reader_fn(reader, &reader->fns[i], err);
	for (uint32_t i = 0; i < reader->ncpus && !rc; i++)
		rc = gt_reader_cpu_nics(reader, i, err);
	for (uint32_t i = 0; i < reader->nfns && !rc; i++) {
		if (reader->fns[i].gpu)
			rc = gt_reader_gpu_links(reader, &reader->fns[i], err);
		else if (reader->fns[i].node != GT_NONE)
			rc = gt_reader_pcilinks(reader, &reader->fns[i], err);
	}
	if (!rc)
		rc = gt_reader_cpu_links(reader, err);
	if (!rc)
		rc = gt_graph_memories(reader->topo, err);
	if (rc)
		return rc;
	gt_reader_number(reader);
	return gt_graph_finish(reader->topo, err);
}

static int gt_reader_root(struct gt_reader *reader,
			  const struct gt_xml_elem *root, struct gt_err *err)
{
	const char *says;

	if (gt_xml_is(root, "cluster"))
		return gt_xml_fail(root, NULL, err,
				   "is a cluster file, where one machine's "
				   "topology is needed; name the file of one "
				   "of its nodes");
	says = gt_kind_of_root(gt_xml_name(root));
	if (says)
		return gt_xml_fail(root, NULL, err, "%s", says);
	if (!gt_xml_is(root, "system"))
		return gt_xml_fail(root, NULL, err,
				   "root element '%.64s' is not 'system': not "
				   "a topology",
				   gt_xml_name(root));
	reader->version = 1;
	if (gt_xml_int(root, "version", &reader->version, err))
		return GT_EINPUT;
	if (reader->version != 1 && reader->version != 2)
		return gt_xml_fail(root, "version", err,
				   "version '%d' is not known (1 is NCCL's, 2 "
				   "RCCL's)",
				   reader->version);
	return GT_OK;
}

int gt_topo_from_xml(const struct gt_xml *xml, enum gt_rates rates,
		     struct gt_topo **out, struct gt_err *err)
{
	const struct gt_xml_elem *root = gt_xml_root(xml);
	struct gt_reader reader = {.rates = rates,
				   .nvs = GT_NONE,
				   .bare = 1,
				   .no_nic = 1,
				   .machine = gt_xml_find(root, "gt_machine")};
	struct gt_topo *topo;
	int rc = gt_graph_new(gt_xml_source(xml), &topo, err);

	if (rc)
		return rc;
	reader.topo = topo;
	topo->facts = gt_reader_facts(&reader, root);
	rc = gt_reader_root(&reader, root, err);
	if (!rc)
		rc = gt_reader_scan(&reader, root, err);
	if (!rc)
		rc = gt_reader_build(&reader, err);
	if (!rc)
		rc = gt_digest_make(root, 0, topo->arena, &topo->digest, err);
	if (!rc)
		rc = gt_digest_make(root, 1, topo->arena, &topo->shape_digest,
				    err);
	if (rc)
		gt_topo_free(topo);
	else
		*out = topo;
	return rc;
}

int gt_topo_parse(const char *name, const char *text, size_t len,
		  enum gt_rates rates, struct gt_topo **topo,
		  struct gt_err *err)
{
	struct gt_xml *xml;
	int rc = gt_xml_parse(name, text, len, &xml, err);

	if (rc)
		return rc;
	rc = gt_topo_from_xml(xml, rates, topo, err);
	gt_xml_free(xml);
	return rc;
}

int gt_topo_read(const char *path, enum gt_rates rates, struct gt_topo **topo,
		 struct gt_err *err)
{
	struct gt_xml *xml;
	int rc = gt_xml_read(path, &xml, err);

	if (rc)
		return rc;
	rc = gt_topo_from_xml(xml, rates, topo, err);
	gt_xml_free(xml);
	return rc;
}
