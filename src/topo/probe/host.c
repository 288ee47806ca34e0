/*
 * This probe looks at the machine as a whole: virtual machine, container,
 * IOMMU, NVSwitches, and whether GPU memory can be given to network cards as
 * dma-buf.
 */
#include "topo/probe/probe.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/probe/sysfs.h"

enum { GT_TEXT_MAX = 256 };

static int gt_host_exists(const char *root, const char *path)
{
	char real[PATH_MAX];

	return gt_sysfs_real(root, real, "%s", path);
}

/*
 * Returns whether the processor says that a hypervisor is there; the flags of
 * the first one suffice.
 */
static int gt_host_is_guest(const char *root)
{
	char path[PATH_MAX], line[8192];
	FILE *file;
	int guest = 0;

	if (snprintf(path, sizeof(path), "%s/proc/cpuinfo", root) >= PATH_MAX)
		return 0;
	file = fopen(path, "re");
	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, "flags", 5) ||
		    !strncmp(line, "Features", 8)) {
			guest = strstr(line, " hypervisor") != NULL;
			break;
		}
	fclose(file);
	return guest;
}

/*
 * Returns the kind of virtual machine, "yes" when only that is known; NULL when
 * none shows.
 */
static const char *gt_host_vm(const char *root)
{
	static const struct {
		const char *vendor, *word;
		int sure; /* this vendor makes no machines of metal */
	} vendors[] = {
		{"QEMU", "qemu", 1},
		{"VMware", "vmware", 1},
		{"innotek", "virtualbox", 1},
		{"Xen", "xen", 1},
		{"Microsoft Corporation", "hyper-v", 0},
		{"Amazon EC2", "amazon", 0},
		{"Google", "google", 0},
		{"Oracle", "oracle", 0},
		{"Alibaba Cloud", "alibaba", 0},
		{"OpenStack", "openstack", 0},
	};
	char vendor[GT_TEXT_MAX], type[GT_TEXT_MAX];
	int guest = gt_host_is_guest(root);

	gt_sysfs_text(root, vendor, sizeof(vendor),
		      "/sys/class/dmi/id/sys_vendor");
	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (!strncmp(vendor, vendors[i].vendor,
			     strlen(vendors[i].vendor)) &&
		    (guest || vendors[i].sure))
			return vendors[i].word;
	if (gt_sysfs_text(root, type, sizeof(type), "/sys/hypervisor/type"))
		return "xen";
	return guest ? "yes" : NULL;
}

/*
 * Returns the kind of container, by what those that start containers leave
 * behind; NULL when none shows.
 */
static const char *gt_host_container(const char *root,
				     struct gt_machine *machine)
{
	static const char *const variables[][2] = {
		{"KUBERNETES_SERVICE_HOST", "kubernetes"},
		{"APPTAINER_CONTAINER", "apptainer"},
		{"SINGULARITY_CONTAINER", "singularity"},
	};
	char text[GT_TEXT_MAX];

	for (int i = 0; i < 3 && !root[0]; i++)
		if (getenv(variables[i][0]))
			return variables[i][1];
	if (gt_sysfs_text(root, text, sizeof(text), "/run/systemd/container"))
		return gt_arena_strdup(machine->arena, text);
	if (gt_host_exists(root, "/.dockerenv"))
		return "docker";
	return gt_host_exists(root, "/run/.containerenv") ? "podman" : NULL;
}

static int gt_host_any(const char *name, void *unused)
{
	(void)name;
	(void)unused;
	return 1;
}

/*
 * Returns what stands between devices and memory.  The type of an IOMMU group
 * says how it is used; older kernels have no such file.
 */
static const char *gt_host_iommu(const char *root,
				 const struct gt_machine *machine)
{
	const char *iommu = NULL;
	char type[GT_TEXT_MAX];

	if (!gt_host_exists(root, "/sys/kernel/iommu_groups"))
		return NULL;
	if (!gt_sysfs_each(root, "/sys/kernel/iommu_groups", gt_host_any, NULL))
		return "off";
	for (const struct gt_machine_pci *p = machine->pcis; p; p = p->next) {
		if (!p->gpu && !p->nets)
			continue;
		gt_sysfs_text(root, type, sizeof(type),
			      "/sys/bus/pci/devices/%s/iommu_group/type",
			      p->busid);
		if (!strncmp(type, "DMA", 3))
			return "translating";
		if (!strcmp(type, "identity"))
			iommu = "passthrough";
	}
	return iommu ? iommu : "on";
}

/*
 * NVIDIA's driver exports memory as dma-buf when its kernel module is the open
 * one, to kernels from 5.12 on.
 */
static void gt_host_dmabuf(const char *root, struct gt_machine *machine)
{
	char version[GT_TEXT_MAX], release[GT_TEXT_MAX];
	int major = 0, minor = 0;

	if (!gt_sysfs_text(root, version, sizeof(version),
			   "/proc/driver/nvidia/version") ||
	    !gt_sysfs_text(root, release, sizeof(release),
			   "/proc/sys/kernel/osrelease") ||
	    sscanf(release, "%d.%d", &major, &minor) != 2)
		return;
	machine->host.dmabuf = strstr(version, "Open Kernel Module") &&
			       (major > 5 || (major == 5 && minor >= 12));
	machine->host.dmabuf_from = "module";
}

/*
 * Returns whether NVSwitches are visible or hidden, by the NVLinks that end
 * there; NULL when there are none.
 */
static const char *gt_host_nvswitch(const struct gt_machine *machine)
{
	const char *word = NULL;

	for (const struct gt_machine_pci *p = machine->pcis; p; p = p->next)
		for (const struct gt_machine_nvlink *l =
			     p->gpu ? p->gpu->nvlinks : NULL;
		     l; l = l->next) {
			if (l->tclass != 0x068000)
				continue;
			if (!strncmp(l->target, "fffffff", 7))
				return "hidden";
			word = "visible";
		}
	return word;
}

int gt_probe_host(const struct gt_probe_env *env, struct gt_machine *machine,
		  struct gt_err *err)
{
	struct gt_machine_host *host = &machine->host;
	const char *root = env->root;

	(void)err;
	host->vm = gt_host_vm(root);
	host->container = gt_host_container(root, machine);
	host->iommu = gt_host_iommu(root, machine);
	host->nvswitch = gt_host_nvswitch(machine);
	gt_host_dmabuf(root, machine);
	gt_machine_note_detail(
		machine, "host: virtual machine: %s; container: %s; IOMMU: %s",
		host->vm ? host->vm : "no sign",
		host->container ? host->container : "no sign",
		host->iommu ? host->iommu : "unknown");
	return GT_OK;
}
