#include "plan/import_msccl.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/xml.h"
#include "plan/plan.h"

/* Above what any of MSCCL's runtimes take. */
enum {
	GT_ALGO_MAX_GPUS = 1024,
	GT_ALGO_MAX_CHUNKS = 1 << 16,
	GT_ALGO_MAX_BLOCKS = 256,
	GT_ALGO_MAX_STEPS = 1 << 16,
};

struct gt_algo_word {
	const char *name;
	int receives, sends, loads, stores;
};

static const struct gt_algo_word gt_algo_words[GT_NALGOTYPES] = {
	[GT_ALGO_TYPE_S] = {"s", 0, 1, 1, 0},
	[GT_ALGO_TYPE_R] = {"r", 1, 0, 0, 1},
	[GT_ALGO_TYPE_RCS] = {"rcs", 1, 1, 0, 1},
	[GT_ALGO_TYPE_RRS] = {"rrs", 1, 1, 1, 0},
	[GT_ALGO_TYPE_RRC] = {"rrc", 1, 0, 1, 1},
	[GT_ALGO_TYPE_RRCS] = {"rrcs", 1, 1, 1, 1},
	[GT_ALGO_TYPE_CPY] = {"cpy", 0, 0, 1, 1},
	[GT_ALGO_TYPE_RE] = {"re", 0, 0, 1, 1},
	[GT_ALGO_TYPE_NOP] = {"nop", 0, 0, 0, 0},
};

int gt_algo_receives(enum gt_algo_type type)
{
	return gt_algo_words[type].receives;
}

int gt_algo_sends(enum gt_algo_type type)
{
	return gt_algo_words[type].sends;
}

int gt_algo_loads(enum gt_algo_type type)
{
	return gt_algo_words[type].loads;
}

int gt_algo_stores(enum gt_algo_type type)
{
	return gt_algo_words[type].stores;
}

/* A number that has to be there, within bounds. */
static int gt_algo_int(const struct gt_xml_elem *elem, const char *attr,
		       int min, int max, int *value, struct gt_err *err)
{
	const char *text = gt_xml_attr(elem, attr);
	int rc;

	if (!text || !*text)
		return gt_xml_fail(elem, NULL, err, "'%s' is missing", attr);
	rc = gt_xml_int(elem, attr, value, err);
	if (rc)
		return rc;
	if (*value < min || *value > max)
		return gt_xml_fail(elem, attr, err,
				   "%s '%d' is not within %d and %d", attr,
				   *value, min, max);
	return GT_OK;
}

static uint32_t gt_algo_children(const struct gt_xml_elem *elem)
{
	uint32_t n = 0;

	for (elem = gt_xml_child(elem); elem; elem = gt_xml_next(elem))
		n++;
	return n;
}

static int gt_algo_buf(const struct gt_xml_elem *elem, const char *attr,
		       char *buf, struct gt_err *err)
{
	const char *text = gt_xml_attr(elem, attr);

	if (!text || strlen(text) != 1 || !strchr("ios", *text))
		return gt_xml_fail(elem, attr, err,
				   "%s '%s' is none of i, o, s", attr,
				   text ? text : "");
	*buf = *text;
	return GT_OK;
}

static int gt_algo_type(const struct gt_xml_elem *elem, enum gt_algo_type *type,
			struct gt_err *err)
{
	const char *text = gt_xml_attr(elem, "type");

	for (int i = 0; text && i < GT_NALGOTYPES; i++)
		if (!strcmp(gt_algo_words[i].name, text)) {
			*type = (enum gt_algo_type)i;
			return GT_OK;
		}
	return gt_xml_fail(elem, "type", err, "type '%s' is not known",
			   text ? text : "");
}

static int gt_algo_read_step(struct gt_algo_file *algo,
			     const struct gt_xml_elem *elem,
			     const struct gt_algo_tb *tb,
			     struct gt_algo_step *step, struct gt_err *err)
{
	int max = GT_ALGO_MAX_CHUNKS, rc;

