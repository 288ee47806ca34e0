/*
 * Two processes prove to each other that they know the same secret before
 * either believes a word: a challenge and a response by HMAC-SHA256 (RFC 2104)
 * over both sides' nonces, so nothing that was overheard is of use later.
 *
 *   server  greeting: magic, its nonce
 *   client  answer: who it says it is, its nonce, a MAC over all of that
 *   server  proof: a MAC of its own, under another label
 *
 * All three have a fixed size and are compared, never parsed.  What comes
 * after is not encrypted: the secret keeps strangers out, not listeners.
 */
#ifndef GT_WORLD_AUTH_H
#define GT_WORLD_AUTH_H

#include <stddef.h>
#include <stdint.h>

struct gt_err;

enum {
	GT_AUTH_NONCE_BYTES = 32,
	GT_AUTH_MAC_BYTES = 32,
	GT_SECRET_LEAST_BYTES = 16,
	GT_SECRET_MOST_BYTES = 4096,
};

/* A secret is owned by whoever made it, and wiped by gt_secret_wipe(). */
struct gt_secret {
	unsigned char bytes[GT_SECRET_MOST_BYTES];
	size_t len;
};

struct gt_auth_greeting {
	char magic[16];
	unsigned char nonce[GT_AUTH_NONCE_BYTES];
};

/* A client's answer.  Numbers are in network order. */
struct gt_auth_answer {
	uint32_t kind; /* what the connection is for */
	uint32_t rank, size;
	uint32_t index; /* which one of several of its kind */
	unsigned char nonce[GT_AUTH_NONCE_BYTES];
	unsigned char mac[GT_AUTH_MAC_BYTES];
};

struct gt_auth_proof {
	unsigned char mac[GT_AUTH_MAC_BYTES];
};

/* Make a secret that nobody can guess. */
int gt_secret_make(struct gt_secret *secret, struct gt_err *err);

/*
 * Take a secret from text, or read it from a file; GT_EINPUT when it is too
 * short.
 */
int gt_secret_set(struct gt_secret *secret, const char *text,
		  struct gt_err *err);
int gt_secret_read(struct gt_secret *secret, const char *path,
		   struct gt_err *err);
void gt_secret_wipe(struct gt_secret *secret);

/*
 * Make another secret of one that both sides know and of bytes that anybody may
 * hear, which say which one it is.
 */
int gt_secret_derive(const struct gt_secret *from, const void *bytes,
		     size_t len, struct gt_secret *secret, struct gt_err *err);

/*
 * Make a greeting with a fresh nonce; 0 when the system has no random numbers.
 */
int gt_auth_greet(struct gt_auth_greeting *greeting);

/* Fill in nonce and MAC of an answer whose other fields are set. */
int gt_auth_answer(const struct gt_secret *secret,
		   const struct gt_auth_greeting *greeting,
		   struct gt_auth_answer *answer);

/*
 * All three are 1 when the other side knows the secret; they compare in
 * constant time.
 */
int gt_auth_check_greeting(const struct gt_auth_greeting *greeting);
int gt_auth_check_answer(const struct gt_secret *secret,
			 const struct gt_auth_greeting *greeting,
			 const struct gt_auth_answer *answer);
int gt_auth_check_proof(const struct gt_secret *secret,
			const struct gt_auth_greeting *greeting,
			const struct gt_auth_answer *answer,
			const struct gt_auth_proof *proof);

int gt_auth_prove(const struct gt_secret *secret,
		  const struct gt_auth_greeting *greeting,
		  const struct gt_auth_answer *answer,
		  struct gt_auth_proof *proof);

#endif
