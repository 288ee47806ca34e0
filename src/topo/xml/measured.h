/*
 * Reads and writes measurements of a machine's GPUs, as a topology file has
 * them: elements of gtopo's own below each gpu, gt_host and gt_peer, and the
 * rates of links that follow from them, gt_gbs (gtopo-topology(5)).
 *
 * Rates are in GB/s one way; 0 stands for what was not measured.  These are
 * plain structs whose memory is an arena's.
 */
#ifndef GT_TOPO_XML_MEASURED_H
#define GT_TOPO_XML_MEASURED_H

#include <stddef.h>
#include <stdint.h>

struct gt_arena;
struct gt_buf;
struct gt_err;
struct gt_xml;

enum { GT_MEASURED_ID_MAX = 32 };

/* This has a GPU, and transfers between it and the host's memory. */
struct gt_measured_gpu {
	char bus_id[GT_MEASURED_ID_MAX]; /* "0000:1b:00.0" */
	int dev;                         /* NVML's index, -1 unknown */
	/* the NUMA node of the host, -1 unknown */
	int numa;
	char hidden[GT_MEASURED_ID_MAX]; /* the variable that hides it, or "" */
	double to_gbs, from_gbs;         /* alone */
	double all_to_gbs, all_from_gbs; /* while all GPUs do the same */
};

/* This has transfers from one GPU to another. */
struct gt_measured_peer {
	double gbs;        /* alone */
	double both_gbs;   /* while the other sends as well */
	double ring_gbs;   /* to the next GPU, while all send to theirs */
	double latency_ns; /* until the other sees a flag */
	/*
	 * both GPUs together from the host, if they share a link; the same both
	 * ways
	 */
	double host_gbs;
};

struct gt_measured {
	uint32_t ngpus;
	struct gt_measured_gpu *gpus;
	struct gt_measured_peer *peers; /* [from * ngpus + to] */
};

/* Make room for measurements, all unknown; GT_ESYS when memory ran out. */
int gt_measured_new(uint32_t ngpus, struct gt_arena *arena,
		    struct gt_measured *measured, struct gt_err *err);

/* Returns the GPU of that bus id in any spelling, or UINT32_MAX. */
uint32_t gt_measured_find(const struct gt_measured *measured,
			  const char *bus_id);

static inline struct gt_measured_peer *gt_measured_peer(
	const struct gt_measured *measured, uint32_t from, uint32_t to)
{
	return &measured->peers[(size_t)from * measured->ngpus + to];
}

/* Read the file's GPUs, in its order, and what it says was measured of them. */
int gt_measured_read(const struct gt_xml *xml, struct gt_arena *arena,
		     struct gt_measured *measured, struct gt_err *err);

/*
 * Returns whether the file shows a switch that both GPUs, whose bus ids are
 * spelled as in the file, are below.
 */
int gt_measured_share_switch(const struct gt_xml *xml, const char *bus_a,
			     const char *bus_b);

/*
 * Put measurements into a topology that gtopo wrote, in place of what was
 * measured before.  GPUs that the topology does not have are left out.
 *
 * A link's gt_gbs: NVLinks to another GPU have what they carry while both send;
 * those to switches share what the GPU sends and gets in the ring; a PCI or C2C
 * link above a GPU has the lesser of both ways to the host; that above a
 * switch, what two GPUs below it get together, if they share it.  Links of one
 * kind whose rates lie within 3% of one another all get their median, so that
 * noise makes no plan uneven.
 */
int gt_measured_write(const struct gt_measured *measured, struct gt_buf *xml,
		      struct gt_err *err);

/*
 * Who measures what the memory of a node carries, whose processors are a mask
 * as the file has it: 0 GB/s is not told.
 */
typedef int (*gt_memory_measurer)(const char *affinity, double *gbs,
				  struct gt_err *err);

/*
 * Put gt_memory_gbs into a topology that gtopo wrote, in place of what firmware
 * said, for each NUMA node that the measurer tells of.
 */
int gt_measured_write_memory(gt_memory_measurer measure, struct gt_buf *xml,
			     struct gt_err *err);

/* Less is not told, as it would be rounded to nothing. */
#define GT_MEMORY_LEAST_GBS 0.1

#endif
