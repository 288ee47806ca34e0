/* libFuzzer target: any bytes as a topology file, up to every route. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "topo/graph/path.h"
#include "topo/view/print.h"
#include "topo/graph/topo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_buf text = GT_BUF_INIT;
	struct gt_paths *paths;
	struct gt_topo *topo;
	struct gt_err err;

	gt_err_init(&err);
	if (gt_topo_parse("input", (const char *)data, size, GT_RATES_MEASURED,
			  &topo, &err)) {
		/* Whatever is wrong is said. */
		if (!err.text[0])
			abort();
		return 0;
	}
	if (gt_topo_check(topo, &err))
		abort();
	if (!gt_paths_new(topo, &paths, &err)) {
		gt_print_paths(topo, paths, &text);
		gt_print_paths_json(topo, paths, GT_RATES_NCCL, &text);
		gt_buf_release(&text);
		gt_paths_free(paths);
	}
	gt_topo_free(topo);
	return 0;
}
