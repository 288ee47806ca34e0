/*
 * Verbs that are loaded when they are called: without a library there are no
 * devices, and with one that was loaded before it is that one.  RDMA devices
 * are SIMULATED (tests/verbs).
 */
#include "unit/test.h"

#include <sys/wait.h>
#include <unistd.h>

#include "nccl/verbs_on_demand.c"

/* What libsoftverbs.so has, of a place that this program finds. */
static void *soft_verbs(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *end;

	assert_true(n > 0);
	path[n] = '\0';
	end = strstr(path, "/tests/unit/");
	assert_non_null(end);
	snprintf(end, sizeof(path) - (size_t)(end - path),
		 "/tests/verbs/libsoftverbs.so");
	return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

/* In a process of its own, since what is loaded stays. */
static void in_child(void (*body)(void))
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void none(void)
{
	int n = 7;

	/* As if it had been looked for, and were not there. */
	pthread_once(&gt_verbs_once, gt_verbs_load);
	gt_verbs_library = NULL;
	errno = 0;
	if (ibv_get_device_list(&n) || errno != ENOSYS)
		_exit(1);
	ibv_free_device_list(NULL);
	if (ibv_alloc_pd(NULL) || ibv_dereg_mr(NULL) != ENOSYS)
		_exit(2);
}

static void loaded(void)
{
	struct ibv_device_attr attr;
	struct ibv_context *context;
	struct ibv_device **all;
	struct ibv_pd *pd;
	int n = 0;

	if (!soft_verbs())
		_exit(77);
	all = ibv_get_device_list(&n);
	if (!all || n != 2 || strcmp(ibv_get_device_name(all[0]), "soft0") != 0)
		_exit(1);
	context = ibv_open_device(all[0]);
	ibv_free_device_list(all);
	if (!context || ibv_query_device(context, &attr))
		_exit(2);
	pd = ibv_alloc_pd(context);
	if (!pd || ibv_dealloc_pd(pd) || ibv_close_device(context))
		_exit(3);
	if (gt_verbs_library)
		_exit(4);
}

/* Sanitizers keep a library in the program that nothing of it needs. */
static void need_none_inside(void)
{
	if (!dlsym(RTLD_DEFAULT, "ibv_get_device_list"))
		return;
	print_message("the program has libibverbs in it\n");
	skip();
}

static void test_none(void **state)
{
	(void)state;
	need_none_inside();
	in_child(none);
}

static void test_loaded(void **state)
{
	(void)state;
	need_none_inside();
	in_child(loaded);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