	step->elem = elem;
	step->count = 1;
	rc = gt_algo_type(elem, &step->type, err);
	if (!rc && step->type != GT_ALGO_TYPE_NOP)
		rc = gt_algo_int(elem, "cnt", 1, max, &step->count, err);
	if (!rc && gt_algo_loads(step->type))
		rc = gt_algo_buf(elem, "srcbuf", &step->src, err);
	if (!rc && gt_algo_loads(step->type))
		rc = gt_algo_int(elem, "srcoff", 0, max, &step->src_at, err);
	if (!rc && gt_algo_stores(step->type))
		rc = gt_algo_buf(elem, "dstbuf", &step->dst, err);
	if (!rc && gt_algo_stores(step->type))
		rc = gt_algo_int(elem, "dstoff", 0, max, &step->dst_at, err);
	if (!rc)
		rc = gt_algo_int(elem, "depid", -1, GT_ALGO_MAX_BLOCKS,
				 &step->dep_tb, err);
	if (!rc)
		rc = gt_algo_int(elem, "deps", -1, GT_ALGO_MAX_STEPS,
				 &step->dep_step, err);
	if (!rc && ((gt_algo_sends(step->type) && tb->send < 0) ||
		    (gt_algo_receives(step->type) && tb->recv < 0)))
		rc = gt_xml_fail(elem, "type", err,
				 "the thread block has no peer for it");
	if (!rc && step->type != GT_ALGO_TYPE_NOP &&
	    (uint32_t)step->count > algo->most)
		algo->most = (uint32_t)step->count;
	return rc;
}

static int gt_algo_read_tb(struct gt_algo_file *algo,
			   const struct gt_xml_elem *elem,
			   struct gt_algo_tb *tb, struct gt_err *err)
{
	const struct gt_xml_elem *child = gt_xml_child(elem);
	int last = (int)algo->ngpus - 1;
	int rc = gt_algo_int(elem, "send", -1, last, &tb->send, err);

	if (!rc)
		rc = gt_algo_int(elem, "recv", -1, last, &tb->recv, err);
	if (!rc)
		rc = gt_algo_int(elem, "chan", 0, UINT16_MAX, &tb->chan, err);
	tb->nsteps = gt_algo_children(elem);
	if (!rc && tb->nsteps > GT_ALGO_MAX_STEPS)
		rc = gt_xml_fail(elem, NULL, err, "there are too many steps");
	if (rc)
		return rc;
	tb->steps = gt_arena_array(algo->arena, tb->nsteps, sizeof(*tb->steps));
	if (!tb->steps)
		return gt_err_nomem(err);
	for (uint32_t i = 0; !rc && i < tb->nsteps; i++) {
		int s = 0;

		rc = gt_algo_int(child, "s", (int)i, (int)i, &s, err);
		if (!rc)
			rc = gt_algo_read_step(algo, child, tb, &tb->steps[i],
					       err);
		child = gt_xml_next(child);
	}
	return rc;
}

static int gt_algo_read_gpu(struct gt_algo_file *algo,
			    const struct gt_xml_elem *elem, uint32_t id,
			    struct gt_err *err)
{
	const struct gt_xml_elem *child = gt_xml_child(elem);
	struct gt_algo_gpu *gpu = &algo->gpus[id];
	int scratch = 0, number = 0;
	int rc = gt_algo_int(elem, "id", (int)id, (int)id, &number, err);

	if (!rc)
		rc = gt_algo_int(elem, "s_chunks", 0, GT_ALGO_MAX_CHUNKS,
				 &scratch, err);
	gpu->nscratch = (uint32_t)scratch;
	gpu->has_input = gpu->has_output = 1;
	if (!rc)
		rc = gt_xml_int(elem, "i_chunks", &gpu->has_input, err);
	if (!rc)
		rc = gt_xml_int(elem, "o_chunks", &gpu->has_output, err);
	gpu->ntbs = gt_algo_children(elem);
	if (!rc && gpu->ntbs > GT_ALGO_MAX_BLOCKS)
		rc = gt_xml_fail(elem, NULL, err,
				 "there are too many thread blocks");
	if (rc)
		return rc;
	gpu->tbs = gt_arena_array(algo->arena, gpu->ntbs, sizeof(*gpu->tbs));
	if (!gpu->tbs)
		return gt_err_nomem(err);
	for (uint32_t i = 0; !rc && i < gpu->ntbs; i++) {
		rc = gt_algo_int(child, "id", (int)i, (int)i, &number, err);
		if (!rc)
			rc = gt_algo_read_tb(algo, child, &gpu->tbs[i], err);
		child = gt_xml_next(child);
	}
	return rc;
}

