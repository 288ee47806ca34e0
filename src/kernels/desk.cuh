/*
 * What a block does with one piece or letter of a message (exchange.h): all
 * threads together, when it is known that there is room or data.
 */
#ifndef GT_KERNELS_DESK_CUH
#define GT_KERNELS_DESK_CUH

#include "kernels/exchange.h"
#include "kernels/flag.cuh"
#include "kernels/slot.cuh"
#include "kernels/wait.cuh"

/* Who posts: not one of those who look for what to do next. */
static __device__ __forceinline__ bool gt_is_poster(void)
{
	return threadIdx.x == GT_EXCHANGE_THREADS - 1;
}

static __device__ __forceinline__ bool gt_line_is_here(uint4 line,
						       uint32_t flag)
{
	return line.y == flag && line.w == flag;
}

/* 16 bytes, by loads of L and stores of S. */
template <class L, class S> union gt_pack {
	L in[16 / sizeof(L)];
	S out[16 / sizeof(S)];
};

/* Packs in flight per thread. */
template <class L, class S>
constexpr uint32_t GT_PACKS = sizeof(L) + sizeof(S) == 32 ? 8 : 1;

/*
 * One side of a copy is aligned, the user's may lie anywhere.  Past L1: desks
 * were written by other GPUs, and what was cached of them is old.
 */
template <class L, class S>
static __device__ __forceinline__ void gt_copy(char *to, const char *from,
					       uint32_t bytes)
{
	uint32_t full = bytes / 16;

	for (uint32_t i = threadIdx.x; i < full;
	     i += GT_PACKS<L, S> * GT_EXCHANGE_THREADS) {
		gt_pack<L, S> packs[GT_PACKS<L, S>];

#pragma unroll
		for (uint32_t k = 0; k < GT_PACKS<L, S>; k++) {
			uint32_t at = i + k * GT_EXCHANGE_THREADS;

			for (uint32_t p = 0; p < 16 / sizeof(L); p++)
				if (at < full)
					packs[k].in[p] = __ldcg(
						(const L *)(from + at * 16) +
						p);
		}
#pragma unroll
		for (uint32_t k = 0; k < GT_PACKS<L, S>; k++) {
			uint32_t at = i + k * GT_EXCHANGE_THREADS;

			for (uint32_t p = 0; p < 16 / sizeof(S); p++)
				if (at < full)
					((S *)(to + at * 16))[p] =
						packs[k].out[p];
		}
	}
	for (uint32_t i = full * 16 + threadIdx.x; i < bytes;
	     i += GT_EXCHANGE_THREADS)
		to[i] = __ldcg(from + i);
}

/* Stores over the link are whole ones, wherever they begin. */
static __device__ __forceinline__ void gt_piece_out(char *to, const char *from,
						    uint32_t bytes)
{
	uint32_t head = (uint32_t)(-(uintptr_t)to % 16);

	if (head > bytes)
		head = bytes;
	if (threadIdx.x < head)
		to[threadIdx.x] = from[threadIdx.x];
	to += head;
	from += head;
	bytes -= head;
	if ((uintptr_t)from % 16 == 0)
		gt_copy<uint4, uint4>(to, from, bytes);
	else if ((uintptr_t)from % 4 == 0)
		gt_copy<uint32_t, uint4>(to, from, bytes);
	else
		gt_copy<uint8_t, uint4>(to, from, bytes);
}

static __device__ __forceinline__ void gt_piece_in(char *to, const char *slot,
						   uint32_t bytes)
{
	if ((uintptr_t)to % 16 == 0)
		gt_copy<uint4, uint4>(to, slot, bytes);
	else if ((uintptr_t)to % 4 == 0)
		gt_copy<uint4, uint32_t>(to, slot, bytes);
	else
		gt_copy<uint4, uint8_t>(to, slot, bytes);
}

static __device__ __forceinline__ uint32_t gt_letter_lines(uint32_t bytes)
{
	return 1 + (bytes + GT_DESK_LINE_DATA - 1) / GT_DESK_LINE_DATA;
}

/* Up to 8 bytes of a letter; what is not there is 0. */
static __device__ __forceinline__ uint2 gt_words_load(const char *from,
						      uint32_t bytes)
{
	uint2 words = {};

	if (bytes >= 8 && (uintptr_t)from % 8 == 0)
		return *(const uint2 *)from;
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

/* A letter's share of a message. */
struct gt_letter {
	char *data;
	uint32_t bytes;
	uint32_t flag;
};

static __device__ __forceinline__ void gt_letter_out(
	char *slot, const struct gt_kernel_message *m, struct gt_letter letter)
{
	uint32_t bytes = letter.bytes, lines = gt_letter_lines(bytes);
	uint2 words;

	for (uint32_t l = threadIdx.x; l < lines; l += GT_EXCHANGE_THREADS) {
		uint32_t at = (l - 1) * GT_DESK_LINE_DATA;

		words = l ? gt_words_load(letter.data + at, bytes - at)
			  : make_uint2((uint32_t)m->bytes, m->dtype);
		gt_slot_store(
			slot + l * GT_DESK_LINE_BYTES,
			make_uint4(words.x, letter.flag, words.y, letter.flag));
	}
}

/* The peer sends something else than this rank receives. */
static __device__ __noinline__ bool gt_desk_mistaken(
	const struct gt_kernel_guard *guard, const struct gt_kernel_message *m,
	uint64_t what)
{
	volatile struct gt_kernel_report *report = &guard->reports[blockIdx.x];

	report->peer = m->peer;
	report->channel = 0;
	report->step = GT_EXCHANGE_RECEIVES;
	report->slice = what >> 8;
	report->state = GT_KERNEL_MISMATCH;
	__threadfence_system();
	gt_watch_abort(guard->watch);
	return false;
}

/* Lines come while this waits.  False: the operation was given up. */
static __device__ __forceinline__ bool gt_letter_in(
	const struct gt_kernel_guard *guard, const char *slot,
	const struct gt_kernel_message *m, struct gt_letter letter)
{
	uint32_t bytes = letter.bytes, lines = gt_letter_lines(bytes);
	uint32_t flag = letter.flag;
	struct gt_wait wait = {};

	for (uint32_t l = threadIdx.x; l - threadIdx.x % 32 < lines;
	     l += GT_EXCHANGE_THREADS) {
		uint32_t at = (l - 1) * GT_DESK_LINE_DATA;
		uint4 line = {};

		do {
			if (l < lines && !gt_line_is_here(line, flag))
				line = gt_slot_load(slot +
						    l * GT_DESK_LINE_BYTES);
			if (__all_sync(~0u, l >= lines || gt_line_is_here(
								  line, flag)))
				break;
			if (!gt_warp_goes_on(guard, &wait, m->peer,
					     GT_EXCHANGE_RECEIVES))
				return false;
		} while (true);
		if (!l && (line.x != m->bytes || line.z != m->dtype))
			return gt_desk_mistaken(guard, m,
						(uint64_t)line.x << 8);
		if (l && l < lines)
			gt_words_store(letter.data + at, bytes - at,
				       make_uint2(line.x, line.z));
	}
	if (!(threadIdx.x % 32))
		gt_wait_ends(guard, &wait);
	return true;
}

#endif
