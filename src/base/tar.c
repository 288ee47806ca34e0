/* Writes archives: a header of 512 bytes a file, then it, filled up to 512. */
#include "base/tar.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

enum { GT_TAR_BLOCK = 512 };

/* The fields of a header as POSIX lists them; numbers are octal text. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12];
	char checksum[8], type, link[100], magic[6], version[2];
	char user[32], group[32], major[8], minor[8], prefix[155], pad[12];
};

_Static_assert(sizeof(struct header) == GT_TAR_BLOCK, "a header is a block");

static void put_octal(char *field, int digits, uint64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%0*" PRIo64, digits, value);
	memcpy(field, text, (size_t)digits);
}

/* The sum of the header's bytes counts its own field as blanks. */
static void put_checksum(struct header *header)
{
	const unsigned char *bytes = (const unsigned char *)header;
	unsigned sum = 0;

	memset(header->checksum, ' ', sizeof(header->checksum));
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += bytes[i];
	put_octal(header->checksum, 6, sum);
	header->checksum[6] = '\0';
}

void gt_tar_add(struct gt_buf *out, const char *name,
		const struct gt_buf *content, int64_t mtime)
{
	static const char zeros[GT_TAR_BLOCK];
	struct header header = {.type = '0'};
	size_t beyond = content->len % GT_TAR_BLOCK;

	snprintf(header.name, sizeof(header.name), "%s", name);
	put_octal(header.mode, 7, 0644);
	put_octal(header.uid, 7, 0);
	put_octal(header.gid, 7, 0);
	put_octal(header.size, 11, content->len);
	put_octal(header.mtime, 11, mtime > 0 ? (uint64_t)mtime : 0);
	memcpy(header.magic, "ustar", sizeof(header.magic));
	memcpy(header.version, "00", sizeof(header.version));
	put_checksum(&header);
	gt_buf_add(out, &header, sizeof(header));
	if (content->len)
		gt_buf_add(out, content->text, content->len);
	if (beyond)
		gt_buf_add(out, zeros, GT_TAR_BLOCK - beyond);
	out->failed |= content->failed;
}

void gt_tar_end(struct gt_buf *out)
{
	static const char zeros[2 * GT_TAR_BLOCK];

	gt_buf_add(out, zeros, sizeof(zeros));
}
