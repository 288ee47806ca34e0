/* Files that processes hand each other. */
#include "unit/job.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "exec/link/fd_passing.h"
#include "exec/link/shared_memory.h"
#include "world/auth.h"
#include "world/net.h"
#include "world/world.h"

enum { MOST = 5, PASSES = 3, WRONG = 9 };

static uint32_t less; /* that process 0 hands out less than it said */

static int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

static uint32_t files_of(uint32_t pass)
{
	return pass == PASSES - 1 ? GT_FD_PACKET_MAX : pass + 1;
}

/* A file in which stands whose it is and which. */
static int make_file(uint32_t rank, uint32_t pass, uint32_t i)
{
	uint32_t words[3] = {rank, pass, i};
	int fd = memfd_create("test", MFD_CLOEXEC);

	if (write(fd, words, sizeof(words)) != sizeof(words))
		_exit(WRONG);
	return fd;
}

static void make_passes(struct gt_fd_packet *passes, uint32_t rank)
{
	for (uint32_t p = 0; p < PASSES; p++) {
		passes[p].tag = rank * PASSES + p;
		passes[p].n = files_of(p);
		for (uint32_t i = 0; i < passes[p].n; i++) {
			passes[p].fds[i] = make_file(rank, p, i);
			passes[p].words[i] = 1000 * rank + i;
		}
	}
}

/* All of what this process did not make itself, each once. */
static int are_right(struct gt_fd_packet *passes, uint32_t n, uint32_t self)
{
	uint8_t seen[MOST * PASSES] = {0};
	uint32_t words[3], right = 0;

	for (uint32_t t = 0; t < n; t++) {
		uint32_t rank = passes[t].tag / PASSES;
		uint32_t p = passes[t].tag % PASSES;

		right += rank != self && !seen[passes[t].tag]++ &&
			 passes[t].n == files_of(p);
		for (uint32_t i = 0; i < passes[t].n; i++)
			if (pread(passes[t].fds[i], words, sizeof(words), 0) !=
				    sizeof(words) ||
			    words[0] != rank || words[1] != p ||
			    words[2] != i ||
			    passes[t].words[i] != 1000 * rank + i)
				return 0;
		gt_fd_packet_close(&passes[t]);
	}
	return right == n;
}

static int swap(struct gt_world *world, struct gt_err *err)
{
	static struct gt_fd_packet mine[PASSES], theirs[MOST * PASSES];
	uint32_t self = gt_world_rank(world), size = gt_world_size(world);
	uint32_t n = (size - 1) * PASSES;
	uint8_t with[MOST] = {0};
	struct gt_fd_exchange all = {.world = world,
				     .mine = mine,
				     .nmine = PASSES - (self ? 0 : less),
				     .theirs = theirs,
				     .ntheirs = n};
	/* Among those whose numbers are odd, and those whose are even. */
	struct gt_fd_exchange half = all;
	int before, rc = 0;

	half.with = with;
	half.ntheirs = 0;
	for (uint32_t p = 0; p < size; p++) {
		with[p] = p % 2 == self % 2;
		half.ntheirs += with[p] && p != self ? PASSES : 0;
	}

	make_passes(mine, self);
	before = open_files();
	for (int turn = 0; !rc && turn < 3; turn++) {
		const struct gt_fd_exchange *at = turn == 1 ? &half : &all;

		rc = gt_fd_exchange(at, err);
		if (!rc && !are_right(theirs, at->ntheirs, self))
			return -WRONG;
	}
	/* The world's own connections may have ended. */
	return open_files() <= before ? rc : -WRONG;
}

/* How many end with this status. */
static uint32_t run(uint32_t size, int64_t timeout_ns, int status)
{
	struct job job;
	uint32_t n = 0;

	job_prepare(&job, size, timeout_ns, "127.0.0.1");
	job_start(&job, swap);
	job_wait(&job);
	for (uint32_t r = 0; r < size; r++)
		n += job.status[r] == status;
	return n;
}

static void test_all_get_all(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= MOST; size += 2)
		assert_int_equal(run(size, 20000000000, 0), size);
}

/* Who waits for files that nobody hands out gives up, and has none. */
static void test_too_few(void **state)
{
	(void)state;
	less = 1;
	assert_int_equal(run(3, 1500000000, -GT_ESYS), 3);
	less = 0;
}

/* Processes of two boots, or of two PID namespaces, are on two hosts. */
static void test_host_id(void **unused)
{
	char id[GT_HOST_ID_MAX], part[128] = "";
	FILE *boot = fopen("/proc/sys/kernel/random/boot_id", "re");
	ssize_t len;

	(void)unused;
	gt_host_id_get(id);
	assert_non_null(boot);
	assert_non_null(fgets(part, 37, boot));
	fclose(boot);
	assert_int_equal(strlen(part), 36);
	assert_non_null(strstr(id, part));
	len = readlink("/proc/self/ns/pid", part, sizeof(part) - 1);
	assert_true(len > 0);
	part[len] = '\0';
	assert_non_null(strstr(id, part));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_get_all),
		cmocka_unit_test(test_too_few),
		cmocka_unit_test(test_host_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
