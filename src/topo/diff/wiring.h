/*
 * A device tree as a graph of labels and links that may be changed, to ask
 * whether two servers would be alike if a device were not there, another one,
 * or wired otherwise; and colour refinement on it.
 *
 * A device's colour is a hash of its label, then again and again of the colours
 * of its parent, its children and its links' ends, until no more colours come
 * (Weisfeiler and Leman, 1968; Berkholz, Bonsma and Grohe, "Tight lower and
 * upper bounds for the complexity of canonical colour refinement", 2017).
 */
#ifndef GT_TOPO_DIFF_WIRING_H
#define GT_TOPO_DIFF_WIRING_H

#include <stdint.h>

struct gt_device_tree;

struct gt_wiring {
	const struct gt_device_tree *tree;
	uint32_t n;
	uint64_t *own;   /* what each device is, at first gt_device.own */
	uint32_t *gone;  /* 0, or the change since when the device is gone */
	uint32_t *links; /* [n + 1]: where each device's links begin */
	uint32_t *to;
	int *count; /* 0: not there */
	uint64_t *old;
	void *memory;
};

/*
 * Make the wiring of a tree, which must outlive it; returns 0 without memory.
 */
int gt_wiring_init(struct gt_wiring *wiring, const struct gt_device_tree *tree);
void gt_wiring_release(struct gt_wiring *wiring);

/* Give every device its label as colour, 0 if it is gone. */
void gt_wiring_start(const struct gt_wiring *wiring, uint64_t *colours);

/* Refine the colours once. */
void gt_wiring_refine(const struct gt_wiring *wiring, uint64_t *colours);

/*
 * Refine until no more colours come; sorted[n] is the caller's for use.  *work
 * grows by what it took, in links and devices.  Returns the hash of all.
 */
uint64_t gt_wiring_colour(const struct gt_wiring *wiring, uint64_t *colours,
			  uint64_t *sorted, uint64_t *work);

/*
 * Sort the colours of devices that are there to the front of sorted[n]; returns
 * their number.
 */
uint32_t gt_wiring_sort(const struct gt_wiring *wiring, const uint64_t *colours,
			uint64_t *sorted);

#endif
