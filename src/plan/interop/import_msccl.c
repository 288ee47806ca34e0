/*
 * An MSCCL algorithm from its XML: sends and receives on a channel become
 * links, dependencies on other thread blocks become flags.
 */
#include "plan/interop/algorithm.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/xml.h"
#include "plan/ir/plan.h"

struct gt_msccl_word {
	const char *name;
	int receives, sends, loads, stores;
};

static const struct gt_msccl_word gt_msccl_words[] = {
	{"s", 0, 1, 1, 0},   {"r", 1, 0, 0, 1},   {"rcs", 1, 1, 0, 1},
	{"rrs", 1, 1, 1, 0}, {"rrc", 1, 0, 1, 1}, {"rrcs", 1, 1, 1, 1},
	{"cpy", 0, 0, 1, 1}, {"re", 0, 0, 1, 1},  {"nop", 0, 0, 0, 0},
	{NULL, 0, 0, 0, 0},
};

enum { GT_MSCCL_NO_LINK = UINT32_MAX };

/* A thread block as the file has it; its steps are those of the algorithm. */
struct gt_msccl_file_tb {
	const struct gt_xml_elem *elem;
	int send, recv, chan;
	uint32_t send_link, recv_link;
	/* By step: the thread block and step that it waits for, -1 for none. */
	int *dep_tb, *dep_step;
};

struct gt_msccl_file {
	struct gt_import_file *algo;
	struct gt_msccl_file_tb **tbs; /* [gpu][thread block] */
};

