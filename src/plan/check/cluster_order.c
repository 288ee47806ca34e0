/*
 * The order in which ranks take the blocks of templates that lag: do the slots
 * of every connection suffice for it, so that nothing waits in a circle?
 *
 * A block's turn at a rank is its number plus lag times the rank's depth
 * (plan/ir/cluster.h).  Who takes a slice so has it lag turns after who sent
 * it.  A sender waits for the slot of the slice that was sent a FIFO's slots
 * before, so nothing ever waits for a later turn if that one was sent more than
 * lag turns before.  This is looked at for a node's connections, down the
 * trees; up them everything is the other way round.  Nodes below one level of
 * switches have the same turns but for where they begin, so there one of them
 * is enough.
 */
#include "plan/check/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/vec.h"
#include "plan/check/fault.h"
#include "plan/ir/cluster.h"
#include "plan/ir/plan.h"

/* Slices of all connections that are looked at; more take too long. */
#define GT_ORDER_WORK UINT64_C(40000000)

/* A slice on a connection, by its turn at the sender. */
struct gt_sent {
	uint64_t peers; /* the sender's local rank, the receiver's rank */
	uint64_t turn;
};

struct gt_order_check {
	const struct gt_plan *plan;
	const struct gt_plan_channel *channel;
	uint32_t c, node, slots;
	uint32_t *places;
	struct gt_sent *sent;
	uint32_t nsent, size;
};

static int gt_sent_cmp(const void *a, const void *b)
{
	const struct gt_sent *left = a, *right = b;

	if (left->peers != right->peers)
		return left->peers < right->peers ? -1 : 1;
	return (left->turn > right->turn) - (left->turn < right->turn);
}

static int gt_order_send(struct gt_order_check *check, uint32_t from,
			 uint32_t node, uint32_t to, uint64_t turn)
{
	uint64_t peer = (uint64_t)node * check->plan->cluster->nlocal + to;
	struct gt_sent *list = gt_vec_grow(check->sent, check->nsent,
					   &check->size, sizeof(*list));

	if (!list)
		return GT_ESYS;
	check->sent = list;
	list[check->nsent++] =
		(struct gt_sent){(uint64_t)from << 32 | peer, turn};
	return GT_OK;
}

/* What a rank of the node sends of one block: to its node, and to others. */
static int gt_order_block(struct gt_order_check *check, uint32_t block)
{
	const struct gt_plan_cluster *cluster = check->plan->cluster;
	const struct gt_plan_channel *channel = check->channel;
	uint32_t n = cluster->nlocal, origin = block / n, root = block % n;
	uint32_t place = gt_nodes_place(cluster, origin, check->node);
	uint32_t nplaces = gt_nodes_children(cluster, place, check->places);
	const struct gt_plan_template *tree = &channel->templates[root];
	const int32_t *parents = place ? tree->away : tree->home;
	int rc = GT_OK;

	for (uint32_t i = 0; i < n && !rc; i++) {
		uint32_t from = 0;

		if (parents[i] >= 0) {
			from = (uint32_t)parents[i];
			rc = gt_order_send(
				check, from, check->node, i,
				block + (uint64_t)channel->lag *
						gt_template_depth(cluster,
								  channel, root,
								  place, from));
		}
		if (tree->away[i] >= 0 || !nplaces)
			continue;
		from = channel->hops[tree->net[i]].from;
		for (uint32_t k = 0; k < nplaces && !rc; k++)
			rc = gt_order_send(
				check, from,
				gt_nodes_at(cluster, origin, check->places[k]),
				i,
				block + (uint64_t)channel->lag *
						gt_template_depth(cluster,
								  channel, root,
								  place, from));
	}
	return rc;
}

/*
 * Turns go round, as each channel begins at a block of its own: behind the last
 * slices of a connection come its first ones, with a turn of a round later.
 */
