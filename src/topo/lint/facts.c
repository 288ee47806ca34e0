/*
 * Applies the rules about facts that only `gtopo detect` writes, attributes and
 * elements that begin with "gt_": hidden GPUs, firmware, access control, ports
 * that are down, GPUDirect.
 */
#include "topo/lint/linter.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/xml.h"
#include "topo/graph/peer_cause.h"
#include "topo/lint/device.h"

enum {
	GT_FACTS_MAX = 4096,
	/* ACS bits that redirect requests of peers, or their answers */
	GT_ACS_REDIRECT = 0xc,
};

/* A fact is a <pci> element with what it is and what it holds. */
struct gt_fact {
	const struct gt_xml_elem *elem, *gpu, *nic;
	/*
	 * vendor and device of the function and of the card; NULL where the
	 * file does not tell, so that nothing is known to be alike
	 */
	const char *model;
	const char *firmware;
	int peers; /* the number of GPUs whose memory it may read and write */
	int is_active; /* whether a port of it is up */
	/* Functions of the same model that have what most of it have. */
	const struct gt_fact *usual_firmware, *usual_peers;
};

/* This has all functions of a file. */
struct gt_facts {
	struct gt_linter *l;
	struct gt_fact *all;
	const char **models; /* each once */
	uint32_t n, nmodels;
	const struct gt_xml_elem *machine; /* <gt_machine>, or NULL */
};

/* Counts words such as "rwa" that have both first letters. */
static int gt_fact_peers(const char *row)
{
	int n = 0;

	for (; (row = strstr(row, "rw")); row += 2)
		n++;
	return n;
}

/* Returns the text that stands for a model, the same for all of it. */
static const char *gt_facts_model(struct gt_facts *f, const char *model)
{
	uint32_t i = 0;

	while (i < f->nmodels && model && strcmp(f->models[i], model))
		i++;
	if (i == f->nmodels && model)
		f->models[f->nmodels++] = model;
	return model ? f->models[i] : NULL;
}

static void gt_facts_add(struct gt_facts *f, const struct gt_xml_elem *elem)
{
	struct gt_fact *fact = &f->all[f->n];

	if (f->n == GT_FACTS_MAX)
		return;
	fact->elem = elem;
	fact->gpu = gt_xml_find(elem, "gpu");
	fact->nic = gt_xml_find(elem, "nic");
	if (*gt_xml_text(elem, "vendor") && *gt_xml_text(elem, "device")) {
		fact->model = gt_arena_printf(
			f->l->arena, "%s:%s %s:%s", gt_xml_text(elem, "vendor"),
			gt_xml_text(elem, "device"),
			gt_xml_text(elem, "subsystem_vendor"),
			gt_xml_text(elem, "subsystem_device"));
		f->l->failed |= !fact->model;
		fact->model = gt_facts_model(f, fact->model);
	}
	fact->firmware =
		gt_xml_text(fact->gpu ? fact->gpu : fact->nic, "gt_firmware");
	fact->peers = gt_fact_peers(gt_xml_text(fact->gpu, "gt_p2p"));
	fact->is_active =
		strstr(gt_xml_text(fact->nic, "gt_state"), "active") != NULL;
	f->n++;
}

/* Collects all <pci> elements; the XML parser bounds the depth. */
static void gt_facts_collect(struct gt_facts *f, const struct gt_xml_elem *up)
{
	for (const struct gt_xml_elem *elem = gt_xml_child(up); elem;
	     elem = gt_xml_next(elem)) {
		if (gt_xml_is(elem, "pci"))
			gt_facts_add(f, elem);
		gt_facts_collect(f, elem);
	}
}

static int gt_fact_same_model(const struct gt_fact *a, const struct gt_fact *b)
{
	return a == b || (a->model && a->model == b->model);
}

/*
 * A GPU without a display, a "3D controller" of NVIDIA's, that gtopo has seen
 * on the bus.  Files for NCCL may leave it to that to ask GPUs.
 */
static int gt_fact_is_compute(const struct gt_fact *fact)
{
	return !strncmp(gt_xml_text(fact->elem, "class"), "0x0302", 6) &&
	       !strcmp(gt_xml_text(fact->elem, "vendor"), "0x10de") &&
	       gt_xml_attr(fact->elem, "gt_max");
}

