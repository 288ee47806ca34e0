/*
 * What is made of a machine's networks: its interfaces and the resolver are
 * this file's, which the linker takes for the C library's.
 */
#include "unit/test.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "world/net.h"

enum { NET_CARDS = 4 };

static struct ifaddrs *cards;
static int resolver_code, resolver_errno;

int getifaddrs(struct ifaddrs **all)
{
	*all = cards;
	return 0;
}

void freeifaddrs(struct ifaddrs *all)
{
	(void)all;
}

int getaddrinfo(const char *restrict name, const char *restrict service,
		const struct addrinfo *restrict hints,
		struct addrinfo **restrict found)
{
	(void)name;
	(void)service;
	(void)hints;
	(void)found;
	errno = resolver_errno;
	return resolver_code;
}

/* An interface of these flags, its address the number in each byte. */
static void card_make(uint32_t i, const char *name, unsigned int flags,
		      int family, uint8_t number)
{
	static struct ifaddrs all[NET_CARDS];
	static struct sockaddr_in6 addresses[NET_CARDS];
	struct sockaddr_in *four = (void *)&addresses[i];

	memset(&addresses[i], 0, sizeof(addresses[i]));
	if (family == AF_INET)
		memset(&four->sin_addr, number, sizeof(four->sin_addr));
	else
		memset(&addresses[i].sin6_addr, number, 16);
	/* Of IPv6, 0xfe 0xfe would be none of a link alone. */
	if (family == AF_INET6 && number == 0xfe)
		addresses[i].sin6_addr.s6_addr[1] = 0x80;
	addresses[i].sin6_family = (sa_family_t)family;
	all[i] = (struct ifaddrs){.ifa_next = cards,
				  .ifa_name = (char *)name,
				  .ifa_flags = IFF_UP | flags,
				  .ifa_addr = (void *)&addresses[i]};
	cards = &all[i];
}

/* The second one is taken, whichever is asked for first. */
static void assert_second(const char *one, unsigned int flags, int family,
			  uint8_t number, const char *other,
			  unsigned int other_flags, int other_family)
{
	struct gt_net_address address;
	const struct sockaddr_in *four = (const void *)&address.storage;
	const struct sockaddr_in6 *six = (const void *)&address.storage;

	for (uint32_t turn = 0; turn < 2; turn++) {
		cards = NULL;
		card_make(turn, one, flags, family, number);
		card_make(1 - turn, other, other_flags, other_family, 9);
		if (turn) {
			cards->ifa_next->ifa_next = cards;
			cards = cards->ifa_next;
			cards->ifa_next->ifa_next = NULL;
		}
		memset(&address, 0, sizeof(address));
		assert_int_equal(gt_net_local(NULL, &address, NULL), 0);
		assert_int_equal(address.storage.ss_family, other_family);
		assert_int_equal(other_family == AF_INET
					 ? four->sin_addr.s_addr & 0xff
					 : six->sin6_addr.s6_addr[0],
				 9);
	}
}

static void test_real_networks_come_first(void **state)
{
	(void)state;
	assert_second("lo", IFF_LOOPBACK, AF_INET, 127, "eth0", 0, AF_INET);
	assert_second("lo", IFF_LOOPBACK, AF_INET, 127, "docker0", 0, AF_INET6);
	assert_second("docker0", 0, AF_INET, 7, "eth0", 0, AF_INET6);
	assert_second("virbr0", 0, AF_INET, 7, "eth0", 0, AF_INET);
	assert_second("veth1", 0, AF_INET, 7, "ib0", 0, AF_INET);
	assert_second("br-1", 0, AF_INET, 7, "ib0", 0, AF_INET);
	assert_second("eth0", 0, AF_INET6, 7, "eth1", 0, AF_INET);
	assert_second("eth0", 0, AF_INET6, 0xfe, "eth1", 0, AF_INET6);
}

static void test_who_is_down_or_has_no_address(void **state)
{
	struct gt_net_address address;
	struct gt_err err;

	(void)state;
	gt_err_init(&err);
	cards = NULL;
	card_make(0, "eth0", 0, AF_INET, 1);
	card_make(1, "eth1", 0, AF_INET, 2);
	cards->ifa_flags = 0;
	cards->ifa_next->ifa_addr = NULL;
	assert_int_equal(gt_net_local(NULL, &address, &err), GT_EINPUT);
	assert_non_null(strstr(err.text, "no network interface"));
}

static void assert_resolver(int code, int number, int expect, const char *words)
{
	struct gt_net_address address;
	struct gt_err err;

	gt_err_init(&err);
	resolver_code = code;
	resolver_errno = number;
	assert_int_equal(gt_net_resolve("node7", 7, &address, &err), expect);
	assert_non_null(strstr(err.text, "address 'node7': "));
	assert_non_null(strstr(err.text, words));
}

/* Is it the name that is wrong, or the machine? */
static void test_a_name_is_not_resolved(void **state)
{
	(void)state;
	assert_resolver(EAI_NONAME, 0, GT_EINPUT, gai_strerror(EAI_NONAME));
	assert_resolver(EAI_MEMORY, 0, GT_ESYS, gai_strerror(EAI_MEMORY));
	assert_resolver(EAI_SYSTEM, EMFILE, GT_ESYS, strerror(EMFILE));
}

/* Limits are in ns, the kernel's in ms. */
static void test_ack_timeout(void **state)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	unsigned int limit_ms = 0;
	socklen_t len = sizeof(limit_ms);

	(void)state;
	assert_true(fd >= 0);
	gt_net_set_ack_timeout(fd, 1500000000);
	assert_int_equal(
		getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, &len),
		0);
	assert_int_equal(limit_ms, 1500);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_networks_come_first),
		cmocka_unit_test(test_who_is_down_or_has_no_address),
		cmocka_unit_test(test_a_name_is_not_resolved),
		cmocka_unit_test(test_ack_timeout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
