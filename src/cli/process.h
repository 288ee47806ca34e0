/* Prepares the process, before any command runs. */
#ifndef GT_CLI_PROCESS_H
#define GT_CLI_PROCESS_H

/*
 * As many files may be open as the system allows.  The standard descriptors are
 * open, so that no socket gets one of their numbers; a file that may not grow
 * is an error and no signal; and where C++'s operator new and GMP run out of
 * memory, the program ends with words and the status of a failing system.
 */
void gt_process_prepare(void);

/* Before another program takes its place: what that inherits is as it was. */
void gt_process_restore(void);

#endif
