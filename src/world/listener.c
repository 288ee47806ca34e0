/*
 * Both sides of a connection between processes of a job: the listener admits
 * those that know the secret, and who connects proves that it does.
 */
#include "world/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "world/net.h"

/* How long a pending connection may take before it answers. */
static const int64_t gt_listener_answer_ns = 5000000000;

/*
 * While no file is left for a new connection, the listener is not polled for so
 * long, since it would be ready all the time.
 */
static const int64_t gt_listener_rest_ns = 20000000;

void gt_listener_init(struct gt_listener *listener, int fd,
		      const struct gt_secret *secret)
{
	listener->fd = fd;
	listener->rests_until_ns = 0;
	listener->secret = secret;
	listener->npending = 0;
}

static void gt_listener_forget(struct gt_listener *listener, uint32_t i)
{
	listener->pending[i] = listener->pending[--listener->npending];
}

void gt_listener_close(struct gt_listener *listener)
{
	while (listener->npending) {
		gt_wire_close(&listener->pending[0].wire);
		gt_listener_forget(listener, 0);
	}
	if (listener->fd >= 0)
		close(listener->fd);
	listener->fd = -1;
}

uint32_t gt_listener_polls(const struct gt_listener *listener,
			   struct pollfd *polls)
{
	uint32_t n = 0;

	if (listener->fd < 0)
		return 0;
	polls[n++] = (struct pollfd){
		.fd = gt_clock_ns() < listener->rests_until_ns ? -1
							       : listener->fd,
		.events = POLLIN};
	for (uint32_t i = 0; i < listener->npending; i++)
		polls[n++] = (struct pollfd){.fd = listener->pending[i].wire.fd,
					     .events = POLLIN};
	return n;
}

static void gt_listener_make_room(struct gt_listener *listener)
{
	uint32_t oldest = 0;

	if (listener->npending < GT_LISTENER_PENDING_MAX)
		return;
	for (uint32_t i = 1; i < listener->npending; i++)
		if (listener->pending[i].since_ns <
		    listener->pending[oldest].since_ns)
			oldest = i;
	gt_wire_close(&listener->pending[oldest].wire);
	gt_listener_forget(listener, oldest);
}

static void gt_listener_accept(struct gt_listener *listener)
{
	struct gt_pending *pending;
	int fd;

	/*
	 * The number is bounded, so that a flood does not starve other
	 * connections.
	 */
	for (int turn = 0; turn < GT_LISTENER_PENDING_MAX; turn++) {
		fd = accept(listener->fd, NULL, NULL);
		listener->rests_until_ns =
			fd < 0 && errno != EAGAIN && errno != EINTR
				? gt_clock_ns() + gt_listener_rest_ns
				: 0;
		if (fd < 0)
			return;
		gt_net_tune(fd);
		gt_listener_make_room(listener);
		pending = &listener->pending[listener->npending++];
		gt_wire_init(&pending->wire, fd);
		pending->since_ns = gt_clock_ns();
		if (!gt_auth_greet(&pending->greeting) ||
		    !gt_wire_add(&pending->wire, &pending->greeting,
				 sizeof(pending->greeting)) ||
		    !gt_wire_flush(&pending->wire)) {
			gt_wire_close(&pending->wire);
			listener->npending--;
		}
	}
}

/*
 * Read and check an answer. 1: it has proved itself, 0: the answer is not there
 * yet, -1: the connection is to be closed.
 */
static int gt_pending_judge(const struct gt_listener *listener,
			    struct gt_pending *pending,
			    struct gt_auth_answer *answer)
{
	struct gt_auth_proof proof;
	const void *bytes;

	if (!gt_wire_fill(&pending->wire, sizeof(*answer)))
		return -1;
	bytes = gt_wire_take(&pending->wire, sizeof(*answer));
	if (!bytes)
		return gt_clock_ns() - pending->since_ns < gt_listener_answer_ns
			       ? 0
			       : -1;
	memcpy(answer, bytes, sizeof(*answer));
	if (!gt_auth_check_answer(listener->secret, &pending->greeting,
				  answer) ||
	    !gt_auth_prove(listener->secret, &pending->greeting, answer,
			   &proof) ||
	    !gt_wire_add(&pending->wire, &proof, sizeof(proof)) ||
	    !gt_wire_flush(&pending->wire))
		return -1;
	answer->kind = ntohl(answer->kind);
	answer->rank = ntohl(answer->rank);
	answer->size = ntohl(answer->size);
	answer->index = ntohl(answer->index);
	return 1;
}

