/*
 * Lists the words that can end a command line: the one source of completion in
 * all shells, which ask `gtopo help --complete -- WORD...`.
 */
#ifndef GT_CLI_COMPLETE_H
#define GT_CLI_COMPLETE_H

struct gt_buf;
struct gt_err;

/*
 * Append a line for each word that the last of n words may become, with a tab
 * and what it is behind it where that is known; `:files` says that any file
 * may stand there, too.  The words are those after "gtopo"; without any, or
 * when none fits, nothing is appended.
 */
int gt_complete(char **words, int n, struct gt_buf *out, struct gt_err *err);

#endif
