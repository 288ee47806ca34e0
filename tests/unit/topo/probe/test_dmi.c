#include "unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topo/probe/dmi.h"

/* A table while it is made. */
struct table {
	unsigned char bytes[8192];
	size_t len;
};

static void put(struct table *table, const void *bytes, size_t n)
{
	assert_true(table->len + n <= sizeof(table->bytes));
	memcpy(table->bytes + table->len, bytes, n);
	table->len += n;
}

/* A structure of `len` bytes (5 at least), and its strings. */
static void put_item(struct table *table, const unsigned char *item, size_t len,
		     const char *device, const char *bank)
{
	put(table, item, len);
	put(table, device, strlen(device) + 1);
	put(table, bank, strlen(bank) + 1);
	put(table, "", 1);
}

static void put_module(struct table *table, const char *bank,
		       const char *device, unsigned speed)
{
	unsigned char item[0x22] = {17, sizeof(item)};

	item[0x0a] = 64;
	item[0x0d] = 0x40;
	item[0x10] = 1;
	item[0x11] = 2;
	item[0x12] = 0x22;
	item[0x20] = (unsigned char)speed;
	item[0x21] = (unsigned char)(speed >> 8);
	put_item(table, item, sizeof(item), device, bank);
}

/* The table in memory of its very size, so that a read behind it shows. */
static uint32_t read_part(const struct table *table, size_t len,
			  struct gt_dmi_module modules[GT_DMI_MODULES_MAX])
{
	unsigned char *copy = malloc(len ? len : 1);
	uint32_t n;

	assert_non_null(copy);
	memcpy(copy, table->bytes, len);
	n = gt_dmi_modules(copy, len, modules);
	free(copy);
	return n;
}

static struct gt_dmi_memory add(const struct table *table)
{
	static struct gt_dmi_module modules[GT_DMI_MODULES_MAX];
	uint32_t n = read_part(table, table->len, modules);

	return gt_dmi_add(modules, n);
}

static void test_channels(void **state)
{
	struct table table = {.len = 0};
	struct gt_dmi_memory memory;

	(void)state;
	put_module(&table, "P0 CHANNEL A", "DIMM 0", 4800);
	put_module(&table, "P0 CHANNEL A", "DIMM 1", 4800);
	put_module(&table, "P1 CHANNEL A", "DIMM 0", 4800);
	memory = add(&table);
	assert_int_equal(memory.mbs, 2 * 38400);
	assert_int_equal(memory.nchannels, 2);
	assert_int_equal(memory.nprefixes, 2);
	/* Where the device's name has the channel, the bank's need not. */
	table.len = 0;
	put_module(&table, "BANK 0", "Controller0-ChannelA-DIMM0", 5600);
	put_module(&table, "BANK 1", "Controller0-ChannelB-DIMM0", 5600);
	memory = add(&table);
	assert_int_equal(memory.mbs, 2 * 44800);
	assert_int_equal(memory.nprefixes, 1);
}

/* What does not tell how many channels there are tells nothing. */
static void test_not_told(void **state)
{
	static const char *const names[][4] = {
		{"", "A1", "", "A2"},
		{"CHANNEL A", "DIMM 0", "CHANNEL A", "DIMM 0"},
		{"CHANNEL", "DIMM 0", "CHANNEL", "DIMM 1"},
		{"P0 CHANNEL A", "DIMM 0", "P0 NODE 1", "DIMM 0"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct table table = {.len = 0};

		put_module(&table, names[i][0], names[i][1], 4800);
		put_module(&table, names[i][2], names[i][3], 4800);
		assert_int_equal(add(&table).mbs, 0);
	}
}

static void test_speeds(void **state)
{
	static const unsigned speeds[][2] = {
		{4800, 4400}, {4800, 0}, {0xffff, 0xffff}};

	(void)state;
	for (size_t i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++) {
		struct table table = {.len = 0};

		put_module(&table, "CHANNEL A", "DIMM 0", speeds[i][0]);
		put_module(&table, "CHANNEL B", "DIMM 0", speeds[i][1]);
		assert_int_equal(add(&table).mbs, 0);
	}
}

/* A table that is cut anywhere, or has a byte changed, is read within it. */
static void test_any_bytes(void **state)
{
	static struct gt_dmi_module modules[GT_DMI_MODULES_MAX];
	struct table table = {.len = 0}, other;
	unsigned char first[6] = {1, 6, 0, 0, 1, 2}, last[5] = {127, 5};
	uint32_t n;

	(void)state;
	put_item(&table, first, sizeof(first), "maker", "name");
	put_module(&table, "CHANNEL A", "DIMM 0", 4800);
	put_item(&table, last, sizeof(last), "", "");
	assert_int_equal(read_part(&table, table.len, modules), 1);
	for (size_t len = 0; len < table.len; len++)
		assert_true(read_part(&table, len, modules) <= 1);
	for (size_t at = 0; at < table.len; at++)
		for (int value = 0; value < 256; value++) {
			other = table;
			other.bytes[at] = (unsigned char)value;
			n = read_part(&other, other.len, modules);
			assert_true(n <= 1);
			assert_true(gt_dmi_add(modules, n).nchannels <= n);
		}
}

/* More than there is room for are none. */
static void test_too_many(void **state)
{
	static struct gt_dmi_module modules[GT_DMI_MODULES_MAX];
	struct table table;
	unsigned char *all;
	uint32_t n;
	size_t len = 0;

	(void)state;
	table.len = 0;
	put_module(&table, "CHANNEL A", "DIMM 0", 4800);
	all = malloc(table.len * (GT_DMI_MODULES_MAX + 1));
	assert_non_null(all);
	for (int i = 0; i <= GT_DMI_MODULES_MAX; i++, len += table.len)
		memcpy(all + len, table.bytes, table.len);
	n = gt_dmi_modules(all, len - table.len, modules);
	assert_int_equal(n, GT_DMI_MODULES_MAX);
	assert_int_equal(gt_dmi_modules(all, len, modules), 0);
	free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_channels),
		cmocka_unit_test(test_not_told),
		cmocka_unit_test(test_speeds),
		cmocka_unit_test(test_any_bytes),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
