/*
 * Reads what memories of NUMA nodes carry.
 */
#include "base/err.h"
#include "base/xml.h"
#include "topo/xml/reader.h"

int gt_reader_memory_gbs(const struct gt_reader *reader,
			 const struct gt_xml_elem *cpu, struct gt_rat *gbs,
			 struct gt_err *err)
{
	struct gt_rat both = GT_RAT(1, 1);

	*gbs = GT_LOCAL_GBS;
	if (reader->rates == GT_RATES_NCCL ||
	    !gt_xml_attr(cpu, "gt_memory_gbs"))
		return GT_OK;
	if (gt_xml_rat(cpu, "gt_memory_gbs", &both, err))
		return GT_EINPUT;
	if (both.num <= 0 || !gt_rat_div(both, GT_RAT(2, 1), gbs))
		return gt_xml_fail(cpu, "gt_memory_gbs", err,
				   "gt_memory_gbs '%.64s' is not above 0, or "
				   "out of range",
				   gt_xml_attr(cpu, "gt_memory_gbs"));
	return GT_OK;
}
