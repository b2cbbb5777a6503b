/* SPDX-License-Identifier: Apache-2.0 */
/* Calls the compiled transformer block of block.mlir and compares it with the
 * same in C. See build.sh. */
#include "fa3/Runtime/fa3_host.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  BATCH = 2,
  TOKENS = 64,
  HEADS = 2,
  DIM = 64,
  ROWS = BATCH * TOKENS,
  WIDTH = HEADS * DIM,
  HIDDEN = 256
};

/* How MLIR passes a memref of rank 2 to C. */
typedef struct {
  uint16_t *allocated, *aligned;
  int64_t offset, sizes[2], strides[2];
} matrix;

extern void _mlir_ciface_block(matrix *x, matrix *wqkv, matrix *wo, matrix *w1,
                               matrix *w2, matrix *y);

static float to_float(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  float value = exponent ? ldexpf((float)(fraction + 1024), exponent - 25)
                         : ldexpf((float)fraction, -24);
  return bits >> 15 ? -value : value;
}

/* To the nearest, ties to even; of numbers that f16 has room for. */
static uint16_t to_half(float value) {
  int sign = value < 0, exponent;
  float fraction = frexpf(fabsf(value), &exponent);
  if (fraction == 0 || exponent < -24)
    return (uint16_t)(sign << 15);
  if (exponent < -13) /* no normal number */
    return (uint16_t)(sign << 15 | (int)nearbyintf(ldexpf(fabsf(value), 24)));
  int bits = (int)nearbyintf(ldexpf(fraction, 11)) + ((exponent + 13) << 10);
  return (uint16_t)(sign << 15 | bits);
}

static float round_half(float value) { return to_float(to_half(value)); }

/* Numbers between -1 and 1, times `scale`. */
static matrix make(int64_t rows, int64_t columns, float scale) {
  static uint32_t state = 1;
  matrix m = {NULL, NULL, 0, {rows, columns}, {columns, 1}};
  m.allocated = m.aligned =
      aligned_alloc(64, (size_t)(rows * columns) * sizeof(uint16_t));
  if (!m.aligned)
    exit(1);
  for (int64_t i = 0; i < rows * columns; ++i) {
    state = state * 1664525u + 1013904223u;
    m.aligned[i] = to_half(((float)(state >> 16) / 32768.0f - 1) * scale);
  }
  return m;
}

static float at(const matrix *m, int64_t row, int64_t column) {
  return to_float(m->aligned[row * m->strides[0] + column]);
}

/* c = a b, with `a` of this width. */
static void multiply(const float *a, int width, const matrix *b, float *c) {
  int64_t columns = b->sizes[1];
  for (int64_t i = 0; i < ROWS; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (int k = 0; k < width; ++k)
        sum += a[i * width + k] * at(b, k, j);
      c[i * columns + j] = sum;
    }
}

static void normalize(const float *x, float *y) {
  for (int i = 0; i < ROWS; ++i) {
    float sum = 0;
    for (int c = 0; c < WIDTH; ++c)
      sum += x[i * WIDTH + c] * x[i * WIDTH + c];
    for (int c = 0; c < WIDTH; ++c)
      y[i * WIDTH + c] =
          round_half(x[i * WIDTH + c] / sqrtf(sum / WIDTH + 0x1p-10f));
  }
}

static void attend(const float *qkv, float *o) {
  for (int b = 0; b < BATCH; ++b)
    for (int h = 0; h < HEADS; ++h)
      for (int i = 0; i < TOKENS; ++i) {
        double weights[TOKENS], top = -INFINITY, total = 0;
        const float *q = qkv + (b * TOKENS + i) * 3 * WIDTH + h * DIM;
        for (int j = 0; j <= i; ++j) {
          const float *k = qkv + ((b * TOKENS + j) * 3 + 1) * WIDTH + h * DIM;
          double sum = 0;
          for (int c = 0; c < DIM; ++c)
            sum += (double)q[c] * k[c];
          weights[j] = sum / sqrt(DIM);
          top = fmax(top, weights[j]);
        }
        for (int j = 0; j <= i; ++j)
          total += weights[j] = exp(weights[j] - top);
        for (int c = 0; c < DIM; ++c) {
          double sum = 0;
          for (int j = 0; j <= i; ++j)
            sum += weights[j] *
                   qkv[((b * TOKENS + j) * 3 + 2) * WIDTH + h * DIM + c];
          o[(b * TOKENS + i) * WIDTH + h * DIM + c] =
              round_half((float)(sum / total));
        }
      }
}

static float x[ROWS * WIDTH], h[ROWS * WIDTH], n[ROWS * WIDTH],
    sums[ROWS * 3 * WIDTH], o[ROWS * WIDTH], hidden[ROWS * HIDDEN],
    y[ROWS * WIDTH];

int main(void) {
  float ofWidth = 1.7f / sqrtf(WIDTH), ofHidden = 1.7f / sqrtf(HIDDEN);
  matrix mx = make(ROWS, WIDTH, 1), wqkv = make(WIDTH, 3 * WIDTH, 2 * ofWidth),
         wo = make(WIDTH, WIDTH, ofWidth), w1 = make(WIDTH, HIDDEN, ofWidth),
         w2 = make(HIDDEN, WIDTH, ofHidden), my = make(ROWS, WIDTH, 0);
  /* The second call has kernels that are loaded. */
  for (int i = 0; i < 2; ++i)
    _mlir_ciface_block(&mx, &wqkv, &wo, &w1, &w2, &my);

  for (int i = 0; i < ROWS * WIDTH; ++i)
    x[i] = to_float(mx.aligned[i]);
  normalize(x, n);
  multiply(n, WIDTH, &wqkv, sums);
  for (int i = 0; i < ROWS * 3 * WIDTH; ++i)
    sums[i] = round_half(sums[i]);
  attend(sums, o);
  multiply(o, WIDTH, &wo, y);
  for (int i = 0; i < ROWS * WIDTH; ++i)
    h[i] = round_half(x[i] + y[i]);
  normalize(h, n);
  multiply(n, WIDTH, &w1, hidden);
  for (int i = 0; i < ROWS * HIDDEN; ++i)
    hidden[i] = round_half(hidden[i] / (1 + expf(-hidden[i])));
  multiply(hidden, HIDDEN, &w2, y);

  float worst = 0, largest = 0, change = 0;
  for (int i = 0; i < ROWS * WIDTH; ++i) {
    float expected = round_half(h[i] + y[i]), got = to_float(my.aligned[i]);
    float error = fabsf(got - expected);
    worst = error <= worst ? worst : error; /* a NaN counts */
    largest = fmaxf(largest, fabsf(expected));
    change = fmaxf(change, fabsf(h[i] - x[i]));
  }
  printf("block: %d elements up to %.2f, attention changes them by up to %.2f, "
         "at most %.4f off\n",
         ROWS * WIDTH, largest, change, worst);
  fa3_status status;
  if (fa3_host_release(&status)) {
    fprintf(stderr, "block: %s\n", status.message);
    return 1;
  }
  return !(worst <= 0.02f && change > 0.1f);
}
