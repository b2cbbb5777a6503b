/*===- Hash.c - XXH3 with 64 bits -----------------------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The hash that ties a manifest to its PTX: XXH3-64 with seed 0 and the default
 * secret, as the xxHash specification (version 0.8) defines it and LLVM's
 * xxh3_64bits computes it.
 *===----------------------------------------------------------------------===*/

#include "fa3/Runtime/fa3_runtime.h"

#include <string.h>

#define PRIME32_1 UINT64_C(0x9E3779B1)
#define PRIME32_2 UINT64_C(0x85EBCA77)
#define PRIME32_3 UINT64_C(0xC2B2AE3D)
#define PRIME64_1 UINT64_C(0x9E3779B185EBCA87)
#define PRIME64_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define PRIME64_3 UINT64_C(0x165667B19E3779F9)
#define PRIME64_4 UINT64_C(0x85EBCA77C2B2AE63)
#define PRIME64_5 UINT64_C(0x27D4EB2F165667C5)
#define PRIME_MX1 UINT64_C(0x165667919E3779F9)
#define PRIME_MX2 UINT64_C(0x9FB21C651E98DF25)

enum {
  SECRET_SIZE = 192,
  STRIPE = 64,     /* bytes consumed by one accumulation */
  LANES = 8,       /* 64-bit accumulators */
  SECRET_STEP = 8, /* secret bytes between stripes */
  STRIPES = (SECRET_SIZE - STRIPE) / SECRET_STEP, /* stripes of a block */
  BLOCK = STRIPES * STRIPE
};

/* The default secret of the specification. */
static const uint8_t secret[SECRET_SIZE] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c,
    0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb,
    0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e,
    0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6,
    0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb,
    0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3, 0x71, 0x64, 0x48, 0x97,
    0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7,
    0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31,
    0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64, 0xea, 0xc5, 0xac, 0x83,
    0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26,
    0x29, 0xd4, 0x68, 0x9e, 0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc,
    0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};

static uint64_t load32(const uint8_t *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 |
         (uint64_t)p[3] << 24;
}

static uint64_t load64(const uint8_t *p) {
  return load32(p) | load32(p + 4) << 32;
}

static uint64_t rotate_left(uint64_t x, int bits) {
  return x << bits | x >> (64 - bits);
}

static uint64_t swap_bytes(uint64_t x) {
  uint64_t result = 0;
  for (int i = 0; i < 8; ++i, x >>= 8)
    result = result << 8 | (x & 0xFF);
  return result;
}

/* Both halves of the 128-bit product, folded. */
static uint64_t multiply_fold(uint64_t a, uint64_t b) {
  uint64_t a0 = a & UINT32_MAX, a1 = a >> 32;
  uint64_t b0 = b & UINT32_MAX, b1 = b >> 32;
  uint64_t low = a0 * b0;
  /* Neither sum can overflow: (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1. */
  uint64_t middle = a1 * b0 + (low >> 32);
  uint64_t cross = a0 * b1 + (middle & UINT32_MAX);
  uint64_t high = a1 * b1 + (middle >> 32) + (cross >> 32);
  return high ^ (cross << 32 | (low & UINT32_MAX));
}

/* Final mix of XXH64; finishes inputs of up to 3 bytes. */
static uint64_t avalanche_short(uint64_t h) {
  h = (h ^ h >> 33) * PRIME64_2;
  h = (h ^ h >> 29) * PRIME64_3;
  return h ^ h >> 32;
}

static uint64_t avalanche(uint64_t h) {
  h = (h ^ h >> 37) * PRIME_MX1;
  return h ^ h >> 32;
}

static uint64_t mix16(const uint8_t *p, const uint8_t *key) {
  return multiply_fold(load64(p) ^ load64(key),
                       load64(p + 8) ^ load64(key + 8));
}

