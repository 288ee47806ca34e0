/* Names and sizes of element types, from dtype.def. */
#include "base/dtype.h"

#include "base/word.h"

static const struct {
	const char *name;
	size_t bytes;
} gt_dtypes[] = {
#define GT_DTYPE(NAME, name, bytes) {name, bytes},
#include "base/dtype.def"
};

static const char *const gt_redops[] = {
#define GT_REDOP(NAME, name) name,
#include "base/dtype.def"
};

const char *gt_dtype_name(enum gt_dtype dtype)
{
	return gt_dtypes[dtype].name;
}

size_t gt_dtype_bytes(enum gt_dtype dtype)
{
	return gt_dtypes[dtype].bytes;
}

const char *gt_redop_name(enum gt_redop op)
{
	return gt_redops[op];
}

int gt_dtype_find(const char *name)
{
	/* PyTorch and NumPy have these names for them. */
	static const struct {
		const char *name;
		enum gt_dtype dtype;
	} others[] = {
		{"float16", GT_DTYPE_HALF},
		{"bfloat16", GT_DTYPE_BF16},
		{"float32", GT_DTYPE_FLOAT},
		{"float64", GT_DTYPE_DOUBLE},
	};

	for (int i = 0; i < GT_NDTYPES; i++)
		if (gt_word_is(gt_dtypes[i].name, name))
			return i;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (gt_word_is(others[i].name, name))
			return (int)others[i].dtype;
	return -1;
}

int gt_redop_find(const char *name)
{
	for (int i = 0; i < GT_NREDOPS; i++)
		if (gt_word_is(gt_redops[i], name))
			return i;
	return -1;
}
