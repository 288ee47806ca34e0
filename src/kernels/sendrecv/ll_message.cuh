/*
 * All threads of a block together send or receive one LL slot of a message.
 * The two kinds of lines, LL and LL128, differ in how large a store must be
 * atomic.
 */
#ifndef GT_KERNELS_SENDRECV_LL_MESSAGE_CUH
#define GT_KERNELS_SENDRECV_LL_MESSAGE_CUH

#include "kernels/sendrecv/pair_buffer.cuh"

/* Loads up to 8 bytes of the data; missing ones are 0. */
static __device__ __forceinline__ uint2 gt_words_load(const char *from,
						      uint32_t bytes)
{
	uint2 words = {};

	if (!bytes)
		return words;
	if (bytes >= 8 && (uintptr_t)from % 8 == 0)
		return __ldcg((const uint2 *)from);
	for (uint32_t i = 0; i < 8; i++) {
		uint32_t byte = i < bytes ? (uint8_t)from[i] : 0;

		(i < 4 ? words.x : words.y) |= byte << i % 4 * 8;
	}
	return words;
}

static __device__ __forceinline__ void gt_words_store(char *to, uint32_t bytes,
						      uint2 words)
{
	if (bytes >= 8 && (uintptr_t)to % 8 == 0) {
		*(uint2 *)to = words;
		return;
	}
	for (uint32_t i = 0; i < 8; i++)
		if (i < bytes)
			to[i] = (char)((i < 4 ? words.x : words.y) >>
				       i % 4 * 8);
}

/* The share of a message that goes through one LL slot. */
struct gt_ll_msg {
	char *data;
	uint32_t bytes;
	uint32_t flag;
};

/*
 * Returns the data from byte `at` on, and how much of it is left. The first
 * line, or the first eight, tell the message's bytes.
 */
struct gt_ll_line_at {
	char *data;
	uint32_t left;
};

static __device__ __forceinline__ struct gt_ll_line_at gt_ll_line_find(
	struct gt_ll_msg message, uint32_t at)
{
	return {message.data + at, at < message.bytes ? message.bytes - at : 0};
}

/*
 * An LL line has 8 bytes of data and a flag behind every 4; it needs stores of
 * 8 bytes to be atomic.
 */
struct gt_ll_line {
	static __device__ __forceinline__ uint32_t lines(uint32_t bytes)
	{
		return 1 + (bytes + GT_MSG_LINE_DATA - 1) / GT_MSG_LINE_DATA;
	}

	static __device__ __forceinline__ bool tells(uint32_t l)
	{
		return !l;
	}

	static __device__ __forceinline__ uint32_t at(uint32_t l)
	{
		return (l - 1) * GT_MSG_LINE_DATA;
	}

	static __device__ __forceinline__ uint4 get(struct gt_ll_line_at at,
						    uint32_t l, uint32_t flag)
	{
		uint2 words = gt_words_load(at.data, at.left);

		return make_uint4(words.x, flag, words.y, flag);
	}

	static __device__ __forceinline__ void put(struct gt_ll_line_at at,
						   uint32_t l, uint4 line)
	{
		gt_words_store(at.data, at.left, make_uint2(line.x, line.z));
	}

	static __device__ __forceinline__ bool here(uint4 line, uint32_t l,
						    uint32_t flag)
	{
		return gt_ll_line_is_here(line, flag);
	}

	static __device__ __forceinline__ uint4 head(uint32_t bytes,
						     uint32_t dtype, uint32_t l,
						     uint32_t flag)
	{
		return make_uint4(bytes, flag, dtype, flag);
	}
};

/*
 * An LL128 line has 16 bytes of data, or, every eighth, 8 and a flag; it needs
 * stores of 128 bytes to be atomic.
 */
struct gt_ll128_line {
	static __device__ __forceinline__ uint32_t lines(uint32_t bytes)
	{
		return GT_MSG_LL128_LINES * (1 + (bytes + GT_MSG_LL128_DATA -
						  1) / GT_MSG_LL128_DATA);
	}

	static __device__ __forceinline__ bool tells(uint32_t l)
	{
		return l < GT_MSG_LL128_LINES;
	}

