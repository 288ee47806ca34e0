/*
 * Keeps what the probes find: lists of NUMA nodes, functions, GPUs and ports
 * that grow as probes find them, and notes for people.
 */
#include "topo/probe/machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"

struct gt_machine *gt_machine_new(void)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_machine *machine;

	if (!arena)
		return NULL;
	machine = gt_arena_alloc(arena, sizeof(*machine));
	if (!machine) {
		gt_arena_free(arena);
		return NULL;
	}
	machine->arena = arena;
	machine->host.dmabuf = GT_UNKNOWN;
	return machine;
}

void gt_machine_free(struct gt_machine *machine)
{
	if (machine)
		gt_arena_free(machine->arena);
}

struct gt_machine_cpu *gt_machine_cpu(struct gt_machine *machine, int numa)
{
	struct gt_machine_cpu **at = &machine->cpus, *cpu;

	/*
	 * The unknown node comes last, for NCCL hangs strays on the first one.
	 */
	while (*at && (unsigned)(*at)->numa < (unsigned)numa)
		at = &(*at)->next;
	if (*at && (*at)->numa == numa)
		return *at;
	cpu = gt_arena_alloc(machine->arena, sizeof(*cpu));
	if (!cpu)
		return NULL;
	cpu->numa = numa;
	cpu->family = GT_UNKNOWN;
	cpu->model = GT_UNKNOWN;
	cpu->next = *at;
	*at = cpu;
	return cpu;
}

struct gt_machine_pci *gt_machine_pci_find(const struct gt_machine *machine,
					   const char *busid)
{
	struct gt_machine_pci *pci = machine->pcis;

	while (pci && strcmp(pci->busid, busid))
		pci = pci->next;
	return pci;
}

struct gt_machine_pci *gt_machine_pci(struct gt_machine *machine,
				      const char *busid)
{
	struct gt_machine_pci *pci = gt_machine_pci_find(machine, busid);

	if (pci)
		return pci;
	pci = gt_arena_alloc(machine->arena, sizeof(*pci));
	if (!pci)
		return NULL;
	snprintf(pci->busid, sizeof(pci->busid), "%s", busid);
	pci->numa = GT_UNKNOWN;
	pci->port_acs = GT_UNKNOWN;
	pci->next = machine->pcis;
	machine->pcis = pci;
	return pci;
}

struct gt_machine_gpu *gt_machine_gpu_new(struct gt_machine *machine,
					  struct gt_machine_pci *pci)
{
	struct gt_machine_gpu *gpu =
		gt_arena_alloc(machine->arena, sizeof(*gpu));

	if (!gpu)
		return NULL;
	gpu->gdr = GT_UNKNOWN;
	gpu->mig = GT_UNKNOWN;
	for (struct gt_machine_pci *p = machine->pcis; p; p = p->next)
		gpu->rank += p->gpu != NULL;
	pci->gpu = gpu;
	return gpu;
}

int gt_machine_only_numa(const struct gt_machine *machine)
{
	const struct gt_machine_cpu *cpu = machine->cpus;

	return cpu && !cpu->next ? cpu->numa : GT_UNKNOWN;
}

struct gt_machine_net *gt_machine_net_add(struct gt_machine *machine,
					  struct gt_machine_pci *pci, int numa,
					  const char *name)
{
	struct gt_machine_cpu *cpu = pci ? NULL : gt_machine_cpu(machine, numa);
	struct gt_machine_net **at, *net;

	if (!pci && !cpu)
		return NULL;
	net = gt_arena_alloc(machine->arena, sizeof(*net));
	if (!net)
		return NULL;
	net->name = gt_arena_strdup(machine->arena, name);
	if (!net->name)
		return NULL;
	net->dev = GT_UNKNOWN;
	net->gdr = GT_UNKNOWN;
	net->dmabuf = GT_UNKNOWN;
	net->rail = GT_UNKNOWN;
	at = pci ? &pci->nets : &cpu->nets;
	while (*at)
		at = &(*at)->next;
	*at = net;
	return net;
}

int gt_machine_each_net(const struct gt_machine *machine,
			int (*f)(struct gt_machine_net *net, void *arg),
			void *arg)
{
	struct gt_machine_net *net;
	int rc = 0;

	for (struct gt_machine_pci *p = machine->pcis; p; p = p->next)
		for (net = p->nets; net && !rc; net = net->next)
			rc = f(net, arg);
	for (struct gt_machine_cpu *c = machine->cpus; c; c = c->next)
		for (net = c->nets; net && !rc; net = net->next)
			rc = f(net, arg);
	return rc;
}

static int gt_machine_net_is_over(struct gt_machine_net *net, void *netdev)
{
	return net->netdev && !strcmp(net->netdev, netdev);
}

int gt_machine_has_rdma_over(const struct gt_machine *machine,
			     const char *netdev)
{
	return gt_machine_each_net(machine, gt_machine_net_is_over,
				   (void *)(uintptr_t)netdev);
}

static void gt_machine_say(struct gt_machine *machine, int detail,
			   const char *fmt, va_list ap)
{
	struct gt_machine_note **at = &machine->notes, *note;
	char text[512];

	vsnprintf(text, sizeof(text), fmt, ap);
	note = gt_arena_alloc(machine->arena, sizeof(*note));
	if (!note)
		return;
	note->detail = detail;
	note->text = gt_arena_strdup(machine->arena, text);
	if (!note->text)
		return;
	while (*at)
		at = &(*at)->next;
	*at = note;
}

void gt_machine_note(struct gt_machine *machine, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	gt_machine_say(machine, 0, fmt, ap);
	va_end(ap);
}

void gt_machine_note_detail(struct gt_machine *machine, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	gt_machine_say(machine, 1, fmt, ap);
	va_end(ap);
}

int gt_machine_speed_parse(const char *text)
{
	char *end;
	double gts = strtod(text, &end);

	return end != text && gts > 0 && gts < 10000 ? (int)(gts * 1000 + .5)
						     : 0;
}

/*
 * Returns what two ends agree on; *from says where it comes from when not both
 * are known.
 */
static int gt_machine_agree(int device, int port, int nvml, int unread,
			    const char **from)
{
	*from = NULL;
	if (!device && nvml) {
		device = nvml;
		*from = "nvml";
	}
	if (device && port)
		return device < port ? device : port;
	if (device) {
		*from = *from ? *from : "device";
		return device;
	}
	*from = port ? "port" : "nccl";
	return port ? port : unread;
}

struct gt_machine_link gt_machine_link(const struct gt_machine_pci *pci,
				       const char **speed_from,
				       const char **width_from)
{
	const struct gt_machine_link none = {0, 0};
	struct gt_machine_link own = pci->gpu ? pci->gpu->max : none;
	struct gt_machine_link link;

	link.speed_mts =
		gt_machine_agree(pci->max.speed_mts, pci->port_max.speed_mts,
				 own.speed_mts, 8000, speed_from);
	link.width = gt_machine_agree(pci->max.width, pci->port_max.width,
				      own.width, 16, width_from);
	return link;
}
