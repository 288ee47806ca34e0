#include "base/digest.h"

#include <stdio.h>

#include <openssl/evp.h>

int gt_digest_text(const void *bytes, size_t len, char text[GT_DIGEST_TEXT_MAX])
{
	unsigned char sum[EVP_MAX_MD_SIZE];
	unsigned int n = 0;
	int at;

	if (!EVP_Digest(bytes, len, sum, &n, EVP_sha256(), NULL))
		return 0;
	at = snprintf(text, GT_DIGEST_TEXT_MAX, "sha256:");
	for (unsigned int i = 0; i < n; i++)
		at += snprintf(text + at, GT_DIGEST_TEXT_MAX - (size_t)at,
			       "%02x", sum[i]);
	return 1;
}
