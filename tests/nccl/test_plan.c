/*
 * Plans that nobody gave: found for the machine by the program gtopo beside the
 * library, kept in the user's cache, and used from there only if they are good.
 * GPUs are SIMULATED, and their machine is a file; the search is real.
 */
#include "nccl/client.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum {
	RANKS = 4,
	PROCESSES = 6,
	LIMIT_BYTES = 1024,
	MANY = 1 << 20,
	TEXT_MAX = 1 << 20
};

/* No machine is so busy that a search takes as long. */
#define LONG_MS "300000"

/* GPUs of share/xml/dgx-h100.xml, not in its order. */
static const char *const gpus[RANKS] = {"0000:52:00.0", "0000:1B:00.0",
					"0000:61:00.0", "0000:DF:00.0"};

static char folder[64], log_path[256];

static void read_log(char text[TEXT_MAX])
{
	FILE *file = fopen(log_path, "r");
	size_t n = file ? fread(text, 1, TEXT_MAX - 1, file) : 0;

	text[n] = '\0';
	if (file)
		fclose(file);
}

/* How often the log has the words. */
static int logged(const char *words)
{
	static char text[TEXT_MAX];
	int n = 0;

	read_log(text);
	for (const char *at = text; (at = strstr(at, words)); at++)
		n++;
	return n;
}

