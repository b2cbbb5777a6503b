//===- FormulaFuzz.cpp - formulas of manifests ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Compiles the input as a formula over a few arguments and evaluates it with
// values small and large. What it reads is asked in every way there is.
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
// C's word in a header that is C.
#define _Alignas(bytes) alignas(bytes)
extern "C" {
#include "Formula.h"
#include "Program.h"
}

#include <cstring>
#include <string>

/// q (four dimensions), n (i64) and s (f32).
static void makeParams(fa3_param *params) {
  std::memset(params, 0, 3 * sizeof(*params));
  params[0].name = "q";
  params[0].kind = FA3_TENSOR;
  params[0].type = FA3_BF16;
  params[0].rank = 4;
  params[1].name = "n";
  params[1].kind = FA3_SCALAR;
  params[1].type = FA3_I64;
  params[2].name = "s";
  params[2].kind = FA3_SCALAR;
  params[2].type = FA3_F32;
}

static void evaluate(const fa3_formula &formula, const fa3_scope &scope,
                     const int64_t (&shape)[4], int64_t n, double s) {
  fa3_arg args[] = {fa3_tensor(FA3_BF16, nullptr, 4, shape, shape),
                    fa3_scalar_integer(FA3_I64, n),
                    fa3_scalar_real(FA3_F32, s)};
  int64_t value = 0, again = 0;
  fa3_status status;
  fa3_code code = fa3_formula_evaluate(&formula, args, n, &value, &status);
  FA3_FUZZ_CHECK(code == FA3_OK || code == status.code);
  FA3_FUZZ_CHECK(fa3_formula_evaluate(&formula, args, n, &again, &status) ==
                 code);
  FA3_FUZZ_CHECK(code != FA3_OK || value == again);
  // Short buffers, too.
  for (size_t size : {size_t(1), size_t(7), size_t(256)}) {
    std::string buffer(size, '#');
    fa3_formula_describe(&formula, &scope, args, n, buffer.data(), size);
    FA3_FUZZ_CHECK(std::memchr(buffer.data(), 0, size));
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fa3_param params[3];
  makeParams(params);
  const fa3_scope scope = {params, 3};
  std::string text(reinterpret_cast<const char *>(data), size);
  // Strings of a manifest have no zero inside.
  if (text.find('\0') != std::string::npos)
    return 0;
  fa3_arena arena = {nullptr};
  fa3_formula formula = {};
  fa3_status status;
  if (fa3_formula_compile("field", text.c_str(), &scope, &arena, &formula,
                          &status) == FA3_OK) {
    evaluate(formula, scope, {2, 3, 300, 128}, 5, 0.5);
    evaluate(formula, scope, {0, 1, 0, 1}, 0, 0);
    evaluate(formula, scope, {INT64_MAX, 1 << 30, -1, INT64_MIN}, INT64_MIN,
             -1e300);
    for (int d = 0; d < 4; ++d)
      fa3_formula_reads_stride(&formula, 0, d);
    int dim = fa3_formula_plain_shape(&formula, 0);
    FA3_FUZZ_CHECK(dim >= -1 && dim < 4);
  } else {
    FA3_FUZZ_CHECK(status.message[0]);
  }
  fa3_arena_free(&arena);
  return 0;
}
