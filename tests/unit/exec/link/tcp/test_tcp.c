/* What becomes of a TCP link's sockets when it stops and when it ends. */
#include "unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "exec/link/tcp/tcp.h"

enum { TORN = 8, TRIES = 5 };

#define FINISH_NS 500000000ll

/* A link with one socket that nobody reads from at `far`. */
static struct gt_tcp_link *make(int *far)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);
	static const struct gt_link_config config;
	struct gt_tcp_link *link =
		gt_proxied_link_new(sizeof(*link), &gt_tcp_proxy, &config);
	int door = socket(AF_INET, SOCK_STREAM, 0), few = 4096;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_non_null(link);
	link->nprocesses = 1;
	link->nsockets = 1;
	link->listener.fd = -1;
	link->base.polls = calloc(2, sizeof(*link->base.polls));
	link->peers = calloc(1, sizeof(*link->peers));
	link->sockets = calloc(1, sizeof(struct gt_tcp_socket *));
	assert_true(link->base.polls && link->peers && link->sockets);
	link->sockets[0] = calloc(1, sizeof(**link->sockets));
	assert_non_null(link->sockets[0]);
	link->sockets[0]->peer = link->peers;
	link->sockets[0]->fd = socket(AF_INET, SOCK_STREAM, 0);
	/* So that they do not grow. */
	setsockopt(door, SOL_SOCKET, SO_RCVBUF, &few, sizeof(few));
	setsockopt(link->sockets[0]->fd, SOL_SOCKET, SO_SNDBUF, &few,
		   sizeof(few));
	assert_return_code(bind(door, (void *)&address, len), errno);
	assert_return_code(listen(door, 1), errno);
	assert_return_code(getsockname(door, (void *)&address, &len), errno);
	assert_return_code(connect(link->sockets[0]->fd, (void *)&address, len),
			   errno);
	*far = accept(door, NULL, NULL);
	assert_true(*far >= 0);
	close(door);
	return link;
}

/* A credit has gone half when no more goes. */
static void tear(struct gt_tcp_link *link)
{
	static char bytes[1 << 16];
	struct gt_tcp_socket *one = link->sockets[0];

	/* Until it takes nothing for a while: the kernel moves it on. */
	for (int quiet = 0; quiet < 3; quiet++) {
		while (send(one->fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0 ||
		       send(one->fd, bytes, 1, MSG_DONTWAIT) > 0)
			quiet = 0;
		poll(NULL, 0, 100);
	}
	one->nout = 1;
	one->pieces[0] = (struct iovec){bytes, TORN};
	one->pieces[1] = (struct iovec){NULL, 0};
}

/* The shortest time of some that this took. */
static int64_t took(void (*how)(struct gt_tcp_link *), struct gt_tcp_link *link)
{
	int64_t best_ns = INT64_MAX, begin_ns, ns;

	for (int i = 0; i < TRIES; i++) {
		begin_ns = gt_clock_ns();
		how(link);
		ns = gt_clock_ns() - begin_ns;
		best_ns = ns < best_ns ? ns : best_ns;
	}
	return best_ns;
}

static void stop(struct gt_tcp_link *link)
{
	atomic_store(&link->base.stop, 1);
	assert_null(gt_proxied_link_main(link));
}

/* Who reads no more keeps nobody who has half a message to send. */
static void test_torn(void **state)
{
	struct gt_tcp_link *link;
	int far;

	(void)state;
	link = make(&far);
	tear(link);
	gt_tcp_finish(link->sockets[0]);
	assert_int_equal(link->sockets[0]->piece, 0);
	assert_true(took(stop, link) < FINISH_NS / 2);
	gt_link_tcp.close((struct gt_exec_link *)link);
	close(far);
}

/* How the far side sees the end: 0, or an errno. */
static int ending(int far)
{
	static char bytes[1 << 16];
	ssize_t got;

	do
		got = recv(far, bytes, sizeof(bytes), 0);
	while (got > 0);
	return got ? errno : 0;
}

/* A link that ends says so to the far side, which sees no error. */
static void test_end_is_seen(void **state)
{
	struct gt_tcp_link *link;
	int far;

	(void)state;
	link = make(&far);
	gt_link_tcp.close((struct gt_exec_link *)link);
	assert_int_equal(ending(far), 0);
	close(far);
}

/* Whatever the machine's sockets do otherwise, BBR's timers above all. */
static void test_no_pace_within_a_host(void **state)
{
	static const char cubic[] = "cubic";
	char name[16] = "";
	socklen_t len = sizeof(name);
	struct gt_tcp_link *link;
	int far, fd;

	(void)state;
	link = make(&far);
	fd = link->sockets[0]->fd;
	/* Where it is not to be had, what is there will do. */
	setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cubic, sizeof(cubic) - 1);
	gt_net_set_local(fd);
	assert_return_code(
		getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), errno);
	assert_string_equal(name, "reno");
	gt_link_tcp.close((struct gt_exec_link *)link);
	close(far);
}

