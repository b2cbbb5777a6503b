//===- Gemm.cpp - matrix products on the CPU ------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Gemm.h"

// Wider vectors where the CPU has them; neither variant fuses multiply and add,
// so that results do not depend on the machine. The choice is made before the
// thread sanitizer is there.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_THREAD__)
#define FA3_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define FA3_WIDE
#endif

/// One row of C; four steps of k per pass over the row.
template <typename T>
static inline __attribute__((always_inline)) void
gemmImpl(int64_t m, int64_t n, int64_t k, const T *a, const T *b, T *c) {
  for (int64_t i = 0; i < m; ++i) {
    T *__restrict row = c + i * n;
    const T *left = a + i * k;
    int64_t step = 0;
    for (; step + 4 <= k; step += 4) {
      const T *b0 = b + step * n, *b1 = b0 + n, *b2 = b1 + n, *b3 = b2 + n;
      T a0 = left[step], a1 = left[step + 1], a2 = left[step + 2],
        a3 = left[step + 3];
      for (int64_t j = 0; j < n; ++j) {
        T sum = row[j] + a0 * b0[j];
        sum = sum + a1 * b1[j];
        sum = sum + a2 * b2[j];
        row[j] = sum + a3 * b3[j];
      }
    }
    for (; step < k; ++step)
      for (int64_t j = 0; j < n; ++j)
        row[j] += left[step] * b[step * n + j];
  }
}

FA3_WIDE void fa3::interp::gemm(int64_t m, int64_t n, int64_t k, const float *a,
                                const float *b, float *c) {
  gemmImpl(m, n, k, a, b, c);
}

FA3_WIDE void fa3::interp::gemm(int64_t m, int64_t n, int64_t k,
                                const double *a, const double *b, double *c) {
  gemmImpl(m, n, k, a, b, c);
}
