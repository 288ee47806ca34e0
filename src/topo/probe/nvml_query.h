/*
 * The state of asking NVML, shared by gpu.c (GPUs), nvlink.c (each GPU's links)
 * and p2p.c (pairs of GPUs).
 */
#ifndef GT_TOPO_PROBE_NVML_QUERY_H
#define GT_TOPO_PROBE_NVML_QUERY_H

#include "topo/probe/nvml.h"

struct gt_machine;
struct gt_machine_gpu;
struct gt_probe_env;

/* This is a GPU that answered. */
struct gt_nvml_gpu {
	struct gt_nvml_device *device;
	struct gt_machine_gpu *gpu;
};

struct gt_nvml_query {
	const struct gt_nvml *nvml;
	const struct gt_probe_env *env;
	struct gt_machine *machine;
	struct gt_nvml_device *device; /* the GPU being asked */
	struct gt_machine_gpu *gpu;
	struct gt_nvml_gpu *gpus; /* all GPUs so far */
	int ngpus;
};

/* Ask for the links of query->gpu; GT_ESYS when memory ran out. */
int gt_nvml_links(const struct gt_nvml_query *query);

/* Ask what each of query->gpus may do to the memory of each other. */
int gt_nvml_p2p(const struct gt_nvml_query *query);

#endif
