/* Asks NVML what each NVIDIA GPU may do to the memory of each other one. */
#include "topo/probe/nvml_query.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "topo/probe/machine.h"

/* What gt_p2p_why has for the driver's answers, gt_p2p_why being text. */
static const char *gt_p2p_reason(int status)
{
	static const char *const words[] = {
		[GT_NVML_P2P_OK] = "ok",
		[GT_NVML_P2P_CHIPSET] = "chipset",
		[GT_NVML_P2P_GPU] = "gpu",
		[GT_NVML_P2P_TOPOLOGY] = "topology",
		[GT_NVML_P2P_REGKEY] = "regkey",
		[GT_NVML_P2P_UNSUPPORTED] = "unsupported",
	};

	return status >= 0 && status < GT_NVML_P2P_UNKNOWN ? words[status]
							   : "unknown";
}

/*
 * Writes "rwa", "r--" for read, write and atomics; 0 where the driver does not
 * say.  *why becomes what it says of the first of read and write that may not
 * be, else that all is well.
 */
static int gt_p2p_word(const struct gt_nvml_query *query, int from, int to,
		       char word[4], int *why)
{
	static const struct {
		int index;
		char letter;
	} asked[] = {{GT_NVML_P2P_READ, 'r'},
		     {GT_NVML_P2P_WRITE, 'w'},
		     {GT_NVML_P2P_ATOMICS, 'a'}};
	int status;

	*why = GT_NVML_P2P_OK;
	for (int i = 0; i < 3; i++) {
		if (query->nvml->p2p(query->gpus[from].device,
				     query->gpus[to].device, asked[i].index,
				     &status) != GT_NVML_SUCCESS)
			return 0;
		word[i] = status == GT_NVML_P2P_OK ? asked[i].letter : '-';
		if (*why == GT_NVML_P2P_OK && i < 2)
			*why = status;
	}
	word[3] = '\0';
	return 1;
}

/* Writes one GPU's row as nvidia-smi topo -p2p has it. */
static int gt_p2p_row(const struct gt_nvml_query *query, int from)
{
	struct gt_buf row = GT_BUF_INIT, reasons = GT_BUF_INIT;
	struct gt_machine_gpu *gpu = query->gpus[from].gpu;
	int rc = GT_OK, all = 1, lacks = 0, why;
	char word[4];

	for (int to = 0; to < query->ngpus && all; to++) {
		if (to == from) {
			gt_buf_puts(&row, " x");
			gt_buf_puts(&reasons, " x");
		} else if ((all = gt_p2p_word(query, from, to, word, &why))) {
			gt_buf_printf(&row, " %s", word);
			gt_buf_printf(&reasons, " %s", gt_p2p_reason(why));
			lacks |= why != GT_NVML_P2P_OK;
		}
	}
	if (!all)
		gt_machine_note_detail(
			query->machine,
			"nvml: GPU %d: what peers may do is unknown", gpu->dev);
	else if (!row.failed)
		gpu->p2p = gt_arena_strdup(query->machine->arena,
					   gt_buf_text(&row) + 1);
	if (all && lacks && !reasons.failed)
		gpu->p2p_why = gt_arena_strdup(query->machine->arena,
					       gt_buf_text(&reasons) + 1);
	if (row.failed || reasons.failed || (all && !gpu->p2p) ||
	    (all && lacks && !gpu->p2p_why))
		rc = GT_ESYS;
	gt_buf_release(&row);
	gt_buf_release(&reasons);
	return rc;
}

int gt_nvml_p2p(const struct gt_nvml_query *query)
{
	int rc = GT_OK;

	if (!query->nvml->p2p || query->ngpus < 2)
		return GT_OK;
	for (int i = 0; i < query->ngpus && !rc; i++)
		rc = gt_p2p_row(query, i);
	return rc;
}