	static __device__ __forceinline__ uint32_t at(uint32_t l)
	{
		return (l / GT_MSG_LL128_LINES - 1) * GT_MSG_LL128_DATA +
		       l % GT_MSG_LL128_LINES * GT_MSG_LINE_BYTES;
	}

	static __device__ __forceinline__ bool flags(uint32_t l)
	{
		return l % GT_MSG_LL128_LINES == GT_MSG_LL128_LINES - 1;
	}

	static __device__ __forceinline__ uint4 get(struct gt_ll_line_at at,
						    uint32_t l, uint32_t flag)
	{
		uint2 a = gt_words_load(at.data, at.left), b = {flag, flag};

		if (!flags(l))
			b = gt_words_load(at.data + 8,
					  at.left < 8 ? 0 : at.left - 8);
		return make_uint4(a.x, a.y, b.x, b.y);
	}

	static __device__ __forceinline__ void put(struct gt_ll_line_at at,
						   uint32_t l, uint4 line)
	{
		gt_words_store(at.data, at.left, make_uint2(line.x, line.y));
		if (!flags(l))
			gt_words_store(at.data + 8,
				       at.left < 8 ? 0 : at.left - 8,
				       make_uint2(line.z, line.w));
	}

	/* The eight lanes of eight lines check the flag together. */
	static __device__ __forceinline__ bool here(uint4 line, uint32_t l,
						    uint32_t flag)
	{
		return !flags(l) || (line.z == flag && line.w == flag);
	}

	static __device__ __forceinline__ uint4 head(uint32_t bytes,
						     uint32_t dtype, uint32_t l,
						     uint32_t flag)
	{
		return flags(l) ? make_uint4(0, 0, flag, flag)
				: make_uint4(bytes, 0, dtype, 0);
	}
};

/* Returns whether the first line has arrived. */
static __device__ __forceinline__ bool gt_ll_msg_begins(const char *slot,
							uint32_t kind,
							uint32_t flag)
{
	uint32_t l = kind & GT_MSG_LL128_OK ? GT_MSG_LL128_LINES - 1 : 0;
	uint4 line = gt_slot_load(slot + l * GT_MSG_LINE_BYTES);

	return kind & GT_MSG_LL128_OK ? gt_ll128_line::here(line, l, flag)
				      : gt_ll_line::here(line, l, flag);
}

template <class L>
static __device__ __forceinline__ void gt_ll_msg_send(
	char *slot, const struct gt_kernel_message *m, struct gt_ll_msg message)
{
	uint32_t lines = L::lines(message.bytes);

#pragma unroll 2
	for (uint32_t l = threadIdx.x; l < lines; l += GT_SENDRECV_THREADS)
		gt_slot_store(
			slot + l * GT_MSG_LINE_BYTES,
			L::tells(l) ? L::head((uint32_t)m->bytes, m->dtype, l,
					      message.flag)
				    : L::get(gt_ll_line_find(message, L::at(l)),
					     l, message.flag));
}

/*
 * Receives the lines as they come; returns false if the operation was aborted.
 */
template <class L>
static __device__ __forceinline__ bool gt_ll_msg_receive(
	const struct gt_kernel_guard *guard, const char *slot,
	const struct gt_kernel_message *m, struct gt_ll_msg message)
{
	uint32_t lines = L::lines(message.bytes), flag = message.flag;
	struct gt_wait wait = {};

	for (uint32_t l = threadIdx.x; l - threadIdx.x % 32 < lines;
	     l += GT_SENDRECV_THREADS) {
		uint4 line = {};

		do {
			if (l < lines)
				line = gt_slot_load(slot +
						    l * GT_MSG_LINE_BYTES);
			if (__all_sync(~0u,
				       l >= lines || L::here(line, l, flag)))
				break;
			if (!gt_warp_goes_on(guard, &wait, m->peer,
					     GT_SENDRECV_RECEIVES))
				return false;
		} while (true);
		if (!l && (line.x != m->bytes || line.z != m->dtype))
			return gt_msg_mismatched(guard, m,
						 (uint64_t)line.x << 8);
		if (l < lines && !L::tells(l))
			L::put(gt_ll_line_find(message, L::at(l)), l, line);
	}
	if (!(threadIdx.x % 32))
		gt_wait_ends(guard, &wait);
	return true;
}

#endif
