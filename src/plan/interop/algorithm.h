/*
 * An algorithm made elsewhere, whatever format it came in: thread blocks whose
 * steps add places and messages up and put the sum into places and messages.
 * import_msccl*.c and import_mscclpp*.c make one of their files, import_run.c
 * executes it and writes programs down, import.c makes the plan.
 */
#ifndef GT_PLAN_INTEROP_ALGORITHM_H
#define GT_PLAN_INTEROP_ALGORITHM_H

#include <stddef.h>
#include <stdint.h>

#include "plan/lower/layout.h"

struct gt_arena;
struct gt_err;
struct gt_plan;
struct gt_xml;
struct gt_xml_elem;

enum {
	GT_IMPORT_NOBODY = UINT16_MAX, /* no thread block */
	/* Above what any of the runtimes take. */
	GT_IMPORT_MAX_GPUS = 1024,
	GT_IMPORT_MAX_CHUNKS = 1 << 16,
	GT_IMPORT_MAX_BLOCKS = 256,
	GT_IMPORT_MAX_STEPS = 1 << 16,
	GT_IMPORT_MAX_OPERANDS = 255, /* of a step, each sources and targets */
};

enum gt_import_buf {
	GT_IMPORT_INPUT,
	GT_IMPORT_OUTPUT,
	GT_IMPORT_SCRATCH,
	GT_IMPORT_MESSAGE, /* of a link */
	GT_IMPORT_FLAG,    /* of a link: no bytes */
};

struct gt_import_operand {
	enum gt_import_buf buf;
	uint32_t at; /* first chunk, or the link */
};

struct gt_import_list {
	uint32_t n, room;
	struct gt_import_operand *operands;
};

struct gt_import_step {
	/* Where it stands in the file: XML's element, or words. */
	const struct gt_xml_elem *elem;
	const char *where;
	uint32_t count; /* chunks, moved one by one */
	struct gt_import_list src, dst;
};

/* A chunk somewhere: which one, and how many ranks added to it. */
struct gt_import_value {
	uint32_t chunk, count;
	int known;
	int written; /* since the input came */
};

/*
 * What a thread block sends to another one, of any GPU: messages or flags,
 * taken in the order in which they were sent.
 */
struct gt_import_link {
	uint32_t from, from_tb, to, to_tb; /* to_tb may be nobody */
	uint16_t from_conn, to_conn;
	uint32_t room, nsent, ntaken;
	struct gt_import_value *sent;
	int flags; /* no messages */
};

struct gt_import_tb {
	uint32_t nsteps, room;
	struct gt_import_step *steps;
	uint32_t step; /* how far it was executed */
	uint32_t nconns;
	struct gt_program *program;
};

/*
 * Behind the scratch is room for what an algorithm in place writes to its input
 * beside the output, which a plan's input cannot take.
 */
struct gt_import_gpu {
	uint32_t ntbs, nscratch, nused;
	struct gt_import_tb *tbs;
	struct gt_import_value *input, *output, *scratch;
};

struct gt_import_file {
	const char *name; /* for messages */
	struct gt_arena *arena;
	enum gt_coll coll;
	enum gt_protocol protocol;
	int inplace;     /* only: input and output are one */
	uint32_t nranks; /* that it has to be for */
	uint32_t ngpus, nchunks, unit, root;
	uint32_t slots; /* of a FIFO, at least; 0: one for each message */
	struct gt_import_gpu *gpus;
	uint32_t nlinks, links_room;
	struct gt_import_link *links;
};

/* GT_EINPUT when the file is for another number of GPUs. */
int gt_import_is_for(const struct gt_import_file *algo, uint32_t ngpus,
		     struct gt_err *err);

/* A link's number in *link; GT_ESYS when memory ran out. */
int gt_import_link(struct gt_import_file *algo,
		   const struct gt_import_link *ends, uint32_t *link,
		   struct gt_err *err);

/* A further step without operands; *made is valid until the next one is. */
int gt_import_step(struct gt_import_file *algo, struct gt_import_tb *tb,
		   const struct gt_import_step *like,
		   struct gt_import_step **made, struct gt_err *err);

/* A further source, or target, of a step. */
int gt_import_add(struct gt_import_file *algo, struct gt_import_step *step,
		  struct gt_import_list *list, struct gt_import_operand operand,
		  struct gt_err *err);

/* Complain about a step; of XML: about its attribute, if it is not NULL. */
int gt_import_fail(const struct gt_import_step *step, const char *attr,
		   struct gt_err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Make room for programs, one a thread block, and connect them by links. */
int gt_import_links(struct gt_import_file *algo, struct gt_plan *plan,
		    struct gt_err *err);

/*
 * Read a file's text.  MSCCL's steps borrow elements of *xml, the caller's in
 * any case.
 */
int gt_import_msccl(const char *text, size_t len, struct gt_import_file *algo,
		    struct gt_xml **xml, struct gt_err *err);
int gt_import_mscclpp(const char *text, size_t len, struct gt_import_file *algo,
		      struct gt_err *err);

#endif
