#include "topo/probe.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/machine.h"
#include "topo/nvml.h"
#include "topo/sysfs.h"

enum {
	GT_CLASS_NVSWITCH = 0x068000,
};

struct gt_nvml_walk {
	const struct gt_nvml *nvml;
	const struct gt_probe_env *env;
	struct gt_machine *machine;
	struct gt_nvml_device *device;
	struct gt_machine_gpu *gpu;
	int ngpus;
};

/* One number of a GPU; 0 where the driver has none. */
static unsigned gt_nvml_number(int (*f)(struct gt_nvml_device *, unsigned *),
			       struct gt_nvml_device *device)
{
	unsigned value = 0;

	return f && f(device, &value) == GT_NVML_SUCCESS ? value : 0;
}

static int gt_nvml_field(const struct gt_nvml_walk *walk, unsigned id,
			 unsigned link, unsigned *value)
{
	struct gt_nvml_field field = {.field_id = id, .scope_id = link};

	if (!walk->nvml->fields ||
	    walk->nvml->fields(walk->device, 1, &field) != GT_NVML_SUCCESS ||
	    field.result != GT_NVML_SUCCESS)
		return 0;
	*value = field.value.u;
	return 1;
}

/* PCIe generations; 0 for none. */
static int gt_nvml_speed_mts(unsigned gen)
{
	static const int speeds[] = {0, 2500, 5000, 8000, 16000, 32000, 64000};

	return gen < sizeof(speeds) / sizeof(speeds[0]) ? speeds[gen] : 0;
}

static void gt_nvml_pcie(const struct gt_nvml_walk *walk)
{
	const struct gt_nvml *nvml = walk->nvml;
	struct gt_nvml_device *device = walk->device;
	unsigned gen = gt_nvml_number(nvml->gpu_max_gen, device);

	if (!gen)
		gen = gt_nvml_number(nvml->max_gen, device);
	walk->gpu->max.speed_mts = gt_nvml_speed_mts(gen);
	walk->gpu->max.width = (int)gt_nvml_number(nvml->max_width, device);
	gen = gt_nvml_number(nvml->cur_gen, device);
	walk->gpu->cur.speed_mts = gt_nvml_speed_mts(gen);
	walk->gpu->cur.width = (int)gt_nvml_number(nvml->cur_width, device);
}

/* Up, and usable between GPUs. */
static int gt_nvml_link_works(const struct gt_nvml_walk *walk, unsigned link)
{
	const struct gt_nvml *nvml = walk->nvml;
	unsigned p2p = 0, state;
	int active = 0;

	if (!nvml->nvlink_capability ||
	    nvml->nvlink_capability(walk->device, link, GT_NVML_CAP_P2P,
				    &p2p) != GT_NVML_SUCCESS ||
	    !p2p)
		return 0;
	/* Newer GPUs answer the field, older ones the call. */
	if (walk->gpu->sm >= 90 &&
	    gt_nvml_field(walk, GT_NVML_FI_NVLINK_STATE, link, &state))
		return state == GT_NVML_ENABLED;
	return nvml->nvlink_state &&
	       nvml->nvlink_state(walk->device, link, &active) ==
		       GT_NVML_SUCCESS &&
	       active == GT_NVML_ENABLED;
}

/* A remote end that is not in this machine's tree is a hidden NVSwitch. */
static unsigned gt_nvml_target_class(const struct gt_nvml_walk *walk,
				     const char *target)
{
	return (unsigned)gt_sysfs_long(walk->env->root, GT_CLASS_NVSWITCH,
				       "/sys/bus/pci/devices/%s/class", target);
}

/*
 * The remote end of a link.  One that belongs to the hypervisor has no PCI
 * address but a filler of ones (drivers write "FFFFFFF:FF:FF.0", too), which
 * topology files spell like this.
 */
