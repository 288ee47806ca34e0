/* Finds the program, runs it, and takes what it says within a limit. */
#include "nccl/helper.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

enum {
	GT_HELPER_LOOK_MS = 20,
	GT_HELPER_OUTPUT_MOST = 64 << 20,
	GT_HELPER_LINE_MAX = 256,
	GT_HELPER_KILL_MS = 100,
};

extern char **environ;

/* A run that is under way. */
struct gt_helper {
	pid_t pid;
	int in, out, words; /* memory, a pipe's end to read, and memory */
};

static int gt_helper_is_program(const char *path)
{
	struct stat is;

	return !stat(path, &is) && S_ISREG(is.st_mode) && !access(path, X_OK);
}

/* In a folder that is known from the library's: a build tree, or a package. */
static int gt_helper_near(char path[PATH_MAX])
{
	static const char *const folders[] = {".", "../../bin", "../../../bin"};
	char near[PATH_MAX + 64], folder[PATH_MAX];
	Dl_info own;
	char *slash;

	if (!dladdr((const void *)gt_helper_run, &own) || !own.dli_fname ||
	    !realpath(own.dli_fname, folder))
		return 0;
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; slash && i < sizeof(folders) / sizeof(*folders);
	     i++) {
		snprintf(near, sizeof(near), "%s/%s/gtopo", folder, folders[i]);
		if (realpath(near, path) && gt_helper_is_program(path))
			return 1;
	}
	return 0;
}

static int gt_helper_find(char path[PATH_MAX], struct gt_err *err)
{
	const char *named = secure_getenv("GTOPO_PROGRAM");

	if (named && *named) {
		if (snprintf(path, PATH_MAX, "%s", named) < PATH_MAX)
			return GT_OK;
		return gt_err_set(err, GT_ESYS, NULL,
				  "GTOPO_PROGRAM is too long");
	}
	if (gt_helper_near(path))
		return GT_OK;
	return gt_err_set(err, GT_ESYS, NULL,
			  "there is no program gtopo beside the library");
}

/* Memory that a program reads and writes as a file, with this in it. */
static int gt_helper_memory(const struct gt_buf *text)
{
	int fd = memfd_create("gtopo", MFD_CLOEXEC);
	size_t done = 0;
	ssize_t n;

	while (fd >= 0 && text && done < text->len) {
		n = write(fd, text->text + done, text->len - done);
		if (n > 0)
			done += (size_t)n;
		if (n < 0 && errno != EINTR) {
			close(fd);
			return -1;
		}
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

/*
 * The program inherits neither what would load this library into it, nor which
 * GPUs this rank is to use: it has to find those of all ranks.
 */
static int gt_helper_inherits(const char *variable)
{
	static const char *const others[] = {
		"LD_PRELOAD=", "LD_AUDIT=", "CUDA_VISIBLE_DEVICES=",
		"ROCR_VISIBLE_DEVICES=", "HIP_VISIBLE_DEVICES="};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(variable, others[i], strlen(others[i])))
			return 0;
	return 1;
}

static char **gt_helper_environment(void)
{
	size_t n = 0, kept = 0;
	char **all;

	while (environ[n])
		n++;
	all = calloc(n + 1, sizeof(*all));
	for (size_t i = 0; all && i < n; i++)
		if (gt_helper_inherits(environ[i]))
			all[kept++] = environ[i];
	return all;
}

/* Signals are as for a program that a shell starts. */
static int gt_helper_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	if (posix_spawnattr_init(attributes))
		return 0;
	posix_spawnattr_setsigmask(attributes, &none);
	posix_spawnattr_setsigdefault(attributes, &all);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
						     POSIX_SPAWN_SETSIGDEF);
	return 1;
}

static int gt_helper_spawn(struct gt_helper *helper, const char *path,
			   const char *const *arguments, int out)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	char **environment = gt_helper_environment();
	int rc = ENOMEM;

	if (!environment || posix_spawn_file_actions_init(&files)) {
		free(environment);
		return rc;
	}
	if (gt_helper_attributes(&attributes)) {
		posix_spawn_file_actions_adddup2(&files, helper->in, 0);
		posix_spawn_file_actions_adddup2(&files, out, 1);
		posix_spawn_file_actions_adddup2(&files, helper->words, 2);
		/* It may outlive this program, whose sockets it has not. */
#if __GLIBC_PREREQ(2, 34)
		posix_spawn_file_actions_addclosefrom_np(&files, 3);
#endif
		rc = posix_spawn(&helper->pid, path, &files, &attributes,
				 (char *const *)(uintptr_t)arguments,
				 environment);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&files);
	free(environment);
	return rc;
}