static void gt_fact_hidden(struct gt_facts *f, const struct gt_fact *fact)
{
	const char *by = gt_xml_text(fact->gpu, "gt_hidden");
	uint32_t i = 0;

	if (*by) {
		gt_linter_report_elem(f->l, GT_LINT_GPU_HIDDEN_RULE, fact->gpu,
				      "gt_hidden", "hidden by %.64s", by);
		return;
	}
	if (fact->gpu || !gt_lint_has_gpu_class(fact->elem))
		return;
	while (i < f->n &&
	       !(f->all[i].gpu && gt_fact_same_model(&f->all[i], fact)))
		i++;
	/* A display adapter may be there for its display alone. */
	if (i == f->n && !gt_fact_is_compute(fact))
		return;
	gt_linter_report_elem(
		f->l,
		i == f->n ? GT_LINT_GPUS_LOST_RULE : GT_LINT_GPU_LOST_RULE,
		fact->elem, NULL,
		i == f->n ? "does not answer, nor does any of its model"
			  : "does not answer, where others of its model do");
	gt_linter_remedy(
		f->l, "look at '%s', and at what the container was given",
		gt_lint_is_amd_gpu(fact->elem) ? "amd-smi list" : "nvidia-smi");
}

static void gt_fact_mig(struct gt_facts *f, const struct gt_fact *fact)
{
	if (*gt_xml_text(fact->gpu, "gt_mig") == '1')
		gt_linter_report_elem(
			f->l, GT_LINT_MIG_RULE, fact->gpu, "gt_mig",
			"cut into instances, which reach no other GPU");
}

static int gt_fact_same_firmware(const struct gt_fact *a,
				 const struct gt_fact *b)
{
	return *a->firmware && !strcmp(a->firmware, b->firmware);
}

static int gt_fact_same_peers(const struct gt_fact *a, const struct gt_fact *b)
{
	return a->peers == b->peers;
}

/*
 * Returns a function that has the value which most of its model have; of
 * several such values the first.
 */
static const struct gt_fact *gt_fact_usual(const struct gt_facts *f,
					   const struct gt_fact *like,
					   int (*same)(const struct gt_fact *a,
						       const struct gt_fact *b))
{
	const struct gt_fact *best = like;
	uint32_t most = 0, count;

	for (uint32_t i = 0; i < f->n; i++) {
		if (!gt_fact_same_model(&f->all[i], like))
			continue;
		count = 0;
		for (uint32_t k = 0; k < f->n; k++)
			count += gt_fact_same_model(&f->all[k], like) &&
				 same(&f->all[i], &f->all[k]);
		if (count > most) {
			most = count;
			best = &f->all[i];
		}
	}
	return best;
}

/*
 * Finds what most of each model have, once for each model, because files may
 * list thousands of one.
 */
static void gt_facts_usual(struct gt_facts *f)
{
	for (uint32_t i = 0; i < f->n; i++) {
		struct gt_fact *fact = &f->all[i];
		uint32_t k = 0;

		while (!gt_fact_same_model(&f->all[k], fact))
			k++;
		if (k < i) {
			fact->usual_firmware = f->all[k].usual_firmware;
			fact->usual_peers = f->all[k].usual_peers;
			continue;
		}
		fact->usual_firmware =
			gt_fact_usual(f, fact, gt_fact_same_firmware);
		fact->usual_peers = gt_fact_usual(f, fact, gt_fact_same_peers);
	}
}

static void gt_fact_firmware(struct gt_facts *f, const struct gt_fact *fact)
{
	const char *usual = fact->usual_firmware->firmware;

	if (!*fact->firmware || !*usual || !strcmp(fact->firmware, usual))
		return;
	gt_linter_report_elem(
		f->l, GT_LINT_FIRMWARE_RULE, fact->gpu ? fact->gpu : fact->nic,
		"gt_firmware",
		"firmware '%.64s', where others of the model have "
		"'%.64s'",
		fact->firmware, usual);
	gt_linter_remedy(f->l, "install the same on all");
}

static void gt_fact_p2p(struct gt_facts *f, const struct gt_fact *fact)
{
	int usual;

	if (!gt_xml_attr(fact->gpu, "gt_p2p") ||
	    *gt_xml_text(fact->gpu, "gt_mig") == '1')
		return;
	usual = fact->usual_peers->peers;
	if (fact->peers >= usual)
		return;
	gt_linter_report_elem(
		f->l, GT_LINT_P2P_RULE, fact->gpu, "gt_p2p",
		"memory of %d GPUs to read and write, where others of "
		"the model have %d",
		fact->peers, usual);
	gt_linter_remedy(f->l, "look at 'nvidia-smi topo -p2p r'");
}

/*
 * Only bridges between cards may leave links unused, so links count as down
 * where they lead to NVSwitches.
 */
