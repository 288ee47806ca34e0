/*
 * Configurations of all generations of NCCL, by offsets: which fields are read
 * of which, and what is refused.
 */
#include "unit/test.h"

#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "nccl/config.h"
#include "nccl/values.h"

/* A struct of some version, of which every field is set to 1 or a text. */
struct generation {
	size_t size;
	unsigned version;
	size_t last; /* where the last field is that the version has */
};

static const struct generation generations[] = {
	{24, 21400, 16},   {24, 21602, 16},   {40, 21701, 32},
	{48, 21803, 40},   {48, 22406, 40},   {48, 22602, 44},
	{72, 22703, 68},   {80, 22803, 76},   {88, 22902, 84},
	{96, 23003, 88},   {96, 23007, 92},   {112, 23102, 108},
	{120, 23203, 112}, {200, 24000, 112},
};

enum { GENERATIONS = sizeof(generations) / sizeof(*generations) };

/* Room for more than any. */
struct client {
	_Alignas(8) char bytes[256];
};

static void put(struct client *client, size_t at, const void *value, size_t n)
{
	memcpy(client->bytes + at, value, n);
}

static struct client client_of(const struct generation *g, int number)
{
	static const char *const text = "a name";
	unsigned magic = 0xcafebeef;
	struct client client;

	memset(&client, 0x5a, sizeof(client));
	put(&client, 0, &g->size, sizeof(g->size));
	put(&client, 8, &magic, sizeof(magic));
	put(&client, 12, &g->version, sizeof(g->version));
	for (size_t at = 16; at < g->size; at += sizeof(int))
		put(&client, at, &number, sizeof(number));
	if (g->size >= 40)
		put(&client, 32, &text, sizeof(text));
	if (g->size >= 56)
		put(&client, 48, &text, sizeof(text));
	return client;
}

static int number_at(const struct gt_config *config, size_t at)
{
	int number;

	memcpy(&number, (const char *)config + at, sizeof(number));
	return number;
}

/* Padding of old structs is no field, whatever lies there. */
static void case_generations(void **state)
{
	(void)state;
	for (int i = 0; i < GENERATIONS; i++) {
		const struct generation *g = &generations[i];
		struct client client = client_of(g, 1);
		struct gt_config config;
		struct gt_err err;

		gt_err_init(&err);
		gt_config_init(&config);
		assert_int_equal(gt_config_read(&client, &config, &err), 0);
		for (size_t at = 16; at <= 112; at += sizeof(int)) {
			if (at == 32 || at == 36 || at == 48 || at == 52)
				continue;
			assert_int_equal(number_at(&config, at),
					 at <= g->last ? 1 : INT_MIN);
		}
		assert_int_equal(config.net_name != NULL, g->last >= 32);
		assert_int_equal(config.name != NULL, g->last >= 48);
	}
}

/* What is left open keeps what it was: the default, or a parent's. */
static void case_undefined(void **state)
{
	const struct generation *newest = &generations[GENERATIONS - 1];
	struct client client = client_of(newest, INT_MIN);
	struct gt_config config;
	struct gt_err err;
	const char *none = NULL;

	(void)state;
	gt_err_init(&err);
	gt_config_init(&config);
	config.blocking = 0;
	config.name = "a parent's";
	put(&client, 48, &none, sizeof(none));
	assert_int_equal(gt_config_read(&client, &config, &err), 0);
	assert_int_equal(config.blocking, 0);
	assert_int_equal(config.split_share, INT_MIN);
	assert_string_equal(config.name, "a parent's");
	assert_string_equal(config.net_name, "a name");
	assert_int_equal(gt_config_read(NULL, &config, &err), 0);
	assert_int_equal(config.blocking, 0);
	gt_config_init(&config);
	assert_true(gt_config_is_blocking(&config));
}

static void refuse(size_t at, int number, const char *words)
{
	struct client client = client_of(&generations[GENERATIONS - 1], 1);
	struct gt_config config;
	struct gt_err err;

	gt_err_init(&err);
	gt_config_init(&config);
	put(&client, at, &number, sizeof(number));
	assert_int_equal(gt_config_read(&client, &config, &err), GT_EINPUT);
	assert_non_null(strstr(err.text, words));
}

static void case_refused(void **state)
{
	(void)state;
	refuse(0, 23, "a size of '23'");
	refuse(8, 0, "NCCL_CONFIG_INITIALIZER");
	refuse(16, 2, "blocking is '2'");
	refuse(20, -1, "cga_cluster_size is '-1'");
	refuse(24, 2, "min_ctas '2' above max_ctas '1'");
	refuse(28, 0, "max_ctas is '0'");
	refuse(40, -1, "split_share is '-1'");
	refuse(72, 65, "channels_per_net_peer is '65'");
	refuse(80, 3, "graph_usage_mode is '3'");
}

/* By value: a swap of maximum and minimum is an error that nobody sees. */
static void case_values(void **state)
{
	(void)state;
	assert_int_equal(gt_values_redop(0), GT_REDOP_SUM);
	assert_int_equal(gt_values_redop(1), GT_REDOP_PROD);
	assert_int_equal(gt_values_redop(2), GT_REDOP_MAX);
	assert_int_equal(gt_values_redop(3), GT_REDOP_MIN);
	assert_int_equal(gt_values_redop(4), GT_REDOP_AVG);
	assert_int_equal(gt_values_redop(5), -1);
	assert_int_equal(gt_values_redop(-1), -1);
	assert_int_equal(gt_values_dtype(6), GT_DTYPE_HALF);
	assert_int_equal(gt_values_dtype(7), GT_DTYPE_FLOAT);
	assert_int_equal(gt_values_dtype(8), GT_DTYPE_DOUBLE);
	assert_int_equal(gt_values_dtype(9), GT_DTYPE_BF16);
	assert_int_equal(gt_values_dtype(10), GT_DTYPE_FP8_E4M3);
	assert_int_equal(gt_values_dtype(11), GT_DTYPE_FP8_E5M2);
	assert_int_equal(gt_values_dtype(12), -1);
	assert_int_equal(gt_values_dtype(-1), -1);
}

int main(void)
{
	const struct CMUnitTest cases[] = {
		cmocka_unit_test(case_generations),
		cmocka_unit_test(case_undefined),
		cmocka_unit_test(case_refused),
		cmocka_unit_test(case_values),
	};

	return cmocka_run_group_tests(cases, NULL, NULL);
}
