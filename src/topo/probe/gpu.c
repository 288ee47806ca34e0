/*
 * This probe asks NVML for each NVIDIA GPU with its names, PCI link and state;
 * nvlink.c asks for its links and p2p.c for its peers.
 */
#include "topo/probe/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/probe/nvml_query.h"
#include "topo/probe/visible_devices.h"

/* Returns one number of a GPU; 0 where the driver has none. */
static unsigned gt_nvml_number(int (*f)(struct gt_nvml_device *, unsigned *),
			       struct gt_nvml_device *device)
{
	unsigned value = 0;

	return f && f(device, &value) == GT_NVML_SUCCESS ? value : 0;
}

/* Returns the MT/s of a PCIe generation; 0 for none. */
static int gt_nvml_speed_mts(unsigned gen)
{
	static const int speeds[] = {0, 2500, 5000, 8000, 16000, 32000, 64000};

	return gen < sizeof(speeds) / sizeof(speeds[0]) ? speeds[gen] : 0;
}

static void gt_nvml_pcie(const struct gt_nvml_query *query)
{
	const struct gt_nvml *nvml = query->nvml;
	struct gt_nvml_device *device = query->device;
	unsigned gen = gt_nvml_number(nvml->gpu_max_gen, device);

	if (!gen)
		gen = gt_nvml_number(nvml->max_gen, device);
	query->gpu->max.speed_mts = gt_nvml_speed_mts(gen);
	query->gpu->max.width = (int)gt_nvml_number(nvml->max_width, device);
	gen = gt_nvml_number(nvml->cur_gen, device);
	query->gpu->cur.speed_mts = gt_nvml_speed_mts(gen);
	query->gpu->cur.width = (int)gt_nvml_number(nvml->cur_width, device);
}

/*
 * Returns the function of the GPU; one that sysfs hides is made from what NVML
 * says.
 */
static struct gt_machine_pci *gt_nvml_function(struct gt_machine *machine,
					       const struct gt_nvml_pci *info)
{
	struct gt_machine_pci *pci;
	char busid[GT_BUSID_MAX];

	snprintf(busid, sizeof(busid), "%04x:%02x:%02x.0", info->domain,
		 info->bus, info->device);
	pci = gt_machine_pci(machine, busid);
	if (pci && !pci->vendor) {
		pci->class_id = "0x03";
		pci->class_from = "nvml";
		pci->vendor = gt_arena_printf(machine->arena, "0x%04x",
					      info->pci_device_id & 0xffff);
		pci->device = gt_arena_printf(machine->arena, "0x%04x",
					      info->pci_device_id >> 16);
	}
	return pci;
}

/* Returns one text of a GPU; NULL where the driver has none. */
static const char *gt_nvml_text(const struct gt_nvml_query *query,
				int (*f)(struct gt_nvml_device *, char *,
					 unsigned))
{
	char text[GT_NVML_TEXT_MAX];

	if (!f || f(query->device, text, sizeof(text)) != GT_NVML_SUCCESS ||
	    !text[0])
		return NULL;
	return gt_arena_strdup(query->machine->arena, text);
}

/* Asks for what is told of a GPU beside its links. */
static void gt_nvml_facts(const struct gt_nvml_query *query)
{
	static const char variable[] = "CUDA_VISIBLE_DEVICES";
	const struct gt_nvml *nvml = query->nvml;
	struct gt_machine_gpu *gpu = query->gpu;
	unsigned mig, pending;

	gpu->name = gt_nvml_text(query, nvml->name);
	gpu->vbios = gt_nvml_text(query, nvml->vbios);
	if (nvml->mig &&
	    nvml->mig(query->device, &mig, &pending) == GT_NVML_SUCCESS)
		gpu->mig = mig != 0;
	if (!gt_gpu_is_visible(getenv(variable), gpu->dev,
			       gt_nvml_text(query, nvml->uuid)))
		gpu->hidden = variable;
	gt_nvml_pcie(query);
}

static void gt_nvml_tell(const struct gt_nvml_query *query, const char *busid)
{
	const struct gt_machine_gpu *gpu = query->gpu;

	gt_machine_note_detail(
		query->machine,
		"nvml: GPU %d %s: %s, NVLinks up: %d, down: %d%s%s%s", gpu->dev,
		busid, gpu->name ? gpu->name : "no name",
		__builtin_popcount(gpu->nvlinks_up),
		__builtin_popcount(gpu->nvlinks_down),
		gpu->vbios ? "" : ", no firmware version",
		gpu->mig > 0 ? ", MIG" : "", gpu->hidden ? ", hidden" : "");
}

