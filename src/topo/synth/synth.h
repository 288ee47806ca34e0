/*
 * Machines made up from a few words, "2 numa: 2 switch: 2 gpu 1 nic", which
 * gtopo-synth(1) explains: levels from the top, separated by colons.
 *
 * Reading makes a list of things and how many; making turns it into a machine
 * that gt_xml_write() takes.  Bus ids, names and guids are counted up, so the
 * same words make the same file.
 */
#ifndef GT_TOPO_SYNTH_SYNTH_H
#define GT_TOPO_SYNTH_SYNTH_H

#include <stdint.h>

struct gt_arena;
struct gt_err;
struct gt_machine;

enum gt_synth_kind {
	GT_SYNTH_NUMA,
	GT_SYNTH_SWITCH,
	GT_SYNTH_GPU,
	GT_SYNTH_NIC,
	GT_NSYNTHKINDS
};

/*
 * Options by the words that they are spelled with; 0 is one that is not given.
 */
enum gt_synth_opt {
	GT_SYNTH_CPU, /* a row of gt_synth_cpus, from 1 */
	GT_SYNTH_GEN,
	GT_SYNTH_WIDTH,
	GT_SYNTH_MODEL, /* a row of gt_synth_models, from 1 */
	GT_SYNTH_NVLINK,
	GT_SYNTH_NVSWITCH,
	GT_SYNTH_BRIDGE,
	GT_SYNTH_SPEED, /* Mb/s */
	GT_SYNTH_PORTS,
	GT_NSYNTHOPTS
};

struct gt_synth_item {
	enum gt_synth_kind kind;
	uint32_t count;
	uint32_t level; /* 0: of the root */
	int opts[GT_NSYNTHOPTS];
};

/*
 * The items of all levels, in order; at most one item of a level holds others.
 */
struct gt_synth {
	uint32_t nitems, nlevels;
	struct gt_synth_item *items;
};

/* This is a model of a GPU; the table ends with name NULL. */
struct gt_synth_model {
	const char *name;
	const char *vendor, *device, *class;
	const char *gcn; /* AMD's, else NULL */
	int sm, gen;
};

extern const struct gt_synth_model gt_synth_models[];

struct gt_synth_cpu {
	const char *name;
	const char *arch, *vendor;
	int family, model;
};

extern const struct gt_synth_cpu gt_synth_cpus[];

/*
 * Read a description; memory is the arena's.  GT_EINPUT with the column of what
 * is wrong.
 */
int gt_synth_read(const char *text, struct gt_arena *arena,
		  struct gt_synth *synth, struct gt_err *err);

/*
 * Make the machine, which is the caller's.  GT_EINPUT when it would be too
 * large.
 */
int gt_synth_make(const struct gt_synth *synth, struct gt_machine **machine,
		  struct gt_err *err);

#endif
