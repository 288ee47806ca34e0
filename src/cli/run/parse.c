/*
 * Turns lists of collectives, types, operators and sizes into the sweep's
 * arrays.
 */
#include "cli/run/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/pairs.h"
#include "base/unit.h"
#include "base/word.h"
#include "cli/common/command.h"
#include "cli/common/opt.h"
#include "cli/common/reference.h"
#include "cli/run/sweep.h"
#include "exec/peer_access.h"
#include "plan/ir/plan.h"

int gt_run_parse_sizes(struct gt_run_sweep *sweep, uint64_t begin, uint64_t end,
		       int64_t factor, struct gt_err *err)
{
	if (end == GT_RUN_SIZE_UNSET)
		end = begin == GT_RUN_SIZE_UNSET || begin < 16 << 20 ? 16 << 20
								     : begin;
	if (begin == GT_RUN_SIZE_UNSET)
		begin = end < 1 << 10 ? end : 1 << 10;
	if (begin > end)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "-b '%" PRIu64 "' is larger than -e "
				  "'%" PRIu64 "'",
				  begin, end);
	if (begin < end && factor < 2)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "-f '%" PRId64 "' never gets from -b to -e; "
				  "use 2 or more",
				  factor);
	if (begin < end && !begin)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "-b '0' never grows; use 1 or more");
	sweep->begin_bytes = begin;
	sweep->end_bytes = end;
	sweep->factor = begin < end ? (uint64_t)factor : 2;
	return GT_OK;
}

int gt_run_parse_coll(const char *name, int *coll, struct gt_err *err)
{
	struct gt_buf words = GT_BUF_INIT;
	int rc;

	for (int c = 0; c < GT_NCOLLS; c++)
		gt_buf_printf(&words, "%s|", gt_coll_name((enum gt_coll)c));
	gt_buf_puts(&words, "all");
	rc = words.failed
		     ? gt_err_nomem(err)
		     : gt_opt_choose(&(struct gt_opt_choice){"coll", words.text,
							     name},
				     coll, err);
	gt_buf_release(&words);
	if (!rc && *coll == GT_NCOLLS)
		*coll = -1;
	return rc;
}

int gt_run_parse_plan(const struct gt_cmd_args *args, const char *option,
		      const char **plan, struct gt_err *err)
{
	*plan = option ? option : args->noperands ? args->operands[0] : NULL;
	if (!*plan)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the plan is missing; see 'gtopo help %s'",
				  args->cmd->name);
	if (option && args->noperands)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--plan '%s' and '%s': one plan is enough",
				  option, args->operands[0]);
	return gt_reference_no_plan(*plan, err);
}

int gt_run_parse_types(struct gt_run_sweep *sweep, const char *dtype_name,
		       const char *op_name, struct gt_err *err)
{
	int dtype = gt_dtype_find(dtype_name), op = gt_redop_find(op_name);

	if (dtype < 0 && !gt_word_is("all", dtype_name))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--dtype '%s' is not a type; use all, or one "
				  "of float double half bf16 int8 uint8 int32 "
				  "uint32 int64 uint64 fp8_e4m3 fp8_e5m2",
				  dtype_name);
	if (op < 0 && !gt_word_is("all", op_name))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--op '%s' is not a reduction; use all, or "
				  "one of sum prod min max avg premul",
				  op_name);
	/* Nothing at all is asked for with 0; it is not meant otherwise. */
	if (dtype >= 0 && sweep->end_bytes &&
	    sweep->end_bytes < gt_dtype_bytes((enum gt_dtype)dtype))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "-e '%" PRIu64 "' is less than one element "
				  "of '%s', which has %zu bytes",
				  sweep->end_bytes, dtype_name,
				  gt_dtype_bytes((enum gt_dtype)dtype));
	sweep->dtypes = dtype < 0 ? ~0u : 1u << dtype;
	sweep->redops = op < 0 ? ~0u : 1u << op;
	return GT_OK;
}

int gt_run_parse_fault(const char *text, struct gt_engine_config *config,
		       struct gt_err *err)
{
	char rank[16], kind[8] = "";
	uint64_t step = 0;
	int64_t number;
	int n = 0;

	if (!text)
		return GT_OK;
	sscanf(text, "%7[a-z]:%15[0-9]%n", kind, rank, &n);
	if (n && text[n] == ':' &&
	    gt_unit_int(text + n + 1, 0, INT64_MAX, &number)) {
		step = (uint64_t)number;
		n = (int)strlen(text);
	}
	config->fault = !strcmp(kind, "stall")  ? GT_FAULT_STALL
			: !strcmp(kind, "exit") ? GT_FAULT_EXIT
						: GT_FAULT_NONE;
	if (!n || text[n] || config->fault == GT_FAULT_NONE)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--inject '%s' is not stall:RANK[:SLICES] or "
				  "exit:RANK[:SLICES]",
				  text);
	if (!gt_unit_int(rank, 0, (int64_t)config->plan->nranks - 1, &number))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--inject '%s': the plan has ranks 0 to "
				  "%" PRIu32,
				  text, config->plan->nranks - 1);
	config->fault_rank = (uint32_t)number;
	config->fault_step = step;
	return GT_OK;
}

const char *gt_run_parse_device(int device)
{
	static const char *const names[] = {"host", "cuda"};

	return device < 0 ? NULL : names[device];
}

int gt_run_parse_p2p(const char *words, uint32_t nranks, struct gt_err *err)
{
	struct gt_pair pair;
	int rc = gt_peer_access_off(words, GT_PEER_ACCESS_OPTION, nranks, &pair,
				    err);

	return rc < 0 ? rc : GT_OK;
}

int gt_run_parse_engine(const char *device, const struct gt_engine_ops *ops,
			struct gt_err *err)
{
	if (!ops)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--device '%s' is not part of this program",
				  device);
	return GT_OK;
}
