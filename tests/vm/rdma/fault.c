/*
 * Preloaded into one process: its RDMA goes wrong.  GT_FAULT=rkey tells others
 * a key that opens nothing, GT_FAULT=qp breaks the first connection 3 s after
 * it was made, GT_FAULT=device tells then that the device failed, as those do
 * that can be taken from a running process: soft-RoCE waits for its end.
 * GT_FAULT=few is none: the device's completion queues are as short as can be.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#undef ibv_reg_mr

static int is(const char *fault)
{
	const char *want = getenv("GT_FAULT");

	return want && !strcmp(want, fault);
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	int (*real)(struct ibv_context *, struct ibv_device_attr *);
	int error;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_query_device");
	error = real(context, attr);
	if (is("few"))
		attr->max_cqe = 6;
	return error;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			  int access)
{
	struct ibv_mr *(*real)(struct ibv_pd *, void *, size_t, int);
	struct ibv_mr *mr;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_reg_mr");
	mr = real(pd, addr, length, access);
	if (mr && is("rkey"))
		mr->rkey ^= 0x5a;
	return mr;
}

static time_t made;

int ibv_get_async_event(struct ibv_context *context,
			struct ibv_async_event *event)
{
	int (*real)(struct ibv_context *, struct ibv_async_event *);

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_get_async_event");
	if (is("device") && made && time(NULL) > made + 3) {
		made = 0;
		event->event_type = IBV_EVENT_DEVICE_FATAL;
		return 0;
	}
	return real(context, event);
}

static void *break_it(void *arg)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};

	sleep(3);
	ibv_modify_qp(arg, &attr, IBV_QP_STATE);
	return NULL;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp *(*real)(struct ibv_pd *, struct ibv_qp_init_attr *);
	struct ibv_qp *qp;
	pthread_t thread;

	*(void **)&real = dlsym(RTLD_NEXT, "ibv_create_qp");
	qp = real(pd, init);
	made = time(NULL);
	if (qp && is("qp"))
		pthread_create(&thread, NULL, break_it, qp);
	return qp;
}
