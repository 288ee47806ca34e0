/* Tells communicators in a log from each other. */
#include "topo/nccl/comms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/text.h"
#include "base/vec.h"
#include "topo/nccl/log.h"

enum { MAX_COMMS = 1024, MAX_RANKS = 1 << 20 };

/* What keys are of. */
enum kind {
	THREAD = 1,
	PROCESS,
	ADDRESS, /* of a process */
	ID,
	SPLIT,
	SIZE,
	TIMES, /* that a rank was named in what has such signs */
	NTH,   /* communicator with these signs */
	ENDED, /* at this address of a process */
	RANK,  /* of a communicator */
	UNNAMED,
};

/* Numbers of keys are places in the list, from 1; and these. */
enum { SEVERAL = MAX_COMMS + 1, LEFT_OUT };

/* "comm 0x55 rank 0 nranks 4 ... commId 0x8974 - Init START", for instance. */
struct naming {
	unsigned long long address, id, parent; /* 0 is not told */
	unsigned rank, nranks, nnodes, nlocal;
	unsigned nth; /* split of the parent */
	int color;
	int begins, completes, ends;
};

void gt_nccl_comms_init(struct gt_nccl_comms *comms, struct gt_arena *arena)
{
	memset(comms, 0, sizeof(*comms));
	comms->arena = comms->seen.arena = arena;
}

static int read_naming(const char *message, struct naming *naming)
{
	const char *at = strstr(message, "comm 0x"), *more;

	memset(naming, 0, sizeof(*naming));
	if (!at || (at > message && at[-1] != ' ') ||
	    sscanf(at,
		   "comm 0x%16llx rank %9u n%*1[rR]anks %9u nNodes %9u "
		   "localRanks %9u",
		   &naming->address, &naming->rank, &naming->nranks,
		   &naming->nnodes, &naming->nlocal) < 3 ||
	    naming->nranks > MAX_RANKS || naming->rank >= naming->nranks)
		return 0;
	more = strstr(at, " commId 0x");
	if (more)
		sscanf(more, " commId 0x%16llx", &naming->id);
	more = strstr(at, " parent 0x");
	if (more)
		sscanf(more, " parent 0x%16llx %*[a-zA-Z] %9u color %10d",
		       &naming->parent, &naming->nth, &naming->color);
	naming->begins = !!strstr(at, "Init START");
	naming->completes = !!strstr(at, "Init COMPLETE");
	naming->ends =
		strstr(at, "Destroy COMPLETE") || strstr(at, "Abort COMPLETE");
	/* A line that was cut may have cut a number as well. */
	return naming->begins || naming->completes || naming->ends ||
	       naming->nlocal;
}

static uint32_t get(const struct gt_nccl_comms *comms, uint64_t kind,
		    uint64_t a, uint64_t b)
{
	return gt_nccl_seen_get(&comms->seen, gt_nccl_seen_key(kind, a, b));
}

static void set(struct gt_nccl_comms *comms, uint64_t kind, uint64_t a,
		uint64_t b, uint32_t value)
{
	comms->failed |= !!gt_nccl_seen_set(
		&comms->seen, gt_nccl_seen_key(kind, a, b), value);
}

static struct gt_nccl_log_comm *at(const struct gt_nccl_comms *comms,
				   uint32_t number)
{
	return number && number <= comms->n ? comms->list[number - 1] : NULL;
}

/* Adds a communicator and returns its number, 0 when memory ran out. */
static uint32_t add(struct gt_nccl_comms *comms, uint32_t nranks)
{
	struct gt_nccl_log_comm **list, *comm;

	if (comms->n == MAX_COMMS) {
		comms->nleft_out++;
		return LEFT_OUT;
	}
	list = gt_vec_grow_in(comms->arena, comms->list, comms->n, &comms->room,
			      sizeof(struct gt_nccl_log_comm *));
	comm = gt_arena_alloc(comms->arena, sizeof(*comm));
	if (!list || !comm) {
		comms->failed = 1;
		return 0;
	}
	comm->nranks = nranks;
	comms->list = list;
	list[comms->n++] = comm;
	return comms->n;
}

