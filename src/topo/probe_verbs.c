#include "topo/probe.h"

#include <config.h>

#include "base/err.h"
#include "topo/machine.h"

#ifdef HAVE_VERBS

#include <string.h>

#include <infiniband/verbs.h>

/* sysfs says everything but how many connections a device holds. */
static int gt_verbs_net(struct gt_machine_net *net, void *arg)
{
	struct ibv_context *context = arg;
	struct ibv_device_attr attr;

	if (net->rdma && !net->maxconn &&
	    !strcmp(net->name, ibv_get_device_name(context->device)) &&
	    !ibv_query_device(context, &attr))
		net->maxconn = attr.max_qp;
	return 0;
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
	struct ibv_context *context;

	(void)err;
	if (env->root[0] ||
	    !gt_machine_each_net(machine, gt_verbs_is_rdma, NULL))
		return GT_OK;
	list = ibv_get_device_list(NULL);
	for (int i = 0; list && list[i]; i++) {
		context = ibv_open_device(list[i]);
		if (!context)
			continue;
		gt_machine_each_net(machine, gt_verbs_net, context);
		ibv_close_device(context);
	}
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
