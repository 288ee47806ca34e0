/* Has the table of probes, in the order in which they run. */
#include "topo/probe/probe.h"

#include "base/err.h"
#include "topo/probe/machine.h"

static const struct gt_probe gt_probes[] = {
	{"hwloc", gt_probe_hwloc},   {"nvml", gt_probe_nvml},
	{"kfd", gt_probe_kfd},       {"rdma", gt_probe_rdma},
	{"verbs", gt_probe_verbs},   {"net", gt_probe_net},
	{"pci", gt_probe_pci},       {"host", gt_probe_host},
	{"memory", gt_probe_memory},
};

enum { GT_NPROBES = sizeof(gt_probes) / sizeof(gt_probes[0]) };

const struct gt_probe *gt_probe_get(int i)
{
	return i >= 0 && i < GT_NPROBES ? &gt_probes[i] : NULL;
}

int gt_probe_all(const struct gt_probe_env *env, struct gt_machine **machine,
		 struct gt_err *err)
{
	struct gt_machine *found = gt_machine_new();
	const struct gt_probe *probe;
	int rc = GT_OK;

	if (!found)
		return gt_err_nomem(err);
	for (int i = 0; !rc && (probe = gt_probe_get(i)); i++)
		rc = probe->run(env, found, err);
	if (rc)
		gt_machine_free(found);
	else
		*machine = found;
	return rc;
}
