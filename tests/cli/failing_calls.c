/*
 * Loaded before libc, this lets one call fail that the program itself, or the
 * library that FAIL_OBJECT names, makes after main() has begun: FAIL_CALL is
 * its name, FAIL_AT its number among those of that name, counted over all
 * processes of a job.  "malloc" stands for all that get memory, "verbs" for all
 * of libibverbs.  With FAIL_KILLS the call kills the process instead.
 * FAIL_COUNT names a file for how many there were of each name.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

void failing_calls_begin(void);

typedef int main_function(int argc, char **argv, char **envp);
typedef int start_function(main_function *function, int argc, char **argv,
			   void (*init)(void), void (*fini)(void),
			   void (*rtld_fini)(void), void *stack_end);

/* CALL(name, error): what can fail, and its errno. */
#define CALLS(CALL)                                                            \
	CALL(malloc, ENOMEM)                                                   \
	CALL(fopen, EMFILE)                                                    \
	CALL(fwrite, ENOSPC)                                                   \
	CALL(fflush, ENOSPC)                                                   \
	CALL(rename, EACCES)                                                   \
	CALL(open, EMFILE)                                                     \
	CALL(read, EIO)                                                        \
	CALL(write, ENOSPC)                                                    \
	CALL(fsync, EIO)                                                       \
	CALL(realpath, EACCES)                                                 \
	CALL(opendir, EMFILE)                                                  \
	CALL(mmap, ENOMEM)                                                     \
	CALL(ftruncate, EFBIG)                                                 \
	CALL(memfd_create, EMFILE)                                             \
	CALL(eventfd, EMFILE)                                                  \
	CALL(socket, EMFILE)                                                   \
	CALL(socketpair, EMFILE)                                               \
	CALL(bind, EADDRINUSE)                                                 \
	CALL(listen, EADDRINUSE)                                               \
	CALL(connect, ECONNREFUSED)                                            \
	CALL(accept, EMFILE)                                                   \
	CALL(send, ECONNRESET)                                                 \
	CALL(recv, ECONNRESET)                                                 \
	CALL(sendmsg, ECONNRESET)                                              \
	CALL(recvmsg, ECONNRESET)                                              \
	CALL(getrandom, EIO)                                                   \
	CALL(fork, EAGAIN)                                                     \
	CALL(pthread_create, EAGAIN)                                           \
	CALL(verbs, ENOMEM)

#define NUMBER(name, error) CALL_##name,
enum call { CALLS(NUMBER) NCALLS };

#define NAME(name, error) #name,
static const char *const names[] = {CALLS(NAME)};

#define ERROR(name, error) error,
static const int errors[] = {CALLS(ERROR)};

static main_function *real_main;
static enum call wanted = NCALLS;
static long fail_at;
static uintptr_t first, end;
static pid_t parent;
/* [NCALLS], shared with forked processes; NULL: not yet. */
static atomic_long *count;
static atomic_int ends; /* this process has left main() */
static atomic_int later;

/*
 * The program is the first object that is listed; FAIL_OBJECT is a part of
 * another one's name.
 */
static int note_program(struct dl_phdr_info *info, size_t size, void *object)
{
	(void)size;
	if (object && !strstr(info->dlpi_name, object))
		return 0;
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
	for (int i = 0; i < NCALLS; i++)
		wanted =
			call && !strcmp(call, names[i]) ? (enum call)i : wanted;
	atomic_store(&later, getenv("FAIL_LATER") != NULL);
	parent = getpid();
	dl_iterate_phdr(note_program, getenv("FAIL_OBJECT"));
	shared = REAL(mmap)(NULL, NCALLS * sizeof(*count),
			    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
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
	int is_it = count && getpid() == parent;
	FILE *file;

	stop();
	file = is_it && name ? fopen(name, "w") : NULL;
	if (!file)
		return;
	for (int i = 0; i < NCALLS; i++)
		fprintf(file, "%s %ld\n", names[i], atomic_load(&count[i]));
	fclose(file);
}

/* Calls of the program that takes this one's place are none of its own. */
int execvp(const char *file, char *const argv[])
{
	tell();
	unsetenv("FAIL_COUNT");
	unsetenv("FAIL_CALL");
	unsetenv("FAIL_AT");
	return REAL(execvp)(file, argv);
}

/*
 * With FAIL_LATER nothing is counted before the program has called this: what
 * libraries do once in a process is behind it then.
 */
void failing_calls_begin(void)
{
	atomic_store(&later, 0);
}

static int fails(enum call call, const void *caller)
{
	uintptr_t at = (uintptr_t)caller;

	if (!count || atomic_load(&later) || atomic_load(&ends) || at < first ||
	    at >= end || atomic_fetch_add(&count[call], 1) + 1 != fail_at ||
	    call != wanted)
		return 0;
	if (getenv("FAIL_KILLS"))
		raise(SIGKILL);
	errno = errors[call];
	return 1;
}

#define FAILS(name) fails(CALL_##name, __builtin_return_address(0))

void *malloc(size_t bytes)
{
	return FAILS(malloc) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	return FAILS(malloc) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	return FAILS(malloc) ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
	return FAILS(malloc) ? NULL : __libc_memalign(alignment, bytes);
}

char *strdup(const char *text)
{
	return FAILS(malloc) ? NULL : REAL(strdup)(text);
}

int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = va_arg(args, mode_t);
	va_end(args);
	return FAILS(open) ? -1 : REAL(open)(path, flags, mode);
}

