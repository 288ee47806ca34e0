/* A step of a program in words. */
#ifndef GT_CLI_STEPS_SENTENCE_H
#define GT_CLI_STEPS_SENTENCE_H

struct gt_buf;
struct gt_program;
struct gt_step;

/* Append what one step does, as a sentence without an end. */
void gt_steps_sentence(const struct gt_program *program,
		       const struct gt_step *step, struct gt_buf *out);

#endif
