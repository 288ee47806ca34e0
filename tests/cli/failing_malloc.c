/*
 * Loaded before libc, this lets one allocation fail that the program makes
 * after main() has begun: number FAIL_AT, of those that the program itself asks
 * for where FAIL_OWN is set.  FAIL_COUNT names a file for how many there were.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);

typedef int main_function(int argc, char **argv, char **envp);
typedef int start_function(main_function *function, int argc, char **argv,
			   void (*init)(void), void (*fini)(void),
			   void (*rtld_fini)(void), void *stack_end);

static main_function *real_main;
static atomic_int started;
static atomic_long count;
static long fail_at;
static uintptr_t first, end = UINTPTR_MAX;

/* The program is the first object that is listed. */
static int note_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	first = UINTPTR_MAX;
	end = 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		uintptr_t to = at + info->dlpi_phdr[i].p_memsz;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		first = at < first ? at : first;
		end = to > end ? to : end;
	}
	return 1;
}

/* What is linked to the program to count its lines asks for memory as well. */
static void stop(void)
{
	atomic_store(&started, 0);
}

static int begin(int argc, char **argv, char **envp)
{
	const char *at = getenv("FAIL_AT");

	fail_at = at ? atol(at) : 0;
	if (getenv("FAIL_OWN"))
		dl_iterate_phdr(note_program, NULL);
	atexit(stop);
	atomic_store(&started, 1);
	return real_main(argc, argv, envp);
}

int __libc_start_main(main_function *function, int argc, char **argv,
		      void (*init)(void), void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end)
{
	void *real = dlsym(RTLD_NEXT, "__libc_start_main");

	real_main = function;
	return (*(start_function **)&real)(begin, argc, argv, init, fini,
					   rtld_fini, stack_end);
}

__attribute__((destructor)) static void tell(void)
{
	const char *name = getenv("FAIL_COUNT");
	FILE *file;

	stop();
	file = name ? fopen(name, "w") : NULL;
	if (!file)
		return;
	fprintf(file, "%ld\n", atomic_load(&count));
	fclose(file);
}

static int fails(const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	if (!atomic_load(&started) || at < first || at >= end ||
	    atomic_fetch_add(&count, 1) + 1 != fail_at)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t bytes)
{
	return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	return fails(__builtin_return_address(0)) ? NULL
						  : __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	return fails(__builtin_return_address(0))
		       ? NULL
		       : __libc_realloc(memory, bytes);
}
