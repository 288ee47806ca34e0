/* From a machine to bytes moved with texts in memory alone. */
#include "unit/test.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "gtopo.h"

enum { COUNT = 1000, WORDS = 512 };

/* A file of share/xml, as text that the caller frees. */
static char *machine(const char *name)
{
	char path[4096], file[256];
	struct gt_buf text = GT_BUF_INIT;
	struct gt_err err;

	gt_err_init(&err);
	snprintf(file, sizeof(file), "share/xml/%s.xml", name);
	if (gt_file_read(gt_test_path(path, file), 1 << 20, &text, &err))
		fail_msg("%s", err.text);
	return text.text;
}

static char *search(const char *name, const struct gtopo_search_config *config)
{
	char *xml = machine(name), *plan = NULL, words[WORDS];

	if (gtopo_search(xml, config, &plan, words, sizeof(words)))
		fail_msg("%s", words);
	free(xml);
	return plan;
}

/* The search's words for a text that it refuses. */
static void refused(const char *text, const struct gtopo_search_config *config,
		    const char *want)
{
	char words[WORDS] = "", *plan = NULL;

	assert_int_equal(gtopo_search(text, config, &plan, words, WORDS),
			 GTOPO_EINPUT);
	assert_null(plan);
	if (!strstr(words, want))
		fail_msg("says '%s', not '%s'", words, want);
}

static void test_detect(void **state)
{
	char words[WORDS] = "never written", *xml = NULL;

	(void)state;
	assert_int_equal(gtopo_detect(0, &xml, words, WORDS), GTOPO_OK);
	assert_non_null(strstr(xml, "<system "));
	assert_non_null(strstr(xml, "<cpu "));
	assert_null(strstr(words, "never"));
	gtopo_free(xml);
	assert_int_equal(gtopo_detect(64, &xml, words, WORDS), GTOPO_EINPUT);
	assert_string_equal(words, "flags '0x40' are not known");
	assert_int_equal(gtopo_detect(0, NULL, NULL, 0), GTOPO_EINPUT);
}

static void test_search(void **state)
{
	struct gtopo_search_config config = GTOPO_SEARCH_CONFIG_INIT;
	struct gtopo_verdict verdict = {.size = sizeof(verdict)};
	char words[WORDS], *plan;

	(void)state;
	config.algo = "ring";
	plan = search("dgx-1v", &config);
	if (gtopo_verify(plan, &verdict, words, WORDS))
		fail_msg("%s", words);
	assert_int_equal(verdict.ranks, 8);
	assert_int_equal(verdict.channels, 4);
	assert_true(verdict.busbw_gbs == 120 && verdict.optimal);
	assert_true(verdict.bound_gbs == 120 && verdict.any_bound_gbs == 120);
	gtopo_free(plan);

	config.gpus = "0-3";
	config.devices_out = "NET0";
	plan = search("dgx-1v", &config);
	assert_int_equal(gtopo_verify(plan, &verdict, NULL, 0), GTOPO_OK);
	assert_int_equal(verdict.ranks, 4);
	gtopo_free(plan);
}

/* Words as people write them, as on the command line. */
static void test_words(void **state)
{
	struct gtopo_search_config config = GTOPO_SEARCH_CONFIG_INIT;
	struct gtopo_verdict verdict = {.size = sizeof(verdict)};
	const uint64_t bytes = 1 << 20;
	char words[WORDS], *plan;
	double us[2] = {0};

	(void)state;
	config.algo = "Ring";
	config.coll = "all_gather";
	config.rates = "MEASURED";
	config.gpus = "gpu0,GPU1-3";
	plan = search("dgx-1v", &config);
	assert_int_equal(gtopo_verify(plan, &verdict, NULL, 0), GTOPO_OK);
	assert_int_equal(verdict.ranks, 4);
	assert_non_null(strstr(plan, "\"collective\": \"allgather\""));
	if (gtopo_predict(plan, "ReduceScatter", &bytes, &us[0], 1, words,
			  WORDS) ||
	    gtopo_predict(plan, "reducescatter", &bytes, &us[1], 1, words,
			  WORDS))
		fail_msg("%s", words);
	assert_true(us[0] > 0 && us[0] == us[1]);
	gtopo_free(plan);
}

