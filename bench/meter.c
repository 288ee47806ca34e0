/*
 * meter COMMAND [ARGUMENT]...: runs it with its output thrown away and prints
 * "STATUS NANOSECONDS PEAK_RSS_KIB".  A small process of its own, because a
 * child's peak includes what it was forked from.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long meter_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void meter_exec(char **argv)
{
	int null = open("/dev/null", O_WRONLY);

	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execvp(argv[0], argv);
	_exit(127);
}

int main(int argc, char **argv)
{
	long long start = meter_ns();
	struct rusage usage;
	int status;
	pid_t pid;

	if (argc < 2)
		return 2;
	pid = fork();
	if (pid == 0)
		meter_exec(argv + 1);
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 3;
	printf("%d %lld %ld\n",
	       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
	       meter_ns() - start, usage.ru_maxrss);
	return 0;
}
