/* Asks NVML what each NVIDIA GPU may do to the memory of each other one. */
#include "topo/probe/nvml_query.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "topo/probe/machine.h"

/*
 * Writes "rwa", "r--" for read, write and atomics; 0 where the driver does not
 * say.
 */
static int gt_p2p_word(const struct gt_nvml_query *query, int from, int to,
		       char word[4])
{
	static const struct {
		int index;
		char letter;
	} asked[] = {{GT_NVML_P2P_READ, 'r'},
		     {GT_NVML_P2P_WRITE, 'w'},
		     {GT_NVML_P2P_ATOMICS, 'a'}};
	int status;

	for (int i = 0; i < 3; i++) {
		if (query->nvml->p2p(query->gpus[from].device,
				     query->gpus[to].device, asked[i].index,
				     &status) != GT_NVML_SUCCESS)
			return 0;
		word[i] = status == GT_NVML_P2P_OK ? asked[i].letter : '-';
	}
	word[3] = '\0';
	return 1;
}

/* Writes one GPU's row as nvidia-smi topo -p2p has it. */
static int gt_p2p_row(const struct gt_nvml_query *query, int from)
{
	struct gt_buf row = GT_BUF_INIT;
	char word[4];
	int rc = GT_OK, all = 1;

	for (int to = 0; to < query->ngpus && all; to++) {
		if (to == from)
			gt_buf_puts(&row, " x");
		else if ((all = gt_p2p_word(query, from, to, word)))
			gt_buf_printf(&row, " %s", word);
	}
	if (!all)
		gt_machine_note_detail(
			query->machine,
			"nvml: GPU %d: what peers may do is unknown",
			query->gpus[from].gpu->dev);
	else if (!row.failed)
		query->gpus[from].gpu->p2p = gt_arena_strdup(
			query->machine->arena, gt_buf_text(&row) + 1);
	if (row.failed || (all && !query->gpus[from].gpu->p2p))
		rc = GT_ESYS;
	gt_buf_release(&row);
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
