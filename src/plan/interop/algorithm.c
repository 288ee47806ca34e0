/*
 * The building of an algorithm that was made elsewhere: links, steps and
 * operands are appended, and faults are told with the step's place in the file.
 */
#include "plan/interop/algorithm.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "base/xml.h"

int gt_import_link(struct gt_import_file *algo,
		   const struct gt_import_link *ends, uint32_t *link,
		   struct gt_err *err)
{
	struct gt_import_link *links =
		gt_vec_grow_in(algo->arena, algo->links, algo->nlinks,
			       &algo->links_room, sizeof(*links));

	if (!links)
		return gt_err_nomem(err);
	algo->links = links;
	links[algo->nlinks] = *ends;
	*link = algo->nlinks++;
	return GT_OK;
}

int gt_import_step(struct gt_import_file *algo, struct gt_import_tb *tb,
		   const struct gt_import_step *like,
		   struct gt_import_step **made, struct gt_err *err)
{
	struct gt_import_step *steps = gt_vec_grow_in(
		algo->arena, tb->steps, tb->nsteps, &tb->room, sizeof(*steps));

	if (!steps)
		return gt_err_nomem(err);
	tb->steps = steps;
	*made = &steps[tb->nsteps++];
	**made = (struct gt_import_step){
		.elem = like->elem, .where = like->where, .count = like->count};
	return GT_OK;
}

int gt_import_fail(const struct gt_import_step *step, const char *attr,
		   struct gt_err *err, const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return step->elem ? gt_xml_fail(step->elem, attr, err, "%s", text)
			  : gt_err_set(err, GT_EINPUT, step->where, "%s", text);
}

int gt_import_is_for(const struct gt_import_file *algo, uint32_t ngpus,
		     struct gt_err *err)
{
	if (ngpus == algo->nranks)
		return GT_OK;
	return gt_err_set(err, GT_EINPUT, algo->name,
			  "it is for %u GPUs, there are %u", ngpus,
			  algo->nranks);
}

int gt_import_add(struct gt_import_file *algo, struct gt_import_step *step,
		  struct gt_import_list *list, struct gt_import_operand operand,
		  struct gt_err *err)
{
	struct gt_import_operand *operands;

	if (list->n == GT_IMPORT_MAX_OPERANDS)
		return gt_import_fail(step, NULL, err,
				      "more than %d take part in this step",
				      GT_IMPORT_MAX_OPERANDS);
	operands = gt_vec_grow_in(algo->arena, list->operands, list->n,
				  &list->room, sizeof(*operands));
	if (!operands)
		return gt_err_nomem(err);
	list->operands = operands;
	operands[list->n++] = operand;
	return GT_OK;
}
