/*===- Formula.h - formulas of a manifest --------------------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private: text over 64-bit integers is compiled once, when the manifest is
 * read, to code for a stack machine. Evaluation allocates nothing.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_RUNTIME_FORMULA_H
#define FA3_LIB_RUNTIME_FORMULA_H

#include "Support.h"

/* What names mean: the parameters of the function. */
typedef struct fa3_scope {
  const struct fa3_param *params;
  size_t num_params;
} fa3_scope;

typedef struct fa3_op {
  uint8_t code;
  uint8_t dim;    /* of a shape or stride; the comparison of reals */
  uint16_t param; /* of a shape, stride or scalar; left one of reals */
  int32_t target; /* of a jump; right parameter of reals */
  union {
    int64_t integer; /* of a constant */
    double real;     /* compared with where a parameter is FA3_NO_PARAM */
  } immediate;
} fa3_op;

enum { FA3_NO_PARAM = 0xFFFF };

typedef struct fa3_formula {
  const char *field; /* where the manifest has it, for messages */
  const char *text;
  const fa3_op *ops;
  size_t num_ops; /* 0: the formula is absent */
} fa3_formula;

/* Compiles `text`; it and `field` must live as long as the formula. */
fa3_code fa3_formula_compile(const char *field, const char *text,
                             const fa3_scope *scope, fa3_arena *arena,
                             fa3_formula *formula, fa3_status *status);

/* The arguments must match the parameters in number, kind, type and rank. */
fa3_code fa3_formula_evaluate(const fa3_formula *formula, const fa3_arg *args,
                              int64_t device_sms, int64_t *value,
                              fa3_status *status);

/* Whether the formula reads the stride of a dimension. */
int fa3_formula_reads_stride(const fa3_formula *formula, size_t param, int dim);

/* Whether the formula is `name.shape[i]`: returns i, or -1. */
int fa3_formula_plain_shape(const fa3_formula *formula, size_t param);

/* Writes "q.shape[0] = 2, k.shape[0] = 3" for what the formula reads; keeps to
 * `size` bytes. */
void fa3_formula_describe(const fa3_formula *formula, const fa3_scope *scope,
                          const fa3_arg *args, int64_t device_sms, char *buffer,
                          size_t size);

#endif /* FA3_LIB_RUNTIME_FORMULA_H */
