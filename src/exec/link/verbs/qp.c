/*
 * Queue pairs of reliable connections, from their creation until they are
 * connected.
 */
#include <string.h>

#include "base/err.h"
#include "exec/link/verbs/verbs.h"

enum {
	/* 4.096 us * 2^18 = 1.1 s at most before a packet is sent again. */
	GT_VERBS_TIMEOUT = 18,
	GT_VERBS_RETRIES = 6,    /* 7 is for ever to soft-RoCE */
	GT_VERBS_RNR_TIMER = 12, /* 0.64 ms */
};

int gt_verbs_qp_new(struct gt_verbs_link *link, struct gt_verbs_peer *peer,
		    struct gt_err *err)
{
	struct ibv_qp_init_attr init = {
		.send_cq = link->cq,
		.recv_cq = link->cq,
		.cap = {.max_send_wr = link->sends,
			.max_recv_wr = link->sends * GT_VERBS_RECEIVES,
			.max_send_sge = 1,
			.max_recv_sge = 1},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = link->port.number,
		.qp_access_flags = peer == &link->loop
					   ? IBV_ACCESS_REMOTE_READ
					   : IBV_ACCESS_REMOTE_WRITE,
	};
	int error;

	peer->qp = ibv_create_qp(link->pd, &init);
	if (!peer->qp)
		return gt_err_set(err, GT_ESYS, NULL,
				  "the RDMA device gives no queue pair");
	peer->psn = peer->qp->qp_num & 0xffffff;
	error = ibv_modify_qp(peer->qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				      IBV_QP_ACCESS_FLAGS);
	return error ? gt_err_set(err, GT_ESYS, NULL,
				  "cannot set up a queue pair: %s",
				  strerror(error))
		     : GT_OK;
}

/*
 * The timeout with which all retries together take as long as a connection may
 * be silent; a device may wait four times as long as it is told.
 */
static uint8_t gt_verbs_timeout(int64_t patience_ns)
{
	uint8_t timeout = GT_VERBS_TIMEOUT;

	while (timeout > 1 &&
	       (4096ll << timeout) * (1 + GT_VERBS_RETRIES) > patience_ns)
		timeout--;
	return timeout;
}

static int gt_verbs_ready_to_receive(const struct gt_verbs_peer *peer,
				     enum ibv_mtu mtu,
				     const struct ibv_ah_attr *route,
				     uint32_t qpn, uint32_t psn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu,
		.dest_qp_num = qpn,
		.rq_psn = psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = GT_VERBS_RNR_TIMER,
		.ah_attr = *route,
	};

	return ibv_modify_qp(peer->qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

static int gt_verbs_ready_to_send(struct gt_verbs_link *link,
				  struct gt_verbs_peer *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = peer->psn,
		.timeout = gt_verbs_timeout(link->patience_ns),
		.retry_cnt = GT_VERBS_RETRIES,
		/* For ever: the receiver is alive, or its end is told. */
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	return ibv_modify_qp(peer->qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				     IBV_QP_MAX_QP_RD_ATOMIC);
}

const char *gt_verbs_qp_connect(struct gt_verbs_link *link,
				struct gt_verbs_peer *peer,
				const struct gt_verbs_place *far, uint32_t qpn,
				uint32_t psn)
{
	uint32_t mtu = link->port.place.mtu;
	struct ibv_ah_attr route;
	const char *why = gt_verbs_route(&link->port, far, &route);
	int error;

	if (why)
		return why;
	if (far->mtu < mtu)
		mtu = far->mtu;
	error = gt_verbs_ready_to_receive(peer, (enum ibv_mtu)mtu, &route, qpn,
					  psn);
	if (!error)
		error = gt_verbs_ready_to_send(link, peer);
	return error ? strerror(error) : NULL;
}
