/*
 * Communicators in several processes, on top of world/: the job's processes
 * meet at a port that is known from a launcher, or that the threads of a
 * sibling communicator have found and told.
 */
#include "lib/job.h"

#include <config.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "base/text.h"
#include "exec/link/process_group.h"
#include "plan/ir/plan.h"
#include "plan/json/json.h"
#include "world/launcher.h"
#include "world/world.h"

int gt_job_place(struct gtopo_comm *comm, struct gt_err *err)
{
	comm->job.timeout_ns = comm->config.timeout_ns;
	if (comm->job.size > comm->nranks)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the plan has %u ranks, less than the job's "
				  "%u processes",
				  comm->nranks, comm->job.size);
	comm->first = gt_process_group_first(comm->job.rank, comm->job.size,
					     comm->nranks);
	comm->end = gt_process_group_first(comm->job.rank + 1, comm->job.size,
					   comm->nranks);
	return GT_OK;
}

int gt_job_find(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_launcher_info launch;
	int rc = gt_launcher_find(NULL, &comm->job, &launch, err);

	comm->job.has_door = 1;
	return rc ? rc : gt_job_place(comm, err);
}

/*
 * With the sibling's mutex held: queue this one behind all operations that the
 * sibling's ranks have called so far, which must be equally many.
 */
static int gt_job_queue(struct gtopo_comm *comm, struct gtopo_comm *sibling,
			struct gt_err *err)
{
	struct gt_spawn **last = &sibling->spawns;

	if (sibling->state < 0)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the communicator beside has failed: %s",
				  sibling->err.text);
	comm->spawn.after = sibling->ranks[sibling->first].ncalled;
	for (uint32_t r = sibling->first; r < sibling->end; r++)
		if (sibling->ranks[r].ncalled != comm->spawn.after)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "ranks of the communicator beside "
					  "have not called the same");
	while (*last)
		last = &(*last)->next;
	*last = &comm->spawn;
	comm->sibling = sibling;
	pthread_cond_broadcast(&sibling->changed);
	return GT_OK;
}

/*
 * Where processes are gone, those that are left have not equally many ranks:
 * the sibling's are this one's.
 */
static int gt_job_place_beside(struct gtopo_comm *comm,
			       const struct gtopo_comm *sibling,
			       struct gt_err *err)
{
	uint32_t n = comm->job.size + 1;
	int rc = gt_job_place(comm, err);

	if (rc || !sibling->config.starts || comm->nranks != sibling->nranks)
		return rc;
	comm->starts = calloc(n, sizeof(*comm->starts));
	if (!comm->starts)
		return gt_err_nomem(err);
	memcpy(comm->starts, sibling->config.starts, n * sizeof(*comm->starts));
	comm->config.starts = comm->starts;
	comm->first = comm->starts[comm->job.rank];
	comm->end = comm->starts[comm->job.rank + 1];
	return GT_OK;
}

int gt_job_join(struct gtopo_comm *comm, struct gtopo_comm *sibling,
		struct gt_err *err)
{
	int rc;

	comm->spawn.listen_fd = -1;
	gt_err_init(&comm->spawn.err);
	gt_err_init(&comm->spawn.refusal);
	pthread_mutex_lock(&sibling->mutex);
	comm->job = sibling->job;
	comm->job.listen_fd = -1;
	rc = gt_job_place_beside(comm, sibling, err);
	if (!rc && comm->job.size > 1)
		rc = gt_job_queue(comm, sibling, err);
	pthread_mutex_unlock(&sibling->mutex);
	return rc;
}

/* Leave the sibling's list, once its thread no longer uses the entry. */
static void gt_job_unqueue(struct gtopo_comm *comm)
{
	struct gtopo_comm *sibling = comm->sibling;

	pthread_mutex_lock(&sibling->mutex);
	while (comm->spawn.busy)
		pthread_cond_wait(&sibling->changed, &sibling->mutex);
	for (struct gt_spawn **at = &sibling->spawns; *at; at = &(*at)->next)
		if (*at == &comm->spawn) {
			*at = comm->spawn.next;
			break;
		}
	pthread_mutex_unlock(&sibling->mutex);
	comm->job.listen_fd = comm->spawn.listen_fd;
	comm->sibling = NULL;
}

void gt_job_forget(struct gtopo_comm *comm)
{
	if (comm->sibling)
		gt_job_unqueue(comm);
	if (comm->job.listen_fd >= 0)
		close(comm->job.listen_fd);
	comm->job.listen_fd = -1;
	gt_secret_wipe(&comm->job.secret);
}