/* What came to the config's struct after its first version. */
static void test_later_members(void **state)
{
	struct gtopo_search_config config = GTOPO_SEARCH_CONFIG_INIT;
	char words[WORDS], *plan, *xml = machine("dgx-1v");

	(void)state;
	config.invariant = 1;
	plan = search("dgx-1v", &config);
	assert_non_null(strstr(plan, "\"invariant\": true"));
	gtopo_free(plan);
	config.algo = "ring";
	refused(xml, &config, "--algo ring cannot be --invariant");

	config = (struct gtopo_search_config)GTOPO_SEARCH_CONFIG_INIT;
	config.algo = "forest";
	config.coll = "allgather";
	config.trees_per_root = 1;
	plan = search("dgx-1v", &config);
	assert_int_equal(gtopo_verify(plan, NULL, NULL, 0), GTOPO_OK);
	gtopo_free(plan);
	/* A caller of the first version has no such members. */
	config.size = offsetof(struct gtopo_search_config, invariant);
	config.algo = "ring";
	config.coll = NULL;
	plan = search("dgx-1v", &config);
	assert_null(strstr(plan, "invariant"));
	gtopo_free(plan);

	config = (struct gtopo_search_config)GTOPO_SEARCH_CONFIG_INIT;
	config.gpus = "0-2";
	config.demand = "0,3,1\n2,0,9\n4,4,0\n";
	plan = search("dgx-1v", &config);
	assert_non_null(strstr(plan, "\"demand\""));
	assert_int_equal(gtopo_verify(plan, NULL, words, WORDS), GTOPO_OK);
	gtopo_free(plan);
	config.demand = "[[0, 3, 1], [2, 0, 9], [4, 4, 0]]";
	plan = search("dgx-1v", &config);
	gtopo_free(plan);
	config.demand = "0,3\n1,x\n";
	refused(xml, &config, "demand:2: what is no whole number");
	config.demand = "";
	refused(xml, &config, "demand: is empty");
	config.gpus = NULL;
	config.demand = "0,3\n2,0\n";
	refused(xml, &config, "2");
	free(xml);
}

/* Copies of a machine, and a cluster's file with the machine's beside it. */
static void test_cluster(void **state)
{
	struct gtopo_search_config config = GTOPO_SEARCH_CONFIG_INIT;
	struct gtopo_verdict verdict = {.size = sizeof(verdict)};
	char path[4096], here[4096], *plan;
	(void)state;
	config.nodes = 2;
	plan = search("dgx-h100", &config);
	assert_int_equal(gtopo_verify(plan, &verdict, NULL, 0), GTOPO_OK);
	assert_int_equal(verdict.ranks, 16);
	assert_true(verdict.busbw_gbs > 0);
	gtopo_free(plan);

	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(gt_test_path(path, "share/xml")), 0);
	plan = search("2x-dgx-h100", NULL);
	assert_int_equal(chdir(here), 0);
	assert_int_equal(gtopo_verify(plan, &verdict, NULL, 0), GTOPO_OK);
	assert_int_equal(verdict.ranks, 16);
	assert_true(verdict.busbw_gbs > 0);
	gtopo_free(plan);
}

static void test_refused(void **state)
{
	struct gtopo_search_config config = GTOPO_SEARCH_CONFIG_INIT;
	char *xml = machine("dgx-1v");

	(void)state;
	refused("<system version=\"1\">\n <cpu", NULL, "topology:2:");
	refused("", NULL, "topology");
	refused(NULL, NULL, "there is no topology");
	refused("<system version=\"1\"><cpu numaid=\"0\"/></system>", NULL,
		"GPU");
	config.algo = "rings";
	refused(xml, &config, "algo 'rings' is not one of auto");
	config.algo = "tree";
	config.coll = "alltoall";
	refused(xml, &config, "--algo tree cannot do alltoall");
	config.algo = config.coll = NULL;
	config.gpus = "0-9";
	refused(xml, &config, "'8' is no GPU");
	config.gpus = NULL;
	config.rates = "guessed";
	refused(xml, &config, "rates 'guessed'");
	config.rates = NULL;
	config.budget_ms = -1;
	refused(xml, &config, "budget_ms '-1'");
	config.budget_ms = 0;
	config.root = -1;
	refused(xml, &config, "root '-1'");
	config.size--;
	refused(xml, &config, "not this version's");
	free(xml);
}

/* Two GPUs without a route: no plan, and the search says so. */
static void test_no_plan(void **state)
{
	struct gtopo_search_config config = GTOPO_SEARCH_CONFIG_INIT;
	char *xml = machine("workstation-4gpu");

	(void)state;
	config.links_out = "GPU0-CPU0";
	refused(xml, &config, "there are no routes for one");
	free(xml);
}

static void test_verify_wrong(void **state)
{
	struct gtopo_verdict verdict = {.size = sizeof(verdict), .ranks = 77};
	struct gtopo_search_config config = GTOPO_SEARCH_CONFIG_INIT;
	char words[WORDS], *plan, *share;

	(void)state;
	config.algo = "ring";
	plan = search("dgx-1v", &config);
	share = strstr(plan, "\"share\": \"1/3\"");
	assert_non_null(share);
	share[strlen("\"share\": \"1/")] = '4';
	assert_int_equal(gtopo_verify(plan, &verdict, words, WORDS),
			 GTOPO_EINPUT);
	if (!strstr(words, "plan") || !strstr(words, "channels"))
		fail_msg("'%s' names no place", words);
	assert_int_equal(verdict.ranks, 77);
	plan[20] = '\0';
	assert_int_equal(gtopo_verify(plan, &verdict, words, WORDS),
			 GTOPO_EINPUT);
	if (!strstr(words, "plan:2:18: "))
		fail_msg("'%s' names no place", words);
	assert_int_equal(gtopo_verify(NULL, NULL, words, 10), GTOPO_EINPUT);
	assert_string_equal(words, "there is ");
	gtopo_free(plan);
}

