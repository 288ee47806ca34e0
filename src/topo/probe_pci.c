#include "topo/probe.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/machine.h"
#include "topo/sysfs.h"

/* What a function's attribute says, or `old` where it says nothing. */
static const char *gt_pci_text(const char *root, struct gt_machine *machine,
			       const struct gt_machine_pci *pci,
			       const char *name, const char *old)
{
	char text[64];
	const char *copy;

	if (!gt_sysfs_text(root, text, sizeof(text),
			   "/sys/bus/pci/devices/%s/%s", pci->busid, name))
		return old;
	copy = gt_arena_strdup(machine->arena, text);
	return copy ? copy : old;
}

static int gt_pci_speed(const char *root, const char *busid, const char *name)
{
	char text[64];

	gt_sysfs_text(root, text, sizeof(text), "/sys/bus/pci/devices/%s/%s",
		      busid, name);
	return gt_machine_speed_parse(text);
}

/* The kernel says 0, or 255 where the device does not answer. */
static int gt_pci_width(const char *root, const char *busid, const char *name)
{
	long width = gt_sysfs_long(root, 0, "/sys/bus/pci/devices/%s/%s", busid,
				   name);

	return width > 0 && width <= 64 ? (int)width : 0;
}

static void gt_pci_links(const char *root, const char *busid,
			 struct gt_machine_link *max,
			 struct gt_machine_link *cur)
{
	max->speed_mts = gt_pci_speed(root, busid, "max_link_speed");
	max->width = gt_pci_width(root, busid, "max_link_width");
	cur->speed_mts = gt_pci_speed(root, busid, "current_link_speed");
	cur->width = gt_pci_width(root, busid, "current_link_width");
}

static void gt_pci_driver(const char *root, struct gt_machine *machine,
			  struct gt_machine_pci *pci)
{
	char path[PATH_MAX], *name;

	if (!gt_sysfs_real(root, path, "/sys/bus/pci/devices/%s/driver",
			   pci->busid))
		return;
	name = strrchr(path, '/');
	if (name)
		pci->driver = gt_arena_strdup(machine->arena, name + 1);
}

/* Only functions that will be written are worth the reads. */
int gt_probe_pci(const struct gt_probe_env *env, struct gt_machine *machine,
		 struct gt_err *err)
{
	const char *root = env->root;
	int rc = gt_machine_trim(machine, err);

	if (rc)
		return rc;
	for (struct gt_machine_pci *p = machine->pcis; p; p = p->next) {
		p->class_id =
			gt_pci_text(root, machine, p, "class", p->class_id);
		p->vendor = gt_pci_text(root, machine, p, "vendor", p->vendor);
		p->device = gt_pci_text(root, machine, p, "device", p->device);
		p->subsystem_vendor =
			gt_pci_text(root, machine, p, "subsystem_vendor", NULL);
		p->subsystem_device =
			gt_pci_text(root, machine, p, "subsystem_device", NULL);
		gt_pci_driver(root, machine, p);
		gt_pci_links(root, p->busid, &p->max, &p->cur);
		if (p->port)
			gt_pci_links(root, p->port->busid, &p->port_max,
				     &p->port_cur);
	}
	return GT_OK;
}
