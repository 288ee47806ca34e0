/*
 * Words that people write: of a few that are known, the one that is meant, so
 * that the command line, files written by hand and libgtopo understand the
 * same.
 */
#ifndef GT_BASE_WORD_H
#define GT_BASE_WORD_H

/*
 * Whether `text` means `word`, whatever its capitals, dashes, underscores and
 * blanks are: "AllReduce" and "all-reduce" mean "allreduce".
 */
int gt_word_is(const char *word, const char *text);

#endif
