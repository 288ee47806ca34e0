/*
 * A communicator of three processes is made, split, used and ended, and one
 * call of the library fails in one of them, or kills it: all three end,
 * quickly, those that fail with words, and those of the others name the one
 * that was hit.  With libgtopo, too.  GTOPO_NTH is how many calls of each name
 * are tried; 0: all.
 */
#include "nccl/client.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "gtopo.h"

enum {
	SIZE = 3,
	MOST_S = 20, /* a busy machine takes its time; the limits are longer */
	WORDS_MAX = 512,
	LIMIT_MS = 120000,
};

/* What a process has to say, shared with the one that started it. */
struct report {
	char words[WORDS_MAX];
};

static struct report *reports; /* [SIZE] */
static int shared;             /* the file that they are in */

static const char plan_text[] =
	"{\"schema\": \"gtopo.plan/1\", \"collective\": \"allreduce\", "
	"\"ranks\": [{\"rank\": 0, \"node\": \"n\", \"device\": \"a\"}, "
	"{\"rank\": 1, \"node\": \"n\", \"device\": \"b\"}, "
	"{\"rank\": 2, \"node\": \"n\", \"device\": \"c\"}], \"links\": "
	"[{\"id\": \"0>\", \"kind\": \"SYS\", \"gbs\": \"1\"}, {\"id\": "
	"\"1>\", \"kind\": \"SYS\", \"gbs\": \"1\"}, {\"id\": \"2>\", "
	"\"kind\": \"SYS\", \"gbs\": \"1\"}], \"fifo\": {\"slots\": 4, "
	"\"slice_bytes\": 131072}, \"channels\": [{\"id\": 0, \"shape\": "
	"\"ring\", \"order\": [0, 1, 2], \"share\": \"1\", \"gbs\": \"1\", "
	"\"hops\": [{\"from\": 0, \"to\": 1, \"transport\": \"peer\", "
	"\"route\": [\"0>\"]}, {\"from\": 1, \"to\": 2, \"transport\": "
	"\"peer\", \"route\": [\"1>\"]}, {\"from\": 2, \"to\": 0, "
	"\"transport\": \"peer\", \"route\": [\"2>\"]}]}], \"select\": "
	"[{\"max_bytes\": null, \"algo\": \"ring\", \"protocol\": "
	"\"simple\", \"channels\": [0], \"workers\": 1}]}";

/* The part of one process: 0, or 1 and words. */
static int say(int p, const char *call, const char *words)
{
	snprintf(reports[p].words, WORDS_MAX, "%s: %s", call,
		 words && *words ? words : "NO WORDS");
	return 1;
}

/* A sum of all, and what has become of it; 0: it was right. */
static int face_meet(int p, void *comm)
{
	int32_t in = 1, out = 0;
	int state = SUCCESS;

	if (ncclAllReduce(&in, &out, 1, INT32, SUM, comm, NULL))
		return say(p, "all-reduce", ncclGetLastError(NULL));
	sim_stream_sync(NULL);
	if (ncclCommGetAsyncError(comm, &state) || state)
		return say(p, "all-reduce", ncclGetLastError(NULL));
	return out == SIZE ? 0 : say(p, "all-reduce", "it is wrong");
}

static int face_use(int p, void *comm)
{
	void *child = NULL;
	int bad = face_meet(p, comm);

	if (bad)
		return bad;
	if (ncclCommSplit(comm, 0, p, &child, NULL))
		return say(p, "split", ncclGetLastError(NULL));
	bad = face_meet(p, child);
	if (bad)
		ncclCommAbort(child);
	else
		ncclCommDestroy(child);
	return bad;
}

/* From now on calls fail, where they are not to from the beginning. */
static void begin(void)
{
	void (*function)(void);

	*(void **)&function = dlsym(RTLD_DEFAULT, "failing_calls_begin");
	if (function)
		function();
}

/*
 * What libcrypto makes when it is first used it does not make again where that
 * fails, and then a process can tell the others nothing.
 */
static void warm_up(void)
{
	void *comms[2];

	OK(ncclCommInitAll(comms, 2, NULL));
	OK(ncclCommDestroy(comms[0]));
	OK(ncclCommDestroy(comms[1]));
}

