/* Programs of explicit steps from JSON. */
#include "plan/json/read_sections.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "plan/ir/plan.h"
#include "plan/json/reader.h"
#include "plan/lower/step.h"

enum {
	GT_READ_OPERANDS = 255, /* the most sources, and targets, of a step */
	GT_READ_LANES = 1024,
};

static int gt_read_optional(const struct gt_json *object, const char *key,
			    uint32_t max, uint32_t *number, struct gt_err *err)
{
	struct gt_json at;

	return gt_json_get(object, key, &at)
		       ? gt_json_u32(&at, max, number, err)
		       : GT_OK;
}

static int gt_read_flag(const struct gt_json *object, const char *key,
			int *flag, struct gt_err *err)
{
	struct gt_json at;

	return gt_json_get(object, key, &at) ? gt_json_bool(&at, flag, err)
					     : GT_OK;
}

/*
 * A connection is {"from": 2} or {"to": 2}, with a "tag" where there are
 * several.
 */
static int gt_read_conn(struct gt_plan_reader *reader, const struct gt_json *at,
			struct gt_conn *conn, struct gt_err *err)
{
	static const char *const keys[] = {"from", "to", "tag", NULL};
	struct gt_json to;
	uint32_t tag = 0;
	int rc = gt_json_object(at, keys, err);

	conn->sends = (uint8_t)gt_json_get(at, "to", &to);
	if (!rc && conn->sends && gt_json_get(at, "from", &to))
		rc = gt_json_fault(&to, err, "stands beside 'to'");
	if (!rc)
		rc = gt_read_rank(reader, at, conn->sends ? "to" : "from",
				  &conn->peer, err);
	if (!rc)
		rc = gt_read_optional(at, "tag", UINT16_MAX, &tag, err);
	conn->tag = (uint16_t)tag;
	return rc;
}

static int gt_read_conns(struct gt_plan_reader *reader,
			 const struct gt_json *object,
			 struct gt_program *program, struct gt_err *err)
{
	struct gt_json at, item;
	int rc = GT_OK;

	if (!gt_json_get(object, "conns", &at))
		return GT_OK;
	rc = gt_json_array(&at, &program->nconns, err);
	if (!rc && program->nconns > UINT16_MAX)
		rc = gt_json_fault(&at, err, "there are more than %d",
				   UINT16_MAX);
	if (rc)
		return rc;
	program->conns = gt_read_array(reader, program->nconns,
				       sizeof(*program->conns), err);
	if (!program->conns)
		return GT_ESYS;
	for (uint32_t i = 0; i < program->nconns && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_conn(reader, &item, &program->conns[i], err);
	}
	return rc;
}

/*
 * Members that are left out have defaults: the chunk is the step's, and a slot
 * is waited for and posted.
 */
static int gt_read_operand(const struct gt_program *program,
			   const struct gt_json *at, uint32_t chunk,
			   struct gt_operand *operand, struct gt_err *err)
{
	static const char *const keys[] = {"buf",  "chunk", "conn",
					   "wait", "post",  NULL};
	uint32_t conn = 0, last = program->nconns ? program->nconns - 1 : 0;
	int rc = gt_json_object(at, keys, err), buf = 0, wait, post;

	if (!rc)
		rc = gt_read_word(at, "buf", gt_operand_find, &buf, err);
	wait = post = buf == GT_BUF_FIFO;
	if (!rc)
		rc = gt_read_optional(at, "chunk", UINT32_MAX, &chunk, err);
	if (!rc)
		rc = gt_read_optional(at, "conn", last, &conn, err);
	if (!rc)
		rc = gt_read_flag(at, "wait", &wait, err);
	if (!rc)
		rc = gt_read_flag(at, "post", &post, err);
	*operand = (struct gt_operand){
		.buf = (uint8_t)buf,
		.flags = (uint8_t)((wait ? GT_OPERAND_WAIT : 0) |
				   (post ? GT_OPERAND_POST : 0)),
		.conn = (uint16_t)conn,
		.chunk = buf == GT_BUF_FIFO || buf == GT_BUF_NONE ? 0 : chunk};
	return rc;
}

static int gt_read_operands(const struct gt_program *program,
			    const struct gt_json *object, const char *key,
			    struct gt_step_list *list, uint32_t *n,
			    struct gt_err *err)
{
	struct gt_operand *operands = (struct gt_operand *)list->operands;
	struct gt_json at, item;
	int rc;

	*n = 0;
	if (!gt_json_get(object, key, &at))
		return GT_OK;
	rc = gt_json_array(&at, n, err);
	if (!rc && *n > GT_READ_OPERANDS)
		rc = gt_json_fault(&at, err, "there are more than %d",
				   GT_READ_OPERANDS);
	for (uint32_t i = 0; !rc && i < *n; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_operand(program, &item, list->chunk,
				     &operands[list->nsrc + i], err);
	}
	return rc;
}

