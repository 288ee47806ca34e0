/*
 * What links carry, by generation: NCCL's constants (what it reaches) and the
 * vendors' line rates (gtopo-topology(5) lists both and their sources).
 */
#ifndef GT_TOPO_GRAPH_MODEL_H
#define GT_TOPO_GRAPH_MODEL_H

#include "base/rat.h"
#include "topo/graph/topo.h"

/* NCCL's figure for what is no bottleneck. */
#define GT_LOCAL_GBS GT_RAT(5000, 1)

/* One NVLink of a GPU of compute capability sm (0: unknown, as NCCL's). */
struct gt_rat gt_model_nvlink(int sm, enum gt_rates rates);

/* One xGMI link of an AMD GPU; gcn is "gfx942", "910", … or NULL. */
struct gt_rat gt_model_xgmi(const char *gcn, enum gt_rates rates);

/*
 * One PCI Express lane at "16.0 GT/s PCIe", "16 GT/s" …; 0 where the speed is
 * none.  gt_model_gts gives the number alone (0: none).
 */
int gt_model_lane(const char *speed, enum gt_rates rates, struct gt_rat *gbs);
struct gt_rat gt_model_gts(const char *speed);

/* "32.0 GT/s x16", or the half of it that is known; NULL: nothing is. */
struct gt_pci_rate gt_model_rate(const char *text);

/* A width alone: "16"; 0 where it is none. */
int gt_model_width(const char *text);

/* A CPU by what the XML says about it. */
struct gt_cpu {
	const char *arch;   /* "x86_64", "arm64", "ppc64", or NULL */
	const char *vendor; /* "GenuineIntel", … or NULL */
	int family, model;
};

/* From this CPU to another of the machine. */
struct gt_rat gt_model_inter_cpu(const struct gt_cpu *cpu);

/* See struct gt_node's charge. */
struct gt_rat gt_model_pcie_overhead(const struct gt_cpu *cpu);

#endif
