/*
 * How blocks share the messages of a launch: whatever these are, each piece has
 * one block, a parcel knows how many send it, and no block has much more to do
 * than another.
 */
#include "draw.h"
#include "unit/test.h"

#include "kernels/sendrecv.h"

enum { MESSAGES = 40, ROUNDS = 20000 };

/* KiB of work of all; shares, too. */
static uint64_t draw_list(uint64_t *state, struct gt_kernel_message *list,
			  uint32_t n, uint32_t kind, uint64_t *shares)
{
	uint64_t at = 0;

	*shares = 0;
	for (uint32_t i = 0; i < n; i++) {
		list[i] = (struct gt_kernel_message){
			.bytes = 1 + draw(state, 1u << draw(state, 28)),
			.sends = draw(state, 2),
			.at = (uint32_t)at};
		at += gt_msg_work_kib(&list[i], kind);
		*shares += gt_msg_shares(&list[i], kind);
	}
	return at;
}

static void expect_shared(const struct gt_kernel_message *m, uint32_t kind,
			  uint32_t quota, uint32_t blocks)
{
	uint32_t next = 0, busy = 0, end;

	for (uint32_t b = 0; b < blocks; b++) {
		assert_int_equal(gt_msg_first_piece(m, kind, quota, b), next);
		end = gt_msg_first_piece(m, kind, quota, b + 1);
		assert_true(end >= next);
		busy += end > next;
		next = end;
	}
	assert_int_equal(next, gt_msg_shares(m, kind));
	if (m->sends)
		assert_int_equal(busy, gt_msg_blocks(m, kind, quota));
}

/* A block has no more than its quota, but for a piece that is begun. */
static void expect_spread(const struct gt_kernel_message *list, uint32_t n,
			  uint32_t kind, uint32_t quota, uint32_t block)
{
	uint64_t work = 0, largest = 0, piece, mine;

	for (uint32_t i = 0; i < n; i++) {
		piece = gt_msg_piece_kib(list[i].bytes, kind);
		mine = gt_msg_first_piece(&list[i], kind, quota, block + 1) -
		       gt_msg_first_piece(&list[i], kind, quota, block);
		work += mine * piece;
		if (mine && piece > largest)
			largest = piece;
	}
	assert_true(work < quota + largest);
}

static void test_random(void **state)
{
	struct gt_kernel_message list[MESSAGES];
	uint64_t chance = 5, work, shares;
	uint32_t quota;

	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t n = 1 + draw(&chance, MESSAGES);
		uint32_t blocks = 1 + draw(&chance, 132);
		uint32_t kind = draw(&chance, 5); /* the last: in the host */

		work = draw_list(&chance, list, n, kind, &shares);
		if (shares < blocks)
			blocks = (uint32_t)shares;
		quota = (uint32_t)((work + blocks - 1) / blocks);
		for (uint32_t k = 0; k < n; k++)
			expect_shared(&list[k], kind, quota, blocks);
		expect_spread(list, n, kind, quota, draw(&chance, blocks));
	}
}

/* As many small ones as there are blocks for: a block each. */
static void test_small(void **state)
{
	struct gt_kernel_message list[6];

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		list[i] = (struct gt_kernel_message){
			.bytes = 8 << 10, .sends = i % 2, .at = 8 * i};
	for (uint32_t b = 0; b < 6; b++)
		for (uint32_t i = 0; i < 6; i++)
			assert_int_equal(
				gt_msg_first_piece(&list[i], 1, 8, b + 1) -
					gt_msg_first_piece(&list[i], 1, 8, b),
				i == b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
