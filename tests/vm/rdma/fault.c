/*
 * Preloaded into one process: its RDMA goes wrong.  GT_FAULT=rkey tells others
 * a key that opens nothing, GT_FAULT=qp breaks the first connection 3 s after
 * it was made.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#undef ibv_reg_mr

static int is(const char *fault)
{
	const char *want = getenv("GT_FAULT");

	return want && !strcmp(want, fault);
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
	if (qp && is("qp"))
		pthread_create(&thread, NULL, break_it, qp);
	return qp;
}