/*
 * The member "op" names the step for people; the operands alone say what it
 * does.
 */
static int gt_read_step(struct gt_program *program, const struct gt_json *at,
			struct gt_operand *operands, struct gt_err *err)
{
	static const char *const keys[] = {"op",  "chunk", "final",
					   "src", "dst",   NULL};
	struct gt_step_list list = {.operands = operands};
	int rc = gt_json_object(at, keys, err), final = 0;
	uint32_t n;

	if (!rc)
		rc = gt_read_optional(at, "chunk", UINT32_MAX, &list.chunk,
				      err);
	if (!rc)
		rc = gt_read_flag(at, "final", &final, err);
	list.flags = final ? GT_STEP_FINAL : 0;
	if (!rc)
		rc = gt_read_operands(program, at, "src", &list, &n, err);
	list.nsrc = rc ? 0 : n;
	if (!rc)
		rc = gt_read_operands(program, at, "dst", &list, &n, err);
	list.ndst = rc ? 0 : n;
	if (!rc)
		gt_step_add_list(program, &list);
	return rc;
}

/* The number of records that a step may need, whatever is wrong with it. */
static uint32_t gt_read_nrecords(const struct gt_json *step)
{
	static const char *const keys[] = {"src", "dst"};
	struct gt_json at;
	uint32_t n, sum = 0;

	for (int i = 0; i < 2; i++)
		if (gt_json_get(step, keys[i], &at) &&
		    !gt_json_array(&at, &n, NULL))
			sum += n < GT_READ_OPERANDS ? n : GT_READ_OPERANDS;
	return sum / GT_STEP_OPERANDS + 1;
}

static int gt_read_steps(struct gt_plan_reader *reader,
			 const struct gt_json *object,
			 struct gt_program *program, struct gt_err *err)
{
	struct gt_operand operands[2 * GT_READ_OPERANDS];
	struct gt_json at, item;
	uint32_t n, nrecords = 0;
	int rc = gt_json_need(object, "steps", &at, err);

	if (!rc)
		rc = gt_json_array(&at, &n, err);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < n; i++) {
		gt_json_item(&at, i, &item);
		nrecords += gt_read_nrecords(&item);
	}
	program->steps =
		gt_read_array(reader, nrecords, sizeof(*program->steps), err);
	if (!program->steps)
		return GT_ESYS;
	for (uint32_t i = 0; i < n && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_step(program, &item, operands, err);
	}
	return rc;
}

/* A program names its channel by id. */
static int gt_read_owner(const struct gt_plan *plan,
			 const struct gt_json *object,
			 struct gt_program *program, struct gt_err *err)
{
	struct gt_json at;
	uint32_t id, c = 0;
	int rc = gt_json_need(object, "channel", &at, err);

	if (!rc)
		rc = gt_json_u32(&at, UINT32_MAX, &id, err);
	if (rc)
		return rc;
	while (c < plan->nchannels && plan->channels[c].id != id)
		c++;
	program->channel = c;
	if (c == plan->nchannels)
		return gt_json_fault(&at, err, "there is no channel '%u'", id);
	program->nchunks = plan->channels[c].nchunks;
	program->nscratch = plan->channels[c].nscratch;
	return GT_OK;
}

static int gt_read_program(struct gt_plan_reader *reader,
			   const struct gt_json *at, struct gt_program *program,
			   struct gt_err *err)
{
	static const char *const keys[] = {"channel", "rank",  "lane",
					   "conns",   "steps", NULL};
	int rc = gt_json_object(at, keys, err);

	if (!rc)
		rc = gt_read_owner(reader->plan, at, program, err);
	if (!rc)
		rc = gt_read_rank(reader, at, "rank", &program->rank, err);
	if (!rc)
		rc = gt_read_optional(at, "lane", GT_READ_LANES - 1,
				      &program->lane, err);
	if (!rc)
		rc = gt_read_conns(reader, at, program, err);
	return rc ? rc : gt_read_steps(reader, at, program, err);
}

int gt_read_programs(struct gt_plan_reader *reader, const struct gt_json *root,
		     struct gt_err *err)
{
	struct gt_plan *plan = reader->plan;
	struct gt_json at, item;
	int rc;

	if (!gt_json_get(root, "programs", &at))
		return GT_OK;
	rc = gt_json_array(&at, &plan->nprograms, err);
	if (rc)
		return rc;
	plan->programs = gt_read_array(reader, plan->nprograms,
				       sizeof(*plan->programs), err);
	if (!plan->programs)
		return GT_ESYS;
	for (uint32_t i = 0; i < plan->nprograms && !rc; i++) {
		gt_json_item(&at, i, &item);
		rc = gt_read_program(reader, &item, &plan->programs[i], err);
	}
	if (!rc)
		qsort(plan->programs, plan->nprograms, sizeof(*plan->programs),
		      gt_program_cmp);
	return rc;
}
