/* When the proxy of a link sleeps, and who calls it. */
#include "unit/test.h"

#include "unit/held.h"

#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "exec/link/proxied_link.h"

enum {
	NAP_NS = 1000000,
	WATCHED_US = 100000,
};

static _Atomic uint32_t rounds;

static int nothing_to_carry(struct gt_exec_link *link)
{
	(void)link;
	atomic_fetch_add(&rounds, 1);
	return 0;
}

static int nothing_to_wait_for(struct gt_proxied_link *link,
			       struct pollfd *polls)
{
	(void)link;
	(void)polls;
	return 0;
}

static struct gt_proxied_link *link_new(struct pollfd *polls)
{
	static const struct gt_proxied_link_ops ops = {
		.progress = nothing_to_carry,
		.nap_ns = NAP_NS,
		.arm = nothing_to_wait_for};
	const struct gt_link_config config = {.world = NULL};
	struct gt_proxied_link *link =
		gt_proxied_link_new(sizeof(*link), &ops, &config);

	assert_non_null(link);
	link->polls = polls;
	return link;
}

static int is_called(const struct gt_proxied_link *link)
{
	uint64_t calls;

	return read(link->wake_fd, &calls, sizeof(calls)) == sizeof(calls);
}

/* Who comes, or leaves others behind, does not. */
static void test_last_to_leave_calls(void **state)
{
	struct gt_proxied_link *link = link_new(NULL);
	struct gt_exec_link *self = (struct gt_exec_link *)link;

	(void)state;
	gt_proxied_link_attend(self, 1);
	gt_proxied_link_attend(self, 1);
	gt_proxied_link_attend(self, -1);
	assert_false(is_called(link));
	gt_proxied_link_attend(self, -1);
	assert_true(is_called(link));
	gt_proxied_link_free(link);
}

/* Nobody rings: it looks again after each nap, and else takes no time. */
static void test_naps(void **state)
{
	struct pollfd polls[1];
	struct gt_proxied_link *link = link_new(polls);
	int64_t took_ns;

	(void)state;
	for (int attended = 0; attended < 2; attended++) {
		atomic_store(&rounds, 0);
		took_ns = gt_clock_ns();
		assert_int_equal(gt_proxied_link_start(link, NULL, NULL), 0);
		while (!atomic_load(&rounds))
			usleep(WATCHED_US);
		usleep(WATCHED_US);
		assert_int_equal(gt_proxied_link_stop(link), 1);
		took_ns = gt_clock_ns() - took_ns;
		/* Without naps it is some thousands more. */
		assert_in_range(atomic_load(&rounds), 1,
				(uint64_t)(4 + took_ns / NAP_NS));
		gt_proxied_link_attend((struct gt_exec_link *)link, 1);
	}
	gt_proxied_link_free(link);
}

static int cannot_pin(void *base, size_t bytes, struct gt_err *err)
{
	(void)base;
	return gt_err_set(err, GT_ESYS, NULL, "cannot pin %zu bytes", bytes);
}

/* Memory that a device cannot reach is given back. */
static void test_memory_unpinned(void **state)
{
	enum { ROUNDS = 100 };
	const struct gt_link_memory_ops pins = {.pin = cannot_pin};
	struct gt_proxied_link *link = link_new(NULL);
	struct held before = {0}, after;
	struct gt_err err;

	(void)state;
	link->config.pins = &pins;
	for (int i = 0; i < 2 * ROUNDS; i++) {
		if (i == ROUNDS)
			before = held_now();
		gt_err_init(&err);
		assert_int_equal(gt_proxied_link_alloc(link, 100, &err),
				 GT_ESYS);
	}
	after = held_now();
	gt_err_init(&err);
	if (held_more(&before, &after, ROUNDS, &err))
		fail_msg("%s", err.text);
	gt_proxied_link_free(link);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_to_leave_calls),
		cmocka_unit_test(test_naps),
		cmocka_unit_test(test_memory_unpinned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
