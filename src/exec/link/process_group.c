/*
 * This finds which processes are on this host, which links there are, and which
 * of them the ranks of this process get to the others.
 */
#include "exec/link/process_group.h"

#include <config.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/err.h"
#include "base/vec.h"
#include "exec/link/bell.h"
#include "exec/engine.h"
#include "world/net.h"
#include "world/world.h"

enum {
	GT_PROCESS_GROUP_NEAR,
	GT_PROCESS_GROUP_FAR
}; /* the indices of the first link of each kind */

/* All links that this program has. */
static const struct gt_link_ops *const gt_links[] = {
	&gt_link_shm,
	&gt_link_tcp,
	&gt_link_null,
#ifdef HAVE_VERBS
	&gt_link_verbs,
#endif
};

const struct gt_link_ops *gt_link_find(const char *name)
{
	for (size_t i = 0; i < sizeof(gt_links) / sizeof(*gt_links); i++)
		if (!strcmp(gt_links[i]->name, name))
			return gt_links[i];
	return NULL;
}

uint32_t gt_process_group_first(uint32_t p, uint32_t nprocesses,
				uint32_t nranks)
{
	return (uint32_t)((uint64_t)p * nranks / nprocesses);
}

uint32_t gt_process_group_begin(const struct gt_process_group *group,
				uint32_t p)
{
	return group->config.starts
		       ? group->config.starts[p]
		       : gt_process_group_first(p, group->nprocesses,
						group->config.nranks);
}

uint32_t gt_process_group_of_rank(const struct gt_process_group *group,
				  uint32_t rank)
{
	uint32_t p = 0;

	while (gt_process_group_begin(group, p + 1) <= rank)
		p++;
	return p;
}

/* Each process tells the others this of the place where it runs. */
struct gt_process_card {
	char host[GT_HOST_ID_MAX];
	cpu_set_t cpus; /* launchers may have bound it to some */
};

/* Note what process p has told; `own` is what this one has. */
static void gt_process_group_hear(struct gt_process_group *group, uint32_t p,
				  const struct gt_process_card *card,
				  const struct gt_process_card *own,
				  cpu_set_t *cpus)
{
	uint32_t n = gt_process_group_begin(group, p + 1) -
		     gt_process_group_begin(group, p);

	if (memcmp(card->host, own->host, sizeof(own->host)) != 0)
		return;
	group->is_here[p] = 1;
	group->nhere += n;
	if (p < group->self)
		group->place += n;
	CPU_OR(cpus, cpus, &card->cpus);
}

/* Find out who is on this host, with how many ranks and processors. */
static int gt_process_group_find_hosts(struct gt_process_group *group,
				       struct gt_err *err)
{
	struct gt_world_part *parts = calloc(group->nprocesses, sizeof(*parts));
	struct gt_process_card own, card;
	cpu_set_t cpus;
	int rc;

	if (!parts)
		return gt_err_nomem(err);
	group->nhere = 0;
	CPU_ZERO(&cpus);
	memset(&own, 0, sizeof(own));
	gt_host_id_get(own.host);
	sched_getaffinity(0, sizeof(own.cpus), &own.cpus);
	rc = gt_world_allgather(group->world, &own, sizeof(own), parts, err);
	for (uint32_t p = 0; !rc && p < group->nprocesses; p++) {
		if (parts[p].len != sizeof(card))
			continue;
		memcpy(&card, parts[p].bytes, sizeof(card));
		gt_process_group_hear(group, p, &card, &own, &cpus);
	}
	group->ncpus = (uint32_t)CPU_COUNT(&cpus);
	free(parts);
	return rc;
}

/*
 * Make the bells, in shared memory because ranks of other processes ring them
 * too.
 */
static int gt_process_group_make_bells(struct gt_process_group *group,
				       struct gt_err *err)
{
	return gt_shared_memory_new((group->end - group->first) *
					    sizeof(struct gt_bell),
				    &group->bells, err);
}

int gt_process_group_open(struct gt_process_group *group,
			  const struct gt_process_group_config *config,
			  struct gt_err *err)
{
	uint32_t n = config->nranks;
	int rc;

	group->config = *config;
	group->world = config->world;
	group->nprocesses = 1;
	group->nhere = group->end = n;
	group->ncpus = gt_cpus_count();
	group->bells.fd = -1;
	if (!group->world)
		return gt_process_group_make_bells(group, err);
	group->self = gt_world_rank(group->world);
	group->nprocesses = gt_world_size(group->world);
	if (group->nprocesses > n)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "'%u' processes are more than the plan's %u "
				  "ranks",
				  group->nprocesses, n);
	group->first = gt_process_group_begin(group, group->self);
	group->end = gt_process_group_begin(group, group->self + 1);
	group->is_here = calloc(group->nprocesses, 1);
	group->is_far = calloc(group->nprocesses, 1);
	if (!group->is_here || !group->is_far)
		return gt_err_nomem(err);
	rc = gt_process_group_make_bells(group, err);
	return rc ? rc : gt_process_group_find_hosts(group, err);
}

