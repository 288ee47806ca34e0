/* Secrets, and the addresses where those are met who have them. */
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "world/auth.h"
#include "world/net.h"

/* A secret that everybody can read is none. */
static void test_secret_file(void **state)
{
	char path[] = "/tmp/gtopo-secret-XXXXXX";
	int fd = mkstemp(path);
	struct gt_secret one;
	struct gt_err err;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a secret in a file\n", 19), 19);
	assert_int_equal(gt_secret_read(&one, path, NULL), 0);
	assert_int_equal(one.len, 18);
	assert_int_equal(fchmod(fd, 0644), 0);
	gt_err_init(&err);
	assert_int_equal(gt_secret_read(&one, path, &err), GT_EINPUT);
	assert_string_equal(err.where, path);
	assert_non_null(strstr(err.text, "chmod 600"));
	close(fd);
	unlink(path);
}

static void test_secrets(void **state)
{
	struct gt_secret one;

	(void)state;
	assert_int_equal(gt_secret_set(&one, "short", NULL), GT_EINPUT);
	assert_int_equal(gt_secret_set(&one, "exactly 16 bytes\n", NULL), 0);
	assert_int_equal(one.len, 16);
	assert_int_equal(gt_secret_read(&one, "/nonexistent", NULL), GT_EINPUT);
}

static void test_interfaces(void **state)
{
	struct gt_net_address address;
	char text[GT_NET_NAME_MAX];

	(void)state;
	assert_int_equal(gt_net_local("lo", &address, NULL), 0);
	gt_net_text(&address, text);
	assert_string_equal(text, "127.0.0.1:0");
	assert_int_equal(gt_net_local("=lo", &address, NULL), 0);
	assert_int_equal(gt_net_local("=l", &address, NULL), GT_EINPUT);
	assert_int_equal(gt_net_local("none,l", &address, NULL), 0);
	assert_int_equal(gt_net_local("^eth,lo,docker,en,veth,ib,wl,br,virbr",
				      &address, NULL),
			 GT_EINPUT);
	assert_int_equal(gt_net_resolve("[::1]", 7, &address, NULL), 0);
	gt_net_text(&address, text);
	assert_string_equal(text, "[::1]:7");
	assert_int_equal(gt_net_resolve("no such host", 7, &address, NULL),
			 GT_EINPUT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_secret_file),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_interfaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