/* What the far side says of FIFO 0, which receives, and 1, which sends. */
struct lie {
	const char *what;
	struct gt_tcp_head head;
};

/* Does the link go on after what the far side has said? */
static int believes(const struct gt_tcp_head *said)
{
	static struct gt_fifo counters[2];
	static char slots[2][2][64];
	static struct gt_tcp_slot states[2][2];
	struct gt_tcp_fifo fifos[2] = {0};
	const uint32_t *word = (const uint32_t *)said;
	uint32_t sent[sizeof(*said) / sizeof(*word)];
	struct gt_bell bell = {0};
	struct gt_tcp_link *link;
	int far, rc;

	link = make(&far);
	memset(states, 0, sizeof(states));
	for (int i = 0; i < 2; i++) {
		gt_fifo_init(&counters[i]);
		fifos[i] = (struct gt_tcp_fifo){.counters = &counters[i],
						.slots = states[i],
						.sends = i};
		fifos[i].end = (struct gt_fifo_end){.fifo = &counters[i],
						    .slots = slots[i][0],
						    .other = &bell,
						    .slot_bytes = 64,
						    .nslots = 2};
	}
	fifos[1].next = 1;
	link->peers->fifos = fifos;
	link->peers->nfifos = 2;
	link->generation = 1;
	for (size_t i = 0; i < sizeof(sent) / sizeof(*sent); i++)
		sent[i] = htonl(word[i]);
	assert_int_equal(send(far, sent, sizeof(sent), 0), sizeof(sent));
	while (!(rc = gt_tcp_receive(link, link->sockets[0])))
		poll(NULL, 0, 1);
	link->peers->fifos = NULL;
	link->peers->nfifos = 0;
	gt_link_tcp.close((struct gt_exec_link *)link);
	close(far);
	return rc > 0;
}

/* Whatever a peer says, no byte goes outside its slot. */
static void test_lies(void **state)
{
	static const struct gt_tcp_head truths[] = {
		{GT_TCP_DATA, 1, 0, 64, 0, 0, 64},
		{GT_TCP_DATA, 1, 0, 16, 1, 48, 64},
		{GT_TCP_CREDIT, 1, 1, 1, 0, 0, 0},
		{GT_TCP_CREDIT, 7, 9, 9, 0, 0, 0}, /* of an old generation */
	};
	static const struct lie lies[] = {
		{"no such kind", {3, 1, 0, 0, 0, 0, 0}},
		{"no such FIFO", {GT_TCP_DATA, 1, 2, 8, 0, 0, 8}},
		{"data of an old generation", {GT_TCP_DATA, 7, 0, 8, 0, 0, 8}},
		{"data for a sender", {GT_TCP_DATA, 1, 1, 8, 0, 0, 8}},
		{"a slice beyond the slot", {GT_TCP_DATA, 1, 0, 65, 0, 0, 65}},
		{"a part beyond the slice", {GT_TCP_DATA, 1, 0, 17, 0, 48, 64}},
		{"a part behind it", {GT_TCP_DATA, 1, 0, 1, 0, 65, 64}},
		{"a part that wraps",
		 {GT_TCP_DATA, 1, 0, 32, 0, UINT32_MAX - 15, 64}},
		{"a slot that is not there", {GT_TCP_DATA, 1, 0, 8, 2, 0, 8}},
		{"a slice that was", {GT_TCP_DATA, 1, 0, 8, UINT32_MAX, 0, 8}},
		{"credit of a receiver", {GT_TCP_CREDIT, 1, 0, 1, 0, 0, 0}},
		{"credit for nothing", {GT_TCP_CREDIT, 1, 1, 2, 0, 0, 0}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(truths) / sizeof(*truths); i++)
		if (!believes(&truths[i]))
			fail_msg("truth %zu is not believed", i);
	for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++)
		if (believes(&lies[i].head))
			fail_msg("%s", lies[i].what);
}

/* A link may get the number of a standard input that a program has closed. */
static void test_bell_is_descriptor_0(void **state)
{
	const struct gt_link_config config = {.world = NULL};
	struct gt_proxied_link *link;
	int input = dup(0);

	(void)state;
	close(0);
	link = gt_proxied_link_new(sizeof(*link), &gt_tcp_proxy, &config);
	assert_non_null(link);
	assert_int_equal(link->wake_fd, 0);
	gt_proxied_link_free(link);
	assert_int_equal(fcntl(0, F_GETFD), -1);
	if (input >= 0) {
		assert_int_equal(dup2(input, 0), 0);
		close(input);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bell_is_descriptor_0),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_end_is_seen),
		cmocka_unit_test(test_no_pace_within_a_host),
		cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
