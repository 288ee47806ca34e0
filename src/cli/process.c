/* The process is put in order before a command starts. */
#include "cli/process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gmp.h>

#include "base/err.h"

typedef void gt_new_handler(void);

/*
 * This is std::set_new_handler(), by the name that every C++ compiler here
 * gives it.  It is weak, as a program without C++ in it has none.
 */
extern gt_new_handler *gt_set_new_handler(gt_new_handler *handler) __asm__(
	"_ZSt15set_new_handlerPFvvE") __attribute__((weak));

/*
 * CLP, which is C++, and GMP have no way to return that memory ran out: the one
 * throws through C, the other aborts.  Both let the program decide before that.
 * A command writes its product at the very end, so there is none to take back,
 * and what stands in stdout's buffer is not to be written.
 */
static void out_of_memory(void)
{
	static const char words[] = "gtopo: out of memory\n";

	if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0) {
		/* There is nobody else to tell. */
	}
	_exit(-GT_ESYS);
}

static void *allocate(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		out_of_memory();
	return memory;
}

static void *reallocate(void *memory, size_t old_bytes, size_t bytes)
{
	(void)old_bytes;
	memory = realloc(memory, bytes);
	if (!memory)
		out_of_memory();
	return memory;
}

/*
 * A closed descriptor is opened the wrong way round: who reads or writes it is
 * told, as if it were closed, but no other file can get its number.
 */
static void open_standard_descriptors(void)
{
	static const int flags[] = {O_WRONLY, O_RDONLY, O_RDWR};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags[fd]) < 0)
			return;
}

/* The limit that was there before; it is the process's, and 0 says none. */
static struct rlimit few_files;

/* A job has many sockets, and nobody here has to do with select(). */
static void open_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	few_files = limit;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

void gt_process_prepare(void)
{
	open_many_files();
	open_standard_descriptors();
	signal(SIGXFSZ, SIG_IGN);
	if (gt_set_new_handler)
		gt_set_new_handler(out_of_memory);
	mp_set_memory_functions(allocate, reallocate, NULL);
}

void gt_process_restore(void)
{
	signal(SIGXFSZ, SIG_DFL);
	if (few_files.rlim_max)
		setrlimit(RLIMIT_NOFILE, &few_files);
}
