/*
 * Peer access that somebody turns off to see what GPUs without it do: in words,
 * by `gtopo run --p2p` or the variable GTOPO_P2P.
 */
#ifndef GT_EXEC_PEER_ACCESS_H
#define GT_EXEC_PEER_ACCESS_H

#include <stdint.h>

struct gt_err;
struct gt_pair;

/* The variable, and the option that comes before it. */
#define GT_PEER_ACCESS_VARIABLE "GTOPO_P2P"
#define GT_PEER_ACCESS_OPTION   "--p2p"

/*
 * Find the first pair of n ranks whose GPUs are not to reach each other.  The
 * words are "off", for all pairs, or pairs such as "0-1,2-3"; NULL or none at
 * all turn nothing off.  Returns 1 with that pair, 0 if there is none, or
 * GT_EINPUT for other words, which `where` names, the option or the variable.
 * An option names ranks that there are; a variable is for all communicators of
 * a program, and pairs that one of them does not have are nothing to it.
 */
int gt_peer_access_off(const char *words, const char *where, uint32_t n,
		       struct gt_pair *pair, struct gt_err *err);

#endif