static int gt_nvml_gpu(struct gt_nvml_query *query, unsigned index)
{
	const struct gt_nvml *nvml = query->nvml;
	struct gt_nvml_pci info;
	struct gt_machine_pci *pci;
	int major, minor, rc;

	if (nvml->handle(index, &query->device) != GT_NVML_SUCCESS ||
	    nvml->pci(query->device, &info) != GT_NVML_SUCCESS ||
	    nvml->capability(query->device, &major, &minor) !=
		    GT_NVML_SUCCESS) {
		gt_machine_note(query->machine,
				"GPU %u does not answer and is left out; see "
				"nvidia-smi",
				index);
		return GT_OK;
	}
	pci = gt_nvml_function(query->machine, &info);
	query->gpu = pci ? gt_machine_gpu_new(query->machine, pci) : NULL;
	if (!query->gpu)
		return GT_ESYS;
	query->gpu->dev = (int)index;
	query->gpu->sm = major * 10 + minor;
	query->gpus[query->ngpus++] =
		(struct gt_nvml_gpu){query->device, query->gpu};
	gt_nvml_facts(query);
	rc = gt_nvml_links(query);
	gt_nvml_tell(query, pci->busid);
	return rc;
}

static void gt_nvml_system(const struct gt_nvml_query *query)
{
	struct gt_machine *machine = query->machine;
	char driver[GT_NVML_TEXT_MAX] = "";
	int cuda = 0;

	if (query->nvml->driver &&
	    query->nvml->driver(driver, sizeof(driver)) == GT_NVML_SUCCESS)
		machine->nvidia_version =
			gt_arena_strdup(machine->arena, driver);
	if (query->nvml->cuda && query->nvml->cuda(&cuda) == GT_NVML_SUCCESS &&
	    cuda > 0)
		machine->host.cuda = gt_arena_printf(
			machine->arena, "%d.%d", cuda / 1000, cuda % 1000 / 10);
	gt_machine_note_detail(machine, "nvml: driver %s, CUDA %s",
			       *driver ? driver : "of no version",
			       machine->host.cuda ? machine->host.cuda
						  : "unknown");
}

static int gt_nvml_all(struct gt_nvml_query *query)
{
	unsigned n = 0;
	int rc = GT_OK;

	gt_nvml_system(query);
	if (query->nvml->count(&n) != GT_NVML_SUCCESS) {
		gt_machine_note(query->machine,
				"GPUs are left out: NVML cannot count them");
		n = 0;
	}
	gt_machine_note_detail(query->machine, "nvml: GPUs: %u", n);
	query->gpus =
		gt_arena_array(query->machine->arena, n, sizeof(*query->gpus));
	if (!query->gpus)
		return GT_ESYS;
	for (unsigned i = 0; !rc && i < n; i++)
		rc = gt_nvml_gpu(query, i);
	return rc ? rc : gt_nvml_p2p(query);
}

/*
 * Returns whether there should be a GPU.  The library without one is common
 * (login nodes) and no news.
 */
static int gt_nvml_expected(const struct gt_machine *machine)
{
	const struct gt_machine_pci *pci = machine->pcis;

	while (pci && !(pci->base_class >> 8 == 0x03 && pci->vendor &&
			!strcmp(pci->vendor, "0x10de")))
		pci = pci->next;
	return pci != NULL;
}

int gt_probe_nvml(const struct gt_probe_env *env, struct gt_machine *machine,
		  struct gt_err *err)
{
	struct gt_nvml nvml;
	struct gt_nvml_query query = {
		.nvml = &nvml, .env = env, .machine = machine};
	const char *why;
	int rc;

	if (env->root[0] && !env->nvml) {
		gt_machine_note_detail(machine, "nvml: not asked");
		return GT_OK;
	}
	switch (gt_nvml_open(env->nvml, &nvml, &why)) {
	case 0:
		gt_machine_note_detail(machine, "nvml: not installed");
		return GT_OK;
	case -1:
		if (env->nvml && !nvml.library)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "cannot load NVML: %s", why);
		if (env->nvml || gt_nvml_expected(machine))
			gt_machine_note(machine,
					"GPUs are left out: NVML fails: %s",
					why);
		else
			gt_machine_note_detail(machine, "nvml: fails: %s", why);
		return GT_OK;
	}
	rc = gt_nvml_all(&query);
	gt_nvml_close(&nvml);
	return rc ? gt_err_nomem(err) : GT_OK;
}
