/*
 * Says a step as a sentence: what is received or read, what is added to it, and
 * where it goes.
 */
#include "cli/steps/sentence.h"

#include <inttypes.h>

#include "base/buf.h"
#include "plan/ir/program.h"

/* A step, with the program that it is of. */
struct sentence {
	const struct gt_program *program;
	const struct gt_step *step;
	struct gt_buf *out;
	const char *between; /* goes before the next words */
	int is_sending;      /* to several ranks, which share the verb */
};

static void begin(struct sentence *sentence, const char *verb)
{
	gt_buf_puts(sentence->out, sentence->between);
	gt_buf_puts(sentence->out, verb);
	sentence->between = ", ";
}

static uint32_t peer_of(const struct sentence *sentence,
			const struct gt_operand *operand)
{
	return sentence->program->conns[operand->conn].peer;
}

/* Says where an operand's bytes are, "chunk 3 of its input". */
static void put_place(const struct sentence *sentence,
		      const struct gt_operand *operand)
{
	static const char *const names[GT_NBUFS] = {
		[GT_BUF_INPUT] = "its input",
		[GT_BUF_OUTPUT] = "its output",
		[GT_BUF_PEER_INPUT] = "input",
		[GT_BUF_PEER_OUTPUT] = "output"};

	if (operand->buf == GT_BUF_SCRATCH)
		gt_buf_printf(sentence->out, "scratch %" PRIu32,
			      operand->chunk);
	else if (operand->buf == GT_BUF_FIFO)
		gt_buf_printf(sentence->out, "chunk %" PRIu32,
			      sentence->step->chunk);
	else
		gt_buf_printf(sentence->out, "chunk %" PRIu32 " of %s",
			      operand->chunk, names[operand->buf]);
}

/* Says a source; the first is what others are added to. */
static void put_source(struct sentence *sentence,
		       const struct gt_operand *operand, int is_first)
{
	struct gt_buf *out = sentence->out;

	if (operand->buf == GT_BUF_NONE) {
		begin(sentence, "waits for");
		gt_buf_printf(out, " rank %" PRIu32,
			      peer_of(sentence, operand));
		return;
	}
	if (operand->buf == GT_BUF_FIFO) {
		begin(sentence, is_first ? "receives " : "adds ");
		put_place(sentence, operand);
		gt_buf_printf(out, " from rank %" PRIu32,
			      peer_of(sentence, operand));
		return;
	}
	begin(sentence, is_first ? "takes " : "adds ");
	put_place(sentence, operand);
	if (operand->buf == GT_BUF_PEER_INPUT ||
	    operand->buf == GT_BUF_PEER_OUTPUT)
		gt_buf_printf(out, " of rank %" PRIu32,
			      peer_of(sentence, operand));
}

static void put_destination(struct sentence *sentence,
			    const struct gt_operand *operand)
{
	struct gt_buf *out = sentence->out;

	switch (operand->buf) {
	case GT_BUF_NONE:
		begin(sentence, "tells");
		gt_buf_printf(out, " rank %" PRIu32,
			      peer_of(sentence, operand));
		break;
	case GT_BUF_FIFO:
		begin(sentence, sentence->is_sending ? "to" : "sends it to");
		sentence->is_sending = 1;
		gt_buf_printf(out, " rank %" PRIu32,
			      peer_of(sentence, operand));
		break;
	case GT_BUF_PEER_INPUT:
	case GT_BUF_PEER_OUTPUT:
		begin(sentence, "writes it to ");
		put_place(sentence, operand);
		gt_buf_printf(out, " of rank %" PRIu32,
			      peer_of(sentence, operand));
		break;
	default:
		begin(sentence, "keeps it as ");
		put_place(sentence, operand);
	}
}

void gt_steps_sentence(const struct gt_program *program,
		       const struct gt_step *step, struct gt_buf *out)
{
	struct sentence sentence = {program, step, out, "", 0};
	uint32_t n = step->nsrc;
	int is_first = 1;

	for (uint32_t i = 0; i < n; i++) {
		const struct gt_operand *operand = gt_step_operand(step, i);

		put_source(&sentence, operand, is_first);
		is_first &= operand->buf == GT_BUF_NONE;
	}
	for (uint32_t i = 0; i < step->ndst; i++)
		put_destination(&sentence, gt_step_operand(step, n + i));
	if (!n && !step->ndst)
		gt_buf_puts(out, "does nothing");
}
