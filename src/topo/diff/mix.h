/*
 * Two 64-bit numbers as one: a hash, not a cryptographic one, by the finalizer
 * of splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
 * generators", 2014).
 */
#ifndef GT_TOPO_DIFF_MIX_H
#define GT_TOPO_DIFF_MIX_H

#include <stdint.h>

static inline uint64_t gt_hash_mix(uint64_t a, uint64_t b)
{
	uint64_t z = a * 0x9e3779b97f4a7c15 + b + 0x632be59bd9b4e019;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

#endif
