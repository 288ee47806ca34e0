/*
 * The challenge and the response (world/auth.h), and where secrets come from.
 */
#include "world/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/err.h"

/* Another wire format needs another magic. */
static const char gt_auth_magic[16] = "gtopo-world/1\n";

static int gt_auth_random(unsigned char *bytes, size_t len)
{
	ssize_t got;

	for (size_t at = 0; at < len; at += (size_t)got) {
		got = getrandom(bytes + at, len - at, 0);
		if (got <= 0)
			return 0;
	}
	return 1;
}

/* Write so many raw bytes, which are wiped, in digits. */
enum { GT_SECRET_RAW_BYTES = 32 };

static void gt_secret_write(unsigned char raw[GT_SECRET_RAW_BYTES],
			    struct gt_secret *secret)
{
	static const char digits[] = "0123456789abcdef";

	secret->len = 2 * GT_SECRET_RAW_BYTES;
	for (size_t i = 0; i < GT_SECRET_RAW_BYTES; i++) {
		secret->bytes[2 * i] = (unsigned char)digits[raw[i] >> 4];
		secret->bytes[2 * i + 1] = (unsigned char)digits[raw[i] & 15];
	}
	OPENSSL_cleanse(raw, GT_SECRET_RAW_BYTES);
}

int gt_secret_make(struct gt_secret *secret, struct gt_err *err)
{
	unsigned char raw[GT_SECRET_RAW_BYTES];

	if (!gt_auth_random(raw, sizeof(raw)))
		return gt_err_set(err, GT_ESYS, NULL,
				  "the system has no random numbers");
	gt_secret_write(raw, secret);
	return GT_OK;
}

/* No greeting and answer is so short, so this is no MAC of theirs. */
int gt_secret_derive(const struct gt_secret *from, const void *bytes,
		     size_t len, struct gt_secret *secret, struct gt_err *err)
{
	unsigned char raw[GT_SECRET_RAW_BYTES];
	unsigned int made = 0;

	if (!HMAC(EVP_sha256(), from->bytes, (int)from->len, bytes, len, raw,
		  &made) ||
	    made != sizeof(raw))
		return gt_err_set(err, GT_ESYS, NULL, "cannot make a secret");
	gt_secret_write(raw, secret);
	return GT_OK;
}

int gt_secret_set(struct gt_secret *secret, const char *text,
		  struct gt_err *err)
{
	size_t len = strlen(text);

	while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	if (len < GT_SECRET_LEAST_BYTES || len > GT_SECRET_MOST_BYTES)
		return gt_err_set(err, GT_EINPUT, NULL,
				  "the secret has %zu characters; use %d to %d",
				  len, GT_SECRET_LEAST_BYTES,
				  GT_SECRET_MOST_BYTES);
	memcpy(secret->bytes, text, len);
	secret->len = len;
	return GT_OK;
}

/* Read without stdio, whose buffers keep what went through them. */
static int gt_secret_load(int fd, char *text, size_t most, struct gt_err *err)
{
	struct stat status;
	size_t len = 0;
	ssize_t got;

	if (fstat(fd, &status))
		return gt_err_set(err, GT_ESYS, NULL, "cannot read: %s",
				  strerror(errno));
	if (S_ISREG(status.st_mode) && status.st_mode & (S_IROTH | S_IWOTH))
		return gt_err_set(err, GT_EINPUT, NULL,
				  "everybody on this host can read the secret; "
				  "try 'chmod 600'");
	while (len < most) {
		got = read(fd, text + len, most - len);
		if (!got)
			break;
		if (got < 0 && errno != EINTR)
			return gt_err_set(
				err, errno == EISDIR ? GT_EINPUT : GT_ESYS,
				NULL, "cannot read: %s", strerror(errno));
		len += got > 0 ? (size_t)got : 0;
	}
	text[len] = '\0';
	return GT_OK;
}

int gt_secret_read(struct gt_secret *secret, const char *path,
		   struct gt_err *err)
{
	char text[GT_SECRET_MOST_BYTES + 4];
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return gt_err_set(err, GT_EINPUT, path, "cannot open: %s",
				  strerror(errno));
	rc = gt_secret_load(fd, text, sizeof(text) - 1, err);
	close(fd);
	if (!rc)
		rc = gt_secret_set(secret, text, err);
	if (rc)
		gt_err_at(err, "%s", path);
	OPENSSL_cleanse(text, sizeof(text));
	return rc;
}

void gt_secret_wipe(struct gt_secret *secret)
{
	OPENSSL_cleanse(secret, sizeof(*secret));
}

/* The label keeps one side's MAC from passing as the other's. */
static int gt_auth_mac(const struct gt_secret *secret, const char *label,
		       const struct gt_auth_greeting *greeting,
		       const struct gt_auth_answer *answer,
		       unsigned char mac[GT_AUTH_MAC_BYTES])
{
	unsigned char text[8 + sizeof(*greeting) +
			   offsetof(struct gt_auth_answer, mac)];
	unsigned int len = 0;

	memset(text, 0, 8);
	memcpy(text, label, strlen(label));
	memcpy(text + 8, greeting, sizeof(*greeting));
	memcpy(text + 8 + sizeof(*greeting), answer,
	       offsetof(struct gt_auth_answer, mac));
	return HMAC(EVP_sha256(), secret->bytes, (int)secret->len, text,
		    sizeof(text), mac, &len) &&
	       len == GT_AUTH_MAC_BYTES;
}

int gt_auth_greet(struct gt_auth_greeting *greeting)
{
	memcpy(greeting->magic, gt_auth_magic, sizeof(gt_auth_magic));
	return gt_auth_random(greeting->nonce, sizeof(greeting->nonce));
}

int gt_auth_answer(const struct gt_secret *secret,
		   const struct gt_auth_greeting *greeting,
		   struct gt_auth_answer *answer)
{
	return gt_auth_random(answer->nonce, sizeof(answer->nonce)) &&
	       gt_auth_mac(secret, "client", greeting, answer, answer->mac);
}

int gt_auth_check_greeting(const struct gt_auth_greeting *greeting)
{
	return !memcmp(greeting->magic, gt_auth_magic, sizeof(gt_auth_magic));
}

int gt_auth_check_answer(const struct gt_secret *secret,
			 const struct gt_auth_greeting *greeting,
			 const struct gt_auth_answer *answer)
{
	unsigned char mac[GT_AUTH_MAC_BYTES];

	return gt_auth_mac(secret, "client", greeting, answer, mac) &&
	       !CRYPTO_memcmp(mac, answer->mac, sizeof(mac));
}

int gt_auth_prove(const struct gt_secret *secret,
		  const struct gt_auth_greeting *greeting,
		  const struct gt_auth_answer *answer,
		  struct gt_auth_proof *proof)
{
	return gt_auth_mac(secret, "server", greeting, answer, proof->mac);
}

int gt_auth_check_proof(const struct gt_secret *secret,
			const struct gt_auth_greeting *greeting,
			const struct gt_auth_answer *answer,
			const struct gt_auth_proof *proof)
{
	unsigned char mac[GT_AUTH_MAC_BYTES];

	return gt_auth_mac(secret, "server", greeting, answer, mac) &&
	       !CRYPTO_memcmp(mac, proof->mac, sizeof(mac));
}