static int play_face(int p, const id_t128 *id)
{
	void *comm = NULL;
	int bad;

	warm_up();
	/* One that is killed before it comes is nobody whom others know. */
	if (!getenv("FAIL_KILLS"))
		begin();
	sim_use_device(p);
	if (ncclCommInitRank(&comm, SIZE, *id, p))
		return say(p, "init", ncclGetLastError(NULL));
	begin();
	bad = face_use(p, comm);
	if (bad)
		ncclCommAbort(comm);
	else
		ncclCommDestroy(comm);
	return bad;
}

static int lib_meet(int p, struct gtopo_comm *comm)
{
	static int32_t in, out;
	char words[WORDS_MAX];
	int first, n, rc;

	in = 1;
	out = 0;
	gtopo_comm_local(comm, &first, &n);
	rc = gtopo_allreduce(comm, first, &in, &out, 1, GTOPO_INT32, GTOPO_SUM);
	if (!rc)
		rc = gtopo_wait(comm, first, -1);
	if (!rc)
		return out == SIZE ? 0 : say(p, "all-reduce", "it is wrong");
	gtopo_comm_message(comm, words, sizeof(words));
	return say(p, "all-reduce", words);
}

static int play_lib(int p)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gtopo_comm *comm, *beside;
	char words[WORDS_MAX] = "";
	int bad;

	config.plan_text = plan_text;
	config.timeout_ms = LIMIT_MS;
	config.flags = GTOPO_LAUNCHED;
	if (gtopo_comm_create(&config, &comm, words, sizeof(words)))
		return say(p, "create", words);
	begin();
	bad = lib_meet(p, comm);
	config.flags = 0;
	config.beside = comm;
	if (!bad && gtopo_comm_create(&config, &beside, words, sizeof(words))) {
		bad = say(p, "beside", words);
	} else if (!bad) {
		bad = lib_meet(p, beside);
		gtopo_comm_destroy(beside);
	}
	gtopo_comm_destroy(comm);
	return bad;
}

/* One trial. */
struct trial {
	const char *library; /* a part of its name */
	int victim;
	const char *call; /* that fails there, */
	long at;          /* the number of which it is; 0: none fails */
	int kills;        /* and takes the process with it */
	int late;         /* some did not end in time */
	pid_t pids[SIZE];
	int status[SIZE];
	double took_s;
};

static const char *failing;    /* the library that lets calls fail */
static const char *count_path; /* how many calls there were */

static void set_number(const char *name, long number)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", number);
	setenv(name, text, 1);
}

static int is_face(const struct trial *trial)
{
	return strstr(trial->library, "nccl") != NULL;
}

/*
 * Does it fail only behind a beginning?  Who comes into a launched job cannot
 * tell whether process 0 is gone or has yet to come, where its connection
 * breaks, and waits for it.
 */
static int is_for_later(const struct trial *trial)
{
	return is_face(trial) || trial->kills || !strcmp(trial->call, "recv");
}

/* A process of its own program, so that each has its own environment. */
static void start(struct trial *trial, int p, const id_t128 *id, int port)
{
	char hex[2 * sizeof(*id) + 1], file[32], place[32];

	for (size_t i = 0; i < sizeof(*id); i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)id->bytes[i]);
	snprintf(file, sizeof(file), "%d", shared);
	snprintf(place, sizeof(place), "%d", p);
	fflush(NULL);
	trial->pids[p] = fork();
	IS(trial->pids[p] >= 0);
	if (trial->pids[p])
		return;
	set_number("RANK", p);
	set_number("WORLD_SIZE", SIZE);
	set_number("LOCAL_RANK", p);
	set_number("LOCAL_WORLD_SIZE", SIZE);
	set_number("MASTER_PORT", port);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("GTOPO_SECRET", "a secret for tests only", 1);
	if (p == trial->victim) {
		setenv("LD_PRELOAD", failing, 1);
		setenv("FAIL_OBJECT", trial->library, 1);
		setenv("FAIL_CALL", trial->call, 1);
		setenv("FAIL_COUNT", count_path, 1);
		if (is_for_later(trial))
			setenv("FAIL_LATER", "1", 1);
		if (trial->kills)
			setenv("FAIL_KILLS", "1", 1);
		set_number("FAIL_AT", trial->at);
	}
	execl("/proc/self/exe", "test_failing", is_face(trial) ? "face" : "lib",
	      place, file, hex, (char *)NULL);
	_exit(99);
}

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A port that was free a moment ago. */
static int find_port(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	IS(fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at)) &&
	   !getsockname(fd, (struct sockaddr *)&at, &len));
	close(fd);
	return ntohs(at.sin_port);
}

