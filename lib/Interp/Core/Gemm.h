//===- Gemm.h - matrix products on the CPU ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
#ifndef FA3_LIB_INTERP_CORE_GEMM_H
#define FA3_LIB_INTERP_CORE_GEMM_H

#include <cstdint>

namespace fa3::interp {

/// C[m][n] += A[m][k] * B[k][n], all dense and row-major. Every element is
/// summed with k ascending, each step rounded on its own; products of operands
/// of up to 11 significant bits are exact.
void gemm(int64_t m, int64_t n, int64_t k, const float *a, const float *b,
          float *c);
void gemm(int64_t m, int64_t n, int64_t k, const double *a, const double *b,
          double *c);

/// to[j][i] = from[i][j] for a dense from[rows][columns].
template <typename T>
void transpose(int64_t rows, int64_t columns, const T *from, T *to) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[j * rows + i] = from[i * columns + j];
}

} // namespace fa3::interp

#endif // FA3_LIB_INTERP_CORE_GEMM_H
