/*
 * What functions of libgtopo hand back that make no communicator: a code, words
 * in the caller's buffer, and texts that are the caller's from then on.
 */
#ifndef GT_LIB_ANSWER_H
#define GT_LIB_ANSWER_H

#include <stddef.h>

struct gt_buf;
struct gt_err;

/* The caller's room for words; text may be NULL. */
struct gt_answer {
	char *text;
	size_t size;
};

/* Empty it, so that it has something to end with whatever happens. */
void gt_answer_init(const struct gt_answer *answer);

/* Add a line that warns of something; what has no room is cut. */
void gt_answer_warn(const struct gt_answer *answer, const char *line);

/*
 * Give the caller's code for rc, and the error's words in place of warnings
 * where it is one.
 */
int gt_answer_code(const struct gt_answer *answer, int rc,
		   const struct gt_err *err);

/* gt_answer_code(), that also hands `text` over to *out, or releases it. */
int gt_answer_give(const struct gt_answer *answer, int rc, struct gt_buf *text,
		   char **out, struct gt_err *err);

#endif