void gt_process_group_tell(const struct gt_process_group *group, int rc,
			   const struct gt_err *err)
{
	if (group->world && rc != GT_EINPUT)
		gt_world_abort_for(group->world, err);
}

void gt_process_group_close(struct gt_process_group *group)
{
	for (int i = 0; i < GT_PROCESS_GROUP_LINKS; i++) {
		if (group->links[i].link)
			group->links[i].ops->close(group->links[i].link);
		free(group->links[i].conns);
	}
	gt_shared_memory_free(&group->bells);
	free(group->is_here);
	free(group->is_far);
}

/*
 * Decide which processes are reached by the links between hosts, and whether
 * there are any of these and of the others.  Processes on one host share
 * memory, unless --link names another link for all.
 */
static int gt_process_group_choose(struct gt_process_group *group,
				   const uint8_t *reached, uint64_t *near,
				   uint64_t *far, struct gt_err *err)
{
	const char *forced = group->config.link;
	int shm = forced && !strcmp(forced, "shm");

	for (uint32_t p = 0; p < group->nprocesses; p++) {
		if (p == group->self || (reached && reached[p]))
			continue;
		if (shm && !group->is_here[p])
			return gt_err_set(err, GT_EINPUT, NULL,
					  "--link shm: %s is on another host",
					  gt_world_name(group->world, p));
		group->is_far[p] = !group->is_here[p] || (forced && !shm);
		*(group->is_far[p] ? far : near) = 1;
	}
	return GT_OK;
}

/* Each process tells the others this of its network card. */
struct gt_process_nic {
	uint32_t usable;
	char nic[GT_NIC_OF_RANK_MAX]; /* that the plan names, or "" */
};

void gt_process_group_notice(const struct gt_process_group *group, int warning,
			     const char *text)
{
	const struct gt_notice *notice = group->config.notice;

	if (notice && !group->self)
		notice->tell(notice->arg, warning, text);
}

/*
 * The link between hosts: RDMA if all processes can use it, else TCP.  A plan
 * may say nothing of networks.
 */
static const char *gt_process_group_judge(const struct gt_process_group *group,
					  const struct gt_world_part *parts)
{
	struct gt_process_nic nic;
	char text[GT_NOTICE_MAX];

	for (uint32_t p = 0; p < group->nprocesses; p++) {
		if (parts[p].len != sizeof(nic))
			return "tcp";
		memcpy(&nic, parts[p].bytes, sizeof(nic));
		if (nic.usable)
			continue;
		if (!*nic.nic)
			return "tcp";
		snprintf(text, sizeof(text),
			 "TCP between hosts: %s has no RDMA port that works on "
			 "the plan's card '%.*s'",
			 gt_world_name(group->world, p),
			 (int)sizeof(nic.nic) - 1, nic.nic);
		gt_process_group_notice(group, 1, text);
		return "tcp";
	}
	gt_process_group_notice(group, 0,
				"RDMA between hosts, by the plan's cards");
	return "verbs";
}

/* Agree on the link between hosts where nobody has named one. */
static int gt_process_group_choose_far(struct gt_process_group *group,
				       const char **name, struct gt_err *err)
{
	const struct gt_link_ops *verbs = gt_link_find("verbs");
	struct gt_world_part *parts = calloc(group->nprocesses, sizeof(*parts));
	struct gt_process_nic nic = {.usable = 0};
	int rc = GT_OK;

	if (!parts)
		return gt_err_nomem(err);
	if (group->config.plan &&
	    gt_nic_of_rank(group->config.plan, group->first, nic.nic) && verbs)
		rc = verbs->usable(nic.nic, &nic.usable, err);
	if (nic.usable)
		memcpy(group->nic, nic.nic, sizeof(group->nic));
	rc = gt_world_agree(group->world, rc, err);
	if (!rc)
		rc = gt_world_allgather(group->world, &nic, sizeof(nic), parts,
					err);
	if (!rc)
		*name = gt_process_group_judge(group, parts);
	free(parts);
	return rc;
}

/*
 * Return how many links of that name work side by side: a socket is carried by
 * one thread at each end, while a network card works by itself.
 */
static uint32_t gt_process_group_streams(const struct gt_process_group *group,
					 const char *name)
{
	uint32_t n = group->config.streams;

	if (!n || strcmp(name, "tcp") != 0)
		return 1;
	return n < GT_PROCESS_GROUP_STREAMS ? n : GT_PROCESS_GROUP_STREAMS;
}