/* Wait for all; those that have not ended in time are killed. */
static void await(struct trial *trial)
{
	double begin = now_s();
	int left = SIZE;

	trial->late = 0;
	for (int p = 0; p < SIZE; p++)
		trial->status[p] = -1;
	while (left) {
		usleep(1000);
		if (!trial->late && now_s() - begin > MOST_S) {
			trial->late = 1;
			for (int p = 0; p < SIZE; p++)
				if (trial->status[p] < 0)
					kill(trial->pids[p], SIGKILL);
		}
		for (int p = 0; p < SIZE; p++) {
			int status;

			if (trial->status[p] >= 0 ||
			    waitpid(trial->pids[p], &status, WNOHANG) <= 0)
				continue;
			trial->status[p] = WIFEXITED(status)
						   ? WEXITSTATUS(status)
						   : 128 + WTERMSIG(status);
			left--;
		}
	}
	trial->took_s = now_s() - begin;
}

/*
 * Does it name the process that was hit?  Of a connection that breaks nobody
 * can tell which end it was.
 */
static int names(const char *words, const struct trial *trial)
{
	int breaks = trial->kills || !strcmp(trial->call, "recv") ||
		     !strcmp(trial->call, "send") ||
		     strstr(words, "a process is gone");
	char process[24], rank[24];

	breaks |= strstr(words, "ended without a word") != NULL;
	snprintf(process, sizeof(process), "process %d", trial->victim);
	snprintf(rank, sizeof(rank), "rank %d ", trial->victim);
	return strstr(words, breaks ? "process" : process) ||
	       strstr(words, breaks ? "rank " : rank) ||
	       /* Memory that is gone is named by its owner. */
	       strstr(words, "/proc/");
}

static int was_killed(const struct trial *trial, int p)
{
	return trial->kills && p == trial->victim &&
	       trial->status[p] == 128 + SIGKILL;
}

/* What is wrong with how it went, or NULL. */
static const char *fault(const struct trial *trial)
{
	if (trial->late)
		return "one does not end";
	for (int p = 0; p < SIZE; p++)
		if (trial->status[p] > 1 && !was_killed(trial, p))
			return "one crashed";
	for (int p = 0; p < SIZE; p++) {
		const char *words = reports[p].words;

		if (!trial->status[p] || was_killed(trial, p))
			continue;
		if (!*words || strstr(words, "NO WORDS"))
			return "one has no words";
		if (p != trial->victim && !names(words, trial))
			return "another one names nobody";
	}
	return NULL;
}

static int run(struct trial *trial)
{
	const char *why;
	id_t128 id = {{0}};
	int port = find_port();

	memset(reports, 0, SIZE * sizeof(*reports));
	if (is_face(trial))
		OK(ncclGetUniqueId(&id));
	for (int p = 0; p < SIZE; p++)
		start(trial, p, &id, port);
	await(trial);
	why = fault(trial);
	if (!why && !getenv("GTOPO_FAILING_VERBOSE"))
		return 0;
	print_message("%s, process %d, %s %ld: %s, %.1f s\n", trial->library,
		      trial->victim, trial->call, trial->at, why ? why : "ok",
		      trial->took_s);
	for (int p = 0; p < SIZE; p++)
		print_message("  %d: status %d: %s\n", p, trial->status[p],
			      reports[p].words);
	return why != NULL;
}

