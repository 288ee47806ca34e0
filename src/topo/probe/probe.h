/*
 * Probes: each asks one source (hwloc, NVML, sysfs, libibverbs) and adds what
 * it learns to a struct gt_machine.  One const table, run in order.
 *
 * To add a probe: write src/topo/probe/x.c with one function of this type and
 * put it into the table in probe.c, after the probes whose results it needs.
 * A source that is not there is not an error: the probe adds nothing.  One
 * that is there and fails says so with gt_machine_note.
 */
#ifndef GT_TOPO_PROBE_PROBE_H
#define GT_TOPO_PROBE_PROBE_H

struct gt_err;
struct gt_machine;

/* This says where to look. */
struct gt_probe_env {
	/*
	 * "" for this machine, or a directory with the sys and proc of
	 * another.  hwloc knows such a directory only through the variable
	 * HWLOC_FSROOT, which the caller has set to the same.
	 */
	const char *root;
	/*
	 * The NVML library to load; NULL: the system's on this machine, none
	 * below a root.
	 */
	const char *nvml;
	/* Virtual interfaces, too, and virtual functions without a port. */
	int all;
};

struct gt_probe {
	const char *name;
	/* GT_OK; an error only where nothing sensible can be said. */
	int (*run)(const struct gt_probe_env *env, struct gt_machine *machine,
		   struct gt_err *err);
};

/* NULL after the last. */
const struct gt_probe *gt_probe_get(int i);

/* Run them all; *machine is the caller's, trimmed and ready to write. */
int gt_probe_all(const struct gt_probe_env *env, struct gt_machine **machine,
		 struct gt_err *err);

/* The table's entries. */
int gt_probe_hwloc(const struct gt_probe_env *env, struct gt_machine *machine,
		   struct gt_err *err);
int gt_probe_nvml(const struct gt_probe_env *env, struct gt_machine *machine,
		  struct gt_err *err);
int gt_probe_kfd(const struct gt_probe_env *env, struct gt_machine *machine,
		 struct gt_err *err);
int gt_probe_rdma(const struct gt_probe_env *env, struct gt_machine *machine,
		  struct gt_err *err);
int gt_probe_verbs(const struct gt_probe_env *env, struct gt_machine *machine,
		   struct gt_err *err);
int gt_probe_net(const struct gt_probe_env *env, struct gt_machine *machine,
		 struct gt_err *err);
int gt_probe_pci(const struct gt_probe_env *env, struct gt_machine *machine,
		 struct gt_err *err);
int gt_probe_host(const struct gt_probe_env *env, struct gt_machine *machine,
		  struct gt_err *err);
int gt_probe_memory(const struct gt_probe_env *env, struct gt_machine *machine,
		    struct gt_err *err);

#endif