static int gt_process_group_open_link(struct gt_process_group *group,
				      int number, const char *name,
				      struct gt_err *err)
{
	struct gt_process_group_link *link = &group->links[number];
	struct gt_link_config config = {
		.world = group->world,
		.iface = gt_net_interface_choice(group->config.iface),
		.bells = group->bells.base,
		.first_rank = group->first,
		.nranks = group->end - group->first,
		.bells_fd = group->bells.fd,
		.pins = group->config.pins,
		.pins_arg = group->config.pins_arg,
		.notice = group->self ? NULL : group->config.notice,
		.trace = group->config.trace,
		.nic = *group->nic ? group->nic : NULL,
		.streams = group->nfar,
	};

	link->ops = gt_link_find(name);
	if (!link->ops)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "--link '%s' is not part of this program",
				  name);
	config.inner = link->ops;
	if (config.trace)
		link->ops = &gt_link_trace;
	return link->ops->open(&config, &link->link, err);
}

/* All processes open a link as soon as one pair of them needs it. */
int gt_process_group_link(struct gt_process_group *group,
			  const uint8_t *reached, struct gt_err *err)
{
	const char *name = group->config.link;
	uint64_t near = 0, far = 0;
	int rc;

	if (!group->world)
		return GT_OK;
	rc = gt_process_group_choose(group, reached, &near, &far, err);
	if (!rc)
		rc = gt_world_max(group->world, &near, err);
	if (!rc)
		rc = gt_world_max(group->world, &far, err);
	if (!rc && far && !name)
		rc = gt_process_group_choose_far(group, &name, err);
	if (!rc && near)
		rc = gt_process_group_open_link(group, GT_PROCESS_GROUP_NEAR,
						"shm", err);
	if (!rc && far)
		group->nfar = gt_process_group_streams(group, name);
	for (uint32_t i = 0; !rc && i < group->nfar; i++)
		rc = gt_process_group_open_link(
			group, GT_PROCESS_GROUP_FAR + (int)i, name, err);
	return rc;
}

int gt_process_group_has_links(const struct gt_process_group *group)
{
	for (int i = 0; i < GT_PROCESS_GROUP_LINKS; i++)
		if (group->links[i].link)
			return 1;
	return 0;
}

int gt_process_group_has_wires(const struct gt_process_group *group)
{
	return group->links[GT_PROCESS_GROUP_FAR].link != NULL;
}

int gt_process_group_add(struct gt_process_group *group,
			 const struct gt_link_conn *conn, uint32_t other_rank,
			 struct gt_err *err)
{
	uint32_t process = gt_process_group_of_rank(group, other_rank);
	uint32_t stream = group->is_far[process] ? conn->lane % group->nfar : 0;
	struct gt_process_group_link *link =
		&group->links[group->is_far[process]
				      ? GT_PROCESS_GROUP_FAR + stream
				      : GT_PROCESS_GROUP_NEAR];
	struct gt_link_conn *more = gt_vec_grow(link->conns, link->nconns,
						&link->room, sizeof(*more));

	if (!more)
		return gt_err_nomem(err);
	link->conns = more;
	link->conns[link->nconns] = *conn;
	link->conns[link->nconns++].process = process;
	return GT_OK;
}

int gt_process_group_connect(struct gt_process_group *group,
			     const struct gt_link_shape *shape,
			     struct gt_err *err)
{
	int rc = GT_OK;

	for (int i = 0; !rc && i < GT_PROCESS_GROUP_LINKS; i++) {
		struct gt_process_group_link *link = &group->links[i];

		if (link->link)
			rc = link->ops->connect(link->link, shape, link->conns,
						link->nconns, err);
	}
	gt_process_group_forget(group);
	return rc;
}

void gt_process_group_forget(struct gt_process_group *group)
{
	for (int i = 0; i < GT_PROCESS_GROUP_LINKS; i++)
		group->links[i].nconns = 0;
}

void gt_process_group_attend(struct gt_process_group *group, int change)
{
	const struct gt_process_group_link *links = group->links;

	for (int i = 0; i < GT_PROCESS_GROUP_LINKS; i++)
		if (links[i].link && links[i].ops->attend)
			links[i].ops->attend(links[i].link, change);
}

void gt_process_group_progress(struct gt_process_group *group)
{
	const struct gt_process_group_link *links = group->links;

	for (int i = 0; i < GT_PROCESS_GROUP_LINKS; i++)
		if (links[i].link && links[i].ops->progress)
			links[i].ops->progress(links[i].link);
}

int gt_process_group_carries(const struct gt_process_group *group, int link)
{
	return group->links[link].link && group->links[link].ops->progress;
}

int gt_process_group_carry(struct gt_process_group *group, int link)
{
	return group->links[link].ops->progress(group->links[link].link);
}

int gt_process_group_check(struct gt_process_group *group, struct gt_err *err)
{
	int rc = group->world ? gt_world_failed(group->world, err) : GT_OK;

	for (int i = 0; !rc && i < GT_PROCESS_GROUP_LINKS; i++)
		if (group->links[i].link)
			rc = group->links[i].ops->check(group->links[i].link,
							err);
	return rc;
}
