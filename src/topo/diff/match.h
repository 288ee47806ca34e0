/*
 * Finds which device of one server is which of another.
 *
 * Servers with the same colours (gt_device_tree_hash) are matched exactly:
 * devices are singled out one after the other in both, and what the others then
 * are follows by refinement (individualization-refinement: McKay and Piperno,
 * "Practical graph isomorphism, II", 2014).
 *
 * Others are matched in three ways, of which the one counts that leaves the
 * least different.  By the few changes that would make them alike (repair.h).
 * By name, for devices that mostly keep their names.  And from the top down,
 * children by a cheapest assignment (Kuhn, "The Hungarian method for the
 * assignment problem", 1955, in the form of Jonker and Volgenant, 1987), a
 * pair's price being what differs in both subtrees, as in the edit distance of
 * unordered trees in which a child is matched below the parent's match (Zhang,
 * "A constrained edit distance between unordered labeled trees", 1996); where
 * trees leave a choice, NVLinks between GPUs decide: matches are swapped as
 * long as that makes fewer links differ, from several starts (swaps.h).
 * Devices that are left over on both sides and are equal have moved.
 *
 * The result is deterministic.  All of it is bounded by work: large servers
 * that differ much get a match that need not be the best.
 */
#ifndef GT_TOPO_DIFF_MATCH_H
#define GT_TOPO_DIFF_MATCH_H

#include <stdint.h>

struct gt_device_tree;
struct gt_err;
struct gt_wiring;

/*
 * image[i] is the device of b that a's device i is, back[] is the reverse; both
 * may be GT_UNMATCHED.
 */
struct gt_match {
	uint32_t *image, *back;
};

/*
 * Find the match.  The arrays, of a's and b's numbers of devices, are the
 * caller's.  Only memory can fail.
 */
int gt_match_find(const struct gt_device_tree *a,
		  const struct gt_device_tree *b, struct gt_match *match,
		  struct gt_err *err);

/*
 * Find the exact match of two wirings, of those devices that are there; 0 where
 * none was found, or too much work was done, -1 where memory ran out.  Among
 * equals names decide.  *work grows as in gt_wiring_colour().
 */
int gt_match_wirings(struct gt_wiring *a, struct gt_wiring *b,
		     struct gt_match *match, uint64_t *work);

/*
 * Find the exact match of servers with one hash; 0 where none was found, -1
 * where memory ran out.
 */
int gt_match_isomorphic(const struct gt_device_tree *a,
			const struct gt_device_tree *b, struct gt_match *match);

/*
 * Returns whether servers with one hash are the same, -1 where memory ran out.
 * The answer is no where that was not found: then they only count as two.
 */
int gt_match_is_isomorphic(const struct gt_device_tree *a,
			   const struct gt_device_tree *b);

#endif
