/*
 * half, bf16 and fp8 to float and back, in plain integer arithmetic: the same
 * bits on the host and on a device, round to nearest even.  No branches, so
 * that loops over them vectorise.  Pure functions, usable from C and CUDA.
 */
#ifndef GT_KERNELS_HALF_H
#define GT_KERNELS_HALF_H

#include <stdint.h>
#include <string.h>

#include "plan/ir/program.h"

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

/*
 * The 8-bit types of the Open Compute Project.  e4m3 has no infinities and one
 * NaN of each sign; e5m2 is the upper half of a half.
 */
GT_HD static inline float gt_e4m3_to_float(uint8_t e4m3)
{
	uint32_t sign = (uint32_t)(e4m3 & 0x80) << 24;
	uint32_t rest = (uint32_t)(e4m3 & 0x7f) << 20;
	uint32_t bits = gt_float_bits(gt_float_of(rest) * 0x1p120f);

	bits = rest == 0x07f00000 ? 0x7fc00000 : bits;
	return gt_float_of(sign | bits);
}

GT_HD static inline float gt_e5m2_to_float(uint8_t e5m2)
{
	return gt_half_to_float((uint16_t)(e5m2 << 8));
}

/*
 * To a type that lacks `cut` bits of a float's fraction and whose exponent's
 * bias differs by `bias`.  As by CUDA's conversion with __NV_SATFINITE, what
 * is larger than `most` becomes that, infinities too; every NaN is 0x7f.
 */
GT_HD static inline uint8_t gt_fp8_from_float(float value, uint32_t cut,
					      uint32_t bias, uint32_t most)
{
	uint32_t bits = gt_float_bits(value);
	uint32_t sign = bits >> 24 & 0x80, rest = bits & 0x7fffffff;
	uint32_t odd = rest >> cut & 1, half = (1u << (cut - 1)) - 1;
	uint32_t normal = (rest - (bias << 23) + half + odd) >> cut;
	/*
	 * Adding it rounds as 0.5 does above, since its last bit is the type's
	 * last one.
	 */
	uint32_t unit = (bias + 1 + cut) << 23;
	uint32_t tiny =
		gt_float_bits(gt_float_of(rest) + gt_float_of(unit)) - unit;
	uint32_t fp8 = rest < (bias + 1) << 23 ? tiny : normal;

	fp8 = fp8 > most ? most : fp8;
	return (uint8_t)(rest > 0x7f800000 ? 0x7f : sign | fp8);
}

GT_HD static inline uint8_t gt_e4m3_from_float(float value)
{
	return gt_fp8_from_float(value, 20, 120, 0x7e);
}

GT_HD static inline uint8_t gt_e5m2_from_float(float value)
{
	return gt_fp8_from_float(value, 21, 112, 0x7b);
}

#endif
