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

/* How long a guest may think before it answers. */
static const int64_t gt_door_patience_ns = 5000000000;

/* Whoever waits outside would have it polled without a pause meanwhile. */
static const int64_t gt_door_rest_ns = 20000000;

void gt_listener_init(struct gt_listener *door, int fd,
		      const struct gt_secret *secret)
{
	door->fd = fd;
	door->rests_until_ns = 0;
	door->secret = secret;
	door->nguests = 0;
}

static void gt_listener_forget(struct gt_listener *door, uint32_t i)
{
	door->guests[i] = door->guests[--door->nguests];
}

void gt_listener_close(struct gt_listener *door)
{
	while (door->nguests) {
		gt_wire_close(&door->guests[0].wire);
		gt_listener_forget(door, 0);
	}
	if (door->fd >= 0)
		close(door->fd);
	door->fd = -1;
}

uint32_t gt_listener_polls(const struct gt_listener *door, struct pollfd *polls)
{
	uint32_t n = 0;

	if (door->fd < 0)
		return 0;
	polls[n++] = (struct pollfd){
		.fd = gt_clock_ns() < door->rests_until_ns ? -1 : door->fd,
		.events = POLLIN};
	for (uint32_t i = 0; i < door->nguests; i++)
		polls[n++] = (struct pollfd){.fd = door->guests[i].wire.fd,
					     .events = POLLIN};
	return n;
}

static void gt_listener_make_room(struct gt_listener *door)
{
	uint32_t oldest = 0;

	if (door->nguests < GT_LISTENER_PENDING_MAX)
		return;
	for (uint32_t i = 1; i < door->nguests; i++)
		if (door->guests[i].since_ns < door->guests[oldest].since_ns)
			oldest = i;
	gt_wire_close(&door->guests[oldest].wire);
	gt_listener_forget(door, oldest);
}

static void gt_listener_accept(struct gt_listener *door)
{
	struct gt_pending *guest;
	int fd;

	/* Bounded, so that a flood does not starve the others. */
	for (int turn = 0; turn < GT_LISTENER_PENDING_MAX; turn++) {
		fd = accept(door->fd, NULL, NULL);
		if (fd < 0 && errno != EAGAIN && errno != EINTR)
			door->rests_until_ns = gt_clock_ns() + gt_door_rest_ns;
		if (fd < 0)
			return;
		gt_net_tune(fd);
		gt_listener_make_room(door);
		guest = &door->guests[door->nguests++];
		gt_wire_init(&guest->wire, fd);
		guest->since_ns = gt_clock_ns();
		if (!gt_auth_greet(&guest->greeting) ||
		    !gt_wire_add(&guest->wire, &guest->greeting,
				 sizeof(guest->greeting)) ||
		    !gt_wire_flush(&guest->wire)) {
			gt_wire_close(&guest->wire);
			door->nguests--;
		}
	}
}

/* 1: it has proved itself, 0: not yet, -1: it is to go. */
static int gt_pending_judge(const struct gt_listener *door,
			    struct gt_pending *guest,
			    struct gt_auth_answer *answer)
{
	struct gt_auth_proof proof;
	const void *bytes;

	if (!gt_wire_fill(&guest->wire, sizeof(*answer)))
		return -1;
	bytes = gt_wire_take(&guest->wire, sizeof(*answer));
	if (!bytes)
		return gt_clock_ns() - guest->since_ns < gt_door_patience_ns
			       ? 0
			       : -1;
	memcpy(answer, bytes, sizeof(*answer));
	if (!gt_auth_check_answer(door->secret, &guest->greeting, answer) ||
	    !gt_auth_prove(door->secret, &guest->greeting, answer, &proof) ||
	    !gt_wire_add(&guest->wire, &proof, sizeof(proof)) ||
	    !gt_wire_flush(&guest->wire))
		return -1;
	answer->kind = ntohl(answer->kind);
	answer->rank = ntohl(answer->rank);
	answer->size = ntohl(answer->size);
	answer->index = ntohl(answer->index);
	return 1;
}

