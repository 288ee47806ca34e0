/* Hands texts and words over to the callers of libgtopo. */
#include "lib/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "lib/state.h"

void gtopo_free(void *text)
{
	free(text);
}

void gt_answer_init(const struct gt_answer *answer)
{
	if (answer->text && answer->size)
		*answer->text = '\0';
}

void gt_answer_warn(const struct gt_answer *answer, const char *line)
{
	size_t len = answer->text && answer->size ? strlen(answer->text) : 0;

	if (answer->text && answer->size)
		snprintf(answer->text + len, answer->size - len, "%s%s",
			 len ? "\n" : "", line);
}

int gt_answer_code(const struct gt_answer *answer, int rc,
		   const struct gt_err *err)
{
	if (rc && answer->text && answer->size)
		gt_err_words(err, answer->text, answer->size);
	return gt_comm_code(rc);
}

int gt_answer_give(const struct gt_answer *answer, int rc, struct gt_buf *text,
		   char **out, struct gt_err *err)
{
	if (!rc && text->failed)
		rc = gt_err_nomem(err);
	if (rc)
		gt_buf_release(text);
	else
		*out = text->text;
	return gt_answer_code(answer, rc, err);
}
