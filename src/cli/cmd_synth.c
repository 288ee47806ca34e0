/* gtopo synth: a topology made from a short description. */
#include "cli/common/command.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/synth/synth.h"
#include "topo/xml/write.h"

static int gt_synth_text(const struct gt_cmd_args *args, struct gt_arena *arena,
			 struct gt_buf *text, struct gt_err *err)
{
	struct gt_machine *machine;
	struct gt_synth synth;
	int nelements = 0;
	int rc = gt_synth_read(args->operands[0], arena, &synth, err);

	if (!rc)
		rc = gt_synth_make(&synth, &machine, err);
	if (rc)
		return rc;
	rc = gt_xml_write(machine, text, &nelements, err);
	gt_machine_free(machine);
	if (!rc && nelements > GT_XML_NCCL_NODES)
		gt_cmd_warn(args,
			    "the file has %d elements, NCCL takes at most %d",
			    nelements, GT_XML_NCCL_NODES);
	return rc;
}

static int cmd_synth(const struct gt_cmd_args *args, struct gt_err *err)
{
	struct gt_arena *arena = gt_arena_new();
	struct gt_buf text = GT_BUF_INIT;
	int rc = arena ? gt_synth_text(args, arena, &text, err)
		       : gt_err_nomem(err);

	rc = gt_cmd_write(args, &text, rc, err);
	gt_arena_free(arena);
	return rc;
}

const struct gt_cmd gt_cmd_synth = {
	.name = "synth",
	.summary = "make a machine from a few words",
	.operands = "DESCRIPTION",
	.examples = "  gtopo synth \"2 numa: 2 switch: 2 gpu 1 nic\"\n"
		    "  gtopo synth 8xH100\n"
		    "  gtopo synth \"8 gpu(model=b200 nvswitch=18) 8 nic\"\n",
	.operands_min = 1,
	.operands_max = 1,
	.run = cmd_synth,
};