/* Some numbers of one call: the first ones, then at equal steps. */
static int try_call(struct trial *trial, long calls, long most, double *worst)
{
	long step = most && calls > most ? calls / most : 1;
	int bad = 0;

	for (trial->at = 1; trial->at <= calls; trial->at += step) {
		bad += run(trial);
		*worst = trial->took_s > *worst ? trial->took_s : *worst;
	}
	return bad;
}

/* Unless all are asked for, a killed process is so where others hear of it. */
static int is_tried(const struct trial *trial, const char *name)
{
	const char *only = getenv("GTOPO_NTH_ONLY");

	if (only)
		return !strcmp(only, name);
	return !trial->kills || getenv("GTOPO_NTH") || !strcmp(name, "recv") ||
	       !strcmp(name, "send");
}

static int try_all(const char *library, int victim, int kills)
{
	const char *nth = getenv("GTOPO_NTH");
	struct trial trial = {.library = library,
			      .victim = victim,
			      .kills = kills,
			      .call = ""};
	long most = nth ? atol(nth) : gt_test_is_brief() ? 1 : 2, calls, n = 0;
	double worst = 0;
	char name[32];
	FILE *file;
	int bad = run(&trial);

	IS(!bad && !trial.status[0] && !trial.status[1] && !trial.status[2]);
	file = fopen(count_path, "r");
	IS(file);
	trial.call = name;
	while (fscanf(file, "%31s %ld", name, &calls) == 2) {
		if (!calls || !is_tried(&trial, name))
			continue;
		n += calls;
		/* The child's count takes the file's place, which is open. */
		unlink(count_path);
		bad += try_call(&trial, calls, most, &worst);
	}
	fclose(file);
	print_message("%s, process %d%s: %ld calls, the longest took %.1f s\n",
		      library, victim, kills ? " is killed" : "", n, worst);
	return bad;
}

/* A sanitizer wants to be loaded first, and so does what lets calls fail. */
static void skip_sanitized(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("sanitizers are in it, and want to be loaded first\n");
	skip();
#endif
}

static void try_library(const char *library, int kills)
{
	skip_sanitized();
	assert_int_equal(
		try_all(library, 0, kills) + try_all(library, 1, kills), 0);
}

static void case_face(void **state)
{
	(void)state;
	try_library("libnccl.so", 0);
}

static void case_lib(void **state)
{
	(void)state;
	try_library("libgtopo.so", 0);
}

static void case_face_killed(void **state)
{
	(void)state;
	try_library("libnccl.so", 1);
}

static void case_lib_killed(void **state)
{
	(void)state;
	try_library("libgtopo.so", 1);
}

static void share(int file)
{
	shared = file;
	reports = mmap(NULL, SIZE * sizeof(*reports), PROT_READ | PROT_WRITE,
		       MAP_SHARED, shared, 0);
	IS(reports != MAP_FAILED);
}

/* A process of a trial. */
static int play(char **argv)
{
	int p = atoi(argv[2]);
	id_t128 id;

	share(atoi(argv[3]));
	for (size_t i = 0; i < sizeof(id); i++) {
		char two[3] = {argv[4][2 * i], argv[4][2 * i + 1]};

		id.bytes[i] = (char)strtol(two, NULL, 16);
	}
	return strcmp(argv[1], "face") ? play_lib(p) : play_face(p, &id);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_face),
		cmocka_unit_test(case_lib),
		cmocka_unit_test(case_face_killed),
		cmocka_unit_test(case_lib_killed),
	};
	char program[4096], preload[4352], counts[] = "/tmp/gtopo-XXXXXX";
	ssize_t len;
	int rc, fd;

	if (argc == 5)
		return play(argv);
	len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	IS(len > 0);
	program[len] = '\0';
	*strrchr(program, '/') = '\0';
	snprintf(preload, sizeof(preload), "%s/../cli/libfailing_calls.so",
		 program);
	failing = preload;
	fd = mkstemp(counts);
	IS(fd >= 0 && !close(fd));
	count_path = counts;
	fd = memfd_create("reports", 0);
	IS(fd >= 0 && !ftruncate(fd, SIZE * sizeof(*reports)));
	share(fd);
	rc = cmocka_run_group_tests(cases, NULL, NULL);
	unlink(counts);
	return rc;
}
