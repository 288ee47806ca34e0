/* SHA-256 by libcrypto, written as text. */
#include "base/digest.h"

#include <stdio.h>

/*
 * The functions of SHA-256 itself, deprecated as they are: EVP sets up all of
 * the library and reads its configuration first, which takes longer than the
 * search of a small machine.
 */
#define OPENSSL_API_COMPAT 10101
#include <openssl/sha.h>

int gt_digest_text(const void *bytes, size_t len, char text[GT_DIGEST_TEXT_MAX])
{
	unsigned char sum[SHA256_DIGEST_LENGTH];
	SHA256_CTX context;
	int at;

	if (!SHA256_Init(&context) || !SHA256_Update(&context, bytes, len) ||
	    !SHA256_Final(sum, &context))
		return 0;
	at = snprintf(text, GT_DIGEST_TEXT_MAX, "sha256:");
	for (size_t i = 0; i < sizeof(sum); i++)
		at += snprintf(text + at, GT_DIGEST_TEXT_MAX - (size_t)at,
			       "%02x", sum[i]);
	return 1;
}
