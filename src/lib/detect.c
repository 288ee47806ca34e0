/* gtopo_detect(): this machine as topology XML in memory. */
#include "base/buf.h"
#include "base/err.h"
#include "gtopo.h"
#include "lib/answer.h"
#include "topo/probe/machine.h"
#include "topo/probe/probe.h"
#include "topo/xml/write.h"

static int detect(const struct gt_answer *answer, int all, struct gt_buf *out,
		  struct gt_err *err)
{
	const struct gt_probe_env env = {.root = "", .all = all};
	struct gt_machine *machine;
	int rc = gt_probe_all(&env, &machine, err);

	if (rc)
		return rc;
	for (const struct gt_machine_note *note = machine->notes; note;
	     note = note->next)
		if (!note->detail)
			gt_answer_warn(answer, note->text);
	rc = gt_xml_write(machine, out, NULL, err);
	gt_machine_free(machine);
	return rc;
}

int gtopo_detect(unsigned flags, char **topology, char *message, size_t size)
{
	const struct gt_answer answer = {message, size};
	struct gt_buf text = GT_BUF_INIT;
	struct gt_err err;
	int rc = GT_OK;

	gt_err_init(&err);
	gt_answer_init(&answer);
	if (!topology)
		rc = gt_err_set(&err, GT_EINPUT, NULL,
				"there is no place for the topology");
	else if (flags & ~(unsigned)GTOPO_DETECT_ALL)
		rc = gt_err_set(&err, GT_EINPUT, NULL,
				"flags '%#x' are not known", flags);
	if (!rc)
		rc = detect(&answer, flags & GTOPO_DETECT_ALL, &text, &err);
	return gt_answer_give(&answer, rc, &text, topology, &err);
}