static int gt_nvml_remote(const struct gt_nvml_walk *walk, unsigned link,
			  char target[GT_BUSID_MAX])
{
	struct gt_nvml_pci remote;

	memset(&remote, 0, sizeof(remote));
	if (!walk->nvml->nvlink_remote ||
	    walk->nvml->nvlink_remote(walk->device, link, &remote) !=
		    GT_NVML_SUCCESS)
		return 0;
	remote.busid_legacy[sizeof(remote.busid_legacy) - 1] = 0;
	for (char *p = remote.busid_legacy; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (!strncmp(remote.busid_legacy, "fffffff", 7) ||
	    !gt_sysfs_busid(remote.busid_legacy, target, GT_BUSID_MAX))
		snprintf(target, GT_BUSID_MAX, "fffffff:ffff:ff");
	return 1;
}

/* Newer GPUs answer for one link, older ones for all; 0: neither. */
static unsigned gt_nvml_line_mbs(const struct gt_nvml_walk *walk, unsigned link)
{
	unsigned mbs = 0;

	if (!gt_nvml_field(walk, GT_NVML_FI_NVLINK_SPEED, link, &mbs))
		gt_nvml_field(walk, GT_NVML_FI_NVLINK_MBPS, 0, &mbs);
	return mbs;
}

/* Links are grouped by remote end, in the order in which they are seen. */
static int gt_nvml_link_add(const struct gt_nvml_walk *walk, unsigned link)
{
	struct gt_machine_nvlink **at = &walk->gpu->nvlinks;
	char target[GT_BUSID_MAX];

	if (!gt_nvml_remote(walk, link, target))
		return GT_OK;
	while (*at && strcmp((*at)->target, target))
		at = &(*at)->next;
	if (!*at) {
		*at = gt_arena_alloc(walk->machine->arena, sizeof(**at));
		if (!*at)
			return GT_ESYS;
		memcpy((*at)->target, target, sizeof(target));
		(*at)->tclass = gt_nvml_target_class(walk, target);
		(*at)->line_mbs = (int)gt_nvml_line_mbs(walk, link);
	}
	(*at)->count++;
	return GT_OK;
}

static int gt_nvml_links(const struct gt_nvml_walk *walk)
{
	int rc = GT_OK;

	for (unsigned l = 0; !rc && l < GT_NVML_LINKS_MAX; l++)
		if (gt_nvml_link_works(walk, l))
			rc = gt_nvml_link_add(walk, l);
	return rc;
}

static void gt_nvml_c2c(const struct gt_nvml_walk *walk)
{
	unsigned n = 0, up, mbs;

	if (!gt_nvml_field(walk, GT_NVML_FI_C2C_COUNT, 0, &n))
		return;
	for (unsigned l = 0; l < n; l++)
		if (gt_nvml_field(walk, GT_NVML_FI_C2C_STATUS, l, &up) &&
		    up == 1 &&
		    gt_nvml_field(walk, GT_NVML_FI_C2C_MBPS, l, &mbs)) {
			walk->gpu->c2c_mbs = (int)mbs;
			walk->gpu->c2c_count++;
		}
}

/* The function of the GPU; one that sysfs hides is made from NVML's words. */
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

static int gt_nvml_gpu(struct gt_nvml_walk *walk, unsigned index)
{
	const struct gt_nvml *nvml = walk->nvml;
	struct gt_nvml_pci info;
	char name[GT_NVML_NAME_MAX];
	struct gt_machine_pci *pci;
	int major, minor;

	if (nvml->handle(index, &walk->device) != GT_NVML_SUCCESS ||
	    nvml->pci(walk->device, &info) != GT_NVML_SUCCESS ||
	    nvml->capability(walk->device, &major, &minor) != GT_NVML_SUCCESS) {
		gt_machine_note(walk->machine,
				"GPU %u does not answer and is left out; see "
				"nvidia-smi",
				index);
		return GT_OK;
	}
	pci = gt_nvml_function(walk->machine, &info);
	walk->gpu = gt_arena_alloc(walk->machine->arena, sizeof(*walk->gpu));
	if (!pci || !walk->gpu)
		return GT_ESYS;
	walk->gpu->dev = (int)index;
	walk->gpu->sm = major * 10 + minor;
	walk->gpu->gdr = GT_UNKNOWN;
	if (nvml->name &&
	    nvml->name(walk->device, name, sizeof(name)) == GT_NVML_SUCCESS)
		walk->gpu->name = gt_arena_strdup(walk->machine->arena, name);
	gt_nvml_pcie(walk);
	gt_nvml_c2c(walk);
	walk->gpu->rank = walk->ngpus++;
	pci->gpu = walk->gpu;
	return gt_nvml_links(walk);
}

/* The library without a GPU is common (login nodes) and no news. */
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
	struct gt_nvml_walk walk = {&nvml, env, machine, NULL, NULL, 0};
	const char *why;
	unsigned n = 0;
	int rc = GT_OK;

	if (env->root[0] && !env->nvml)
		return GT_OK;
	switch (gt_nvml_open(env->nvml, &nvml, &why)) {
	case 0:
		return GT_OK;
	case -1:
		if (env->nvml && !nvml.library)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "cannot load NVML: %s", why);
		if (env->nvml || gt_nvml_expected(machine))
			gt_machine_note(machine,
					"GPUs are left out: NVML fails: %s",
					why);
		return GT_OK;
	}
	if (nvml.count(&n) != GT_NVML_SUCCESS)
		gt_machine_note(machine, "GPUs are left out: NVML cannot "
					 "count them");
	for (unsigned i = 0; !rc && i < n; i++)
		rc = gt_nvml_gpu(&walk, i);
	gt_nvml_close(&nvml);
	return rc ? gt_err_nomem(err) : GT_OK;
}
