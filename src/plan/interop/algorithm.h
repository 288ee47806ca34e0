/*
 * An algorithm made elsewhere, whatever format it came in: thread blocks whose
 * steps add places and messages up and put the sum into places and messages.
 * import_msccl.c and import_mscclpp*.c make one of their files, import_replay.c
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
	/* These are above what any of the runtimes take. */
	GT_IMPORT_MAX_GPUS = 1024,
	GT_IMPORT_MAX_CHUNKS = 1 << 16,
	GT_IMPORT_MAX_BLOCKS = 256,
	GT_IMPORT_MAX_STEPS = 1 << 16,
	/* the most sources, and targets, of a step */
	GT_IMPORT_MAX_OPERANDS = 255,
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
	/* The step's place in the file: XML's element, or words. */
	const struct gt_xml_elem *elem;
	const char *where;
	uint32_t count; /* chunks, moved one by one */
	struct gt_import_list src, dst;
};

/* The value in a place: which chunk it is, and how many ranks added to it. */
struct gt_import_value {
	uint32_t chunk, count;
	int known;
	int written; /* it was written after the input came */
};

/*
 * A link: messages or flags that a thread block sends to another one, of any
 * GPU, and that are taken in the order in which they were sent.
 */
struct gt_import_link {
	uint32_t from, from_tb, to, to_tb; /* to_tb may be nobody */
	uint16_t from_conn, to_conn;
	uint32_t room, nsent, ntaken;
	struct gt_import_value *sent;
	int flags; /* flags only, no messages */
};

struct gt_import_tb {
	uint32_t nsteps, room;
	struct gt_import_step *steps;
	uint32_t step; /* the step that is executed next */
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
	int inplace;     /* it works only where input and output are one */
	uint32_t nranks; /* that the plan has */
	uint32_t ngpus, nchunks, unit, root;
	uint32_t slots; /* slots of a FIFO, at least; 0: one a message */
	struct gt_import_gpu *gpus;
	uint32_t nlinks, links_room;
	struct gt_import_link *links;
};

/*
 * Is the file for so many GPUs as the plan has ranks?  GT_EINPUT when it is
 * not.
 */
int gt_import_is_for(const struct gt_import_file *algo, uint32_t ngpus,
		     struct gt_err *err);

/* Append a link; *link becomes its number.  GT_ESYS when memory ran out. */
int gt_import_link(struct gt_import_file *algo,
		   const struct gt_import_link *ends, uint32_t *link,
		   struct gt_err *err);

/*
 * Append a step without operands, of the place and count of `like`; *made is
 * valid until the next one is made.
 */
int gt_import_step(struct gt_import_file *algo, struct gt_import_tb *tb,
		   const struct gt_import_step *like,
		   struct gt_import_step **made, struct gt_err *err);

/* Append a source, or a target, to a list of the step. */
int gt_import_add(struct gt_import_file *algo, struct gt_import_step *step,
		  struct gt_import_list *list, struct gt_import_operand operand,
		  struct gt_err *err);

/*
 * Complain about a step, of XML about its attribute if that is not NULL; the
 * result is GT_EINPUT.
 */
int gt_import_fail(const struct gt_import_step *step, const char *attr,
		   struct gt_err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Make the plan's programs, one for each thread block, and connect them by
 * links.
 */
int gt_import_links(struct gt_import_file *algo, struct gt_plan *plan,
		    struct gt_err *err);

/*
 * Read a file's text.  MSCCL's steps borrow elements of *xml, which is the
 * caller's in any case.
 */
int gt_import_msccl(const char *text, size_t len, struct gt_import_file *algo,
		    struct gt_xml **xml, struct gt_err *err);
int gt_import_mscclpp(const char *text, size_t len, struct gt_import_file *algo,
		      struct gt_err *err);

#endif