ssize_t read(int fd, void *bytes, size_t len)
{
	return FAILS(read) ? -1 : REAL(read)(fd, bytes, len);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	return FAILS(write) ? -1 : REAL(write)(fd, bytes, len);
}

void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return FAILS(mmap) ? MAP_FAILED
			   : REAL(mmap)(at, len, prot, flags, fd, offset);
}

int ftruncate(int fd, off_t len)
{
	return FAILS(ftruncate) ? -1 : REAL(ftruncate)(fd, len);
}

int memfd_create(const char *name, unsigned flags)
{
	return FAILS(memfd_create) ? -1 : REAL(memfd_create)(name, flags);
}

int socket(int domain, int type, int protocol)
{
	return FAILS(socket) ? -1 : REAL(socket)(domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int fds[2])
{
	return FAILS(socketpair)
		       ? -1
		       : REAL(socketpair)(domain, type, protocol, fds);
}

int bind(int fd, const struct sockaddr *name, socklen_t len)
{
	return FAILS(bind) ? -1 : REAL(bind)(fd, name, len);
}

int listen(int fd, int backlog)
{
	return FAILS(listen) ? -1 : REAL(listen)(fd, backlog);
}

int connect(int fd, const struct sockaddr *name, socklen_t len)
{
	return FAILS(connect) ? -1 : REAL(connect)(fd, name, len);
}

int accept(int fd, struct sockaddr *name, socklen_t *len)
{
	return FAILS(accept) ? -1 : REAL(accept)(fd, name, len);
}

ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
	return FAILS(send) ? -1 : REAL(send)(fd, bytes, len, flags);
}

ssize_t recv(int fd, void *bytes, size_t len, int flags)
{
	return FAILS(recv) ? -1 : REAL(recv)(fd, bytes, len, flags);
}

FILE *fopen(const char *path, const char *mode)
{
	return FAILS(fopen) ? NULL : REAL(fopen)(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	return FAILS(fopen) ? NULL : REAL(fopen)(path, mode);
}

size_t fwrite(const void *bytes, size_t size, size_t n, FILE *file)
{
	return FAILS(fwrite) ? 0 : REAL(fwrite)(bytes, size, n, file);
}

int fflush(FILE *file)
{
	return FAILS(fflush) ? EOF : REAL(fflush)(file);
}

int rename(const char *from, const char *to)
{
	return FAILS(rename) ? -1 : REAL(rename)(from, to);
}

pid_t fork(void)
{
	return FAILS(fork) ? -1 : REAL(fork)();
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
		   void *(*function)(void *), void *arg)
{
	return FAILS(pthread_create)
		       ? EAGAIN
		       : REAL(pthread_create)(thread, attr, function, arg);
}

int fsync(int fd)
{
	return FAILS(fsync) ? -1 : REAL(fsync)(fd);
}

char *realpath(const char *path, char *to)
{
	return FAILS(realpath) ? NULL : REAL(realpath)(path, to);
}

DIR *opendir(const char *path)
{
	return FAILS(opendir) ? NULL : REAL(opendir)(path);
}

int eventfd(unsigned value, int flags)
{
	return FAILS(eventfd) ? -1 : REAL(eventfd)(value, flags);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	return FAILS(sendmsg) ? -1 : REAL(sendmsg)(fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	return FAILS(recvmsg) ? -1 : REAL(recvmsg)(fd, message, flags);
}

ssize_t getrandom(void *bytes, size_t len, unsigned flags)
{
	return FAILS(getrandom) ? -1 : REAL(getrandom)(bytes, len, flags);
}

/*
 * Calls of libibverbs, without its header: at most six arguments, each in a
 * register, go on as they come.
 */
#define VERB(type, name, wrong)                                                \
	type name(long a, long b, long c, long d, long e, long f);             \
	type name(long a, long b, long c, long d, long e, long f)              \
	{                                                                      \
		return FAILS(verbs) ? (wrong) : REAL(name)(a, b, c, d, e, f);  \
	}

VERB(void *, ibv_get_device_list, NULL)
VERB(void *, ibv_open_device, NULL)
VERB(void *, ibv_alloc_pd, NULL)
VERB(void *, ibv_reg_mr, NULL)
VERB(void *, ibv_reg_mr_iova2, NULL)
VERB(void *, ibv_reg_dmabuf_mr, NULL)
VERB(void *, ibv_create_comp_channel, NULL)
VERB(void *, ibv_create_cq, NULL)
VERB(void *, ibv_create_qp, NULL)
VERB(int, ibv_modify_qp, ENOMEM)
VERB(int, ibv_query_device, ENOMEM)
VERB(int, ibv_query_port, ENOMEM)
VERB(int, ibv_query_gid, -1)
VERB(int, ibv_get_cq_event, -1)
VERB(int, ibv_get_async_event, -1)
