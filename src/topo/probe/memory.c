/*
 * This probe says what the memory of each NUMA node carries, as firmware has
 * it: the heterogeneous memory attribute table (HMAT of ACPI), which the kernel
 * shows node by node, else the list of memory modules (SMBIOS), which only root
 * may read.
 */
#include "topo/probe/probe.h"

#include <limits.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "topo/probe/dmi.h"
#include "topo/probe/machine.h"
#include "topo/probe/sysfs.h"

enum { GT_MEMORY_TABLE_MAX = 1 << 20, GT_MEMORY_MBS_MAX = 100000000 };

/*
 * The node's own processors' rate.  Reads and writes share the wires of DRAM,
 * so both together are no more than the greater of the two.
 */
static int gt_memory_hmat(const char *root, int numa)
{
	static const char *const ways[] = {"read", "write"};
	long most = 0, mbs;

	for (int i = 0; i < 2; i++) {
		mbs = gt_sysfs_long(root, 0,
				    "/sys/devices/system/node/node%d/access0/"
				    "initiators/%s_bandwidth",
				    numa, ways[i]);
		if (mbs > most && mbs <= GT_MEMORY_MBS_MAX)
			most = mbs;
	}
	return (int)most;
}

static uint32_t gt_memory_count(const struct gt_machine *machine)
{
	uint32_t n = 0;

	for (const struct gt_machine_cpu *c = machine->cpus; c; c = c->next)
		n += c->numa >= 0;
	return n;
}

/*
 * What each node carries if all have as many channels; 0 where the list does
 * not say that they do.  A second socket's channels may bear the same names as
 * the first one's, and are then not told from second modules on one channel.
 */
static uint64_t gt_memory_share(const struct gt_dmi_memory *all, uint32_t nodes)
{
	if (!nodes || all->nchannels % nodes ||
	    (nodes > 1 && all->nprefixes < 2))
		return 0;
	return all->mbs / nodes;
}

/* The share of a node by the table of SMBIOS; 0: it does not say so. */
static uint64_t gt_memory_modules(const char *root, struct gt_machine *machine)
{
	struct gt_dmi_module modules[GT_DMI_MODULES_MAX];
	struct gt_buf table = GT_BUF_INIT;
	struct gt_dmi_memory all;
	char path[PATH_MAX];
	struct gt_err none;
	uint64_t share;
	uint32_t n = 0;

	gt_err_init(&none);
	if (snprintf(path, sizeof(path), "%s/sys/firmware/dmi/tables/DMI",
		     root) >= PATH_MAX)
		return 0;
	if (!gt_file_read(path, GT_MEMORY_TABLE_MAX, &table, &none) &&
	    table.len)
		n = gt_dmi_modules((const unsigned char *)table.text, table.len,
				   modules);
	gt_buf_release(&table);
	if (!n)
		return 0;
	all = gt_dmi_add(modules, n);
	share = gt_memory_share(&all, gt_memory_count(machine));
	gt_machine_note_detail(
		machine, "memory: modules: %u; channels: %u%s", n,
		all.nchannels,
		share ? "" : "; the list does not tell what nodes carry");
	return share;
}

int gt_probe_memory(const struct gt_probe_env *env, struct gt_machine *machine,
		    struct gt_err *err)
{
	uint64_t share = 0;
	int hmat = 0;

	(void)err;
	for (struct gt_machine_cpu *c = machine->cpus; c; c = c->next)
		if (c->numa >= 0) {
			c->memory_mbs = gt_memory_hmat(env->root, c->numa);
			hmat |= c->memory_mbs > 0;
		}
	/* What a virtual machine lists are no modules. */
	if (!hmat && !machine->host.vm)
		share = gt_memory_modules(env->root, machine);
	if (!share || share > GT_MEMORY_MBS_MAX)
		return GT_OK;
	for (struct gt_machine_cpu *c = machine->cpus; c; c = c->next)
		if (c->numa >= 0) {
			c->memory_mbs = (int)share;
			c->memory_from = "dmi";
		}
	return GT_OK;
}
