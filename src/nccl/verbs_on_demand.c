/*
 * libibverbs, which is loaded when a function of it is first called: a program
 * that never sends between hosts needs none, and has none in many containers.
 * Only libnccl.so.2 has this file, in whose place others are linked with the
 * library itself.
 *
 * Whoever asks for RDMA devices is told that there are none if it cannot be
 * loaded, so nothing else is called then.
 */
#include <dlfcn.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stddef.h>

#undef ibv_query_port
#undef ibv_reg_mr

/* Hidden, or the library would call these in place of its own. */
#pragma GCC visibility push(hidden)

static pthread_once_t gt_verbs_once = PTHREAD_ONCE_INIT;
static void *gt_verbs_library;

static void gt_verbs_load(void)
{
	gt_verbs_library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
}

/* Another library of that name may have been loaded before it: it counts. */
static void *gt_verbs_find(const char *name)
{
	void *at = dlsym(RTLD_DEFAULT, name);

	if (at)
		return at;
	pthread_once(&gt_verbs_once, gt_verbs_load);
	return gt_verbs_library ? dlsym(gt_verbs_library, name) : NULL;
}

/* A function, its parameters, how they are handed on, and a failure. */
#define GT_VERB(type, name, parameters, arguments, failure)                    \
	type name parameters;                                                  \
	type name parameters                                                   \
	{                                                                      \
		type(*to) parameters;                                          \
                                                                               \
		*(void **)&to = gt_verbs_find(#name);                          \
		errno = to ? errno : ENOSYS;                                   \
		return to ? to arguments : failure;                            \
	}

GT_VERB(struct ibv_device **, ibv_get_device_list, (int *n), (n), NULL)
GT_VERB(const char *, ibv_get_device_name, (struct ibv_device * device),
	(device), NULL)
GT_VERB(struct ibv_context *, ibv_open_device, (struct ibv_device * device),
	(device), NULL)
GT_VERB(int, ibv_close_device, (struct ibv_context * context), (context), -1)
GT_VERB(int, ibv_query_device,
	(struct ibv_context * context, struct ibv_device_attr *attr),
	(context, attr), ENOSYS)
GT_VERB(int, ibv_query_port,
	(struct ibv_context * context, uint8_t port,
	 struct _compat_ibv_port_attr *attr),
	(context, port, attr), ENOSYS)
GT_VERB(int, ibv_query_gid,
	(struct ibv_context * context, uint8_t port, int index,
	 union ibv_gid *gid),
	(context, port, index, gid), -1)
GT_VERB(int, _ibv_query_gid_ex,
	(struct ibv_context * context, uint32_t port, uint32_t index,
	 struct ibv_gid_entry *entry, uint32_t flags, size_t bytes),
	(context, port, index, entry, flags, bytes), ENOSYS)
GT_VERB(int, ibv_get_async_event,
	(struct ibv_context * context, struct ibv_async_event *event),
	(context, event), -1)
GT_VERB(const char *, ibv_event_type_str, (enum ibv_event_type event), (event),
	"")
GT_VERB(const char *, ibv_wc_status_str, (enum ibv_wc_status status), (status),
	"")
GT_VERB(struct ibv_pd *, ibv_alloc_pd, (struct ibv_context * context),
	(context), NULL)
GT_VERB(int, ibv_dealloc_pd, (struct ibv_pd * pd), (pd), ENOSYS)
GT_VERB(struct ibv_mr *, ibv_reg_mr,
	(struct ibv_pd * pd, void *at, size_t bytes, int access),
	(pd, at, bytes, access), NULL)
GT_VERB(struct ibv_mr *, ibv_reg_dmabuf_mr,
	(struct ibv_pd * pd, uint64_t offset, size_t bytes, uint64_t iova,
	 int fd, int access),
	(pd, offset, bytes, iova, fd, access), NULL)
GT_VERB(int, ibv_dereg_mr, (struct ibv_mr * mr), (mr), ENOSYS)
GT_VERB(struct ibv_comp_channel *, ibv_create_comp_channel,
	(struct ibv_context * context), (context), NULL)
GT_VERB(int, ibv_destroy_comp_channel, (struct ibv_comp_channel * channel),
	(channel), ENOSYS)
GT_VERB(struct ibv_cq *, ibv_create_cq,
	(struct ibv_context * context, int entries, void *own,
	 struct ibv_comp_channel *channel, int vector),
	(context, entries, own, channel, vector), NULL)
GT_VERB(int, ibv_destroy_cq, (struct ibv_cq * cq), (cq), ENOSYS)
GT_VERB(int, ibv_get_cq_event,
	(struct ibv_comp_channel * channel, struct ibv_cq **cq, void **own),
	(channel, cq, own), -1)
GT_VERB(struct ibv_qp *, ibv_create_qp,
	(struct ibv_pd * pd, struct ibv_qp_init_attr *attr), (pd, attr), NULL)
GT_VERB(int, ibv_modify_qp,
	(struct ibv_qp * qp, struct ibv_qp_attr *attr, int mask),
	(qp, attr, mask), ENOSYS)
GT_VERB(int, ibv_destroy_qp, (struct ibv_qp * qp), (qp), ENOSYS)

/* What these give back came from the library. */
#define GT_VERB_BACK(name, parameters, arguments)                              \
	void name parameters;                                                  \
	void name parameters                                                   \
	{                                                                      \
		void(*to) parameters;                                          \
                                                                               \
		*(void **)&to = gt_verbs_find(#name);                          \
		if (to)                                                        \
			to arguments;                                          \
	}

GT_VERB_BACK(ibv_free_device_list, (struct ibv_device * *list), (list))
GT_VERB_BACK(ibv_ack_async_event, (struct ibv_async_event * event), (event))
GT_VERB_BACK(ibv_ack_cq_events, (struct ibv_cq * cq, unsigned int n), (cq, n))

#pragma GCC visibility pop
