#include "lib/comm.h"

#include <config.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/digest.h"
#include "exec/link/process_group.h"
#include "plan/ir/plan.h"
#include "world/launch.h"
#include "world/world.h"

static int gt_comm_world_share(struct gtopo_comm *comm, struct gt_err *err)
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

int gt_comm_world_find(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_launch_info launch;
	int rc = gt_launch_find(NULL, &comm->job, &launch, err);

	return rc ? rc : gt_comm_world_share(comm, err);
}

/* With the other's mutex held: behind all operations called so far. */
static int gt_comm_world_queue(struct gtopo_comm *comm,
			       struct gtopo_comm *other, struct gt_err *err)
{
	struct gt_birth **last = &other->births;

	if (other->state < 0)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the communicator beside has failed: %s",
				  other->err.text);
	comm->birth.after = other->ranks[other->first].ncalled;
	for (uint32_t r = other->first; r < other->end; r++)
		if (other->ranks[r].ncalled != comm->birth.after)
			return gt_err_set(err, GT_EINPUT, NULL,
					  "ranks of the communicator beside "
					  "have not called the same");
	while (*last)
		last = &(*last)->next;
	*last = &comm->birth;
	comm->beside = other;
	pthread_cond_broadcast(&other->changed);
	return GT_OK;
}

int gt_comm_world_beside(struct gtopo_comm *comm, struct gtopo_comm *other,
			 struct gt_err *err)
{
	int rc;

	comm->birth.listen_fd = -1;
	gt_err_init(&comm->birth.err);
	pthread_mutex_lock(&other->mutex);
	comm->job = other->job;
	comm->job.listen_fd = -1;
	rc = gt_comm_world_share(comm, err);
	if (!rc && comm->job.size > 1)
		rc = gt_comm_world_queue(comm, other, err);
	pthread_mutex_unlock(&other->mutex);
	return rc;
}

/* Off the other's list; what its thread is at it will finish. */
static void gt_comm_world_unqueue(struct gtopo_comm *comm)
{
	struct gtopo_comm *other = comm->beside;

	pthread_mutex_lock(&other->mutex);
	while (comm->birth.busy)
		pthread_cond_wait(&other->changed, &other->mutex);
	for (struct gt_birth **b = &other->births; *b; b = &(*b)->next)
		if (*b == &comm->birth) {
			*b = comm->birth.next;
			break;
		}
	pthread_mutex_unlock(&other->mutex);
	comm->job.listen_fd = comm->birth.listen_fd;
	comm->beside = NULL;
}

void gt_comm_world_forget(struct gtopo_comm *comm)
{
	if (comm->beside)
		gt_comm_world_unqueue(comm);
	if (comm->job.listen_fd >= 0)
		close(comm->job.listen_fd);
	comm->job.listen_fd = -1;
	gt_secret_wipe(&comm->job.secret);
}

static in_port_t *gt_comm_world_port(struct gt_net_address *address)
{
	return address->storage.ss_family == AF_INET6
		       ? &((struct sockaddr_in6 *)&address->storage)->sin6_port
		       : &((struct sockaddr_in *)&address->storage)->sin_port;
}

/* Wait for the port that all processes of the other communicator know. */
static int gt_comm_world_born(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gtopo_comm *other = comm->beside;
	struct gt_birth *birth = &comm->birth;
	int rc;

	pthread_mutex_lock(&other->mutex);
	while (!birth->done && other->state >= 0)
		pthread_cond_wait(&other->changed, &other->mutex);
	pthread_mutex_unlock(&other->mutex);
	gt_comm_world_unqueue(comm);
	*gt_comm_world_port(&comm->job.address) = birth->port;
	if (birth->done && !birth->rc)
		return GT_OK;
	rc = birth->rc ? birth->rc : GT_ESYS;
	return gt_err_set(err, rc, NULL, "%s",
			  birth->rc ? birth->err.text
				    : "the communicator beside has failed");
}

struct gt_birth *gt_comm_world_due(const struct gtopo_comm *comm)
{
	struct gt_birth *birth = comm->births;

	return birth && birth->after == comm->ranks[comm->first].ndone ? birth
								       : NULL;
}

/* Process 0 listens at a port of its own choice; 0 if it cannot. */
int gt_comm_world_birth(struct gtopo_comm *comm, struct gt_birth *birth)
{
	struct gt_net_address address = comm->job.address;
	struct gt_world_part *parts = calloc(comm->job.size, sizeof(*parts));
	in_port_t *port = gt_comm_world_port(&address);
	struct gt_err *err = &birth->err;
	int rc;

	*port = 0;
	if (!comm->job.rank &&
	    gt_net_listen(&address, &birth->listen_fd, err) != GT_OK)
		*port = 0;
	rc = parts ? gt_world_allgather(comm->world, port, sizeof(*port), parts,
					err)
		   : gt_err_nomem(err);
	if (!rc && parts[0].len == sizeof(*port))
		memcpy(&birth->port, parts[0].bytes, sizeof(*port));
	free(parts);
	if (!rc && !birth->port)
		gt_err_set(err, GT_ESYS, NULL,
			   "process 0 finds no port to listen at");
	birth->rc = birth->port ? rc : GT_ESYS;
	return rc;
}

int gt_comm_world_agree(struct gtopo_comm *comm, const char *what,
			struct gt_err *err)
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

/* The job's other processes, with place and words. */
static void gt_comm_world_tell(struct gt_world *world, const struct gt_err *err)
{
	char words[sizeof(err->where) + sizeof(err->text)];

	gt_err_words(err, words, sizeof(words));
	gt_world_abort(world, words);
}

int gt_comm_world_open(struct gtopo_comm *comm, struct gt_err *err)
{
	struct gt_buf text = GT_BUF_INIT;
	char digest[GT_DIGEST_TEXT_MAX], what[GT_DIGEST_TEXT_MAX + 64];
	int rc = GT_OK;

	if (comm->job.size < 2)
		return GT_OK;
	rc = comm->beside ? gt_comm_world_born(comm, err) : GT_OK;
	if (rc)
		return rc;
	rc = gt_plan_print(comm->plan, &text, err);
	if (!rc && !gt_digest_text(text.text, text.len, digest))
		rc = gt_err_set(err, GT_ESYS, NULL, "cannot compute SHA-256");
	gt_buf_release(&text);
	if (rc)
		return rc;
	rc = gt_world_open(&comm->job, &comm->config.world, err);
	pthread_mutex_lock(&comm->mutex);
	comm->job.listen_fd = -1; /* taken */
	comm->world = rc ? NULL : comm->config.world;
	if (comm->world && comm->state < 0)
		gt_comm_world_tell(comm->world, &comm->err);
	pthread_mutex_unlock(&comm->mutex);
	if (rc)
		return rc;
	snprintf(what, sizeof(what), "gtopo " PACKAGE_VERSION ", plan %s",
		 digest);
	return gt_comm_world_agree(comm, what, err);
}

void gt_comm_world_leave(struct gtopo_comm *comm)
{
	if (comm->world && comm->state < 0)
		gt_comm_world_tell(comm->world, &comm->err);
	else if (comm->world)
		gt_world_allgather(comm->world, NULL, 0, NULL, NULL);
}

void gt_comm_world_close(struct gtopo_comm *comm)
{
	struct gt_world *world = comm->world;

	if (!world)
		return;
	pthread_mutex_lock(&comm->mutex);
	comm->world = NULL;
	pthread_mutex_unlock(&comm->mutex);
	gt_world_close(world);
}
