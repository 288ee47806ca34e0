/*
 * Ends the probing of devices: functions that nobody needs are dropped, the
 * rest is sorted, hung on switches and NUMA nodes, and ports are numbered.
 */
#include "topo/probe/machine.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"

/*
 * Returns whether a function may compute: of display controllers every 3D and
 * "other" one, and processing accelerators, but VGA only from makers of GPUs,
 * for a server's VGA is its management controller's.
 */
static int gt_machine_is_accelerator(const struct gt_machine_pci *pci)
{
	const char *vendor = pci->vendor ? pci->vendor : "";

	if (pci->base_class == 0x0302 || pci->base_class == 0x0380 ||
	    pci->base_class >> 8 == 0x12)
		return 1;
	return pci->base_class == 0x0300 &&
	       (!strcmp(vendor, "0x10de") || !strcmp(vendor, "0x1002") ||
		!strcmp(vendor, "0x8086"));
}

/*
 * Keeps a function and the switches above it.  Bridges alternate downwards:
 * root port, switch upstream port, downstream port, upstream port ... NCCL's
 * tree has the upstream ports only.
 */
static void gt_machine_keep(struct gt_machine_pci *pci)
{
	pci->keep = 1;
	for (struct gt_machine_pci *p = pci->port; p; p = p->port)
		if (p->level % 2 == 1)
			p->keep = 1;
}

static int gt_machine_by_busid(const void *a, const void *b)
{
	const struct gt_machine_pci *const *x = a, *const *y = b;

	return strcmp((*x)->busid, (*y)->busid);
}

/* Drops what is not kept and sorts the rest. */
static int gt_machine_sort(struct gt_machine *machine, struct gt_err *err)
{
	struct gt_machine_pci **list, *pci, *next;
	size_t n = 0;

	for (pci = machine->pcis; pci; pci = pci->next)
		n += pci->keep != 0;
	list = calloc(n + 1, sizeof(*list));
	if (!list)
		return gt_err_nomem(err);
	n = 0;
	for (pci = machine->pcis; pci; pci = pci->next)
		if (pci->keep)
			list[n++] = pci;
	qsort(list, n, sizeof(*list), gt_machine_by_busid);
	next = NULL;
	while (n--) {
		list[n]->next = next;
		next = list[n];
	}
	machine->pcis = next;
	free(list);
	return GT_OK;
}

/*
 * A node that hwloc did not list is given the processor of those that it did
 * list.
 */
static void gt_machine_cpu_inherit(struct gt_machine *machine)
{
	struct gt_machine_cpu *from = machine->cpus;

	while (from && !from->arch)
		from = from->next;
	for (struct gt_machine_cpu *c = machine->cpus; c && from; c = c->next)
		if (!c->arch) {
			c->arch = from->arch;
			c->vendor = from->vendor;
			c->name = from->name;
			c->family = from->family;
			c->model = from->model;
		}
}

static void gt_machine_level(struct gt_machine_pci *pci)
{
	pci->level = 0;
	for (struct gt_machine_pci *p = pci->port; p; p = p->port)
		pci->level++;
}

struct gt_machine_numbering {
	int rdma; /* which kind of port is being numbered */
	int next;
};

static int gt_machine_number_net(struct gt_machine_net *net, void *arg)
{
	struct gt_machine_numbering *numbering = arg;

	if (net->rdma == numbering->rdma && net->active)
		net->dev = numbering->next++;
	return 0;
}

/* Returns whether a GPU hangs on the same switch. */
static int gt_machine_beside_gpu(const struct gt_machine *machine,
				 const struct gt_machine_pci *pci)
{
	const struct gt_machine_pci *p = machine->pcis;

	while (p && !(p->gpu && p->parent && p->parent == pci->parent))
		p = p->next;
	return p != NULL;
}

/*
 * Guesses rails.  In servers for training each GPU has a card beside it, and
 * those of equal number are on one rail; so the fastest RDMA ports beside GPUs
 * get rails in order.
 */
static void gt_machine_rails(struct gt_machine *machine)
{
	struct gt_machine_pci *pci;
	struct gt_machine_net *net;
	int fastest = 0, rail = 0;

	for (pci = machine->pcis; pci; pci = pci->next)
		for (net = pci->nets; net; net = net->next)
			if (net->rdma && net->speed_mbps > fastest &&
			    gt_machine_beside_gpu(machine, pci))
				fastest = net->speed_mbps;
	for (pci = machine->pcis; pci && fastest; pci = pci->next)
		for (net = pci->nets; net; net = net->next)
			if (net->rdma && net->speed_mbps == fastest &&
			    gt_machine_beside_gpu(machine, pci))
				net->rail = rail++;
}

int gt_machine_trim(struct gt_machine *machine, struct gt_err *err)
{
	struct gt_machine_numbering numbering = {1, 0};
	struct gt_machine_pci *pci, *p;
	int rc;

	for (pci = machine->pcis; pci; pci = pci->next)
		gt_machine_level(pci);
	for (pci = machine->pcis; pci; pci = pci->next)
		if (pci->gpu || pci->nets || pci->is_card ||
		    gt_machine_is_accelerator(pci))
			gt_machine_keep(pci);
	rc = gt_machine_sort(machine, err);
	if (rc)
		return rc;
	for (pci = machine->pcis; pci; pci = pci->next) {
		for (p = pci->port; p && !p->keep;)
			p = p->port;
		pci->parent = p;
		if (pci->numa == GT_UNKNOWN)
			pci->numa = gt_machine_only_numa(machine);
		if (!gt_machine_cpu(machine, pci->numa))
			return gt_err_nomem(err);
	}
	gt_machine_cpu_inherit(machine);
	gt_machine_rails(machine);
	gt_machine_each_net(machine, gt_machine_number_net, &numbering);
	numbering.rdma = 0;
	gt_machine_each_net(machine, gt_machine_number_net, &numbering);
	return GT_OK;
}
