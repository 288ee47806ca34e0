#include "topo/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/xml.h"
#include "topo/graph.h"
#include "topo/model.h"

static int gt_facts_hex(const struct gt_fn *fn, const char *attr)
{
	const char *text = gt_xml_attr(fn->elem, attr);

	return text ? (int)(strtoul(text, NULL, 16) & 0xffff) : 0;
}

/* What cannot be read here is unknown: the reader proper complains. */
const struct gt_pci *gt_reader_pci(struct gt_reader *reader,
				   const struct gt_fn *fn)
{
	struct gt_arena *arena = reader->topo->arena;
	struct gt_pci *pci = gt_arena_alloc(arena, sizeof(*pci));
	const char *speed = gt_xml_attr(fn->elem, "link_speed");
	const char *assumed = gt_xml_attr(fn->elem, "gt_assumed");

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
