/*
 * Why GPUs do not reach each other's memory: first what the driver says itself,
 * then what is known to keep it from giving access.
 */
#include "topo/graph/peer_cause.h"

#include <stddef.h>
#include <string.h>

/*
 * What nvmlDeviceGetP2PStatus() says beside yes (nvml.h, nvmlGpuP2PStatus_t).
 * That it is not supported, without a reason, explains nothing.
 */
static const char *gt_peer_said(const char *said)
{
	static const char *const words[][2] = {
		{"chipset", "the driver gives no access on this chipset"},
		{"gpu", "the driver gives no access to this model of GPU"},
		{"topology",
		 "the driver gives no access over the way between them"},
		{"regkey", "a setting of the driver turns access off"},
	};

	for (size_t i = 0; said && i < sizeof(words) / sizeof(*words); i++)
		if (strstr(said, words[i][0]))
			return words[i][1];
	return NULL;
}

const char *gt_peer_cause(const struct gt_peer_facts *facts)
{
	const char *said = gt_peer_said(facts->said);

	if (facts->has_mig)
		return "it is cut into instances (MIG)";
	if (said)
		return said;
	if (facts->name && strstr(facts->name, "GeForce"))
		return "the driver gives GeForce cards no access but over "
		       "NVLink";
	if (facts->redirects)
		return "ports of switches send peers up to the processor (ACS)";
	if (facts->translates)
		return "the IOMMU translates what goes between devices";
	if (facts->vm)
		return "it is a virtual machine, whose host keeps devices "
		       "apart";
	return NULL;
}
