/* Devices, ports, queues: what libibverbs offers of them, as far as needed. */
#include "soft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#undef ibv_get_device_list
#undef ibv_query_port

pthread_mutex_t soft_lock = PTHREAD_MUTEX_INITIALIZER;

static struct ibv_device devices[SOFT_DEVICES];
static struct soft_qp *qps[SOFT_QPS];
static uint32_t qp_turns;

struct ibv_device **ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = calloc(SOFT_DEVICES + 1, sizeof(*list));

	if (num_devices)
		*num_devices = list ? SOFT_DEVICES : 0;
	for (int i = 0; list && i < SOFT_DEVICES; i++) {
		devices[i].node_type = IBV_NODE_CA;
		devices[i].transport_type = IBV_TRANSPORT_IB;
		snprintf(devices[i].name, sizeof(devices[i].name), "soft%d", i);
		list[i] = &devices[i];
	}
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

static int soft_poll_cq(struct ibv_cq *base, int most, struct ibv_wc *wc)
{
	struct soft_cq *cq = (struct soft_cq *)base;
	int n = 0;

	pthread_mutex_lock(&soft_lock);
	while (n < most && cq->n) {
		wc[n++] = cq->done[cq->at];
		cq->at = (cq->at + 1) % (uint32_t)base->cqe;
		cq->n--;
	}
	pthread_mutex_unlock(&soft_lock);
	return n;
}

static int soft_req_notify_cq(struct ibv_cq *base, int solicited_only)
{
	(void)solicited_only;
	pthread_mutex_lock(&soft_lock);
	((struct soft_cq *)base)->armed = 1;
	pthread_mutex_unlock(&soft_lock);
	return 0;
}

static int soft_send_of(const struct soft_qp *qp, const struct ibv_send_wr *wr,
			struct soft_send *send)
{
	if (qp->qp.state != IBV_QPS_RTS && qp->qp.state != IBV_QPS_ERR)
		return EINVAL;
	if (wr->num_sge > 1 || (wr->opcode != IBV_WR_RDMA_WRITE &&
				wr->opcode != IBV_WR_RDMA_WRITE_WITH_IMM &&
				wr->opcode != IBV_WR_RDMA_READ))
		return EOPNOTSUPP;
	if (qp->next - qp->head == qp->cap.max_send_wr)
		return ENOMEM;
	*send = (struct soft_send){
		.wr_id = wr->wr_id,
		.remote = wr->wr.rdma.remote_addr,
		.rkey = wr->wr.rdma.rkey,
		.imm = wr->imm_data,
		.opcode = wr->opcode,
		.is_signaled = !!(wr->send_flags & IBV_SEND_SIGNALED),
	};
	if (wr->num_sge) {
		send->local = wr->sg_list[0].addr;
		send->bytes = wr->sg_list[0].length;
		send->lkey = wr->sg_list[0].lkey;
	}
	return soft_blocks_init(&send->blocks, send->bytes);
}

static int soft_post_send(struct ibv_qp *base, struct ibv_send_wr *wr,
			  struct ibv_send_wr **bad)
{
	struct soft_qp *qp = (struct soft_qp *)base;
	int rc = 0;

	pthread_mutex_lock(&soft_lock);
	for (; wr && !rc; wr = rc ? wr : wr->next) {
		rc = soft_send_of(qp, wr,
				  &qp->sends[qp->next % qp->cap.max_send_wr]);
		qp->next += !rc;
		*bad = wr;
	}
	if (base->state == IBV_QPS_ERR)
		soft_qp_fail(qp, IBV_WC_WR_FLUSH_ERR);
	pthread_mutex_unlock(&soft_lock);
	soft_wire_wake();
	return rc;
}

static int soft_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad)
{
	struct soft_qp *qp = (struct soft_qp *)base;
	int rc = 0;

	pthread_mutex_lock(&soft_lock);
	for (; wr && !rc; wr = rc ? wr : wr->next) {
		*bad = wr;
		rc = base->state == IBV_QPS_RESET                       ? EINVAL
		     : qp->posted - qp->received == qp->cap.max_recv_wr ? ENOMEM
									: 0;
		if (!rc)
			qp->receives[qp->posted++ % qp->cap.max_recv_wr] =
				wr->wr_id;
	}
	if (base->state == IBV_QPS_ERR)
		soft_qp_fail(qp, IBV_WC_WR_FLUSH_ERR);
	else
		soft_deliver(qp);
	pthread_mutex_unlock(&soft_lock);
	soft_wire_wake();
	return rc;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct soft_context *context = calloc(1, sizeof(*context));
	int fds[2];

	if (!context || soft_wire_open() || pipe(fds)) {
		free(context);
		return NULL;
	}
	context->context = (struct ibv_context){
		.device = device,
		.ops = {.poll_cq = soft_poll_cq,
			.req_notify_cq = soft_req_notify_cq,
			.post_send = soft_post_send,
			.post_recv = soft_post_recv},
		.cmd_fd = -1,
		.async_fd = fds[0],
		.num_comp_vectors = 1,
	};
	context->write_fd = fds[1];
	return &context->context;
}

