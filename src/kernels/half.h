/*
 * half and bf16 to float and back, in plain integer arithmetic: the same bits
 * on the host and on a device, round to nearest even.  No branches, so that
 * loops over them vectorise.  Pure functions, usable from C and CUDA.
 */
#ifndef GT_KERNELS_HALF_H
#define GT_KERNELS_HALF_H

#include <stdint.h>
#include <string.h>

#include "plan/program.h"

GT_HD static inline uint32_t gt_float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

GT_HD static inline float gt_float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* The exponent's bias differs by 112; scaling also makes subnormals right. */
GT_HD static inline float gt_half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t rest = (uint32_t)(half & 0x7fff) << 13;
	uint32_t bits = gt_float_bits(gt_float_of(rest) * 0x1p112f);

	bits = rest >= 0x0f800000 ? rest | 0x7f800000 : bits;
	return gt_float_of(sign | bits);
}

GT_HD static inline uint16_t gt_half_from_float(float value)
{
	uint32_t bits = gt_float_bits(value);
	uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
	uint32_t odd = rest >> 13 & 1;
	uint32_t normal = (rest - (112u << 23) + 0xfff + odd) >> 13;
	/* Adding 0.5 leaves the subnormal's bits, rounded, at the bottom. */
	uint32_t tiny =
		gt_float_bits(gt_float_of(rest) + 0.5f) - gt_float_bits(0.5f);
	uint32_t special = rest > 0x7f800000 ? 0x7e00 : 0x7c00;
	uint32_t half;

	half = rest < 0x38800000 ? tiny : normal;
	half = rest >= 0x47800000 ? special : half;
	return (uint16_t)(sign | half);
}

GT_HD static inline float gt_bf16_to_float(uint16_t bf16)
{
	return gt_float_of((uint32_t)bf16 << 16);
}

GT_HD static inline uint16_t gt_bf16_from_float(float value)
{
	uint32_t bits = gt_float_bits(value);
	uint32_t round = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
	uint32_t nan = bits >> 16 | 0x40;

	return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : round);
}

#endif
