/* libFuzzer target: any words as a machine, up to its XML, which is read. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "topo/probe/machine.h"
#include "topo/synth/synth.h"
#include "topo/graph/topo.h"
#include "topo/xml/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct gt_synth *synth, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	struct gt_machine *machine;
	struct gt_topo *topo;

	if (gt_synth_make(synth, &machine, err)) {
		if (!err->text[0])
			abort();
		return;
	}
	/* What is made, gtopo reads. */
	if (gt_xml_write(machine, &text, NULL, err) ||
	    (synth->nitems < 20 &&
	     gt_topo_parse("made", text.text, text.len, GT_RATES_LINE, &topo,
			   err) &&
	     !strstr(err->text, "more than")))
		abort();
	if (!err->text[0] && synth->nitems < 20)
		gt_topo_free(topo);
	gt_buf_release(&text);
	gt_machine_free(machine);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_arena *arena = gt_arena_new();
	char *text = gt_arena_alloc(arena, size + 1);
	struct gt_synth synth;
	struct gt_err err;

	gt_err_init(&err);
	memcpy(text, data, size);
	if (!gt_synth_read(text, arena, &synth, &err))
		check(&synth, &err);
	else if (!err.text[0])
		abort();
	gt_arena_free(arena);
	return 0;
}