static char *name_of(struct gt_nccl_comms *comms, const struct naming *naming,
		     uint32_t parent)
{
	const struct gt_nccl_log_comm *of = at(comms, parent);

	if (naming->id)
		return gt_arena_printf(comms->arena, "0x%llx", naming->id);
	if (naming->parent)
		return gt_arena_printf(
			comms->arena, "split %u of %.64s, color %d",
			naming->nth, of && of->name ? of->name : "another",
			naming->color);
	return NULL;
}

/*
 * Old versions of NCCL name a communicator only when it is complete: what was
 * logged of rings of so many ranks and had no name is its own.
 */
static uint32_t claim(struct gt_nccl_comms *comms, const struct naming *naming)
{
	uint32_t number = 0;

	if (naming->completes)
		number = get(comms, UNNAMED, naming->nranks, 0);
	if (number)
		set(comms, UNNAMED, naming->nranks, 0, 0);
	return number;
}

/*
 * What a line of its first moments tells of a communicator: its id; or of which
 * communicator it is which split; or how many ranks it has, and where.
 */
static uint64_t signs_of(const struct gt_nccl_comms *comms,
			 const struct naming *naming, uint32_t parent)
{
	uint64_t where =
		naming->nnodes == 1 ? comms->host : (uint64_t)naming->nnodes;

	if (naming->id)
		return gt_nccl_seen_key(ID, naming->nranks, naming->id);
	if (naming->parent)
		return gt_nccl_seen_key(
			SPLIT, naming->nranks | (uint64_t)parent << 32,
			(uint64_t)naming->nth << 32 | (uint32_t)naming->color);
	return gt_nccl_seen_key(SIZE, where, naming->nranks);
}

/*
 * Returns the number of what a line of its first moments names.  A rank that is
 * named again is in another communicator with the same signs, such as the next
 * one of a job whose NCCL_COMM_ID gives all of them one id; but for a line that
 * is there twice, while the first lives.
 */
static uint32_t identify(struct gt_nccl_comms *comms,
			 const struct naming *naming, uint32_t lives)
{
	uint32_t parent = 0, number, times;
	uint64_t signs;

	if (naming->parent)
		parent = get(comms, ADDRESS, comms->process, naming->parent);
	signs = signs_of(comms, naming, parent);
	times = get(comms, TIMES, signs, naming->rank);
	if (times && lives && get(comms, NTH, signs, times - 1) == lives)
		return lives;
	set(comms, TIMES, signs, naming->rank, times + 1);
	number = get(comms, NTH, signs, times);
	if (number)
		return number;
	number = claim(comms, naming);
	if (!number)
		number = add(comms, naming->nranks);
	if (at(comms, number))
		at(comms, number)->name = name_of(comms, naming, parent);
	set(comms, NTH, signs, times, number);
	return number;
}

/*
 * Returns the number of what a line names.  One that has ended may be said to
 * have ended again, as when it is aborted and then destroyed.
 */
static uint32_t number_of(struct gt_nccl_comms *comms,
			  const struct naming *naming)
{
	uint32_t number = get(comms, ADDRESS, comms->process, naming->address);
	const struct gt_nccl_log_comm *comm;

	if (!number && naming->ends)
		number = get(comms, ENDED, comms->process, naming->address);
	comm = at(comms, number);
	if (naming->begins || !number ||
	    (comm && comm->nranks != naming->nranks))
		number = identify(comms, naming, number);
	return number;
}

/* Says that what the thread logs from now on is of a communicator. */
static void turn_to(struct gt_nccl_comms *comms, uint32_t number)
{
	uint32_t before = get(comms, PROCESS, comms->process, 0);

	set(comms, THREAD, comms->thread, 0, number);
	if (before != number)
		set(comms, PROCESS, comms->process, 0,
		    before ? (uint32_t)SEVERAL : number);
}

