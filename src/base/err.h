/*
 * Errors of the library: a negative code, what is wrong, and where.
 *
 * Every function that can fail returns 0 or a negative enum gt_code and takes
 * a struct gt_err as its last parameter (NULL: the caller does not want the
 * words).  The first, deepest error wins: setting an error that is already
 * set changes nothing, so outer frames may add context without hiding the
 * cause.  Only the command line prints; library code never does.
 *
 * Not thread safe: one struct gt_err belongs to one thread at a time.
 */
#ifndef GT_BASE_ERR_H
#define GT_BASE_ERR_H

#include <stdarg.h>
#include <stddef.h>

/* The process's exit status is the code's absolute value. */
enum gt_code {
	GT_OK = 0,
	GT_ENO = -1,    /* the answer is no: differs, wrong, has findings */
	GT_EINPUT = -2, /* usage or input at fault */
	GT_ESYS = -3,   /* device, network, time limit, memory, full disk */
};

struct gt_err {
	int code;        /* GT_OK while nothing went wrong */
	char where[512]; /* "file:line:col", a JSON path, or "" */
	char text[1024]; /* lower case, no full stop, subject in 'quotes' */
};

/* Make *err empty; the only thing to do before its first use. */
void gt_err_init(struct gt_err *err);

/*
 * Record a failure and return `code`.  `where` may be NULL.  Long words are
 * cut, never overrun.  Does nothing but return the *first* code when an error
 * is already recorded; returns `code` when err is NULL.
 */
int gt_err_set(struct gt_err *err, int code, const char *where, const char *fmt,
	       ...) __attribute__((format(printf, 4, 5)));

/* Set the error of memory that ran out: GT_ESYS, "out of memory". */
int gt_err_nomem(struct gt_err *err);

/* Both in one line, "where: text", cut at `size` bytes. */
void gt_err_words(const struct gt_err *err, char *words, size_t size);

/* Set `where` if it is still empty (a reader that knows only its file). */
void gt_err_at(struct gt_err *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