void gt_listener_serve(struct gt_listener *door, gt_listener_enter *enter,
		       void *arg)
{
	struct gt_auth_answer answer;
	struct gt_wire wire;
	int verdict;

	if (door->fd < 0)
		return;
	gt_listener_accept(door);
	for (uint32_t i = door->nguests; i-- > 0;) {
		verdict = gt_pending_judge(door, &door->guests[i], &answer);
		if (!verdict)
			continue;
		wire = door->guests[i].wire;
		gt_listener_forget(door, i);
		if (verdict > 0)
			enter(arg, &wire, &answer);
		else
			gt_wire_close(&wire);
	}
}

/* Read exactly `len` bytes; 0 when the other side hangs up or it is late. */
static int gt_connect_read(int fd, void *bytes, size_t len,
			   const struct gt_net_deadline *patience)
{
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	size_t at = 0;
	ssize_t got;
	int nap_ms;

	while (at < len) {
		nap_ms = gt_net_poll_ms(patience);
		if (!nap_ms)
			return 0;
		if (poll(&wait, 1, nap_ms) < 1)
			continue;
		got = recv(fd, (char *)bytes + at, len - at, MSG_DONTWAIT);
		if (!got || (got < 0 && errno != EAGAIN && errno != EINTR))
			return 0;
		at += got > 0 ? (size_t)got : 0;
	}
	return 1;
}

enum gt_connect_state {
	GT_CONNECT_OPEN,
	GT_CONNECT_TURNED_AWAY, /* turned away before the end */
	GT_CONNECT_FOREIGN      /* not one of us */
};

static enum gt_connect_state gt_connect_once(
	int fd, const struct gt_secret *secret,
	const struct gt_auth_answer *who,
	const struct gt_net_deadline *patience)
{
	struct gt_auth_answer answer = {.kind = htonl(who->kind),
					.rank = htonl(who->rank),
					.size = htonl(who->size),
					.index = htonl(who->index)};
	struct gt_auth_greeting greeting;
	struct gt_auth_proof proof;

	if (!gt_connect_read(fd, &greeting, sizeof(greeting), patience))
		return GT_CONNECT_TURNED_AWAY;
	if (!gt_auth_check_greeting(&greeting))
		return GT_CONNECT_FOREIGN;
	if (!gt_auth_answer(secret, &greeting, &answer) ||
	    send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) !=
		    (ssize_t)sizeof(answer) ||
	    !gt_connect_read(fd, &proof, sizeof(proof), patience))
		return GT_CONNECT_TURNED_AWAY;
	return gt_auth_check_proof(secret, &greeting, &answer, &proof)
		       ? GT_CONNECT_OPEN
		       : GT_CONNECT_FOREIGN;
}

int gt_listener_connect(const struct gt_net_address *address,
			const struct gt_secret *secret,
			const struct gt_auth_answer *answer,
			const struct gt_net_deadline *patience, int *out,
			struct gt_err *err)
{
	struct timespec nap = {0, 50000000};
	enum gt_connect_state knock = GT_CONNECT_TURNED_AWAY;
	char text[GT_NET_NAME_MAX];
	int rc, fd;

	do {
		rc = gt_net_connect(address, patience, &fd, err);
		if (rc)
			return rc;
		knock = gt_connect_once(fd, secret, answer, patience);
		if (knock == GT_CONNECT_OPEN) {
			*out = fd;
			return GT_OK;
		}
		close(fd);
		nanosleep(&nap, NULL);
	} while (knock == GT_CONNECT_TURNED_AWAY && gt_net_poll_ms(patience));
	gt_net_text(address, text);
	return gt_err_set(err, GT_ESYS, NULL,
			  knock == GT_CONNECT_TURNED_AWAY
				  ? "'%s' lets us not in: is the secret the "
				    "same everywhere?"
				  : "'%s' is no process of this job",
			  text);
}