static void test_predict(void **state)
{
	const uint64_t bytes[] = {1 << 10, 1 << 20, 1 << 30};
	struct gtopo_search_config config = GTOPO_SEARCH_CONFIG_INIT;
	char words[WORDS], *plan;
	double us[3] = {0};

	(void)state;
	config.algo = "ring";
	plan = search("dgx-h100", &config);
	assert_int_equal(gtopo_predict(plan, NULL, bytes, us, 3, words, WORDS),
			 GTOPO_OK);
	assert_true(us[0] > 0 && us[0] < us[1] && us[1] < us[2]);
	assert_int_equal(
		gtopo_predict(plan, "allgather", bytes, us, 3, words, WORDS),
		GTOPO_OK);
	assert_int_equal(gtopo_predict(plan, "sum", bytes, us, 3, words, WORDS),
			 GTOPO_EINPUT);
	assert_string_equal(words, "coll 'sum' is no collective");
	assert_int_equal(
		gtopo_predict(plan, "alltoall", bytes, us, 3, words, WORDS),
		GTOPO_EINPUT);
	assert_non_null(strstr(words, "alltoall"));
	assert_int_equal(gtopo_predict(plan, NULL, NULL, us, 3, words, WORDS),
			 GTOPO_EINPUT);
	gtopo_free(plan);
}

/* The plan's text may go as soon as the communicator is there. */
static void test_run(void **state)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gtopo_comm *comm;
	char words[WORDS], *plan = search("dgx-1v", NULL);
	static int64_t data[8][COUNT];

	(void)state;
	config.plan_text = plan;
	config.flags = GTOPO_NONBLOCKING;
	if (gtopo_comm_create(&config, &comm, words, WORDS))
		fail_msg("%s", words);
	memset(plan, 'x', strlen(plan));
	gtopo_free(plan);
	for (int r = 0; r < 8; r++) {
		for (int i = 0; i < COUNT; i++)
			data[r][i] = (r + 1) * (i + 3);
		assert_int_equal(gtopo_allreduce(comm, r, data[r], data[r],
						 COUNT, GTOPO_INT64, GTOPO_SUM),
				 GTOPO_OK);
	}
	assert_int_equal(gtopo_wait(comm, GTOPO_ALL_RANKS, -1), GTOPO_OK);
	for (int r = 0; r < 8; r++)
		for (int i = 0; i < COUNT; i++)
			assert_int_equal(data[r][i], 36 * (i + 3));
	gtopo_comm_destroy(comm);
}

static void test_config(void **state)
{
	struct gtopo_config config = GTOPO_CONFIG_INIT;
	struct gtopo_comm *comm = NULL;
	char words[WORDS], path[4096];

	(void)state;
	config.plan = "plan.json";
	config.plan_text = "{}";
	assert_int_equal(gtopo_comm_create(&config, &comm, words, WORDS),
			 GTOPO_EINPUT);
	assert_non_null(strstr(words, "one is enough"));
	config.plan = NULL;
	assert_int_equal(gtopo_comm_create(&config, &comm, words, WORDS),
			 GTOPO_EINPUT);
	assert_non_null(strstr(words, "plan"));
	/* A program of before there was plan_text: what lies there is its own.
	 */
	config.size = offsetof(struct gtopo_config, plan_text);
	config.plan =
		gt_test_path(path, "tests/cases/plan/good/ring4/plan.json");
	if (gtopo_comm_create(&config, &comm, words, WORDS))
		fail_msg("%s", words);
	assert_int_equal(gtopo_comm_ranks(comm), 4);
	gtopo_comm_destroy(comm);
}

static void *search_again(void *want)
{
	for (int i = 0; i < 3; i++) {
		char *plan = search("dgx-1v", NULL);
		int same = !strcmp(plan, want);

		gtopo_free(plan);
		if (!same)
			return want;
	}
	return NULL;
}

/* Searches side by side find what one alone finds. */
static void test_threads(void **state)
{
	char *plan = search("dgx-1v", NULL);
	pthread_t threads[3];
	void *differs;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, search_again, plan),
			0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(threads[i], &differs), 0);
		assert_null(differs);
	}
	gtopo_free(plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_detect),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_later_members),
		cmocka_unit_test(test_cluster),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_plan),
		cmocka_unit_test(test_verify_wrong),
		cmocka_unit_test(test_predict),
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_config),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
