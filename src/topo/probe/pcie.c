/*
 * This probe reads, for the functions that are kept, what sysfs says of ids,
 * drivers, links and access control.
 */
#include "topo/probe/probe.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/probe/sysfs.h"

enum {
	GT_PCI_EXTENDED = 0x100, /* where these capabilities begin */
	GT_PCI_CAP_ACS = 0x000d,
	GT_PCI_CAPS_MAX = 96, /* so that a list that loops ends, too */
};

/* Returns what a function's attribute says, or `old` where it says nothing. */
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

/*
 * Returns a link's width; the kernel says 0, or 255 where the device does not
 * answer.
 */
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

/*
 * Finds the driver, and its module's version where it has one other than the
 * kernel's.
 */
static void gt_pci_driver(const char *root, struct gt_machine *machine,
			  struct gt_machine_pci *pci)
{
	char path[PATH_MAX], version[64], *name;

	if (gt_sysfs_real(root, path, "/sys/bus/pci/devices/%s/driver",
			  pci->busid)) {
		name = strrchr(path, '/');
		if (name)
			pci->driver = gt_arena_strdup(machine->arena, name + 1);
	} else if (pci->gpu && machine->nvidia_version) {
		pci->driver = "nvidia"; /* or NVML would not know the GPU */
	}
	if (!pci->driver)
		return;
	if (gt_sysfs_text(root, version, sizeof(version),
			  "/sys/module/%s/version", pci->driver))
		pci->driver_version = gt_arena_strdup(machine->arena, version);
	else if (!strcmp(pci->driver, "nvidia"))
		pci->driver_version = machine->nvidia_version;
}

/* Returns two or four bytes of the configuration space; 0 where it ends. */
static unsigned gt_pci_config(int fd, off_t at, size_t size)
{
	unsigned char bytes[4] = {0};

	if (pread(fd, bytes, size, at) != (ssize_t)size)
		return 0;
	return bytes[0] | (unsigned)bytes[1] << 8 | (unsigned)bytes[2] << 16 |
	       (unsigned)bytes[3] << 24;
}

/*
 * Returns the access control services of a port: the control register of the
 * extended capability 0x000d (PCI Express Base Specification, "ACS Extended
 * Capability").  Only root may read so far.
 */
static int gt_pci_acs(const char *root, const char *busid)
{
	char path[PATH_MAX];
	int fd, acs = GT_UNKNOWN, left = GT_PCI_CAPS_MAX;
	unsigned head, at = GT_PCI_EXTENDED;

	if (snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s/config",
		     root, busid) >= PATH_MAX)
		return GT_UNKNOWN;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return GT_UNKNOWN;
	while (at >= GT_PCI_EXTENDED && left--) {
		head = gt_pci_config(fd, at, 4);
		if ((head & 0xffff) == GT_PCI_CAP_ACS) {
			acs = (int)gt_pci_config(fd, at + 6, 2);
			break;
		}
		at = head == ~0u ? 0 : head >> 20;
	}
	close(fd);
	return acs;
}

static void gt_pci_port(const char *root, struct gt_machine_pci *pci)
{
	gt_pci_links(root, pci->port->busid, &pci->port_max, &pci->port_cur);
	pci->port_acs = gt_pci_acs(root, pci->port->busid);
}

static void gt_pci_tell(struct gt_machine *machine)
{
	int n = 0, links = 0, acs = 0, ports = 0;

	for (struct gt_machine_pci *p = machine->pcis; p; p = p->next) {
		n++;
		links += p->max.speed_mts && p->max.width;
		ports += p->port != NULL;
		acs += p->port_acs != GT_UNKNOWN;
	}
	gt_machine_note_detail(
		machine,
		"pci: functions kept: %d; links of %d could be read, "
		"access control of %d of %d ports",
		n, links, acs, ports);
}

/*
 * Only functions that will be written are worth the reads, so the machine is
 * trimmed first.
 */
/* The machine whose slots are looked at, and where. */
struct gt_pci_slots {
	const char *root;
	struct gt_machine *machine;
};

/*
 * Tells the functions of the card in a slot, also behind a bridge of the card's
 * own, what the slot is called.  A slot has an address such as "0000:1b:00".
 */
static int gt_pci_slot(const char *name, void *arg)
{
	const struct gt_pci_slots *slots = arg;
	char address[GT_BUSID_MAX];
	size_t len = gt_sysfs_text(slots->root, address, sizeof(address),
				   "/sys/bus/pci/slots/%s/address", name);

	for (struct gt_machine_pci *p = slots->machine->pcis; len && p;
	     p = p->next)
		for (const struct gt_machine_pci *q = p; q && q != p->parent;
		     q = q->port)
			if (!strncmp(q->busid, address, len) &&
			    strchr(".:", q->busid[len]))
				p->slot = gt_arena_strdup(slots->machine->arena,
							  name);
	return 0;
}

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
			gt_pci_port(root, p);
	}
	gt_sysfs_each(root, "/sys/bus/pci/slots", gt_pci_slot,
		      &(struct gt_pci_slots){root, machine});
	gt_pci_tell(machine);
	return GT_OK;
}