static in_port_t *gt_job_port(struct gt_net_address *address)
{
	return address->storage.ss_family == AF_INET6
		       ? &((struct sockaddr_in6 *)&address->storage)->sin6_port
		       : &((struct sockaddr_in *)&address->storage)->sin_port;
}

/*
 * Wait for the port that the sibling's threads find in all processes.  Behind
 * it some may still go, which only the sibling hears: its end flag stays, as
 * the sibling does, until this one is made.
 */
static int gt_job_await_port(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gtopo_comm *sibling = comm->sibling;
	struct gt_spawn *spawn = &comm->spawn;
	int rc;

	pthread_mutex_lock(&sibling->mutex);
	while (!spawn->done && sibling->state >= 0)
		pthread_cond_wait(&sibling->changed, &sibling->mutex);
	comm->job.origin_end =
		sibling->world ? gt_world_end_flag(sibling->world) : NULL;
	pthread_mutex_unlock(&sibling->mutex);
	comm->job.is_listening = 1;
	gt_job_unqueue(comm);
	*gt_job_port(&comm->job.address) = spawn->port;
	if (spawn->done && !spawn->rc)
		return GT_OK;
	rc = spawn->rc ? spawn->rc : GT_ESYS;
	return gt_err_set(err, rc, NULL, "%s",
			  spawn->rc ? spawn->err.text
				    : "the communicator beside has failed");
}

struct gt_spawn *gt_job_spawn_due(const struct gtopo_comm *comm)
{
	struct gt_spawn *spawn = comm->spawns;

	return spawn && spawn->after == comm->ranks[comm->first].ndone ? spawn
								       : NULL;
}

void gt_job_decline_beside(struct gtopo_comm *comm, struct gtopo_comm *sibling,
			   const struct gt_err *err)
{
	struct gt_err none;
	int waits;

	gt_err_init(&none);
	if (!comm->sibling && gt_job_join(comm, sibling, &none))
		return;
	waits = comm->sibling != NULL;
	pthread_mutex_lock(&sibling->mutex);
	comm->spawn.refusal = *err;
	pthread_mutex_unlock(&sibling->mutex);
	/* They may have agreed on a port before it was known here. */
	if (waits && !gt_job_await_port(comm, &none))
		gt_job_decline(&comm->job, comm->config.timeout_ns, err);
}

/* Each process tells this of a child that is to be made. */
struct gt_spawn_card {
	in_port_t port; /* process 0: it listens there; 0: nowhere */
	char why[256];  /* there is none here; "": there is */
};

/* Process 0 listens at a free port, unless a child cannot be made here. */
static void gt_spawn_prepare(const struct gtopo_comm *comm,
			     struct gt_spawn *spawn, struct gt_spawn_card *card)
{
	struct gt_net_address address = comm->job.address;

	memset(card, 0, sizeof(*card));
	*gt_job_port(&address) = 0;
	if (*spawn->refusal.text)
		spawn->err = spawn->refusal;
	else if (!comm->job.rank &&
		 !gt_net_listen(&address, &spawn->listen_fd, &spawn->err))
		card->port = *gt_job_port(&address);
	snprintf(card->why, sizeof(card->why), "%.255s", spawn->err.text);
}

/* What all have told: the port, or why there is to be none. */
static int gt_spawn_hear(struct gtopo_comm *comm, struct gt_spawn *spawn,
			 const struct gt_world_part *parts)
{
	struct gt_spawn_card card;

	for (uint32_t p = 0; p < comm->job.size; p++) {
		if (parts[p].len != sizeof(card))
			return gt_err_set(&spawn->err, GT_ESYS, NULL,
					  "%s is at another meeting",
					  gt_world_name(comm->world, p));
		memcpy(&card, parts[p].bytes, sizeof(card));
		card.why[sizeof(card.why) - 1] = '\0';
		gt_text_make_printable(card.why);
		if (*card.why)
			return gt_err_set(&spawn->err, GT_ESYS, NULL, "%s: %s",
					  gt_world_name(comm->world, p),
					  card.why);
		if (!p)
			spawn->port = card.port;
	}
	return GT_OK;
}

/* Whoever has no memory to hear the others tells them so. */
int gt_job_spawn(struct gtopo_comm *comm, struct gt_spawn *spawn)
{
	struct gt_world_part *parts = calloc(comm->job.size, sizeof(*parts));
	struct gt_spawn_card card;
	int rc;

	if (!parts && !*spawn->refusal.text)
		gt_err_nomem(&spawn->refusal);
	gt_spawn_prepare(comm, spawn, &card);
	rc = gt_world_allgather(comm->world, &card, sizeof(card), parts,
				&spawn->err);
	spawn->rc = rc      ? rc
		    : parts ? gt_spawn_hear(comm, spawn, parts)
			    : GT_ESYS;
	free(parts);
	return rc;
}

