/*
 * Says which device an element is about, in the words that people use for it,
 * and reads what rules ask of several elements.
 */
#ifndef GT_TOPO_LINT_DEVICE_H
#define GT_TOPO_LINT_DEVICE_H

struct gt_xml_elem;

enum { GT_LINT_WORD_MAX = 64 };

/* Words that are not known are "". */
struct gt_lint_device {
	char name[GT_LINT_WORD_MAX];   /* "GPU0", "mlx5_0", "switch" */
	char bus_id[GT_LINT_WORD_MAX]; /* as the file spells it */
	char slot[GT_LINT_WORD_MAX];
};

/* Find the device that an element describes or belongs to. */
void gt_lint_device(const struct gt_xml_elem *elem,
		    struct gt_lint_device *device);

/*
 * Returns the number at the start of an attribute as NCCL reads it, 0 where
 * there is none; within a million of 0.  gt_lint_add() keeps sums there, too.
 */
int gt_lint_int(const struct gt_xml_elem *elem, const char *attr);
int gt_lint_add(int a, int b);

/* Returns whether the class of a <pci> is one that GPUs have. */
int gt_lint_has_gpu_class(const struct gt_xml_elem *pci);

/* Returns whether a <pci> is a GPU of AMD, whose links are xGMI. */
int gt_lint_is_amd_gpu(const struct gt_xml_elem *pci);

/* Returns whether an element is an <nvlink> or <xgmi>. */
int gt_lint_is_link(const struct gt_xml_elem *elem);

#endif
