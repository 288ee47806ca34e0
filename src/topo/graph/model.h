/*
 * The bandwidth of links by generation: NCCL's constants, which are what it
 * reaches, and the vendors' line rates. gtopo-topology(5) lists both with their
 * sources.
 */
#ifndef GT_TOPO_GRAPH_MODEL_H
#define GT_TOPO_GRAPH_MODEL_H

#include "base/rat.h"
#include "topo/graph/topo.h"

/* NCCL's figure for a link that is no bottleneck. */
#define GT_LOCAL_GBS GT_RAT(5000, 1)

/*
 * Returns what one NVLink carries of a GPU of compute capability `sm`; 0 is
 * unknown and counts as it does in NCCL.
 */
struct gt_rat gt_model_nvlink(int sm, enum gt_rates rates);

/*
 * Returns how many NVLinks the bridge has that joins two such cards, by their
 * PCI ids; 0: there is none for them, or none is known.
 */
uint32_t gt_model_bridge(int vendor, int device);

/*
 * Returns what one xGMI link of an AMD GPU carries; `gcn` is "gfx942", "910", …
 * or NULL.
 */
struct gt_rat gt_model_xgmi(const char *gcn, enum gt_rates rates);

/*
 * gt_model_lane() gives what one PCI Express lane carries at "16.0 GT/s PCIe",
 * "16 GT/s" …; it returns 0 where the text is no speed. gt_model_gts() returns
 * the number of GT/s alone, 0 for none.
 */
int gt_model_lane(const char *speed, enum gt_rates rates, struct gt_rat *gbs);
struct gt_rat gt_model_gts(const char *speed);

/*
 * Parse "32.0 GT/s x16", or the half of it that is known; NULL gives nothing
 * known.
 */
struct gt_pci_rate gt_model_rate(const char *text);

/* Parse a width alone, "16"; 0 where the text is none. */
int gt_model_width(const char *text);

/* A processor is known by what the XML says of it. */
struct gt_cpu {
	const char *arch;   /* "x86_64", "arm64", "ppc64", or NULL */
	const char *vendor; /* "GenuineIntel", … or NULL */
	int family, model;
};

/* Returns who made it. */
enum gt_cpu_make gt_model_make(const struct gt_cpu *cpu);

/*
 * Returns what the link from this processor to another of the machine carries.
 */
struct gt_rat gt_model_inter_cpu(const struct gt_cpu *cpu);

/* Returns what struct gt_node has as `charge` for this processor. */
struct gt_rat gt_model_pcie_overhead(const struct gt_cpu *cpu);

#endif