static void gt_helper_close(struct gt_helper *helper)
{
	if (helper->in >= 0)
		close(helper->in);
	if (helper->out >= 0)
		close(helper->out);
	if (helper->words >= 0)
		close(helper->words);
}

static int gt_helper_start(struct gt_helper *helper, const char *path,
			   const char *const *arguments,
			   const struct gt_buf *input, struct gt_err *err)
{
	int ends[2] = {-1, -1}, rc;

	helper->in = gt_helper_memory(input);
	helper->words = gt_helper_memory(NULL);
	rc = helper->in < 0 || helper->words < 0 || pipe2(ends, O_CLOEXEC)
		     ? errno
		     : 0;
	helper->out = ends[0];
	if (!rc)
		rc = gt_helper_spawn(helper, path, arguments, ends[1]);
	if (ends[1] >= 0)
		close(ends[1]);
	if (!rc)
		return GT_OK;
	gt_helper_close(helper);
	return gt_err_set(err, GT_ESYS, path, "cannot run it: %s",
			  strerror(rc));
}

static int gt_helper_is_over(struct gt_helper_limit limit)
{
	return gt_clock_ns() >= limit.until_ns ||
	       (limit.stop && atomic_load(limit.stop)) ||
	       (limit.end && atomic_load(limit.end));
}

/* It may have ended while someone who was forked holds its output open. */
static int gt_helper_has_ended(pid_t pid)
{
	siginfo_t is = {.si_pid = 0};

	return !waitid(P_PID, (id_t)pid, &is, WEXITED | WNOHANG | WNOWAIT) &&
	       is.si_pid == pid;
}

/*
 * Take what it prints until it closes its output or ends; 0: it must not go on.
 */
static int gt_helper_take(const struct gt_helper *helper,
			  struct gt_helper_limit limit, struct gt_buf *output)
{
	struct pollfd ready = {.fd = helper->out, .events = POLLIN};
	char bytes[4096];
	int ended = 0;
	ssize_t n = 1;

	while (n && !gt_helper_is_over(limit) && !output->failed &&
	       output->len < GT_HELPER_OUTPUT_MOST) {
		if (poll(&ready, 1, ended ? 0 : GT_HELPER_LOOK_MS) <= 0) {
			/* Once more, for what it printed last. */
			if (ended)
				return 1;
			ended = gt_helper_has_ended(helper->pid);
			continue;
		}
		n = read(helper->out, bytes, sizeof(bytes));
		if (n > 0)
			gt_buf_add(output, bytes, (size_t)n);
		else if (n < 0)
			n = errno == EINTR;
	}
	return !n;
}

/* The first line that it said of what went wrong. */
static void gt_helper_line(const struct gt_helper *helper,
			   char line[GT_HELPER_LINE_MAX])
{
	ssize_t n = pread(helper->words, line, GT_HELPER_LINE_MAX - 1, 0);

	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

/*
 * Wait until it has ended, or end it: 0.  A program that collects all its
 * children may have taken this one's status, which is 0 then: what it printed
 * has to speak for itself.
 */
static int gt_helper_reap(pid_t pid, int taken, struct gt_helper_limit limit,
			  int *status)
{
	pid_t got;

	*status = 0;
	while (taken && (got = waitpid(pid, status, WNOHANG)) <= 0) {
		if (got < 0 && errno != EINTR)
			return 1;
		if (gt_helper_is_over(limit))
			break;
		poll(NULL, 0, 1);
	}
	if (taken && got == pid)
		return 1;
	kill(pid, SIGKILL);
	/* One that hangs in a driver is left behind. */
	for (int i = 0; i < GT_HELPER_KILL_MS; i++) {
		got = waitpid(pid, status, WNOHANG);
		if (got > 0 || (got < 0 && errno != EINTR))
			break;
		poll(NULL, 0, 1);
	}
	return 0;
}

int gt_helper_run(const char *const *arguments, const struct gt_buf *input,
		  struct gt_helper_limit limit, struct gt_buf *output,
		  struct gt_err *err)
{
	char path[PATH_MAX], line[GT_HELPER_LINE_MAX];
	struct gt_helper helper;
	int rc = gt_helper_find(path, err), taken, ended, status;

	if (!rc)
		rc = gt_helper_start(&helper, path, arguments, input, err);
	if (rc)
		return rc;
	taken = gt_helper_take(&helper, limit, output);
	ended = gt_helper_reap(helper.pid, taken, limit, &status);
	gt_helper_line(&helper, line);
	gt_helper_close(&helper);
	if (output->failed)
		return gt_err_nomem(err);
	if (ended && !status)
		return GT_OK;
	return gt_err_set(err, GT_ESYS, NULL, "%s",
			  !ended  ? gt_clock_ns() < limit.until_ns
					    ? "it was ended"
					    : "it took too long"
			  : *line ? line
				  : "gtopo failed");
}
