/*
 * Makes a machine of the list that was read: processors, switches, GPUs and
 * cards with bus ids and names counted up, then the NVLinks between GPUs.
 */
#include "topo/synth/synth.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/graph/topo.h"

enum {
	GT_SYNTH_MAX_FNS = 4096,
	GT_SYNTH_CPUS = 32, /* processors of a NUMA node */
	/*
	 * words of an affinity that fit the longest value NCCL's reader takes
	 */
	GT_SYNTH_MASKS = 28
};

struct gt_synth_gpu {
	struct gt_machine_pci *pci;
	const struct gt_synth_item *item;
};

struct gt_synth_maker {
	const struct gt_synth *synth;
	struct gt_machine *machine;
	struct gt_machine_pci *last; /* the last of the functions */
	struct gt_err *err;
	struct gt_synth_gpu gpus[GT_TOPO_MAX_DEVICES];
	uint32_t nfns, ngpus, nnets, nnumas, ncards;
};

static int gt_synth_big(const struct gt_synth_maker *maker, const char *what,
			int most)
{
	return gt_err_set(maker->err, GT_EINPUT, NULL, "more than %d %s", most,
			  what);
}

/* Returns the MT/s of a lane. */
static int gt_synth_speed(int gen)
{
	static const int speeds[] = {2500, 5000, 8000, 16000, 32000, 64000};

	return speeds[gen - 1];
}

/*
 * Makes one more function, on the next bus, below a switch (NULL: a NUMA node).
 */
static struct gt_machine_pci *gt_synth_fn(struct gt_synth_maker *maker,
					  struct gt_machine_pci *parent,
					  const struct gt_synth_item *item,
					  int gen)
{
	struct gt_machine_pci *pci =
		gt_arena_alloc(maker->machine->arena, sizeof(*pci));
	int width = item->opts[GT_SYNTH_WIDTH];

	if (!pci) {
		gt_err_nomem(maker->err);
		return NULL;
	}
	if (item->opts[GT_SYNTH_GEN])
		gen = item->opts[GT_SYNTH_GEN];
	if (++maker->nfns > GT_SYNTH_MAX_FNS) {
		gt_synth_big(maker, "PCI functions", GT_SYNTH_MAX_FNS);
		return NULL;
	}
	snprintf(pci->busid, sizeof(pci->busid), "%04x:%02x:00.0",
		 maker->nfns >> 8, maker->nfns & 0xff);
	pci->numa = (int)maker->nnumas - 1;
	pci->port_acs = GT_UNKNOWN;
	pci->parent = parent;
	pci->max.speed_mts = gt_synth_speed(gen);
	pci->max.width = width ? width : 16;
	pci->port_max = pci->max;
	*(maker->last ? &maker->last->next : &maker->machine->pcis) = pci;
	maker->last = pci;
	return pci;
}

static int gt_synth_gpu(struct gt_synth_maker *maker,
			struct gt_machine_pci *parent,
			const struct gt_synth_item *item)
{
	int which = item->opts[GT_SYNTH_MODEL];
	const struct gt_synth_model *model =
		&gt_synth_models[which ? which - 1 : 2];
	struct gt_machine_pci *pci;
	struct gt_machine_gpu *gpu;

	if (maker->ngpus == GT_TOPO_MAX_DEVICES)
		return gt_synth_big(maker, "GPUs", GT_TOPO_MAX_DEVICES);
	pci = gt_synth_fn(maker, parent, item, model->gen);
	if (!pci)
		return maker->err->code;
	gpu = gt_machine_gpu_new(maker->machine, pci);
	if (!gpu)
		return gt_err_nomem(maker->err);
	pci->class_id = model->class;
	pci->vendor = model->vendor;
	pci->device = model->device;
	gpu->dev = gpu->rank;
	gpu->sm = model->sm;
	gpu->gcn = model->gcn;
	maker->gpus[maker->ngpus++] = (struct gt_synth_gpu){pci, item};
	return GT_OK;
}

static int gt_synth_port(struct gt_synth_maker *maker,
			 struct gt_machine_pci *pci,
			 const struct gt_synth_item *item, int port)
{
	int mbps = item->opts[GT_SYNTH_SPEED];
	struct gt_machine_net *net;
	char name[32];

	if (maker->nnets == GT_TOPO_MAX_DEVICES)
		return gt_synth_big(maker, "ports", GT_TOPO_MAX_DEVICES);
	snprintf(name, sizeof(name), "mlx5_%u", maker->nnets);
	net = gt_machine_net_add(maker->machine, pci, GT_UNKNOWN, name);
	if (!net)
		return gt_err_nomem(maker->err);
	net->dev = (int)maker->nnets++;
	net->port = port;
	net->rdma = 1;
	net->active = 1;
	net->speed_mbps = mbps ? mbps : 400000;
	net->maxconn = 131072;
	/* The guid is locally administered, as no maker's is. */
	net->guid = UINT64_C(0x0200000000000000) | (uint64_t)maker->ncards
							   << 16;
	return GT_OK;
}

static int gt_synth_nic(struct gt_synth_maker *maker,
			struct gt_machine_pci *parent,
			const struct gt_synth_item *item)
{
	struct gt_machine_pci *pci = gt_synth_fn(maker, parent, item, 5);
	int ports = item->opts[GT_SYNTH_PORTS], rc = GT_OK;

	if (!pci)
		return maker->err->code;
	pci->class_id = "0x020700";
	pci->vendor = "0x15b3";
	pci->device = "0x1021";
	pci->is_card = 1;
	maker->ncards++;
	for (int i = 1; i <= (ports ? ports : 1) && !rc; i++)
		rc = gt_synth_port(maker, pci, item, i);
	return rc;
}

