/*
 * Matches servers that few faults tell apart: looks for the changes that make
 * them alike, and matches them exactly then.
 *
 * A change takes away a device with all below it, makes a device what another
 * one is, or takes NVLinks away, in either server.  Each time the one is taken
 * that leaves the fewest colours different over the first rounds of refinement
 * (wiring.h): at a distance a fault changes no colours, so where a change
 * belongs is seen from what it leaves.  How much is tried is bounded by work,
 * not by the number of devices.
 */
#ifndef GT_TOPO_DIFF_REPAIR_H
#define GT_TOPO_DIFF_REPAIR_H

struct gt_matcher;

/*
 * Returns the number of changes after which the servers are matched, -1 where
 * none were found; then the match is as it was.  m->failed tells of memory.
 */
int gt_match_repair(struct gt_matcher *m);

#endif
