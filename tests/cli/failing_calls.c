/*
 * Loaded before libc, this lets one system call fail that the program itself
 * makes after main() has begun: FAIL_CALL is its name, FAIL_AT its number among
 * those of that name, counted over all processes of a job.  FAIL_COUNT names a
 * file for how many there were.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

typedef int main_function(int argc, char **argv, char **envp);
typedef int start_function(main_function *function, int argc, char **argv,
			   void (*init)(void), void (*fini)(void),
			   void (*rtld_fini)(void), void *stack_end);

static main_function *real_main;
static const char *wanted = "";
static long fail_at;
static uintptr_t first, end;
static pid_t parent;
static atomic_long *count; /* shared with forked processes; NULL: not yet */
static atomic_int ends;    /* this process has left main() */

/* The program is the first object that is listed. */
static int note_program(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	first = UINTPTR_MAX;
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

/* The real function behind this one's name. */
#define REAL(name) (*(__typeof__(name) **)real(#name))

static void *real(const char *name)
{
	static _Thread_local void *function;

	function = dlsym(RTLD_NEXT, name);
	return &function;
}

/* What is linked to the program to count its lines opens files as well. */
static void stop(void)
{
	atomic_store(&ends, 1);
}

static int begin(int argc, char **argv, char **envp)
{
	const char *at = getenv("FAIL_AT"), *call = getenv("FAIL_CALL");
	void *shared;

	fail_at = at ? atol(at) : 0;
	wanted = call ? call : "";
	parent = getpid();
	dl_iterate_phdr(note_program, NULL);
	shared = REAL(mmap)(NULL, sizeof(*count), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared != MAP_FAILED)
		count = shared;
	atexit(stop);
	return real_main(argc, argv, envp);
}

int __libc_start_main(main_function *function, int argc, char **argv,
		      void (*init)(void), void (*fini)(void),
		      void (*rtld_fini)(void), void *stack_end)
{
	void *start = dlsym(RTLD_NEXT, "__libc_start_main");

	real_main = function;
	return (*(start_function **)&start)(begin, argc, argv, init, fini,
					    rtld_fini, stack_end);
}

__attribute__((destructor)) static void tell(void)
{
	const char *name = getenv("FAIL_COUNT");
	long n = count ? atomic_load(count) : 0;
	FILE *file = name && getpid() == parent ? fopen(name, "w") : NULL;

	count = NULL;
	if (!file)
		return;
	fprintf(file, "%ld\n", n);
	fclose(file);
}

static int fails(const char *name, const void *caller, int error)
{
	uintptr_t at = (uintptr_t)caller;

	if (!count || atomic_load(&ends) || at < first || at >= end ||
	    strcmp(name, wanted) != 0 ||
	    atomic_fetch_add(count, 1) + 1 != fail_at)
		return 0;
	errno = error;
	return 1;
}

#define FAILS(name, error) fails(name, __builtin_return_address(0), error)

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	return FAILS("open", EMFILE) ? -1 : REAL(open)(path, flags, mode);
}

ssize_t read(int fd, void *bytes, size_t len)
{
	return FAILS("read", EIO) ? -1 : REAL(read)(fd, bytes, len);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	return FAILS("write", ENOSPC) ? -1 : REAL(write)(fd, bytes, len);
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return FAILS("mmap", ENOMEM)
		       ? MAP_FAILED
		       : REAL(mmap)(at, len, prot, flags, fd, offset);
}

int ftruncate(int fd, off_t len)
{
	return FAILS("ftruncate", EFBIG) ? -1 : REAL(ftruncate)(fd, len);
}

int memfd_create(const char *name, unsigned flags)
{
	return FAILS("memfd_create", EMFILE) ? -1
					     : REAL(memfd_create)(name, flags);
}

int socket(int domain, int type, int protocol)
{
	return FAILS("socket", EMFILE) ? -1
				       : REAL(socket)(domain, type, protocol);
}

int bind(int fd, const struct sockaddr *name, socklen_t len)
{
	return FAILS("bind", EADDRINUSE) ? -1 : REAL(bind)(fd, name, len);
}

int listen(int fd, int backlog)
{
	return FAILS("listen", EADDRINUSE) ? -1 : REAL(listen)(fd, backlog);
}

int connect(int fd, const struct sockaddr *name, socklen_t len)
{
	return FAILS("connect", ECONNREFUSED) ? -1
					      : REAL(connect)(fd, name, len);
}

int accept(int fd, struct sockaddr *name, socklen_t *len)
{
	return FAILS("accept", EMFILE) ? -1 : REAL(accept)(fd, name, len);
}

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
	return FAILS("send", ECONNRESET) ? -1
					 : REAL(send)(fd, bytes, len, flags);
}

ssize_t recv(int fd, void *bytes, size_t len, int flags)
{
	return FAILS("recv", ECONNRESET) ? -1
					 : REAL(recv)(fd, bytes, len, flags);
}

FILE *fopen(const char *path, const char *mode)
{
	return FAILS("fopen", EMFILE) ? NULL : REAL(fopen)(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	return FAILS("fopen", EMFILE) ? NULL : REAL(fopen)(path, mode);
}

size_t fwrite(const void *bytes, size_t size, size_t n, FILE *file)
{
	return FAILS("fwrite", ENOSPC) ? 0 : REAL(fwrite)(bytes, size, n, file);
}

int fflush(FILE *file)
{
	return FAILS("fflush", ENOSPC) ? EOF : REAL(fflush)(file);
}

int rename(const char *from, const char *to)
{
	return FAILS("rename", EACCES) ? -1 : REAL(rename)(from, to);
}

pid_t fork(void)
{
	return FAILS("fork", EAGAIN) ? -1 : REAL(fork)();
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*function)(void *), void *arg)
{
	return FAILS("pthread_create", EAGAIN)
		       ? EAGAIN
		       : REAL(pthread_create)(thread, attr, function, arg);
}
