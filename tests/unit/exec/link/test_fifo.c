#include "unit/test.h"

#include <pthread.h>
#include <string.h>

#include "exec/link/bell.h"
#include "exec/link/fifo.h"

enum { SLICES = 200000, SLOT_BYTES = 64 };

static struct gt_fifo_end fifo_end(struct gt_fifo *fifo, char *slots,
				   uint32_t nslots)
{
	return (struct gt_fifo_end){.fifo = fifo,
				    .slots = slots,
				    .slot_bytes = SLOT_BYTES,
				    .nslots = nslots};
}

static void test_cache_lines(void **state)
{
	static const uint64_t cases[][2] = {{0, 0},   {1, 64},   {63, 64},
					    {64, 64}, {65, 128}, {129, 192}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(gt_cache_lines_bytes(cases[i][0]),
				 cases[i][1]);
}

static void test_order_and_room(void **state)
{
	static char slots[3][SLOT_BYTES];
	struct gt_fifo fifo;
	struct gt_fifo_end in = fifo_end(&fifo, slots[0], 3), out = in;

	(void)state;
	gt_fifo_init(&fifo);
	assert_false(gt_fifo_can_receive(&out));
	for (int i = 0; i < 3; i++) {
		assert_true(gt_fifo_can_send(&in));
		assert_ptr_equal(gt_fifo_slot(&in), slots[i]);
		gt_fifo_sent(&in);
	}
	assert_false(gt_fifo_can_send(&in));
	assert_true(gt_fifo_can_receive(&out));
	assert_ptr_equal(gt_fifo_slot(&out), slots[0]);
	gt_fifo_received(&out);
	assert_true(gt_fifo_can_send(&in));
	assert_ptr_equal(gt_fifo_slot(&in), slots[0]);
	gt_fifo_sent(&in);
	assert_false(gt_fifo_can_send(&in));
	for (int i = 0; i < 3; i++) {
		assert_true(gt_fifo_can_receive(&out));
		gt_fifo_received(&out);
	}
	assert_false(gt_fifo_can_receive(&out));
}

/* Counters that have long passed 32 bits still find the right slot. */
static void test_large_counters(void **state)
{
	static char slots[8][SLOT_BYTES];
	uint64_t at = 0x300000000000007ull;
	struct gt_fifo fifo;
	struct gt_fifo_end in = fifo_end(&fifo, slots[0], 7), out;

	(void)state;
	gt_fifo_init(&fifo);
	in.at = at;
	in.seen = at;
	out = in;
	atomic_store(&fifo.data, at);
	atomic_store(&fifo.credit, at);
	for (int i = 0; i < 7; i++) {
		assert_true(gt_fifo_can_send(&in));
		assert_ptr_equal(gt_fifo_slot(&in), slots[(at + i) % 7]);
		gt_fifo_sent(&in);
	}
	assert_false(gt_fifo_can_send(&in));
	assert_true(gt_fifo_can_receive(&out));
	assert_ptr_equal(gt_fifo_slot(&out), slots[at % 7]);
}

struct pair {
	struct gt_fifo fifo;
	char *slots;
	uint32_t nslots;
	struct gt_bell sender, receiver;
	int wrong;
};

/* Each slice is full of its number. */
static void *send_all(void *arg)
{
	struct pair *pair = arg;
	struct gt_fifo_end end =
		fifo_end(&pair->fifo, pair->slots, pair->nslots);

	for (uint32_t k = 0; k < SLICES; k++) {
		uint32_t seen = gt_bell_look(&pair->sender);

		while (!gt_fifo_can_send(&end)) {
			gt_bell_wait(&pair->sender, seen, 500000000);
			seen = gt_bell_look(&pair->sender);
		}
		for (int i = 0; i < SLOT_BYTES / 4; i++)
			((uint32_t *)(void *)gt_fifo_slot(&end))[i] = k;
		gt_fifo_sent(&end);
		gt_bell_ring(&pair->receiver);
	}
	return NULL;
}

static void *receive_all(void *arg)
{
	struct pair *pair = arg;
	struct gt_fifo_end end =
		fifo_end(&pair->fifo, pair->slots, pair->nslots);

	for (uint32_t k = 0; k < SLICES; k++) {
		uint32_t seen = gt_bell_look(&pair->receiver);

		while (!gt_fifo_can_receive(&end)) {
			gt_bell_wait(&pair->receiver, seen, 500000000);
			seen = gt_bell_look(&pair->receiver);
		}
		for (int i = 0; i < SLOT_BYTES / 4; i++)
			pair->wrong |=
				((uint32_t *)(void *)gt_fifo_slot(&end))[i] !=
				k;
		gt_fifo_received(&end);
		gt_bell_ring(&pair->sender);
	}
	return NULL;
}

/* Two threads, one slot and more; a lost wake-up would take half a second. */
static void test_threads(void **state)
{
	static _Alignas(64) char slots[4][SLOT_BYTES];
	static struct pair pair;
	pthread_t thread;

	(void)state;
	for (uint32_t nslots = 1; nslots <= 4; nslots += 3) {
		memset(&pair, 0, sizeof(pair));
		gt_fifo_init(&pair.fifo);
		pair.slots = slots[0];
		pair.nslots = nslots;
		assert_int_equal(pthread_create(&thread, NULL, send_all, &pair),
				 0);
		receive_all(&pair);
		pthread_join(thread, NULL);
		assert_int_equal(pair.wrong, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_lines),
		cmocka_unit_test(test_order_and_room),
		cmocka_unit_test(test_large_counters),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