const char *gt_lint_nvlinks_down(const struct gt_xml_elem *gpu)
{
	const struct gt_xml_elem *link = gt_xml_find(gpu, "nvlink");

	return !strncmp(gt_xml_text(link, "tclass"), "0x0680", 6)
		       ? gt_xml_attr(gpu, "gt_nvlinks_down")
		       : NULL;
}

static void gt_fact_nvlinks(struct gt_facts *f, const struct gt_fact *fact)
{
	const char *down = gt_lint_nvlinks_down(fact->gpu);

	if (!down)
		return;
	gt_linter_report_elem(f->l, GT_LINT_NVLINK_DOWN_RULE, fact->gpu,
			      "gt_nvlinks_down",
			      "NVLinks to NVSwitches are down: %.64s", down);
	gt_linter_remedy(f->l, "look at 'nvidia-smi nvlink -s'");
}

/*
 * Looks at the ports of a switch with GPUs below it; the first device that
 * tells of redirection speaks for the switch.
 */
static void gt_fact_acs(struct gt_facts *f, const struct gt_xml_elem *above)
{
	const struct gt_xml_elem *first = NULL, *pci = gt_xml_child(above);
	int gpu = 0;

	for (; pci; pci = gt_xml_next(pci)) {
		if (!gt_xml_is(pci, "pci"))
			continue;
		gpu |= gt_lint_has_gpu_class(pci);
		if (!first &&
		    strtoul(gt_xml_text(pci, "gt_port_acs"), NULL, 16) &
			    GT_ACS_REDIRECT)
			first = pci;
	}
	if (!first || !gpu)
		return;
	gt_linter_report_elem(
		f->l, GT_LINT_ACS_RULE, first, "gt_port_acs",
		"ports of switch '%.32s' send what is for each other "
		"up to the processor",
		gt_xml_text(above, "busid"));
	gt_linter_remedy(f->l, "turn access control (ACS) off in the firmware");
}

/*
 * Returns whether two functions are of one card: then their bus ids are the
 * same but for the last digit.
 */
static int gt_fact_same_card(const struct gt_fact *a, const struct gt_fact *b)
{
	const char *x = gt_xml_text(a->elem, "busid");
	const char *y = gt_xml_text(b->elem, "busid");
	size_t len = strcspn(x, ".");

	return len == strcspn(y, ".") && !strncmp(x, y, len);
}

/*
 * Tells of an RDMA card none of whose functions is up, where others of its
 * model are.
 */
static void gt_fact_port(struct gt_facts *f, const struct gt_fact *fact)
{
	const struct gt_xml_elem *net = gt_xml_find(fact->nic, "net");
	const struct gt_fact *up = NULL;

	if (!gt_xml_attr(fact->nic, "gt_state") || !net ||
	    gt_lint_int(net, "port") < 1)
		return;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct gt_fact *other = &f->all[i];

		if (!other->nic || !gt_fact_same_model(other, fact) ||
		    !other->is_active)
			continue;
		if (gt_fact_same_card(other, fact))
			return;
		up = other;
	}
	if (!up)
		return;
	gt_linter_report_elem(f->l, GT_LINT_PORT_DOWN_RULE, fact->nic,
			      "gt_state",
			      "state '%.64s', where others of its model are up",
			      gt_xml_text(fact->nic, "gt_state"));
	gt_linter_remedy(f->l, "look at cable, switch and 'ibstat'");
}

static void gt_fact_card(struct gt_facts *f, const struct gt_fact *fact)
{
	const char *driver = gt_xml_text(fact->elem, "gt_driver");

	if (gt_xml_find(fact->nic, "net"))
		return;
	gt_linter_report_elem(
		f->l, GT_LINT_NIC_UNUSED_RULE, fact->nic, NULL,
		"a network card without a port; its driver is '%.64s'",
		*driver ? driver : "none");
}

static void gt_facts_iommu(struct gt_facts *f, int gpus)
{
	if (!gpus || strcmp(gt_xml_text(f->machine, "iommu"), "translating"))
		return;
	gt_linter_report_elem(f->l, GT_LINT_IOMMU_RULE, f->machine, "iommu",
			      "the IOMMU translates what goes between devices");
	gt_linter_remedy(f->l, "start the kernel with 'iommu=pt'");
}

/*
 * Tells of a machine that has neither of the two ways by which cards get at
 * GPUs' memory, the module and dma-buf.
 */
