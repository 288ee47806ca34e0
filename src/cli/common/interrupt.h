/* Ctrl-C and SIGTERM for commands that have to clean up after themselves. */
#ifndef GT_CLI_COMMON_INTERRUPT_H
#define GT_CLI_COMMON_INTERRUPT_H

/*
 * From now on the first such signal only sets the flag that is returned (to
 * its number), which engines look at; the second one kills.
 */
const _Atomic int *gt_interrupt_catch(void);

#endif