int ibv_close_device(struct ibv_context *context)
{
	close(context->async_fd);
	close(((struct soft_context *)context)->write_fd);
	free(context);
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	(void)context;
	*attr = (struct ibv_device_attr){
		.max_cqe = SOFT_MOST_CQE,
		.max_qp = SOFT_QPS,
		.max_mr = SOFT_KEYS,
		.phys_port_cnt = 1,
	};
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *compat)
{
	struct ibv_port_attr *attr = (struct ibv_port_attr *)(void *)compat;

	(void)context;
	if (port_num != 1)
		return EINVAL;
	attr->state = IBV_PORT_ACTIVE;
	attr->max_mtu = attr->active_mtu = IBV_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}

/* Every process has ports of its own, as if it were a host. */
int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index,
		  union ibv_gid *gid)
{
	uint32_t pid = (uint32_t)getpid();

	(void)context;
	if (port_num != 1 || index)
		return -1;
	*gid = (union ibv_gid){.raw = {[10] = 0xff, [11] = 0xff}};
	memcpy(&gid->raw[12], &pid, sizeof(pid));
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
		      uint32_t gid_index, struct ibv_gid_entry *entry,
		      uint32_t flags, size_t entry_size)
{
	(void)flags;
	memset(entry, 0, entry_size);
	if (ibv_query_gid(context, (uint8_t)port_num, (int)gid_index,
			  &entry->gid))
		return ENODATA;
	entry->gid_index = gid_index;
	entry->port_num = port_num;
	entry->gid_type = IBV_GID_TYPE_ROCE_V2;
	return 0;
}

int ibv_get_async_event(struct ibv_context *context,
			struct ibv_async_event *event)
{
	return read(context->async_fd, event, sizeof(*event)) == sizeof(*event)
		       ? 0
		       : -1;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
	(void)event;
}

static void soft_event(struct ibv_context *context,
		       const struct ibv_async_event *event)
{
	if (write(((struct soft_context *)context)->write_fd, event,
		  sizeof(*event)) < 0)
		abort();
}

void soft_qp_event(struct soft_qp *qp, enum ibv_event_type type)
{
	const struct ibv_async_event event = {.element.qp = &qp->qp,
					      .event_type = type};

	soft_event(qp->qp.context, &event);
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof(*pd));

	if (pd)
		pd->context = context;
	return pd;
}

int ibv_dealloc_pd(struct ibv_pd *pd)
{
	free(pd);
	return 0;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct soft_channel *channel = calloc(1, sizeof(*channel));
	int fds[2];

	if (!channel || pipe(fds)) {
		free(channel);
		return NULL;
	}
	channel->channel =
		(struct ibv_comp_channel){.context = context, .fd = fds[0]};
	channel->write_fd = fds[1];
	return &channel->channel;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	close(channel->fd);
	close(((struct soft_channel *)channel)->write_fd);
	free(channel);
	return 0;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe,
			     void *cq_context, struct ibv_comp_channel *channel,
			     int comp_vector)
{
	struct soft_cq *cq = calloc(1, sizeof(*cq));

	(void)comp_vector;
	if (cq && cqe > 0 && cqe <= SOFT_MOST_CQE)
		cq->done = calloc((size_t)cqe, sizeof(*cq->done));
	if (!cq || !cq->done) {
		free(cq);
		return NULL;
	}
	cq->cq.context = context;
	cq->cq.channel = channel;
	cq->cq.cq_context = cq_context;
	cq->cq.cqe = cqe;
	return &cq->cq;
}

int ibv_destroy_cq(struct ibv_cq *cq)
{
	free(((struct soft_cq *)cq)->done);
	free(cq);
	return 0;
}

void soft_complete(struct ibv_cq *base, const struct ibv_wc *wc)
{
	struct soft_cq *cq = (struct soft_cq *)base;
	const struct ibv_async_event full = {.element.cq = base,
					     .event_type = IBV_EVENT_CQ_ERR};

	if (cq->n == (uint32_t)base->cqe) {
		if (!cq->failed++)
			soft_event(base->context, &full);
		return;
	}
	cq->done[(cq->at + cq->n++) % (uint32_t)base->cqe] = *wc;
	if (!cq->armed || !base->channel)
		return;
	cq->armed = 0;
	if (write(((struct soft_channel *)base->channel)->write_fd, &base,
		  sizeof(base)) < 0)
		abort();
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq,
		     void **cq_context)
{
	if (read(channel->fd, cq, sizeof(*cq)) != sizeof(*cq))
		return -1;
	*cq_context = (*cq)->cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned nevents)
{
	(void)cq;
	(void)nevents;
}

struct soft_qp *soft_qp_next(uint32_t *i)
{
	while (*i < SOFT_QPS && !qps[*i])
		++*i;
	return *i < SOFT_QPS ? qps[(*i)++] : NULL;
}

struct soft_qp *soft_qp_find(uint32_t number)
{
	struct soft_qp *qp = qps[number % SOFT_QPS];

