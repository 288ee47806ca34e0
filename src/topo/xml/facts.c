/*
 * Collects what people are told of functions, GPUs, cards and machines beside
 * their place in the graph: firmware, states, rates of both ends of a link.
 */
#include "topo/xml/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/xml.h"
#include "topo/graph/graph.h"
#include "topo/graph/model.h"
#include "topo/graph/peer_cause.h"
#include "topo/probe/pci_ids.h"

static int gt_facts_hex(const struct gt_pci_fn *fn, const char *attr)
{
	const char *text = gt_xml_attr(fn->elem, attr);

	return text ? (int)(strtoul(text, NULL, 16) & 0xffff) : 0;
}

/*
 * A value that cannot be read here is unknown; the reader proper complains of
 * it.
 */
const struct gt_pci *gt_reader_pci(struct gt_reader *reader,
				   const struct gt_pci_fn *fn)
{
	struct gt_arena *arena = reader->topo->arena;
	struct gt_pci *pci = gt_arena_alloc(arena, sizeof(*pci));
	const char *speed = gt_xml_attr(fn->elem, "link_speed");
	const char *assumed = gt_xml_attr(fn->elem, "gt_assumed");
	const char *slot = gt_xml_attr(fn->elem, "gt_slot");

	if (!pci)
		return NULL;
	pci->vendor = gt_facts_hex(fn, "vendor");
	pci->device = gt_facts_hex(fn, "device");
	pci->link.gts = speed ? gt_model_gts(speed) : GT_RAT(0, 1);
	pci->link.width = gt_model_width(gt_xml_attr(fn->elem, "link_width"));
	pci->max = gt_model_rate(gt_xml_attr(fn->elem, "gt_max"));
	pci->cur = gt_model_rate(gt_xml_attr(fn->elem, "gt_cur"));
	pci->port_max = gt_model_rate(gt_xml_attr(fn->elem, "gt_port_max"));
	pci->port_cur = gt_model_rate(gt_xml_attr(fn->elem, "gt_port_cur"));
	if (assumed && *assumed) {
		pci->assumed = gt_arena_strdup(arena, assumed);
		if (!pci->assumed)
			return NULL;
	}
	if (slot && *slot) {
		pci->slot = gt_arena_strdup(arena, slot);
		if (!pci->slot)
			return NULL;
	}
	return pci;
}

const char *gt_reader_cpu_name(struct gt_reader *reader,
			       const struct gt_reader_cpu *cpu)
{
	const char *name = gt_xml_attr(cpu->elem, "gt_name");
	const char *arch = cpu->cpu.arch ? cpu->cpu.arch : "";
	const char *vendor = cpu->cpu.vendor ? cpu->cpu.vendor : "";

	if (name && *name)
		return gt_arena_strdup(reader->topo->arena, name);
	return gt_arena_printf(reader->topo->arena, "%s%s%s", arch,
			       *arch && *vendor ? " " : "", vendor);
}

