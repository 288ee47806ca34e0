/* What the other processes of a job call their hosts names files. */
#include "unit/job.h"
#include "unit/port.h"

#include <string.h>

#include "cli/common/command.h"
#include "cli/detect/ranks.h"

/*
 * A process tells its host's id and name, as src/cli/detect/ranks.c has them.
 */
struct host {
	char id[160];
	char name[64];
};

static void say(struct host *host, const char *name)
{
	memset(host, 0, sizeof(*host));
	strcpy(host->id, "another host");
	snprintf(host->name, sizeof(host->name), "%s", name);
}

/* Process 1 calls its host so; process 0 is gtopo detect --all-ranks. */
static int detect_beside(const struct host *host, struct gt_err *err)
{
	struct gt_cmd_args args = {.out = "/nonexistent/cluster.xml"};
	struct gt_world *world;
	struct job job;
	int number = test_free_port();
	char port[8];
	pid_t liar;
	int rc;

	job_prepare(&job, 2, 20000000000, "127.0.0.1");
	close(job.config.listen_fd);
	assert_int_equal(gt_net_resolve("127.0.0.1", (uint16_t)number,
					&job.config.address, NULL),
			 0);
	snprintf(port, sizeof(port), "%d", number);
	setenv("MASTER_PORT", port, 1);
	fflush(NULL);
	liar = fork();
	if (!liar) {
		job.config.rank = 1;
		if (!gt_world_open(&job.config, &world, NULL)) {
			gt_world_allgather(world, host, sizeof(*host), NULL,
					   NULL);
			gt_world_close(world);
		}
		_exit(0);
	}
	rc = gt_detect_ranks(&args, NULL, err);
	waitpid(liar, NULL, 0);
	return rc;
}

static void test_names(void **state)
{
	static const char *const names[] = {"../../etc/gtopo", "a b", "a/b",
					    "\033[2J"};
	struct host host;
	struct gt_err err;

	(void)state;
	setenv("RANK", "0", 1);
	setenv("WORLD_SIZE", "2", 1);
	setenv("MASTER_ADDR", "127.0.0.1", 1);
	setenv("GTOPO_SECRET", "a secret for tests only", 1);
	for (size_t i = 0; i <= sizeof(names) / sizeof(*names); i++) {
		gt_err_init(&err);
		say(&host, i < sizeof(names) / sizeof(*names) ? names[i] : "");
		if (i == sizeof(names) / sizeof(*names)) /* without an end */
			memset(host.name, 'x', sizeof(host.name));
		assert_int_equal(detect_beside(&host, &err), GT_ESYS);
		assert_non_null(strstr(err.text, "process 1 () is another "
						 "version"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