/* Read a number that has to be there, within bounds. */
static int gt_msccl_int(const struct gt_xml_elem *elem, const char *attr,
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

static uint32_t gt_msccl_children(const struct gt_xml_elem *elem)
{
	uint32_t n = 0;

	for (elem = gt_xml_child(elem); elem; elem = gt_xml_next(elem))
		n++;
	return n;
}

/* Read a step's place from two of its attributes. */
static int gt_msccl_place(const struct gt_xml_elem *elem, const char *buf,
			  const char *offset, struct gt_import_operand *operand,
			  struct gt_err *err)
{
	static const char letters[] = "ios";
	const char *text = gt_xml_attr(elem, buf);
	int at = 0, rc;

	if (!text || strlen(text) != 1 || !strchr(letters, *text))
		return gt_xml_fail(elem, buf, err, "%s '%s' is none of i, o, s",
				   buf, text ? text : "");
	operand->buf = (enum gt_import_buf)(strchr(letters, *text) - letters);
	rc = gt_msccl_int(elem, offset, 0, GT_IMPORT_MAX_CHUNKS, &at, err);
	operand->at = (uint32_t)at;
	return rc;
}

static const struct gt_msccl_word *gt_msccl_word(const struct gt_xml_elem *elem,
						 struct gt_err *err)
{
	const char *text = gt_xml_attr(elem, "type");

	for (const struct gt_msccl_word *w = gt_msccl_words; text && w->name;
	     w++)
		if (!strcmp(w->name, text))
			return w;
	gt_xml_fail(elem, "type", err, "type '%s' is not known",
		    text ? text : "");
	return NULL;
}

/*
 * Add a step's sources: what it receives, what it reads, and for 're' what is
 * in the target.
 */
static int gt_msccl_sources(struct gt_import_file *algo,
			    const struct gt_msccl_file_tb *tb,
			    const struct gt_msccl_word *word,
			    struct gt_import_step *step, struct gt_err *err)
{
	struct gt_import_operand place;
	int rc = GT_OK;

	if (word->receives)
		rc = gt_import_add(algo, step, &step->src,
				   (struct gt_import_operand){GT_IMPORT_MESSAGE,
							      tb->recv_link},
				   err);
	if (!rc && word->loads) {
		rc = gt_msccl_place(step->elem, "srcbuf", "srcoff", &place,
				    err);
		if (!rc)
			rc = gt_import_add(algo, step, &step->src, place, err);
	}
	if (!rc && !strcmp(word->name, "re")) {
		rc = gt_msccl_place(step->elem, "dstbuf", "dstoff", &place,
				    err);
		if (!rc)
			rc = gt_import_add(algo, step, &step->src, place, err);
	}
	return rc;
}

static int gt_msccl_targets(struct gt_import_file *algo,
			    const struct gt_msccl_file_tb *tb,
			    const struct gt_msccl_word *word,
			    struct gt_import_step *step, struct gt_err *err)
{
	struct gt_import_operand place;
	int rc = GT_OK;

	if (word->stores) {
		rc = gt_msccl_place(step->elem, "dstbuf", "dstoff", &place,
				    err);
		if (!rc)
			rc = gt_import_add(algo, step, &step->dst, place, err);
	}
	if (!rc && word->sends)
		rc = gt_import_add(algo, step, &step->dst,
				   (struct gt_import_operand){GT_IMPORT_MESSAGE,
							      tb->send_link},
				   err);
	return rc;
}

static int gt_msccl_step(struct gt_import_file *algo,
			 struct gt_msccl_file_tb *from,
			 const struct gt_xml_elem *elem, uint32_t i,
			 struct gt_import_tb *tb, struct gt_err *err)
{
	const struct gt_msccl_word *word = gt_msccl_word(elem, err);
	struct gt_import_step like = {.elem = elem}, *step;
	int count = 0, number, rc = word ? GT_OK : GT_EINPUT;

	if (!rc && (word->loads || word->stores || word->receives))
		rc = gt_msccl_int(elem, "cnt", 1, GT_IMPORT_MAX_CHUNKS, &count,
				  err);
	if (!rc)
		rc = gt_msccl_int(elem, "s", (int)i, (int)i, &number, err);
	if (!rc)
		rc = gt_msccl_int(elem, "depid", -1, GT_IMPORT_MAX_BLOCKS,
				  &from->dep_tb[i], err);
	if (!rc)
		rc = gt_msccl_int(elem, "deps", -1, GT_IMPORT_MAX_STEPS,
				  &from->dep_step[i], err);
	if (!rc && ((word->sends && from->send < 0) ||
		    (word->receives && from->recv < 0)))
		rc = gt_xml_fail(elem, "type", err,
				 "the thread block has no peer for it");
	like.count = (uint32_t)count;
	if (!rc)
		rc = gt_import_step(algo, tb, &like, &step, err);
	if (!rc)
		rc = gt_msccl_sources(algo, from, word, step, err);
	if (!rc)
		rc = gt_msccl_targets(algo, from, word, step, err);
	if (2 * like.count > algo->slots)
		algo->slots = 2 * like.count;
	return rc;
}

static int gt_msccl_steps(struct gt_import_file *algo,
			  struct gt_msccl_file_tb *from,
			  struct gt_import_tb *tb, struct gt_err *err)
{
	const struct gt_xml_elem *child = gt_xml_child(from->elem);
	uint32_t n = gt_msccl_children(from->elem);
	int rc = GT_OK;

	if (n > GT_IMPORT_MAX_STEPS)
		return gt_xml_fail(from->elem, NULL, err,
				   "there are too many steps");
	from->dep_tb = gt_arena_array(algo->arena, n, sizeof(*from->dep_tb));
	from->dep_step =
		gt_arena_array(algo->arena, n, sizeof(*from->dep_step));
	if (!from->dep_tb || !from->dep_step)
		return gt_err_nomem(err);
	for (uint32_t i = 0; !rc && i < n; i++) {
		rc = gt_msccl_step(algo, from, child, i, tb, err);
		child = gt_xml_next(child);
	}
	return rc;
}

static int gt_msccl_read_tb(struct gt_import_file *algo,
			    const struct gt_xml_elem *elem,
			    struct gt_msccl_file_tb *tb, struct gt_err *err)
{
	int last = (int)algo->ngpus - 1;
	int rc = gt_msccl_int(elem, "send", -1, last, &tb->send, err);

	tb->elem = elem;
	tb->send_link = tb->recv_link = GT_MSCCL_NO_LINK;
	if (!rc)
		rc = gt_msccl_int(elem, "recv", -1, last, &tb->recv, err);
	if (!rc)
		rc = gt_msccl_int(elem, "chan", 0, UINT16_MAX, &tb->chan, err);
	return rc;
}

/*
 * Does the GPU have such chunks?  An attribute that is missing does not say
 * that it has none.
 */
static int gt_msccl_has(const struct gt_xml_elem *gpu, const char *attr,
			int *has, struct gt_err *err)
{
	*has = 1;
	return gt_xml_int(gpu, attr, has, err);
}

/*
 * Find the root, which the format does not name: it is the one rank that has
 * something to give, or to get.
 */
static int gt_msccl_root(struct gt_import_file *algo,
			 const struct gt_xml_elem *gpu, struct gt_err *err)
{
	int gives = algo->coll == GT_COLL_BROADCAST ||
		    algo->coll == GT_COLL_SCATTER;
	int rc = GT_OK, has = !gt_coll_is_rooted(algo->coll);

	for (uint32_t r = 0; !rc && !has && r < algo->ngpus; r++) {
		rc = gt_msccl_has(gpu, gives ? "i_chunks" : "o_chunks", &has,
				  err);
		if (has)
			algo->root = r;
		gpu = gt_xml_next(gpu);
	}
	return rc;
}

static int gt_msccl_read_gpu(struct gt_msccl_file *file,
			     const struct gt_xml_elem *elem, uint32_t id,
			     struct gt_err *err)
{
	const struct gt_xml_elem *child = gt_xml_child(elem);
	struct gt_import_gpu *gpu = &file->algo->gpus[id];
	int scratch = 0, number = 0;
	int rc = gt_msccl_int(elem, "id", (int)id, (int)id, &number, err);

	if (!rc)
		rc = gt_msccl_int(elem, "s_chunks", 0, GT_IMPORT_MAX_CHUNKS,
				  &scratch, err);
	gpu->nscratch = (uint32_t)scratch;
	gpu->ntbs = gt_msccl_children(elem);
	if (!rc && gpu->ntbs > GT_IMPORT_MAX_BLOCKS)
		rc = gt_xml_fail(elem, NULL, err,
				 "there are too many thread blocks");
	if (rc)
		return rc;
	gpu->tbs =
		gt_arena_array(file->algo->arena, gpu->ntbs, sizeof(*gpu->tbs));
	file->tbs[id] = gt_arena_array(file->algo->arena, gpu->ntbs,
				       sizeof(*file->tbs[id]));
	if (!gpu->tbs || !file->tbs[id])
		return gt_err_nomem(err);
	for (uint32_t i = 0; !rc && i < gpu->ntbs; i++) {
		rc = gt_msccl_int(child, "id", (int)i, (int)i, &number, err);
		if (!rc)
			rc = gt_msccl_read_tb(file->algo, child,
					      &file->tbs[id][i], err);
		child = gt_xml_next(child);
	}
	return rc;
}

static int gt_msccl_expect_algo(const struct gt_xml_elem *root,
				struct gt_err *err)
{
	if (gt_xml_is(root, "system") || gt_xml_is(root, "cluster"))
		return gt_xml_fail(root, NULL, err,
				   "is a %s, not an algorithm of MSCCL or "
				   "MSCCL++; 'gtopo search' plans for it",
				   gt_xml_is(root, "system") ? "topology"
							     : "cluster file");
	if (!gt_xml_is(root, "algo"))
		return gt_xml_fail(root, NULL, err,
				   "'%s' is not an MSCCL algorithm, 'algo'",
				   gt_xml_name(root));
	return GT_OK;
}

static int gt_msccl_head(struct gt_import_file *algo,
			 const struct gt_xml_elem *root, struct gt_err *err)
{
	const char *coll = gt_xml_attr(root, "coll");
	const char *proto = gt_xml_attr(root, "proto");
	int inplace = 0, outofplace = 1, chunks = 0, gpus = 0;
	int rc = gt_msccl_expect_algo(root, err);

	if (rc)
		return rc;
	if (!coll || gt_coll_meant(coll) < 0)
		return gt_xml_fail(root, "coll", err,
				   "coll '%s' is no collective of gtopo",
				   coll ? coll : "");
	algo->coll = (enum gt_coll)gt_coll_meant(coll);
	algo->protocol = proto && !strcmp(proto, "LL") ? GT_PROTOCOL_LL
			 : proto && !strcmp(proto, "LL128")
				 ? GT_PROTOCOL_LL128
				 : GT_PROTOCOL_SIMPLE;
	rc = gt_msccl_int(root, "ngpus", 1, GT_IMPORT_MAX_GPUS, &gpus, err);
	if (!rc)
		rc = gt_msccl_int(root, "nchunksperloop", 1,
				  GT_IMPORT_MAX_CHUNKS, &chunks, err);
	if (!rc)
		rc = gt_xml_int(root, "inplace", &inplace, err);
	/*
	 * Tools of before 2023 write for either in place or out of place, and
	 * do not say so.
	 */
	outofplace = !inplace;
	if (!rc)
		rc = gt_xml_int(root, "outofplace", &outofplace, err);
	algo->ngpus = (uint32_t)gpus;
	algo->nchunks = (uint32_t)chunks;
	algo->inplace = inplace && !outofplace;
	if (!rc && gt_msccl_children(root) != algo->ngpus)
		rc = gt_xml_fail(root, "ngpus", err,
				 "there are '%u' elements for %d GPUs",
				 gt_msccl_children(root), gpus);
	if (!rc && gt_coll_has_blocks(algo->coll) &&
	    algo->nchunks % algo->ngpus)
		rc = gt_xml_fail(root, "nchunksperloop", err,
				 "'%u' chunks are not whole blocks",
				 algo->nchunks);
	return rc;
}

/* Make the link from the thread block that sends what this one receives. */
static int gt_msccl_receive(struct gt_msccl_file *file, uint32_t rank,
			    uint32_t t, struct gt_err *err)
{
	struct gt_msccl_file_tb *tb = &file->tbs[rank][t];
	struct gt_import_link ends = {.to = rank, .to_tb = t};

	if (tb->recv == (int)rank || tb->send == (int)rank)
		return gt_xml_fail(tb->elem, NULL, err,
				   "gpu %u sends to itself", rank);
	if (tb->recv < 0)
		return GT_OK;
	ends.from = (uint32_t)tb->recv;
	for (uint32_t i = 0; i < file->algo->gpus[ends.from].ntbs; i++) {
		struct gt_msccl_file_tb *from = &file->tbs[ends.from][i];
		int rc;

		if (from->send != (int)rank || from->chan != tb->chan)
			continue;
		if (tb->recv_link != GT_MSCCL_NO_LINK)
			return gt_xml_fail(tb->elem, "recv", err,
					   "two thread blocks of gpu %d send "
					   "on channel %d",
					   tb->recv, tb->chan);
		ends.from_tb = i;
		rc = gt_import_link(file->algo, &ends, &tb->recv_link, err);
		if (rc)
			return rc;
		from->send_link = tb->recv_link;
	}
	if (tb->recv_link == GT_MSCCL_NO_LINK)
		return gt_xml_fail(tb->elem, "recv", err,
				   "no thread block of gpu %d sends here on "
				   "channel %d",
				   tb->recv, tb->chan);
	return GT_OK;
}

/* A message that nobody receives is sent all the same; verify tells. */
static int gt_msccl_send(struct gt_msccl_file *file, uint32_t rank, uint32_t t,
			 struct gt_err *err)
{
	struct gt_msccl_file_tb *tb = &file->tbs[rank][t];

	if (tb->send < 0 || tb->send_link != GT_MSCCL_NO_LINK)
		return GT_OK;
	return gt_import_link(
		file->algo,
		&(struct gt_import_link){.from = rank,
					 .from_tb = t,
					 .to = (uint32_t)tb->send,
					 .to_tb = GT_IMPORT_NOBODY},
		&tb->send_link, err);
}

/* Make a step wait for one of another thread block, unless that is implied. */
static int gt_msccl_wait(struct gt_msccl_file *file, uint32_t rank, uint32_t t,
			 uint32_t i, uint32_t *links, int *last,
			 struct gt_err *err)
{
	struct gt_import_gpu *gpu = &file->algo->gpus[rank];
	struct gt_import_step *step = &gpu->tbs[t].steps[i], *other;
	const struct gt_msccl_file_tb *tb = &file->tbs[rank][t];
	struct gt_import_operand flag = {GT_IMPORT_FLAG, 0};
	int from = tb->dep_tb[i], at = tb->dep_step[i], rc = GT_OK;

	if (from < 0 || at < 0)
		return GT_OK;
	if ((uint32_t)from >= gpu->ntbs ||
	    (uint32_t)at >= gpu->tbs[from].nsteps)
		return gt_xml_fail(step->elem, "depid", err,
				   "it waits for a step that is not there");
	if (from == (int)t || at < last[from])
		return GT_OK;
	if (links[from] == GT_MSCCL_NO_LINK)
		rc = gt_import_link(
			file->algo,
			&(struct gt_import_link){.from = rank,
						 .from_tb = (uint32_t)from,
						 .to = rank,
						 .to_tb = t,
						 .flags = 1},
			&links[from], err);
	flag.at = links[from];
	last[from] = at + 1;
	other = &gpu->tbs[from].steps[at];
	if (!rc)
		rc = gt_import_add(file->algo, step, &step->src, flag, err);
	if (!rc)
		rc = gt_import_add(file->algo, other, &other->dst, flag, err);
	return rc;
}

static int gt_msccl_waits(struct gt_msccl_file *file, uint32_t rank, uint32_t t,
			  struct gt_err *err)
{
	struct gt_import_gpu *gpu = &file->algo->gpus[rank];
	uint32_t *links =
		gt_arena_array(file->algo->arena, gpu->ntbs, sizeof(*links));
	int *last = gt_arena_array(file->algo->arena, gpu->ntbs, sizeof(*last));
	int rc = links && last ? GT_OK : gt_err_nomem(err);

	for (uint32_t i = 0; !rc && i < gpu->ntbs; i++)
		links[i] = GT_MSCCL_NO_LINK;
	for (uint32_t i = 0; !rc && i < gpu->tbs[t].nsteps; i++)
		rc = gt_msccl_wait(file, rank, t, i, links, last, err);
	return rc;
}

/* Make one pass over all thread blocks. */
static int gt_msccl_each(struct gt_msccl_file *file,
			 int (*pass)(struct gt_msccl_file *, uint32_t, uint32_t,
				     struct gt_err *),
			 struct gt_err *err)
{
	int rc = GT_OK;

	for (uint32_t r = 0; !rc && r < file->algo->ngpus; r++)
		for (uint32_t t = 0; !rc && t < file->algo->gpus[r].ntbs; t++)
			rc = pass(file, r, t, err);
	return rc;
}

static int gt_msccl_body(struct gt_msccl_file *file, uint32_t rank, uint32_t t,
			 struct gt_err *err)
{
	return gt_msccl_steps(file->algo, &file->tbs[rank][t],
			      &file->algo->gpus[rank].tbs[t], err);
}

int gt_import_msccl(const char *text, size_t len, struct gt_import_file *algo,
		    struct gt_xml **xml, struct gt_err *err)
{
	struct gt_msccl_file file = {.algo = algo};
	const struct gt_xml_elem *root, *elem;
	int rc = gt_xml_parse(algo->name, text, len, xml, err);

	if (rc)
		return rc;
	root = gt_xml_root(*xml);
	rc = gt_msccl_head(algo, root, err);
	if (rc)
		return rc;
	algo->gpus =
		gt_arena_array(algo->arena, algo->ngpus, sizeof(*algo->gpus));
	file.tbs = gt_arena_array(algo->arena, algo->ngpus, sizeof(*file.tbs));
	if (!algo->gpus || !file.tbs)
		return gt_err_nomem(err);
	elem = gt_xml_child(root);
	for (uint32_t i = 0; !rc && i < algo->ngpus; i++) {
		rc = gt_msccl_read_gpu(&file, elem, i, err);
		elem = gt_xml_next(elem);
	}
	if (!rc)
		rc = gt_msccl_root(algo, gt_xml_child(root), err);
	if (!rc)
		rc = gt_msccl_each(&file, gt_msccl_receive, err);
	if (!rc)
		rc = gt_msccl_each(&file, gt_msccl_send, err);
	if (!rc)
		rc = gt_msccl_each(&file, gt_msccl_body, err);
	return rc ? rc : gt_msccl_each(&file, gt_msccl_waits, err);
}
