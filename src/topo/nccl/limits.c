/*
 * The table of such variables.  What they do is told in NCCL's documentation
 * (docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html); which values do
 * it, as NCCL 2.30.7 reads them: ncclGetLevel() of graph/paths.cc, and where
 * each NCCL_PARAM() is used.
 */
#include "topo/nccl/limits.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "topo/graph/path_kind.h"
#include "topo/nccl/log.h"

enum { MAX_CHANNELS = 64 }; /* that NCCL ever has */

const struct gt_nccl_limit gt_nccl_limits[GT_NCCL_NLIMITS] = {
	{"NCCL_P2P_DISABLE",
	 "keeps GPUs of one machine from each other's memory"},
	{"NCCL_P2P_LEVEL", "keeps GPUs that are farther apart from each "
			   "other's memory"},
	{"NCCL_SHM_DISABLE", "keeps ranks from the host's memory, so that they "
			     "take the network inside a machine"},
	{"NCCL_IB_DISABLE", "keeps NCCL from RDMA"},
	{"NCCL_NET", "has NCCL take TCP sockets between machines"},
	{"NCCL_NET_GDR_LEVEL", "keeps GPUs from GPUDirect RDMA with ports that "
			       "are farther away"},
	{"NCCL_NET_GDR_READ",
	 "has what is sent over RDMA pass through the host's memory"},
	{"NCCL_PXN_DISABLE", "keeps GPUs from the ports beside other GPUs"},
	{"NCCL_NVLS_ENABLE", "keeps NCCL from the switches' multicast"},
	{"NCCL_MAX_NCHANNELS", "allows no more channels"},
	{"NCCL_MAX_CTAS", "allows no more channels"},
	{"NCCL_BUFFSIZE", "makes buffers smaller than the usual 4 MiB"},
	{"NCCL_ALGO", "takes the choice of the algorithm from NCCL, at every "
		      "size"},
	{"NCCL_PROTO", "takes the choice of the protocol from NCCL, at every "
		       "size"},
	{"NCCL_GRAPH_FILE", "has NCCL take its channels from a file"},
};

/*
 * Returns up to which kind of route a level lets GPUs and ports be reached.
 * NCCL takes the words of kinds as they are written and, of old, numbers; any
 * other text it passes over, as a level that lets all through does.
 */
static enum gt_path_kind read_level(const char *value)
{
	static const enum gt_path_kind old[] = {GT_PATH_LOC, GT_PATH_PIX,
						GT_PATH_PXB, GT_PATH_PHB};
	unsigned long number;
	int kind = 0;

	while (kind < GT_NPATHKINDS &&
	       strcmp(gt_path_kind_name((enum gt_path_kind)kind), value))
		kind++;
	if (kind < GT_NPATHKINDS)
		return (enum gt_path_kind)kind;
	if (!isdigit((unsigned char)*value))
		return GT_PATH_SYS;
	number = strtoul(value, NULL, 0);
	return number < sizeof(old) / sizeof(old[0]) ? old[number]
						     : GT_PATH_SYS;
}

/*
 * What limits depends on the variable: NCCL compares with 1, with 0, or asks
 * for anything but 0.  As it does, whole numbers may be hexadecimal or octal.
 */
static int limits(const char *variable, const char *value)
{
	long long number = strtoll(value, NULL, 0);

	if (!strcmp(variable, "NCCL_P2P_DISABLE") ||
	    !strcmp(variable, "NCCL_SHM_DISABLE"))
		return number == 1;
	if (!strcmp(variable, "NCCL_IB_DISABLE") ||
	    !strcmp(variable, "NCCL_PXN_DISABLE"))
		return number != 0;
	if (!strcmp(variable, "NCCL_P2P_LEVEL") ||
	    !strcmp(variable, "NCCL_NET_GDR_LEVEL"))
		return read_level(value) < GT_PATH_PXB;
	if (!strcmp(variable, "NCCL_NET"))
		return !strcasecmp(value, "Socket");
	if (!strcmp(variable, "NCCL_NVLS_ENABLE") ||
	    !strcmp(variable, "NCCL_NET_GDR_READ"))
		return *value && !number;
	if (!strcmp(variable, "NCCL_BUFFSIZE"))
		return number > 0 && number < 4 << 20;
	if (!strcmp(variable, "NCCL_MAX_NCHANNELS"))
		return *value && number < MAX_CHANNELS;
	if (!strcmp(variable, "NCCL_MAX_CTAS"))
		return number > 0 && number < MAX_CHANNELS;
	return *value != '\0';
}

const char *gt_nccl_limit_set(const struct gt_nccl_log *log,
			      const char *variable)
{
	size_t len = strlen(variable);
	const char *text;

	for (uint32_t i = 0; i < log->nenv; i++) {
		text = log->env[i].text;
		if (gt_starts_with(text, variable) && text[len] == '=' &&
		    limits(variable, text + len + 1))
			return text;
	}
	return NULL;
}
