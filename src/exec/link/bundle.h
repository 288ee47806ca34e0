/*
 * How the operations of a group share launches: which way each goes, seen
 * together; which of them fit into one launch; where each one's chunks lie in
 * the mailboxes; and how many of the launch's warps it gets.  Numbers only:
 * all ranks and processes come to the same.
 */
#ifndef GT_EXEC_LINK_BUNDLE_H
#define GT_EXEC_LINK_BUNDLE_H

#include <stdint.h>

struct gt_bundle_op {
	uint64_t bytes; /* of a block in one shot */
	uint64_t slice; /* of a block in two shots; 0: there is nothing to do
			   in two */
	uint8_t two;    /* takes two shots; at first: as if it were alone */
	uint8_t ll128;  /* likewise */
	uint8_t fixed;  /* stays so */
	uint8_t push;   /* goes through scratch; likewise */
	uint8_t pushes; /* is large enough to do so, with others */
	/* What gt_bundle_divide() sets: */
	uint32_t ll_chunk; /* the first chunk in a sender's box */
	uint32_t chunks; /* of a part; two shots have a second one behind it */
	uint32_t warp, warps;
};

struct gt_bundle_limits {
	uint32_t nranks;
	uint32_t ops;     /* of a launch */
	uint32_t warps;   /* at once */
	uint32_t room[2]; /* chunks of a sender's box: of ll, of ll128 */
	int whole;        /* ll128 can be used */
};

/*
 * The ways of operations that do not stay as they are, by all their bytes.
 * Those that go through scratch are then not for _divide.
 */
void gt_bundle_choose(struct gt_bundle_op *ops, uint32_t n,
		      const struct gt_bundle_limits *limits);

/*
 * How many of the first operations, 1 at least, one launch carries, and where
 * and with what.  Each alone must fit into its box.
 */
uint32_t gt_bundle_divide(struct gt_bundle_op *ops, uint32_t n,
			  const struct gt_bundle_limits *limits);

#endif