static void sum_all(struct rank *rank)
{
	int size = rank->size, in[RANKS], out[RANKS] = {0}, all[RANKS * RANKS];

	for (int i = 0; i < size; i++)
		in[i] = rank->rank + 1 + i;
	OK(ncclAllReduce(in, out, RANKS, INT32, SUM, rank->comm, rank->stream));
	OK(ncclAllGather(in, all, RANKS, INT32, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	for (int i = 0; i < size; i++)
		IS(out[i] == 10 + 4 * i);
	for (int i = 0; i < size * size; i++)
		IS(all[i] == i / size + 1 + i % size);
}

/* What else a communicator can do goes by the same plan. */
static void do_all(struct rank *rank)
{
	int next = (rank->rank + 1) % RANKS;
	int before = (rank->rank + RANKS - 1) % RANKS;
	int in[RANKS], out[RANKS], one = rank->rank, got = -1;

	sum_all(rank);
	for (int i = 0; i < RANKS; i++)
		in[i] = 10 * rank->rank + i;
	OK(ncclReduceScatter(in, out, 1, INT32, SUM, rank->comm, rank->stream));
	OK(ncclBroadcast(&one, &got, 1, INT32, 2, rank->comm, rank->stream));
	OK(ncclReduce(in, out + 1, 1, INT32, MAX, 3, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	IS(out[0] == 60 + RANKS * rank->rank);
	IS(got == 2);
	IS(rank->rank != 3 || out[1] == 30);
	OK(ncclAlltoAll(in, out, 1, INT32, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	for (int i = 0; i < RANKS; i++)
		IS(out[i] == 10 * i + rank->rank);
	OK(ncclGroupStart());
	OK(ncclSend(&one, 1, INT32, next, rank->comm, rank->stream));
	OK(ncclRecv(&got, 1, INT32, before, rank->comm, rank->stream));
	OK(ncclGroupEnd());
	sim_stream_sync(rank->stream);
	IS(got == before);
}

static void do_nothing(struct rank *rank)
{
	(void)rank;
}

/* The cache's only file; "": there is none. */
static void find_file(char path[256])
{
	char command[256];
	FILE *out;

	snprintf(command, sizeof(command), "find %s/cache -type f 2>/dev/null",
		 folder);
	out = popen(command, "r");
	IS(out);
	if (!fgets(path, 256, out))
		path[0] = '\0';
	path[strcspn(path, "\n")] = '\0';
	pclose(out);
}

static void empty_cache(void)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf %s/cache", folder);
	IS(!system(command));
}

static void set_cache(const char *path)
{
	char text[256];

	snprintf(text, sizeof(text), "%s/%s", folder, path);
	IS(!setenv("XDG_CACHE_HOME", *path == '/' ? path : text, 1));
}

/* The first time there is a search, and then there is none. */
static void case_found_and_kept(void **state)
{
	char path[256];
	struct stat is;

	(void)state;
	empty_cache();
	ranks_run(RANKS, do_all);
	IS(logged("the plan was found") == 1);
	find_file(path);
	IS(*path && !stat(path, &is) && !(is.st_mode & 0077));
	setenv("GTOPO_PROGRAM", "/nonexistent/gtopo", 1);
	ranks_run(RANKS, do_all);
	unsetenv("GTOPO_PROGRAM");
	IS(logged("the plan was found") == 1);
	IS(logged("the plan is /") == 1);
	/* Other GPUs, and sums in the order of ranks, are other plans. */
	ranks_run(2, do_nothing);
	setenv("GTOPO_INVARIANT", "1", 1);
	ranks_run(RANKS, sum_all);
	unsetenv("GTOPO_INVARIANT");
	IS(logged("the plan was found") == 3);
}

/* Large operations, which go by trees and rings of the plan at once. */
static void sum_many(struct rank *rank)
{
	int *in = malloc(MANY * sizeof(*in)), *out = calloc(MANY, sizeof(*out));

	IS(in && out);
	for (int i = 0; i < MANY; i++)
		in[i] = rank->rank + i;
	OK(ncclAllReduce(in, out, MANY, INT32, SUM, rank->comm, rank->stream));
	sim_stream_sync(rank->stream);
	for (int i = 0; i < MANY; i++)
		IS(out[i] == RANKS * (RANKS - 1) / 2 + RANKS * i);
	free(in);
	free(out);
	do_all(rank);
}

/* GPUs without NVLink, of which a plan has trees besides. */
static void case_trees(void **state)
{
	static const char *const others[RANKS] = {
		"0000:01:00.0", "0000:21:00.0", "0000:41:00.0", "0000:61:00.0"};
	char *before = strdup(getenv("GTOPO_TOPOLOGY"));
	char path[4096], file[256], text[512];
	int found = logged("the plan was found");

	(void)state;
	empty_cache();
	setenv("GTOPO_TOPOLOGY",
	       gt_test_path(path, "share/xml/rtx5090-4gpu.xml"), 1);
	sim_devices_are(others, RANKS);
	ranks_run(RANKS, sum_many);
	IS(logged("the plan was found") == found + 1);
	find_file(file);
	snprintf(text, sizeof(text), "grep -q '\"shape\": \"tree\"' %s", file);
	IS(!system(text));
	sim_devices_are(gpus, RANKS);
	setenv("GTOPO_TOPOLOGY", before, 1);
	free(before);
}

/* A reference machine by its name; what is none is told of. */
static void case_named(void **state)
{
	char *before = strdup(getenv("GTOPO_TOPOLOGY"));
	int found = logged("the plan was found");

	(void)state;
	empty_cache();
	setenv("GTOPO_TOPOLOGY", "dgx-h100", 1);
	ranks_run(RANKS, sum_all);
	IS(logged("the plan was found") == found + 1);
	ranks_run(RANKS, sum_all);
	IS(logged("the plan was found") == found + 1);
	setenv("GTOPO_TOPOLOGY", "dgx-h1000", 1);
	ranks_run(RANKS, sum_all);
	IS(logged("GTOPO_TOPOLOGY 'dgx-h1000'") == 1);
	IS(logged("is no file and no reference machine") >= 1);
	setenv("GTOPO_TOPOLOGY", before, 1);
	free(before);
}

static void shell(const char *path, const char *command)
{
	char text[1024];

	snprintf(text, sizeof(text), "f=%s; %s", path, command);
	IS(!system(text));
}

/* What cannot be trusted is warned of once, is not used, and is replaced. */
static void case_bad(void **state)
{
	static const char *const ways[] = {
		"head -c 1000 $f >$f.1; mv $f.1 $f",
		": >$f",
		"sed 's/0000:1b:00.0/0000:9d:00.0/g' $f >$f.1; mv $f.1 $f",
		"sed 's/\"gbs\": \"/&9/' $f >$f.1; mv $f.1 $f",
		"chmod 666 $f",
		"mv $f $f.1; ln -s $f.1 $f",
	};
	char path[256], words[320];
	int warned, found;

	(void)state;
	empty_cache();
	ranks_run(RANKS, sum_all);
	find_file(path);
	snprintf(words, sizeof(words), "%s is not used", path);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		warned = logged(words);
		found = logged("the plan was found");
		shell(path, ways[i]);
		ranks_run(RANKS, sum_all);
		IS(logged(words) == warned + 1);
		IS(logged("the plan was found") == found + 1);
		ranks_run(RANKS, sum_all);
		IS(logged("the plan was found") == found + 1);
	}
}

/* Without a place to keep plans they are found each time. */
static void case_no_place(void **state)
{
	char *home = strdup(getenv("HOME") ? getenv("HOME") : "/");
	int found;

	(void)state;
	empty_cache();
	found = logged("the plan was found");
	setenv("GTOPO_CACHE", "0", 1);
	ranks_run(RANKS, sum_all);
	unsetenv("GTOPO_CACHE");
	set_cache("/dev/null/cache");
	ranks_run(RANKS, sum_all);
	set_cache("/proc/self/fdinfo");
	ranks_run(RANKS, sum_all);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	ranks_run(RANKS, sum_all);
	setenv("HOME", home, 1);
	set_cache("cache");
	IS(logged("the plan was found") == found + 4);
	free(home);
}

struct waiter {
	pthread_t thread;
	int rank, result;
	id_t128 id;
	void *comm;
};

static void *wait_in_init(void *arg)
{
	struct waiter *w = arg;

	sim_use_device(w->rank);
	w->result = ncclCommInitRank(&w->comm, 2, w->id, w->rank);
	return NULL;
}

/* Make a program that tells its environment and then takes a long time. */
static void write_slow(char path[256])
{
	FILE *script;

	snprintf(path, 256, "%s/slow", folder);
	script = fopen(path, "w");
	IS(script);
	fprintf(script, "#!/bin/sh\nenv >%s/.env\n", folder);
	fprintf(script, "mv %s/.env %s/env\nexec sleep 600\n", folder, folder);
	fclose(script);
	IS(!chmod(path, 0700));
}

/* An abort does not wait for the search. */
static void case_abort(void **state)
{
	const struct timespec nap = {0, 1000000};
	struct waiter ranks[2] = {{.rank = 0}, {.rank = 1}};
	struct timespec begin, end;
	char path[256], told[256];
	void *comm;

	(void)state;
	empty_cache();
	write_slow(path);
	setenv("GTOPO_PROGRAM", path, 1);
	snprintf(told, sizeof(told), "%s/env", folder);
	OK(ncclGetUniqueId(&ranks[0].id));
	ranks[1].id = ranks[0].id;
	for (int r = 0; r < 2; r++)
		IS(!pthread_create(&ranks[r].thread, NULL, wait_in_init,
				   &ranks[r]));
	while (access(told, F_OK))
		nanosleep(&nap, NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	comm = __atomic_load_n(&ranks[0].comm, __ATOMIC_ACQUIRE);
	OK(ncclCommAbort(comm));
	for (int r = 0; r < 2; r++) {
		pthread_join(ranks[r].thread, NULL);
		IS(ranks[r].result != SUCCESS && !ranks[r].comm);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	IS(end.tv_sec - begin.tv_sec < 60);
	unsetenv("GTOPO_PROGRAM");
}

/* Ranks go round where nothing can be found, or not in time. */
static void case_ring(void **state)
{
	struct timespec begin, end;
	char path[256];

	(void)state;
	empty_cache();
	setenv("GTOPO_SEARCH", "0", 1);
	ranks_run(RANKS, sum_all);
	setenv("GTOPO_SEARCH", LONG_MS, 1);
	IS(logged("ring of 4 ranks: GTOPO_SEARCH is 0") == 1);
	setenv("GTOPO_PROGRAM", "/nonexistent/gtopo", 1);
	ranks_run(RANKS, sum_all);
	IS(logged("ring of 4 ranks: cannot run it") == 1);
	setenv("GTOPO_PROGRAM", "/bin/echo", 1);
	ranks_run(RANKS, sum_all);
	IS(logged("ring of 4 ranks: ") == 4);
	write_slow(path);
	shell(folder, "rm -f $f/env");
	setenv("GTOPO_PROGRAM", path, 1);
	setenv("CUDA_VISIBLE_DEVICES", "3", 1);
	setenv("GTOPO_SEARCH", "two seconds", 1);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	ranks_run(RANKS, sum_all);
	clock_gettime(CLOCK_MONOTONIC, &end);
	IS(logged("ring of 4 ranks: it took too long") == 1);
	IS(logged("GTOPO_SEARCH 'two seconds' is no number") == 1);
	setenv("GTOPO_SEARCH", LONG_MS, 1);
	IS(end.tv_sec - begin.tv_sec < 60);
	/* It finds GPUs of all ranks, not of this one. */
	unsetenv("CUDA_VISIBLE_DEVICES");
	shell(folder, "grep -q ^GTOPO_PROGRAM= $f/env");
	shell(folder, "! grep -q ^CUDA_VISIBLE_DEVICES= $f/env");
	/* This process does not wait for it a second time. */
	ranks_run(RANKS, sum_all);
	IS(logged("ring of 4 ranks: a search took too long before") == 1);
	unsetenv("GTOPO_PROGRAM");
	find_file(path);
	IS(!*path);
	setenv("GTOPO_TOPOLOGY", "/nonexistent.xml", 1);
	ranks_run(RANKS, sum_all);
	IS(logged("ring of 4 ranks: ") == 7);
	unsetenv("GTOPO_TOPOLOGY");
	/* The host has no GPUs to search for, and nothing is asked. */
	ranks_run(RANKS, sum_all);
	IS(logged("ring of 4 ranks: ranks are on the host") == 1);
}

/* This program again, which makes a communicator and writes no larger files. */
static pid_t start_once(const char *what, rlim_t most_bytes)
{
	const struct rlimit limit = {most_bytes, most_bytes};
	pid_t pid = fork();

	IS(pid >= 0);
	if (pid)
		return pid;
	signal(SIGXFSZ, SIG_IGN);
	if (!setrlimit(RLIMIT_FSIZE, &limit))
		execl("/proc/self/exe", "test_plan", what, NULL);
	_exit(127);
}

static void await_once(pid_t pid)
{
	int status;

	IS(waitpid(pid, &status, 0) == pid);
	IS(!status);
}

/* Several processes that start at once all have a good plan. */
static void case_at_once(void **state)
{
	pid_t pids[PROCESSES];

	(void)state;
	empty_cache();
	for (int i = 0; i < PROCESSES; i++)
		pids[i] = start_once("use", RLIM_INFINITY);
	for (int i = 0; i < PROCESSES; i++)
		await_once(pids[i]);
}

/* A disk that takes no more is one without a cache. */
static void case_full_disk(void **state)
{
	char path[256], own[256];

	(void)state;
	empty_cache();
	snprintf(own, sizeof(own), "%s", log_path);
	snprintf(log_path, sizeof(log_path), "%s/log.full", folder);
	setenv("NCCL_DEBUG_FILE", log_path, 1);
	await_once(start_once("make", LIMIT_BYTES));
	IS(logged("the plan was found") == 1);
	IS(logged("the plan is not kept as ") == 1);
	snprintf(log_path, sizeof(log_path), "%s", own);
	find_file(path);
	IS(!*path);
}

static void prepare(void)
{
	char path[4096];

	snprintf(folder, sizeof(folder), "/tmp/test-plan-XXXXXX");
	IS(mkdtemp(folder));
	snprintf(log_path, sizeof(log_path), "%s/log", folder);
	setenv("NCCL_DEBUG", "INFO", 1);
	setenv("NCCL_DEBUG_FILE", log_path, 1);
	setenv("GTOPO_TOPOLOGY", gt_test_path(path, "share/xml/dgx-h100.xml"),
	       1);
	setenv("GTOPO_SEARCH", LONG_MS, 1);
	set_cache("cache");
}

static int tidy(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(case_found_and_kept),
		cmocka_unit_test(case_trees),
		cmocka_unit_test(case_named),
		cmocka_unit_test(case_bad),
		cmocka_unit_test(case_no_place),
		cmocka_unit_test(case_at_once),
		cmocka_unit_test(case_full_disk),
		cmocka_unit_test(case_abort),
		cmocka_unit_test(case_ring),
	};

	sim_devices_are(gpus, RANKS);
	if (argc > 1) {
		ranks_run(RANKS, !strcmp(argv[1], "use") ? do_all : do_nothing);
		return 0;
	}
	alarm(600);
	prepare();
	return cmocka_run_group_tests(tests, NULL, tidy);
}