	return qp && qp->qp.qp_num == number ? qp : NULL;
}

static void soft_qp_free(struct soft_qp *qp)
{
	if (!qp)
		return;
	for (; qp->sends && qp->head != qp->next; qp->head++)
		free(qp->sends[qp->head % qp->cap.max_send_wr].blocks.order);
	for (uint32_t i = 0; i < SOFT_WINDOW; i++)
		free(qp->answers[i].blocks.order);
	free(qp->sends);
	free(qp->receives);
	free(qp);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct soft_qp *qp = calloc(1, sizeof(*qp));
	uint32_t i = 0;

	if (!qp || init->qp_type != IBV_QPT_RC)
		goto failed;
	qp->cap = init->cap;
	qp->sends = calloc(qp->cap.max_send_wr + 1, sizeof(*qp->sends));
	qp->receives = calloc(qp->cap.max_recv_wr + 1, sizeof(*qp->receives));
	if (!qp->sends || !qp->receives)
		goto failed;
	qp->qp.context = pd->context;
	qp->qp.pd = pd;
	qp->qp.qp_context = init->qp_context;
	qp->qp.send_cq = init->send_cq;
	qp->qp.recv_cq = init->recv_cq;
	qp->qp.qp_type = init->qp_type;
	pthread_mutex_lock(&soft_lock);
	while (i < SOFT_QPS && qps[i])
		i++;
	if (i < SOFT_QPS) {
		qp->qp.qp_num = (++qp_turns * SOFT_QPS + i) & 0xffffff;
		qps[i] = qp;
	}
	pthread_mutex_unlock(&soft_lock);
	if (i < SOFT_QPS)
		return &qp->qp;
failed:
	soft_qp_free(qp);
	errno = ENOMEM;
	return NULL;
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
	static const int needed[] = {
		[IBV_QPS_INIT] =
			IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER,
		[IBV_QPS_RTS] = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				IBV_QP_MAX_QP_RD_ATOMIC,
	};
	struct soft_qp *qp = (struct soft_qp *)base;
	enum ibv_qp_state to = attr->qp_state;

	/* Each state comes from the one before and says all that it must. */
	if (!(mask & IBV_QP_STATE) || to < IBV_QPS_INIT || to > IBV_QPS_RTS ||
	    base->state != to - 1 || (mask & needed[to]) != needed[to])
		return EINVAL;
	pthread_mutex_lock(&soft_lock);
	if (to == IBV_QPS_INIT)
		qp->access = (int)attr->qp_access_flags;
	if (to == IBV_QPS_RTR) {
		qp->far_qpn = attr->dest_qp_num;
		memcpy(&qp->far_pid, &attr->ah_attr.grh.dgid.raw[12],
		       sizeof(qp->far_pid));
	}
	if (to == IBV_QPS_RTS)
		qp->patience_ns =
			(4096ll << attr->timeout) * (1 + attr->retry_cnt);
	base->state = to;
	pthread_mutex_unlock(&soft_lock);
	return 0;
}

int ibv_destroy_qp(struct ibv_qp *base)
{
	pthread_mutex_lock(&soft_lock);
	qps[base->qp_num % SOFT_QPS] = NULL;
	pthread_mutex_unlock(&soft_lock);
	soft_qp_free((struct soft_qp *)base);
	soft_wire_settle();
	return 0;
}

static void soft_send_ends(struct soft_qp *qp, enum ibv_wc_status status)
{
	struct soft_send *send = &qp->sends[qp->head % qp->cap.max_send_wr];
	const struct ibv_wc wc = {
		.wr_id = send->wr_id,
		.status = status,
		.opcode = send->opcode == IBV_WR_RDMA_READ ? IBV_WC_RDMA_READ
							   : IBV_WC_RDMA_WRITE,
		.byte_len = send->bytes,
		.qp_num = qp->qp.qp_num,
	};

	if (send->is_signaled || status != IBV_WC_SUCCESS)
		soft_complete(qp->qp.send_cq, &wc);
	free(send->blocks.order);
	qp->head++;
}

void soft_qp_retire(struct soft_qp *qp)
{
	while (qp->head != qp->next &&
	       qp->sends[qp->head % qp->cap.max_send_wr].is_done)
		soft_send_ends(qp, IBV_WC_SUCCESS);
}

void soft_qp_fail(struct soft_qp *qp, enum ibv_wc_status status)
{
	qp->qp.state = IBV_QPS_ERR;
	while (qp->head != qp->next) {
		soft_send_ends(qp, status);
		status = IBV_WC_WR_FLUSH_ERR;
	}
	for (; qp->received != qp->posted; qp->received++) {
		const struct ibv_wc wc = {
			.wr_id = qp->receives[qp->received %
					      qp->cap.max_recv_wr],
			.status = IBV_WC_WR_FLUSH_ERR,
			.qp_num = qp->qp.qp_num,
		};

		soft_complete(qp->qp.recv_cq, &wc);
	}
}