static int gt_order_fits(const struct gt_order_check *check)
{
	uint64_t slots = check->slots, lag = check->channel->lag, later;
	uint32_t begin = 0, end;

	for (; begin < check->nsent; begin = end) {
		for (end = begin;
		     end < check->nsent &&
		     check->sent[end].peers == check->sent[begin].peers;)
			end++;
		for (uint32_t i = begin; i < end && end - begin > slots; i++) {
			uint64_t next = i + slots;

			later = next < end ? 0 : check->plan->nranks;
			if (next >= end)
				next -= end - begin;
			if (check->sent[next].turn + later <=
			    check->sent[i].turn + lag)
				return 0;
		}
	}
	return 1;
}

static int gt_order_node(struct gt_order_check *check, struct gt_err *err)
{
	int rc = GT_OK;

	check->nsent = 0;
	for (uint32_t block = 0; block < check->plan->nranks && !rc; block++)
		rc = gt_order_block(check, block);
	if (rc)
		return gt_err_nomem(err);
	qsort(check->sent, check->nsent, sizeof(*check->sent), gt_sent_cmp);
	if (gt_order_fits(check))
		return GT_OK;
	return gt_plan_wrong(check->plan,
			     gt_plan_at("channels[%u].lag", check->c), err,
			     "'%u' needs more than %u slots a connection",
			     check->channel->lag, check->slots);
}

/* The fewest slots that a row gives the channel's connections. */
static uint32_t gt_order_slots(const struct gt_plan *plan, uint32_t c)
{
	uint32_t fewest = plan->fifo_slots;

	for (uint32_t r = 0; r < plan->nselect; r++)
		for (uint32_t k = 0; k < plan->select[r].nchannels; k++)
			if (plan->select[r].channels[k] == c &&
			    plan->select[r].slots &&
			    plan->select[r].slots < fewest)
				fewest = plan->select[r].slots;
	return fewest;
}

/* Is all that decides turns and connections alike in the two channels? */
static int gt_order_alike(const struct gt_plan *plan, uint32_t a, uint32_t b)
{
	const struct gt_plan_channel *x = &plan->channels[a];
	const struct gt_plan_channel *y = &plan->channels[b];
	uint32_t n = plan->cluster->nlocal;

	if (y->shape != GT_SHAPE_TEMPLATE || x->lag != y->lag ||
	    gt_order_slots(plan, a) != gt_order_slots(plan, b))
		return 0;
	for (uint32_t t = 0; t < n; t++) {
		const struct gt_plan_template *v = &x->templates[t];
		const struct gt_plan_template *w = &y->templates[t];

		if (memcmp(v->home, w->home, n * sizeof(*v->home)) ||
		    memcmp(v->away, w->away, n * sizeof(*v->away)))
			return 0;
		for (uint32_t i = 0; i < n; i++)
			if (v->away[i] < 0 &&
			    x->hops[v->net[i]].from != y->hops[w->net[i]].from)
				return 0;
	}
	return 1;
}

int gt_check_template_order(const struct gt_plan *plan, uint32_t c,
			    struct gt_err *err)
{
	const struct gt_plan_cluster *cluster = plan->cluster;
	struct gt_order_check check = {.plan = plan,
				       .channel = &plan->channels[c],
				       .c = c,
				       .slots = gt_order_slots(plan, c)};
	uint32_t nodes = cluster->nlevels > 1 ? cluster->nnodes : 1;
	int rc = GT_OK;

	if (!check.channel->lag)
		return GT_OK;
	for (uint32_t other = 0; other < c; other++)
		if (gt_order_alike(plan, c, other))
			return GT_OK;
	if ((uint64_t)nodes * plan->nranks * cluster->nlocal > GT_ORDER_WORK)
		return gt_plan_wrong(plan, gt_plan_at("channels[%u].lag", c),
				     err,
				     "'%u' cannot be checked, for there are "
				     "too many ranks",
				     check.channel->lag);
	check.places = calloc(gt_nodes_fan(cluster), sizeof(*check.places));
	if (!check.places)
		return gt_err_nomem(err);
	for (check.node = 0; check.node < nodes && !rc; check.node++)
		rc = gt_order_node(&check, err);
	free(check.places);
	free(check.sent);
	return rc;
}
