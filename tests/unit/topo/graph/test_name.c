/* What nodes are called, and lists of such names. */
#include "unit/test.h"

#include <string.h>

#include "topo/graph/name.h"
#include "topo/graph/topo.h"

static const struct gt_node gpu = {.kind = GT_NODE_GPU,
				   .id = "GPU/0000:1b:00.0",
				   .bus_id = "0000:1b:00.0",
				   .name = "H100",
				   .dev = 3};
static const struct gt_node port = {.kind = GT_NODE_NET,
				    .id = "NET/3",
				    .name = "mlx5_3",
				    .dev = 3,
				    .port = 2};

static void test_names(void **state)
{
	static const char *const both[][2] = {
		{"3", NULL},       {"GPU3", NULL},
		{"gpu3", NULL},    {"0000:1B:00.0", NULL},
		{"1b:00.0", NULL}, {"00000000:1B:00.0", NULL},
		{NULL, "NET3"},    {NULL, "net/3"},
		{NULL, "mlx5_3"},  {NULL, "mlx5_3:2"},
		{"3-3", NULL},     {"GPU/0000:1b:00.0", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(both) / sizeof(both[0]); i++) {
		const char *word = both[i][0] ? both[i][0] : both[i][1];

		if (gt_node_is_called(&gpu, word) != (both[i][0] != NULL) ||
		    gt_node_is_called(&port, word) != (both[i][1] != NULL))
			fail_msg("'%s'", word);
	}
}

static void test_not_names(void **state)
{
	static const char *const words[] = {
		"",      "4",         "GPU",   "GPU03x", "-3",    "H100",
		"GPU-3", "mlx5_3:1",  "NVS3",  "3-",     "GPU3-", "3-2",
		"0-3",   "GPU3-NET3", "1b:00", "/3",     " 3",    "NETGPU3",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (gt_node_is_called(&gpu, words[i]) ||
		    gt_node_is_called(&port, words[i]))
			fail_msg("'%s'", words[i]);
}

/* Joins the words again, with blanks between. */
static const char *expand(const char *text)
{
	static char all[4096];
	struct gt_name_list list = {.rest = text};
	char word[GT_NAME_MAX];

	*all = '\0';
	while (gt_name_list_next(&list, word)) {
		strcat(all, word);
		strcat(all, " ");
	}
	return all;
}

static void test_lists(void **state)
{
	(void)state;
	assert_string_equal(expand("0-2,GPU5-6,net1-NET1,mlx5_0"),
			    "0 1 2 GPU5 GPU6 NET1 mlx5_0 ");
	assert_string_equal(expand("0000:1b:00.0,NVS/0"),
			    "0000:1b:00.0 NVS/0 ");
	assert_string_equal(expand("-,a-b,3-2,ib0-1"), "- a-b 3-2 ib0-1 ");
	assert_string_equal(expand("0,,1"), "0  1 ");
	assert_string_equal(expand(""), " ");
	/* A range that no machine has is a word, which then is unknown. */
	assert_string_equal(expand("0-512"), "0-512 ");
	assert_string_equal(expand(NULL), "");
}

/* A long word is cut, never written past its end. */
static void test_long(void **state)
{
	char text[4 * GT_NAME_MAX];
	struct gt_name_list list = {.rest = text};
	char word[GT_NAME_MAX];

	(void)state;
	memset(text, '7', sizeof(text));
	memcpy(text, "GPU", 3);
	strcpy(text + sizeof(text) - 3, ",8");
	assert_true(gt_name_list_next(&list, word));
	assert_int_equal(strlen(word), GT_NAME_MAX - 1);
	assert_false(gt_node_is_called(&gpu, text));
	assert_true(gt_name_list_next(&list, word));
	assert_string_equal(word, "8");
	assert_false(gt_name_list_next(&list, word));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_not_names),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