/* Appends one thing more, after a comma. */
static void gt_facts_say(struct gt_buf *text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void gt_facts_say(struct gt_buf *text, const char *fmt, ...)
{
	char one[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(one, sizeof(one), fmt, ap);
	va_end(ap);
	gt_buf_printf(text, "%s%s", text->len ? ", " : "", one);
}

/*
 * Returns what was said so far, to last as long as the topology; NULL when that
 * is nothing.
 */
static const char *gt_facts_keep(struct gt_reader *reader, struct gt_buf *text)
{
	const char *kept = text->len && !text->failed
				   ? gt_arena_strdup(reader->topo->arena,
						     gt_buf_text(text))
				   : NULL;

	gt_buf_release(text);
	return kept;
}

/* The bits of gt_port_acs that send peers' requests up, and their answers. */
enum { GT_FACTS_ACS_REDIRECT = 0xc };

static const char *gt_facts_peer_cause(const struct gt_reader *reader,
				       const struct gt_pci_fn *fn,
				       const struct gt_node *node)
{
	const struct gt_xml_elem *gpu = fn->gpu;
	const char *acs = gt_xml_text(fn->elem, "gt_port_acs");
	const char *name = gt_xml_attr(gpu, "gt_name");
	struct gt_peer_facts facts = {
		.said = gt_xml_text(gpu, "gt_p2p_why"),
		.name = name ? name : gt_pci_name(node->pci),
		.vm = reader->machine ? gt_xml_attr(reader->machine, "vm")
				      : NULL,
		.has_mig = *gt_xml_text(gpu, "gt_mig") == '1',
		.redirects =
			(strtoul(acs, NULL, 16) & GT_FACTS_ACS_REDIRECT) != 0,
		.translates = !strcmp(gt_xml_text(reader->machine, "iommu"),
				      "translating")};

	return gt_peer_cause(&facts);
}

void gt_reader_gpu_facts(struct gt_reader *reader, const struct gt_pci_fn *fn,
			 struct gt_node *node)
{
	const struct gt_xml_elem *gpu = fn->gpu;
	struct gt_buf facts = GT_BUF_INIT, problem = GT_BUF_INIT;
	const char *firmware = gt_xml_text(gpu, "gt_firmware");
	const char *hidden = gt_xml_text(gpu, "gt_hidden");
	const char *down = gt_xml_text(gpu, "gt_nvlinks_down");

	if (*firmware)
		gt_facts_say(&facts, "firmware %s", firmware);
	if (*gt_xml_text(gpu, "gt_mig") == '1')
		gt_facts_say(&problem, "cut into instances (MIG)");
	if (*hidden)
		gt_facts_say(&problem, "hidden by %s", hidden);
	if (*down)
		gt_facts_say(&problem, "NVLinks down: %s", down);
	node->facts = gt_facts_keep(reader, &facts);
	node->problem = gt_facts_keep(reader, &problem);
	node->peer_cause = gt_facts_peer_cause(reader, fn, node);
}

/* Ports without a number are in no graph, because they are down. */
void gt_reader_nic_facts(struct gt_reader *reader,
			 const struct gt_xml_elem *nic, struct gt_node *node)
{
	struct gt_buf facts = GT_BUF_INIT, problem = GT_BUF_INIT;
	const char *firmware = gt_xml_text(nic, "gt_firmware");
	const char *state = gt_xml_text(nic, "gt_state");
	int ports = 0;

	if (*firmware)
		gt_facts_say(&facts, "firmware %s", firmware);
	for (const struct gt_xml_elem *net = gt_xml_child(nic); net;
	     net = gt_xml_next(net)) {
		if (!gt_xml_is(net, "net"))
			continue;
		ports++;
		if (*state && *state != '-' && !gt_xml_attr(net, "dev"))
			gt_facts_say(&problem, "%s is %.*s",
				     gt_xml_text(net, "name"),
				     (int)strcspn(state, " "), state);
		state += strcspn(state, " ");
		state += strspn(state, " ");
	}
	if (!ports)
		gt_facts_say(&facts, "no port");
	if (gt_xml_attr(nic, "gt_rail")) /* the rail is a guess */
		gt_facts_say(&facts, "rail %s?", gt_xml_text(nic, "gt_rail"));
	node->facts = gt_facts_keep(reader, &facts);
	node->problem = gt_facts_keep(reader, &problem);
}

const char *gt_reader_facts(struct gt_reader *reader,
			    const struct gt_xml_elem *root)
{
	static const struct {
		const char *attr, *before, *after;
	} words[] = {
		{"vm", "virtual machine (", ")"},
		{"container", "container (", ")"},
		{"iommu", "IOMMU ", ""},
		{"cuda", "CUDA ", ""},
		{"nvswitch", "NVSwitches ", ""},
		{"peermem", "", ""},
	};
	const struct gt_xml_elem *machine = gt_xml_find(root, "gt_machine");
	struct gt_buf facts = GT_BUF_INIT;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const char *text = gt_xml_text(machine, words[i].attr);

		if (!i && !strcmp(text, "yes")) /* it is of no known kind */
			gt_facts_say(&facts, "virtual machine");
		else if (*text)
			gt_facts_say(&facts, "%s%s%s", words[i].before, text,
				     words[i].after);
	}
	if (*gt_xml_text(machine, "dmabuf") == '1')
		gt_facts_say(&facts, "dma-buf");
	return gt_facts_keep(reader, &facts);
}
