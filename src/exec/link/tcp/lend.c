/* Slices that the kernel sends from where they are. */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/errqueue.h>

#include "exec/link/tcp/tcp.h"

/* Pinning pages and hearing of their end costs as much as to copy these. */
enum { GT_TCP_LEND_BYTES = 32 << 10 };

int gt_tcp_lend_start(int fd)
{
	int on = 1;

	return !setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof(on));
}

int gt_tcp_lend_can(const struct gt_tcp_socket *socket, uint32_t piece)
{
	return socket->peer->lends && piece % 2 &&
	       socket->out[piece / 2].part_of &&
	       socket->pieces[piece].iov_len >= GT_TCP_LEND_BYTES &&
	       !socket->loans[socket->nloans % GT_TCP_LOANS].is_out;
}

void gt_tcp_lend_note(struct gt_tcp_socket *socket)
{
	const struct gt_tcp_out *out = &socket->out[socket->piece / 2];

	socket->loans[socket->nloans++ % GT_TCP_LOANS] = (struct gt_tcp_loan){
		.is_out = 1, .part_of = out->part_of, .slot = out->slot};
	socket->nlent++;
	out->part_of->slots[out->slot].users++;
}

static void gt_tcp_loan_end(struct gt_tcp_socket *socket, uint32_t number)
{
	struct gt_tcp_loan *loan = &socket->loans[number % GT_TCP_LOANS];

	if (!loan->is_out)
		return;
	loan->is_out = 0;
	socket->nlent--;
	if (loan->part_of)
		gt_tcp_release(loan->part_of, loan->slot);
}

/* 1: loans from one number to another have ended. */
static int gt_tcp_hear(struct gt_tcp_socket *socket, const struct cmsghdr *head)
{
	struct sock_extended_err told;

	if (!(head->cmsg_level == SOL_IP && head->cmsg_type == IP_RECVERR) &&
	    !(head->cmsg_level == SOL_IPV6 && head->cmsg_type == IPV6_RECVERR))
		return 0;
	memcpy(&told, CMSG_DATA(head), sizeof(told));
	if (told.ee_origin != SO_EE_ORIGIN_ZEROCOPY ||
	    told.ee_data - told.ee_info >= GT_TCP_LOANS)
		return 0;
	for (uint32_t i = told.ee_info; i != told.ee_data + 1; i++)
		gt_tcp_loan_end(socket, i);
	if (told.ee_code & SO_EE_CODE_ZEROCOPY_COPIED)
		socket->peer->lends = 0;
	return 1;
}

int gt_tcp_reclaim(struct gt_tcp_socket *socket)
{
	/* One notice, with the address that IPv6's has behind it. */
	_Alignas(struct cmsghdr) char control[128];
	struct msghdr message;
	struct cmsghdr *head;
	int ended = 0;

	while (socket->nlent) {
		message = (struct msghdr){.msg_control = control,
					  .msg_controllen = sizeof(control)};
		if (recvmsg(socket->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) <
		    0)
			break;
		for (head = CMSG_FIRSTHDR(&message); head;
		     head = CMSG_NXTHDR(&message, head))
			ended |= gt_tcp_hear(socket, head);
	}
	return ended;
}