static void gt_facts_gdr(struct gt_facts *f)
{
	int nvidia = 0, rdma = 0, able = 0;

	if (!f->machine || gt_xml_attr(f->machine, "peermem"))
		return;
	for (uint32_t i = 0; i < f->n; i++) {
		const struct gt_xml_elem *nic = f->all[i].nic;
		const struct gt_xml_elem *net =
			nic ? gt_xml_find(nic, "net") : NULL;

		nvidia |= f->all[i].gpu &&
			  !strcmp(gt_xml_text(f->all[i].elem, "vendor"),
				  "0x10de");
		if (!net || gt_lint_int(net, "port") < 1)
			continue;
		rdma = 1;
		able |= *gt_xml_text(nic, "gt_dmabuf") != '0';
	}
	if (!nvidia || !rdma ||
	    (able && *gt_xml_text(f->machine, "dmabuf") != '0'))
		return;
	gt_linter_report_elem(
		f->l, GT_LINT_GDR_RULE, f->machine, NULL,
		"neither nvidia_peermem nor dma-buf: RDMA ports cannot "
		"get at GPUs' memory");
	gt_linter_remedy(f->l, "load the module 'nvidia_peermem'");
}

/* Counts words of a row such as "x rwa ---". */
static int gt_fact_words(const char *row)
{
	int n = 0;

	for (; *row; n++) {
		row += strcspn(row, " ");
		row += strspn(row, " ");
	}
	return n;
}

/* What is known to keep a GPU from its peers; NULL: nothing. */
static const char *gt_fact_peer_cause(const struct gt_facts *f,
				      const struct gt_fact *fact)
{
	const char *acs = gt_xml_text(fact->elem, "gt_port_acs");
	struct gt_peer_facts known = {
		.said = gt_xml_text(fact->gpu, "gt_p2p_why"),
		.name = gt_xml_attr(fact->gpu, "gt_name"),
		.vm = f->machine ? gt_xml_attr(f->machine, "vm") : NULL,
		.has_mig = *gt_xml_text(fact->gpu, "gt_mig") == '1',
		.redirects = (strtoul(acs, NULL, 16) & GT_ACS_REDIRECT) != 0,
		.translates =
			f->machine && !strcmp(gt_xml_text(f->machine, "iommu"),
					      "translating")};

	return gt_peer_cause(&known);
}

/*
 * Tells once of GPUs that reach fewer than all others, if it is known why; that
 * they are cut into instances is told of each.
 */
static void gt_facts_no_p2p(struct gt_facts *f)
{
	const struct gt_fact *first = NULL;
	uint32_t n = 0, gpus = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct gt_fact *fact = &f->all[i];
		const char *row = gt_xml_text(fact->gpu, "gt_p2p");

		gpus += fact->gpu != NULL;
		if (!*row || fact->peers >= gt_fact_words(row) - 1 ||
		    *gt_xml_text(fact->gpu, "gt_mig") == '1' ||
		    !gt_fact_peer_cause(f, fact))
			continue;
		n++;
		if (!first)
			first = fact;
	}
	if (!first)
		return;
	gt_linter_report_elem(
		f->l, GT_LINT_NO_P2P_RULE, first->gpu, "gt_p2p",
		"%u of %u GPUs do not reach the memory of all others: %s", n,
		gpus, gt_fact_peer_cause(f, first));
	gt_linter_remedy(f->l,
			 "what they send waits in the host's memory; see "
			 "'gtopo search --explain' for what access brings");
}

static void gt_facts_look(struct gt_facts *f)
{
	int gpus = 0;

	for (uint32_t i = 0; i < f->n && !f->l->failed; i++) {
		const struct gt_fact *fact = &f->all[i];

		gpus |= fact->gpu != NULL;
		gt_fact_hidden(f, fact);
		gt_fact_firmware(f, fact);
		gt_fact_acs(f, fact->elem);
		if (fact->gpu) {
			gt_fact_mig(f, fact);
			gt_fact_p2p(f, fact);
			gt_fact_nvlinks(f, fact);
		}
		if (fact->nic) {
			gt_fact_card(f, fact);
			if (!fact->is_active)
				gt_fact_port(f, fact);
		}
	}
	gt_facts_iommu(f, gpus);
	gt_facts_no_p2p(f);
	gt_facts_gdr(f);
}

void gt_lint_facts(struct gt_linter *l, const struct gt_xml *xml)
{
	const struct gt_xml_elem *root = gt_xml_root(xml);
	struct gt_facts f = {.l = l};

	f.all = gt_arena_array(l->arena, GT_FACTS_MAX, sizeof(*f.all));
	f.models = gt_arena_array(l->arena, GT_FACTS_MAX, sizeof(*f.models));
	l->failed |= !f.all || !f.models;
	if (l->failed || !gt_xml_is(root, "system"))
		return;
	f.machine = gt_xml_find(root, "gt_machine");
	gt_facts_collect(&f, root);
	if (l->failed)
		return;
	gt_facts_usual(&f);
	gt_facts_look(&f);
}
