/*
 * This probe opens RDMA devices through libibverbs; without that library it
 * finds nothing.
 */
#include "topo/probe/probe.h"

#include <config.h>

#include "base/err.h"
#include "topo/probe/machine.h"

#ifdef HAVE_VERBS

#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

/* This is what one open device says of itself. */
struct gt_verbs_device {
	const char *name;
	int maxconn;
	int dmabuf;
};

/*
 * Returns whether the device takes memory of other devices as dma-buf: asked
 * with a file that is none, it complains of the file or of the whole idea.
 */
static int gt_verbs_dmabuf(struct ibv_context *context)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);
	int why;

	if (!pd)
		return GT_UNKNOWN;
	errno = 0;
	if (ibv_reg_dmabuf_mr(pd, 0, 0, 0, -1, 0))
		why = 0; /* this cannot be */
	else
		why = errno;
	ibv_dealloc_pd(pd);
	return why == EBADF ? 1
	       : why == EOPNOTSUPP || why == EPROTONOSUPPORT || why == ENOSYS
		       ? 0
		       : GT_UNKNOWN;
}

static int gt_verbs_net(struct gt_machine_net *net, void *arg)
{
	const struct gt_verbs_device *device = arg;

	if (!net->rdma || strcmp(net->name, device->name))
		return 0;
	net->dmabuf = device->dmabuf;
	if (!net->maxconn)
		net->maxconn = device->maxconn;
	return 0;
}

/*
 * Asks a device for what sysfs does not say: how many connections it holds, and
 * whether it knows dma-buf.
 */
static void gt_verbs_ask(struct gt_machine *machine, struct ibv_device *of)
{
	struct gt_verbs_device device = {.name = ibv_get_device_name(of)};
	struct ibv_context *context = ibv_open_device(of);
	struct ibv_device_attr attr;

	if (!context) {
		gt_machine_note_detail(machine,
				       "verbs: %s cannot be opened: %s",
				       device.name, strerror(errno));
		return;
	}
	if (!ibv_query_device(context, &attr))
		device.maxconn = attr.max_qp;
	device.dmabuf = gt_verbs_dmabuf(context);
	gt_machine_note_detail(machine, "verbs: %s: %d connections, dma-buf %s",
			       device.name, device.maxconn,
			       device.dmabuf == GT_UNKNOWN ? "unknown"
			       : device.dmabuf             ? "yes"
							   : "no");
	gt_machine_each_net(machine, gt_verbs_net, &device);
	ibv_close_device(context);
}

static int gt_verbs_is_rdma(struct gt_machine_net *net, void *unused)
{
	(void)unused;
	return net->rdma;
}

int gt_probe_verbs(const struct gt_probe_env *env, struct gt_machine *machine,
		   struct gt_err *err)
{
	struct ibv_device **list;

	(void)err;
	if (env->root[0] ||
	    !gt_machine_each_net(machine, gt_verbs_is_rdma, NULL))
		return GT_OK;
	list = ibv_get_device_list(NULL);
	if (!list)
		gt_machine_note_detail(machine, "verbs: no devices: %s",
				       strerror(errno));
	for (int i = 0; list && list[i]; i++)
		gt_verbs_ask(machine, list[i]);
	if (list)
		ibv_free_device_list(list);
	return GT_OK;
}

#else

int gt_probe_verbs(const struct gt_probe_env *env, struct gt_machine *machine,
		   struct gt_err *err)
{
	(void)env;
	(void)machine;
	(void)err;
	return GT_OK;
}

#endif