static const char *gt_synth_mask(struct gt_arena *arena, uint32_t numa)
{
	char text[GT_SYNTH_MASKS * 9 + 1] = "ffffffff";

	if (numa >= GT_SYNTH_MASKS)
		return NULL;
	for (uint32_t i = 0; i < numa; i++)
		strcat(text, ",00000000");
	return gt_arena_strdup(arena, text);
}

static int gt_synth_numa(struct gt_synth_maker *maker, int which)
{
	const struct gt_synth_cpu *made = &gt_synth_cpus[which ? which - 1 : 0];
	struct gt_machine_cpu *cpu =
		gt_machine_cpu(maker->machine, (int)maker->nnumas);

	if (!cpu)
		return gt_err_nomem(maker->err);
	cpu->affinity = gt_synth_mask(maker->machine->arena, maker->nnumas);
	cpu->arch = made->arch;
	cpu->vendor = made->vendor;
	cpu->family = made->family;
	cpu->model = made->model;
	maker->nnumas++;
	return GT_OK;
}

/*
 * Makes all things of a level below one thing of the level above; levels are
 * few.
 */
static int gt_synth_level(struct gt_synth_maker *maker, uint32_t level,
			  struct gt_machine_pci *parent);

static int gt_synth_one(struct gt_synth_maker *maker,
			const struct gt_synth_item *item,
			struct gt_machine_pci *parent)
{
	struct gt_machine_pci *pci = NULL;
	int rc = GT_OK;

	if (item->kind == GT_SYNTH_GPU)
		return gt_synth_gpu(maker, parent, item);
	if (item->kind == GT_SYNTH_NIC)
		return gt_synth_nic(maker, parent, item);
	if (item->kind == GT_SYNTH_NUMA) {
		rc = gt_synth_numa(maker, item->opts[GT_SYNTH_CPU]);
	} else {
		pci = gt_synth_fn(maker, parent, item, 5);
		if (!pci)
			return maker->err->code;
		pci->class_id = "0x060400";
		pci->vendor = "0x1000";
		pci->device = "0xc030";
	}
	return rc ? rc : gt_synth_level(maker, item->level + 1, pci);
}

static int gt_synth_level(struct gt_synth_maker *maker, uint32_t level,
			  struct gt_machine_pci *parent)
{
	const struct gt_synth *synth = maker->synth;
	int rc = GT_OK;

	for (uint32_t i = 0; i < synth->nitems && !rc; i++)
		for (uint32_t n = 0; synth->items[i].level == level &&
				     n < synth->items[i].count && !rc;
		     n++)
			rc = gt_synth_one(maker, &synth->items[i], parent);
	return rc;
}

static int gt_synth_link(struct gt_synth_maker *maker, uint32_t from,
			 uint32_t to, int count)
{
	struct gt_machine_gpu *gpu = maker->gpus[from].pci->gpu;
	struct gt_machine_nvlink **at = &gpu->nvlinks, *link;
	const struct gt_machine_pci *target =
		to == GT_NONE ? NULL : maker->gpus[to].pci;

	link = gt_arena_alloc(maker->machine->arena, sizeof(*link));
	if (!link)
		return gt_err_nomem(maker->err);
	snprintf(link->target, sizeof(link->target), "%s",
		 target ? target->busid : "fffffff:ffff:ff");
	link->tclass = 0x068000;
	if (target)
		sscanf(target->class_id, "0x%x", &link->tclass);
	link->count = count;
	link->xgmi = gpu->gcn != NULL;
	while (*at)
		at = &(*at)->next;
	*at = link;
	return GT_OK;
}

/*
 * Makes NVLinks between GPUs of one item: "nvlink" joins every two, "bridge"
 * neighbours.
 */
static int gt_synth_links(struct gt_synth_maker *maker)
{
	int rc = GT_OK;

	for (uint32_t i = 0; i < maker->ngpus && !rc; i++) {
		const struct gt_synth_item *item = maker->gpus[i].item;
		const int *opts = item->opts;

		if (opts[GT_SYNTH_NVSWITCH])
			rc = gt_synth_link(maker, i, GT_NONE,
					   opts[GT_SYNTH_NVSWITCH]);
		for (uint32_t k = 0; k < maker->ngpus && !rc; k++) {
			int count = opts[GT_SYNTH_NVLINK];

			if ((i ^ k) == 1)
				count += opts[GT_SYNTH_BRIDGE];
			if (k != i && count && maker->gpus[k].item == item)
				rc = gt_synth_link(maker, i, k, count);
		}
	}
	return rc;
}

static int gt_synth_build(struct gt_synth_maker *maker)
{
	int has_numa = 0, rc = GT_OK;

	for (uint32_t i = 0; i < maker->synth->nitems; i++)
		has_numa |= maker->synth->items[i].kind == GT_SYNTH_NUMA;
	if (!has_numa)
		rc = gt_synth_numa(maker, 0);
	if (!rc)
		rc = gt_synth_level(maker, 0, NULL);
	return rc ? rc : gt_synth_links(maker);
}

int gt_synth_make(const struct gt_synth *synth, struct gt_machine **out,
		  struct gt_err *err)
{
	struct gt_synth_maker maker = {.synth = synth, .err = err};
	int rc;

	maker.machine = gt_machine_new();
	if (!maker.machine)
		return gt_err_nomem(err);
	rc = gt_synth_build(&maker);
	if (rc)
		gt_machine_free(maker.machine);
	else
		*out = maker.machine;
	return rc;
}
