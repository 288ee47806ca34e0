/*
 * A device's events, which tell besides completions that its port, a connection
 * or itself has failed.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/err.h"
#include "exec/link/verbs/verbs.h"
#include "world/world.h"

/*
 * An event counts more than completions with errors, which are only a
 * consequence of it.
 */
static void gt_verbs_qp_event(struct gt_verbs_link *link,
			      const struct ibv_qp *qp, int type)
{
	for (uint32_t p = 0; p < link->nprocesses; p++)
		if (link->peers[p].qp == qp)
			atomic_store(&link->broken,
				     gt_verbs_broken(p, GT_VERBS_EVENT + type));
}

static void gt_verbs_event(struct gt_verbs_link *link,
			   const struct ibv_async_event *event)
{
	struct gt_verbs_port *port = &link->port;

	switch (event->event_type) {
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_PORT_ACTIVE:
		if (event->element.port_num != port->number)
			break;
		if (event->event_type == IBV_EVENT_PORT_ACTIVE)
			port->down_ns = 0;
		else if (!port->down_ns)
			port->down_ns = gt_clock_ns();
		break;
	case IBV_EVENT_DEVICE_FATAL:
	case IBV_EVENT_CQ_ERR:
		port->is_gone = event->event_type + 1;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		gt_verbs_qp_event(link, event->element.qp, event->event_type);
		break;
	default:
		break; /* what follows from it shows in completions */
	}
}

/*
 * Read the device's events in order.  The threads of several GPUs may come
 * here; one of them reads.
 */
static void gt_verbs_listen(struct gt_verbs_link *link)
{
	struct ibv_async_event event;

	if (atomic_exchange(&link->listens, 1))
		return;
	while (!ibv_get_async_event(link->port.context, &event)) {
		gt_verbs_event(link, &event);
		ibv_ack_async_event(&event);
	}
	/* The kernel ends the file of a device that was taken away. */
	if (errno == EIO && !link->port.is_gone)
		link->port.is_gone = IBV_EVENT_DEVICE_FATAL + 1;
	atomic_store(&link->listens, 0);
}

/*
 * Check whether port and device work, as some devices, soft-RoCE among them,
 * never give up what they cannot send.
 */
static int gt_verbs_port_check(struct gt_verbs_link *link, struct gt_err *err)
{
	const struct gt_verbs_port *port = &link->port;
	const char *name = ibv_get_device_name(port->context->device);
	int64_t since_ns = atomic_load(&port->down_ns);
	int64_t down_ns = since_ns ? gt_clock_ns() - since_ns : 0;
	int is_gone = atomic_load(&port->is_gone);

	if (is_gone)
		return gt_err_set(
			err, GT_ESYS, NULL, "its RDMA device %s failed: %s",
			name,
			ibv_event_type_str((enum ibv_event_type)(is_gone - 1)));
	if (down_ns > link->patience_ns)
		return gt_err_set(err, GT_ESYS, NULL,
				  "its RDMA port %s:%u is down for %.1f s",
				  name, port->number, (double)down_ns / 1e9);
	return GT_OK;
}

int gt_verbs_check(struct gt_exec_link *self, struct gt_err *err)
{
	struct gt_verbs_link *link = (struct gt_verbs_link *)self;
	uint64_t broken;
	int why;

	gt_verbs_listen(link);
	broken = atomic_load(&link->broken);
	why = (int)(broken >> 32);
	if (!broken || link->port.is_gone)
		return gt_verbs_port_check(link, err);
	return gt_err_set(
		err, GT_ESYS, NULL, "RDMA with %s: %s",
		gt_world_name(link->base.config.world, (uint32_t)broken - 1),
		why < GT_VERBS_EVENT
			? ibv_wc_status_str((enum ibv_wc_status)why)
			: ibv_event_type_str(
				  (enum ibv_event_type)(why - GT_VERBS_EVENT)));
}