static uint64_t hash_to_16(const uint8_t *p, size_t size) {
  if (size == 0)
    return avalanche_short(load64(secret + 56) ^ load64(secret + 64));
  if (size <= 3) {
    uint64_t combined = (uint64_t)p[0] << 16 | (uint64_t)p[size / 2] << 24 |
                        p[size - 1] | (uint64_t)size << 8;
    return avalanche_short(combined ^ load32(secret) ^ load32(secret + 4));
  }
  if (size <= 8) {
    uint64_t both = load32(p + size - 4) | load32(p) << 32;
    uint64_t h = both ^ load64(secret + 8) ^ load64(secret + 16);
    h ^= rotate_left(h, 49) ^ rotate_left(h, 24);
    h *= PRIME_MX2;
    h ^= (h >> 35) + size;
    h *= PRIME_MX2;
    return h ^ h >> 28;
  }
  uint64_t low = load64(p) ^ load64(secret + 24) ^ load64(secret + 32);
  uint64_t high =
      load64(p + size - 8) ^ load64(secret + 40) ^ load64(secret + 48);
  return avalanche(size + swap_bytes(low) + high + multiply_fold(low, high));
}

/* 17 to 128 bytes: pairs of 16-byte pieces from both ends inwards. */
static uint64_t hash_to_128(const uint8_t *p, size_t size) {
  uint64_t h = size * PRIME64_1;
  for (size_t i = (size - 1) / 32 + 1; i-- > 0;) {
    h += mix16(p + 16 * i, secret + 32 * i);
    h += mix16(p + size - 16 * (i + 1), secret + 32 * i + 16);
  }
  return avalanche(h);
}

/* 129 to 240 bytes: the ninth and later pieces reuse the secret at an offset.
 */
static uint64_t hash_to_240(const uint8_t *p, size_t size) {
  uint64_t h = size * PRIME64_1;
  for (size_t i = 0; i < 8; ++i)
    h += mix16(p + 16 * i, secret + 16 * i);
  h = avalanche(h);
  for (size_t i = 8; i < size / 16; ++i)
    h += mix16(p + 16 * i, secret + 16 * (i - 8) + 3);
  h += mix16(p + size - 16, secret + 136 - 17);
  return avalanche(h);
}

static void accumulate(uint64_t *lanes, const uint8_t *p, const uint8_t *key) {
  for (int i = 0; i < LANES; ++i) {
    uint64_t value = load64(p + 8 * i), keyed = value ^ load64(key + 8 * i);
    lanes[i ^ 1] += value;
    lanes[i] += (keyed & UINT32_MAX) * (keyed >> 32);
  }
}

static void scramble(uint64_t *lanes) {
  const uint8_t *key = secret + SECRET_SIZE - STRIPE;
  for (int i = 0; i < LANES; ++i)
    lanes[i] = (lanes[i] ^ lanes[i] >> 47 ^ load64(key + 8 * i)) * PRIME32_1;
}

static uint64_t hash_long(const uint8_t *p, size_t size) {
  uint64_t lanes[LANES] = {PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3,
                           PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1};
  /* The last stripe is always the last 64 bytes; what precedes it in whole
   * stripes runs block by block. */
  size_t blocks = (size - 1) / BLOCK;
  for (size_t b = 0; b < blocks; ++b) {
    for (size_t s = 0; s < STRIPES; ++s)
      accumulate(lanes, p + b * BLOCK + s * STRIPE, secret + SECRET_STEP * s);
    scramble(lanes);
  }
  size_t rest = (size - 1 - blocks * BLOCK) / STRIPE;
  for (size_t s = 0; s < rest; ++s)
    accumulate(lanes, p + blocks * BLOCK + s * STRIPE,
               secret + SECRET_STEP * s);
  accumulate(lanes, p + size - STRIPE, secret + SECRET_SIZE - STRIPE - 7);

  uint64_t h = size * PRIME64_1;
  for (int i = 0; i < LANES; i += 2) {
    const uint8_t *key = secret + 11 + 8 * i;
    h += multiply_fold(lanes[i] ^ load64(key), lanes[i + 1] ^ load64(key + 8));
  }
  return avalanche(h);
}

uint64_t fa3_hash(const void *data, size_t size) {
  const uint8_t *p = data;
  if (size <= 16)
    return hash_to_16(p, size);
  if (size <= 128)
    return hash_to_128(p, size);
  if (size <= 240)
    return hash_to_240(p, size);
  return hash_long(p, size);
}
