/*
 * What went wrong, in words that programs can ask for, and the log that users
 * can ask for (NCCL_DEBUG, NCCL_DEBUG_FILE).  Each thread has its last error,
 * and the process the last of all threads.
 */
#ifndef GT_NCCL_SAY_H
#define GT_NCCL_SAY_H

#include "nccl/abi.h"

struct gt_err;

enum gt_say_level { GT_SAY_NOTHING, GT_SAY_VERSION, GT_SAY_WARN, GT_SAY_INFO };

/* Keep the words as the last error, log them, and return `result`. */
gt_nccl_result gt_say_error(gt_nccl_result result, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Keep the words of an error, after the call that had it; the result for it. */
gt_nccl_result gt_say_err(const char *call, const struct gt_err *err);

/* A line of the log, if the user wants that much. */
void gt_say_log(enum gt_say_level level, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The last error of this thread, or of the process; it is this thread's. */
const char *gt_say_last(void);

/* The number that ncclGetVersion() tells. */
int gt_say_version(void);

#endif
