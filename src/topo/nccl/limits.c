/*
 * The table of such variables.  What they do is told in NCCL's documentation
 * (docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html).
 */
#include "topo/nccl/limits.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "topo/nccl/log.h"

const struct gt_nccl_limit gt_nccl_limits[GT_NCCL_NLIMITS] = {
	{"NCCL_P2P_DISABLE",
	 "keeps GPUs of one machine from each other's memory"},
	{"NCCL_P2P_LEVEL", "keeps GPUs that are farther apart from each "
			   "other's memory"},
	{"NCCL_SHM_DISABLE", "keeps ranks from the host's memory, so that they "
			     "take the network inside a machine"},
	{"NCCL_IB_DISABLE", "keeps NCCL from RDMA"},
	{"NCCL_NET", "has NCCL take TCP sockets between machines"},
	{"NCCL_NET_GDR_LEVEL", "keeps NCCL from GPUDirect RDMA"},
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

static int is_one_of(const char *value, const char *const *words)
{
	while (*words && strcmp(*words, value))
		words++;
	return !!*words;
}

static int limits(const char *variable, const char *value)
{
	static const char *const near[] = {"0", "LOC", "NVL", "PIX", NULL};
	static const char *const never[] = {"0", "LOC", NULL};
	const char *end = variable + strlen(variable);

	if (end - variable > 8 && !strcmp(end - 8, "_DISABLE"))
		return atoi(value) > 0;
	if (!strcmp(variable, "NCCL_P2P_LEVEL"))
		return is_one_of(value, near);
	if (!strcmp(variable, "NCCL_NET_GDR_LEVEL"))
		return is_one_of(value, never);
	if (!strcmp(variable, "NCCL_NET"))
		return !strcmp(value, "Socket");
	if (!strcmp(variable, "NCCL_NVLS_ENABLE") ||
	    !strcmp(variable, "NCCL_NET_GDR_READ"))
		return !strcmp(value, "0");
	if (!strcmp(variable, "NCCL_BUFFSIZE"))
		return atoll(value) > 0 && atoll(value) < 4 << 20;
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
