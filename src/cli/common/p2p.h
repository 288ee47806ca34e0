/*
 * The option of commands that read a machine, or a cluster, and can take it for
 * one whose GPUs do not reach each other; gt_cluster_part_gpus() does what it
 * says.
 */
#ifndef GT_CLI_COMMON_P2P_H
#define GT_CLI_COMMON_P2P_H

/* A row of a table of options, whose member is a text. */
#define GT_OPT_P2P(opts, member)                                               \
	{                                                                      \
		GT_OPT_TEXT, 0, "p2p", "off|PAIRS", offsetof(opts, member),    \
			"GPUs without peer access, all or pairs of GPUs "      \
			"0-1,2-3",                                             \
			0, 0                                                   \
	}

#endif