int gt_job_agree(struct gtopo_comm *comm, const char *what, struct gt_err *err)
{
	struct gt_world_part *parts;
	size_t len = strlen(what);
	int rc;

	if (!comm->world)
		return GT_OK;
	parts = calloc(comm->job.size, sizeof(*parts));
	if (!parts)
		return gt_err_nomem(err);
	rc = gt_world_allgather(comm->world, what, len, parts, err);
	for (uint32_t p = 0; !rc && p < comm->job.size; p++)
		if (parts[p].len != len || memcmp(parts[p].bytes, what, len))
			rc = gt_err_set(err, GT_EINPUT, NULL,
					"%s has '%.*s', this process '%s'",
					gt_world_name(comm->world, p),
					(int)parts[p].len,
					(const char *)parts[p].bytes, what);
	free(parts);
	return rc;
}

void gt_job_decline(struct gt_world_config *job, int64_t timeout_ns,
		    const struct gt_err *err)
{
	char words[sizeof(err->where) + sizeof(err->text)];
	struct gt_launcher_info launch;
	struct gt_err none;

	gt_err_init(&none);
	if (job->size < 2 && gt_launcher_find(NULL, job, &launch, &none))
		return;
	gt_err_words(err, words, sizeof(words));
	job->timeout_ns = timeout_ns;
	/* That it could not listen may be why. */
	if (!job->rank && job->listen_fd < 0)
		gt_net_listen(&job->address, &job->listen_fd, &none);
	if (job->rank || job->listen_fd >= 0)
		gt_world_decline(job, words);
	job->listen_fd = -1;
}

/* What all processes must have alike. */
static int gt_job_digest(const struct gt_plan *plan,
			 char digest[GT_DIGEST_TEXT_MAX], struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	int rc = gt_plan_print(plan, &text, err);

	if (!rc && !gt_digest_text(text.text, text.len, digest))
		rc = gt_err_set(err, GT_ESYS, NULL, "cannot compute SHA-256");
	gt_buf_release(&text);
	return rc;
}

/* Why the sibling has ended names who has not come. */
static void gt_job_quote(struct gtopo_comm *sibling, struct gt_err *err)
{
	struct gt_err why;

	gt_err_init(&why);
	pthread_mutex_lock(&sibling->mutex);
	if (sibling->world && gt_world_failed(sibling->world, &why))
		*err = why;
	pthread_mutex_unlock(&sibling->mutex);
}

int gt_job_open(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gtopo_comm *sibling = comm->sibling;
	char digest[GT_DIGEST_TEXT_MAX], what[GT_DIGEST_TEXT_MAX + 96];
	int rc = GT_OK;

	if (comm->job.size < 2)
		return GT_OK;
	rc = sibling ? gt_job_await_port(comm, err) : GT_OK;
	if (rc)
		return rc;
	rc = gt_job_digest(comm->plan, digest, err);
	if (rc && !comm->config.world)
		gt_job_decline(&comm->job, comm->config.timeout_ns, err);
	if (rc)
		return rc;
	/* One that was shrunk from another has a world already. */
	if (!comm->config.world)
		rc = gt_world_open(&comm->job, &comm->config.world, err);
	pthread_mutex_lock(&comm->mutex);
	comm->job.listen_fd = -1;    /* gt_world_open() has taken it */
	comm->job.origin_end = NULL; /* the sibling may go from here on */
	comm->world = rc ? NULL : comm->config.world;
	if (comm->world && comm->state < 0)
		gt_world_abort_for(comm->world, &comm->err);
	pthread_mutex_unlock(&comm->mutex);
	if (rc && sibling)
		gt_job_quote(sibling, err);
	if (rc)
		return rc;
	snprintf(what, sizeof(what),
		 "gtopo " PACKAGE_VERSION
		 ", best %d, overlap %d, invariant %d, max_blocks %u, plan %s",
		 comm->config.best, comm->config.overlap,
		 comm->config.invariant, comm->config.max_blocks, digest);
	return gt_job_agree(comm, what, err);
}

void gt_job_leave(struct gtopo_comm *comm)
{
	if (comm->world && comm->state < 0)
		gt_world_abort_for(comm->world, &comm->err);
	else if (comm->world)
		gt_world_allgather(comm->world, NULL, 0, NULL, NULL);
}

void gt_job_close(struct gtopo_comm *comm)
{
	struct gt_world *world = comm->world;

	if (!world)
		return;
	pthread_mutex_lock(&comm->mutex);
	comm->world = NULL;
	pthread_mutex_unlock(&comm->mutex);
	gt_world_close(world);
}
