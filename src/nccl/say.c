/*
 * The face is the one part of the library that prints, since nothing else lets
 * users see what happens in a program that is not theirs: by default nothing,
 * and never to standard output, which belongs to the program.
 *
 * What is global here is what NCCL's ABI has for the process or a thread.
 */
#include "nccl/say.h"

#include <config.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/err.h"

enum { GT_SAY_TEXT_MAX = 1024, GT_SAY_PATH_MAX = 4096 };

static _Thread_local char gt_say_mine[GT_SAY_TEXT_MAX];
static char gt_say_any[GT_SAY_TEXT_MAX];
static pthread_mutex_t gt_say_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t gt_say_once = PTHREAD_ONCE_INIT;
static enum gt_say_level gt_say_wanted;
static FILE *gt_say_file;

/* Open the log; %h in its name is the host, %p the process. */
static FILE *gt_say_open(const char *name)
{
	char path[GT_SAY_PATH_MAX] = "", host[256] = "";
	size_t at = 0;

	gethostname(host, sizeof(host) - 1);
	for (; *name && at < sizeof(path) - 1; name++)
		if (name[0] == '%' && (name[1] == 'h' || name[1] == 'p')) {
			int len =
				*++name == 'h'
					? snprintf(path + at, sizeof(path) - at,
						   "%s", host)
					: snprintf(path + at, sizeof(path) - at,
						   "%d", getpid());
			at += (size_t)len;
		} else {
			path[at++] = *name;
			path[at] = '\0';
		}
	return at < sizeof(path) ? fopen(path, "ae") : NULL;
}

/* A thread that is not in the child may have had it. */
static void gt_say_fork_child(void)
{
	pthread_mutex_init(&gt_say_mutex, NULL);
}

static void gt_say_begin(void)
{
	static const struct {
		const char *word;
		enum gt_say_level level;
	} levels[] = {{"VERSION", GT_SAY_VERSION},
		      {"WARN", GT_SAY_WARN},
		      {"ABORT", GT_SAY_WARN},
		      {"INFO", GT_SAY_INFO},
		      {"TRACE", GT_SAY_INFO}};
	const char *word = getenv("NCCL_DEBUG");
	const char *name = getenv("NCCL_DEBUG_FILE");

	pthread_atfork(NULL, NULL, gt_say_fork_child);
	for (size_t i = 0; word && i < sizeof(levels) / sizeof(*levels); i++)
		if (!strcasecmp(word, levels[i].word))
			gt_say_wanted = levels[i].level;
	if (!gt_say_wanted)
		return;
	gt_say_file = name && *name ? gt_say_open(name) : NULL;
	if (!gt_say_file)
		gt_say_file = stderr;
	fprintf(gt_say_file,
		"gtopo %s as libnccl.so.2, which says it is %d.%d.%d\n",
		PACKAGE_VERSION, gt_say_version() / 10000,
		gt_say_version() / 100 % 100, gt_say_version() % 100);
	fflush(gt_say_file);
}

int gt_say_version(void)
{
	const char *text = getenv("GTOPO_NCCL_VERSION");
	int major, minor, patch, end = 0;

	if (text &&
	    sscanf(text, "%3d.%3d.%3d%n", &major, &minor, &patch, &end) == 3 &&
	    !text[end] && major >= 2 && major < 100 && minor >= 0 &&
	    minor < 100 && patch >= 0 && patch < 100)
		return major * 10000 + minor * 100 + patch;
	return GT_NCCL_VERSION;
}

static void gt_say_line(const char *kind, const char *text)
{
	fprintf(gt_say_file, "gtopo [%d] %s%s\n", getpid(), kind, text);
	fflush(gt_say_file);
}

void gt_say_log(enum gt_say_level level, const char *fmt, ...)
{
	char text[GT_SAY_TEXT_MAX];
	va_list args;

	pthread_once(&gt_say_once, gt_say_begin);
	if (level > gt_say_wanted)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	gt_say_line("", text);
}

gt_nccl_result gt_say_error(gt_nccl_result result, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(gt_say_mine, sizeof(gt_say_mine), fmt, args);
	va_end(args);
	pthread_once(&gt_say_once, gt_say_begin);
	pthread_mutex_lock(&gt_say_mutex);
	memcpy(gt_say_any, gt_say_mine, sizeof(gt_say_any));
	pthread_mutex_unlock(&gt_say_mutex);
	if (gt_say_wanted >= GT_SAY_WARN)
		gt_say_line("error: ", gt_say_mine);
	return result;
}

gt_nccl_result gt_say_err(const char *call, const struct gt_err *err)
{
	char words[GT_SAY_TEXT_MAX];

	gt_err_words(err, words, sizeof(words));
	return gt_say_error(err->code == GT_EINPUT ? GT_NCCL_INVALID_USAGE
						   : GT_NCCL_SYSTEM_ERROR,
			    "%s: %s", call, words);
}

const char *gt_say_last(void)
{
	static _Thread_local char copy[GT_SAY_TEXT_MAX];

	if (*gt_say_mine)
		return gt_say_mine;
	pthread_mutex_lock(&gt_say_mutex);
	memcpy(copy, gt_say_any, sizeof(copy));
	pthread_mutex_unlock(&gt_say_mutex);
	return copy;
}