void gt_nccl_comms_learn(struct gt_nccl_comms *comms, const char *message)
{
	struct gt_nccl_log_comm *comm;
	struct naming naming;
	uint32_t number;

	if (!read_naming(message, &naming))
		return;
	number = number_of(comms, &naming);
	set(comms, ADDRESS, comms->process, naming.address,
	    naming.ends ? 0 : number);
	set(comms, ENDED, comms->process, naming.address,
	    naming.ends ? number : 0);
	turn_to(comms, number);
	comm = at(comms, number);
	if (!comm)
		return;
	if (naming.nnodes) {
		comm->nnodes = naming.nnodes;
		comm->nlocal = naming.nlocal;
	}
	if (!get(comms, RANK, number, naming.rank)) {
		set(comms, RANK, number, naming.rank, 1);
		comm->nheard++;
	}
}

struct gt_nccl_log_comm *gt_nccl_comms_of(struct gt_nccl_comms *comms,
					  uint32_t nranks, uint32_t least)
{
	uint32_t numbers[2] = {get(comms, THREAD, comms->thread, 0),
			       get(comms, PROCESS, comms->process, 0)};
	struct gt_nccl_log_comm *comm;
	uint32_t number;

	for (int i = 0; i < 2; i++) {
		if (numbers[i] == LEFT_OUT)
			return NULL;
		comm = at(comms, numbers[i]);
		if (comm && (!nranks || comm->nranks == nranks) &&
		    comm->nranks >= least)
			return comm;
	}
	number = get(comms, UNNAMED, nranks, 0);
	if (!number) {
		number = add(comms, nranks);
		set(comms, UNNAMED, nranks, 0, number);
	}
	return at(comms, number);
}

int gt_nccl_comms_count(struct gt_nccl_comms *comms,
			struct gt_nccl_log_comm *comm,
			const struct gt_nccl_means *means)
{
	char *name;
	uint32_t i = 0;

	while (i < comm->nmeans && strcmp(comm->means[i].name, means->name))
		i++;
	if (i == GT_NCCL_LOG_MEANS)
		return -1;
	if (i == comm->nmeans) {
		name = gt_arena_strdup(comms->arena, means->name);
		comms->failed |= !name;
		if (!name)
			return 0;
		gt_text_make_printable(name);
		comm->means[comm->nmeans++] =
			(struct gt_nccl_means){name, 0, means->from, means->to};
	}
	comm->means[i].n += means->n;
	return 0;
}

/* Adds what is told of nobody in particular to the only communicator. */
static void fold(struct gt_nccl_comms *comms, struct gt_nccl_log_comm *into,
		 const struct gt_nccl_log_comm *from)
{
	into->fell_back |= from->fell_back;
	for (uint32_t i = 0; i < from->nmeans; i++)
		gt_nccl_comms_count(comms, into, &from->means[i]);
	for (uint32_t i = 0; i < from->ngraphs; i++)
		if (into->ngraphs < GT_NCCL_LOG_GRAPHS)
			into->graphs[into->ngraphs++] = from->graphs[i];
}

/* Puts those with more ranks first, and keeps the order of the others. */
static void sort(struct gt_nccl_comms *comms)
{
	struct gt_nccl_log_comm *comm;
	uint32_t to;

	for (uint32_t i = 1; i < comms->n; i++) {
		comm = comms->list[i];
		for (to = i; to; to--) {
			if (comms->list[to - 1]->nranks >= comm->nranks)
				break;
			comms->list[to] = comms->list[to - 1];
		}
		comms->list[to] = comm;
	}
}

/* Says of what has no name that it is inside a machine, if all others are. */
static void place(struct gt_nccl_comms *comms, struct gt_nccl_log_comm *unnamed)
{
	uint32_t i = 0;

	while (i + 1 < comms->n && comms->list[i]->nnodes == 1)
		i++;
	if (i + 1 == comms->n)
		unnamed->nnodes = 1;
}

void gt_nccl_comms_finish(struct gt_nccl_comms *comms)
{
	struct gt_nccl_log_comm *last;

	if (!comms->n)
		add(comms, 0);
	sort(comms);
	if (comms->n < 2)
		return;
	last = comms->list[comms->n - 1];
	if (last->nranks)
		return;
	if (comms->n == 2) {
		fold(comms, comms->list[0], last);
		comms->n = 1;
	} else {
		place(comms, last);
	}
}