static int gt_algo_head(struct gt_algo_file *algo,
			const struct gt_xml_elem *root, struct gt_err *err)
{
	const char *coll = gt_xml_attr(root, "coll");
	const char *proto = gt_xml_attr(root, "proto");
	int inplace = 0, outofplace = 1, chunks = 0, gpus = 0, rc;

	if (!gt_xml_is(root, "algo"))
		return gt_xml_fail(root, NULL, err,
				   "'%s' is not an MSCCL algorithm, 'algo'",
				   gt_xml_name(root));
	if (!coll || gt_coll_find(coll) < 0)
		return gt_xml_fail(root, "coll", err,
				   "coll '%s' is no collective of gtopo",
				   coll ? coll : "");
	algo->coll = (enum gt_coll)gt_coll_find(coll);
	algo->protocol = proto && !strcmp(proto, "LL") ? GT_PROTOCOL_LL
			 : proto && !strcmp(proto, "LL128")
				 ? GT_PROTOCOL_LL128
				 : GT_PROTOCOL_SIMPLE;
	rc = gt_algo_int(root, "ngpus", 1, GT_ALGO_MAX_GPUS, &gpus, err);
	if (!rc)
		rc = gt_algo_int(root, "nchunksperloop", 1, GT_ALGO_MAX_CHUNKS,
				 &chunks, err);
	if (!rc)
		rc = gt_xml_int(root, "inplace", &inplace, err);
	/* Tools of before 2023 write for one way only, and do not say so. */
	outofplace = !inplace;
	if (!rc)
		rc = gt_xml_int(root, "outofplace", &outofplace, err);
	algo->ngpus = (uint32_t)gpus;
	algo->nchunks = (uint32_t)chunks;
	algo->inplace = inplace && !outofplace;
	if (!rc && gt_algo_children(root) != algo->ngpus)
		rc = gt_xml_fail(root, "ngpus", err,
				 "there are '%u' elements for %d GPUs",
				 gt_algo_children(root), gpus);
	return rc;
}

/* The format does not name it: who alone has something to give, or to get. */
static uint32_t gt_algo_root(const struct gt_algo_file *algo)
{
	int gives = algo->coll == GT_COLL_BROADCAST ||
		    algo->coll == GT_COLL_SCATTER;

	for (uint32_t i = 0; gt_coll_is_rooted(algo->coll) && i < algo->ngpus;
	     i++)
		if (gives ? algo->gpus[i].has_input : algo->gpus[i].has_output)
			return i;
	return 0;
}

int gt_algo_read(const char *path, struct gt_algo_file *algo,
		 struct gt_err *err)
{
	const struct gt_xml_elem *root, *elem;
	int rc = gt_xml_read(path, &algo->xml, err);

	if (rc)
		return rc;
	root = gt_xml_root(algo->xml);
	rc = gt_algo_head(algo, root, err);
	if (rc)
		return rc;
	algo->gpus =
		gt_arena_array(algo->arena, algo->ngpus, sizeof(*algo->gpus));
	if (!algo->gpus)
		return gt_err_nomem(err);
	elem = gt_xml_child(root);
	for (uint32_t i = 0; !rc && i < algo->ngpus; i++) {
		rc = gt_algo_read_gpu(algo, elem, i, err);
		elem = gt_xml_next(elem);
	}
	algo->root = gt_algo_root(algo);
	return rc;
}
