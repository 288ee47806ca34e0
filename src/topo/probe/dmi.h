/*
 * Memory modules as firmware lists them: structures of type 17 in the tables of
 * SMBIOS (DMTF DSP0134), which say what a module is called and how fast it is
 * run.
 */
#ifndef GT_TOPO_PROBE_DMI_H
#define GT_TOPO_PROBE_DMI_H

#include <stddef.h>
#include <stdint.h>

enum { GT_DMI_NAME_MAX = 96, GT_DMI_MODULES_MAX = 256 };

/* A slot with a module in it. */
struct gt_dmi_module {
	char bank[GT_DMI_NAME_MAX];   /* "P0 CHANNEL A"; "" if there is none */
	char device[GT_DMI_NAME_MAX]; /* "DIMM 0" */
	uint32_t width_bits;          /* of data; 0: unknown */
	uint32_t speed_mts;           /* that it is run at; 0: unknown */
	uint8_t type;                 /* 0x1a: DDR4, 0x22: DDR5 */
};

/*
 * Read the modules of a table of `len` bytes, which may be anything; returns
 * how many there are, up to GT_DMI_MODULES_MAX, or 0 where the table ends in
 * the middle of a structure or has more.
 */
uint32_t gt_dmi_modules(const unsigned char *table, size_t len,
			struct gt_dmi_module modules[GT_DMI_MODULES_MAX]);

/* What modules carry together, a channel once, however many are on it. */
struct gt_dmi_memory {
	uint64_t mbs; /* 1e6 bytes/s; 0: it is not told */
	uint32_t nchannels;
	/* what stands before channels' names: 2 of "P0 CHANNEL A", "P1 ..." */
	uint32_t nprefixes;
};

/*
 * Add up the modules.  Where names do not tell channels apart, or a width or
 * speed is not known, or speeds differ, nothing is told.
 */
struct gt_dmi_memory gt_dmi_add(const struct gt_dmi_module *modules,
				uint32_t n);

#endif
