/*
 * Static libraries of a distribution are made for programs, in which a variable
 * of the C library has an address of its own.  In a shared library it has not:
 * the linker takes these in place of such variables (--wrap), and they are what
 * those are.  Only libnccl.so.2 has this file.
 */
#include <stdio.h>

extern FILE *__real_stdin, *__real_stdout, *__real_stderr;
FILE *__wrap_stdin, *__wrap_stdout, *__wrap_stderr;

__attribute__((constructor(101))) static void gt_standard_files_open(void)
{
	__wrap_stdin = __real_stdin;
	__wrap_stdout = __real_stdout;
	__wrap_stderr = __real_stderr;
}