void gt_listener_serve(struct gt_listener *listener, gt_listener_enter *enter,
		       void *arg)
{
	struct gt_auth_answer answer;
	struct gt_wire wire;
	int verdict;

	if (listener->fd < 0)
		return;
	gt_listener_accept(listener);
	for (uint32_t i = listener->npending; i-- > 0;) {
		verdict = gt_pending_judge(listener, &listener->pending[i],
					   &answer);
		if (!verdict)
			continue;
		wire = listener->pending[i].wire;
		gt_listener_forget(listener, i);
		if (verdict > 0)
			enter(arg, &wire, &answer);
		else
			gt_wire_close(&wire);
	}
}

/*
 * Read exactly `len` bytes, or with POLLOUT send them; 0 when the other side
 * hangs up or it is late.
 */
static int gt_connect_move(int fd, short way, void *bytes, size_t len,
			   const struct gt_net_deadline *deadline)
{
	struct pollfd wait = {.fd = fd, .events = way};
	size_t at = 0;
	ssize_t moved;
	int nap_ms;

	while (at < len) {
		nap_ms = gt_net_poll_ms(deadline);
		if (!nap_ms)
			return 0;
		if (poll(&wait, 1, nap_ms) < 1)
			continue;
		moved = way == POLLOUT ? send(fd, (char *)bytes + at, len - at,
					      MSG_NOSIGNAL | MSG_DONTWAIT)
				       : recv(fd, (char *)bytes + at, len - at,
					      MSG_DONTWAIT);
		if (!moved || (moved < 0 && errno != EAGAIN && errno != EINTR))
			return 0;
		at += moved > 0 ? (size_t)moved : 0;
	}
	return 1;
}

enum gt_connect_state gt_listener_answer(int fd, const struct gt_secret *secret,
					 const struct gt_auth_answer *who,
					 const struct gt_net_deadline *deadline)
{
	struct gt_auth_answer answer = {.kind = htonl(who->kind),
					.rank = htonl(who->rank),
					.size = htonl(who->size),
					.index = htonl(who->index)};
	struct gt_auth_greeting greeting;
	struct gt_auth_proof proof;

	if (!gt_connect_move(fd, POLLIN, &greeting, sizeof(greeting), deadline))
		return GT_CONNECT_TURNED_AWAY;
	if (!gt_auth_check_greeting(&greeting))
		return GT_CONNECT_FOREIGN;
	if (!gt_auth_answer(secret, &greeting, &answer) ||
	    !gt_connect_move(fd, POLLOUT, &answer, sizeof(answer), deadline) ||
	    !gt_connect_move(fd, POLLIN, &proof, sizeof(proof), deadline))
		return GT_CONNECT_TURNED_AWAY;
	return gt_auth_check_proof(secret, &greeting, &answer, &proof)
		       ? GT_CONNECT_OPEN
		       : GT_CONNECT_FOREIGN;
}

int gt_listener_connect(const struct gt_net_address *address,
			const struct gt_secret *secret,
			const struct gt_auth_answer *answer,
			const struct gt_net_deadline *deadline, int *out,
			struct gt_err *err)
{
	struct timespec nap = {0, 50000000};
	enum gt_connect_state state = GT_CONNECT_TURNED_AWAY;
	char text[GT_NET_NAME_MAX];
	int rc, fd;

	do {
		rc = gt_net_connect(address, deadline, &fd, err);
		if (rc)
			return rc;
		state = gt_listener_answer(fd, secret, answer, deadline);
		if (state == GT_CONNECT_OPEN) {
			*out = fd;
			return GT_OK;
		}
		close(fd);
		nanosleep(&nap, NULL);
	} while (state == GT_CONNECT_TURNED_AWAY && gt_net_poll_ms(deadline));
	gt_net_text(address, text);
	return gt_err_set(err, GT_ESYS, NULL,
			  state == GT_CONNECT_TURNED_AWAY
				  ? "'%s' lets us not in: is the secret the "
				    "same everywhere?"
				  : "'%s' is no process of this job",
			  text);
}
