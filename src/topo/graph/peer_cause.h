/*
 * Why GPUs do not reach each other's memory, as far as what is known of a
 * machine tells.
 */
#ifndef GT_TOPO_GRAPH_PEER_CAUSE_H
#define GT_TOPO_GRAPH_PEER_CAUSE_H

/* What a topology says of a GPU that lacks peers, and of its machine. */
struct gt_peer_facts {
	const char *said; /* the driver's words, gt_p2p_why; "" or NULL: none */
	const char *name; /* the model, or NULL */
	const char *vm;   /* the kind of virtual machine, or NULL */
	int has_mig;      /* it is cut into instances */
	int redirects;    /* the port above sends peers' requests up (ACS) */
	int translates;   /* the IOMMU does */
};

/* What is most likely, in words that follow a colon; NULL: nothing tells. */
const char *gt_peer_cause(const struct gt_peer_facts *facts);

#endif
