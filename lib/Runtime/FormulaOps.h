/*===- FormulaOps.h - code of formulas -----------------------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private to the compiler and the evaluator of formulas.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_RUNTIME_FORMULAOPS_H
#define FA3_LIB_RUNTIME_FORMULAOPS_H

enum fa3_op_code {
  /* Push a value. */
  FA3_OP_CONSTANT,
  FA3_OP_SHAPE,
  FA3_OP_STRIDE,
  FA3_OP_SCALAR,
  FA3_OP_COMPARE_REAL, /* 0 or 1; see fa3_op */
  FA3_OP_SMS,
  /* Replace one value. */
  FA3_OP_NEGATE,
  FA3_OP_TRUTH, /* anything but 0 becomes 1 */
  /* Replace two values by one. */
  FA3_OP_ADD,
  FA3_OP_SUB,
  FA3_OP_MUL,
  FA3_OP_DIV,
  FA3_OP_MOD,
  FA3_OP_CEILDIV,
  FA3_OP_MIN,
  FA3_OP_MAX,
  FA3_OP_EQ,
  FA3_OP_NE,
  FA3_OP_LT,
  FA3_OP_LE,
  FA3_OP_GT,
  FA3_OP_GE,
  /* Decide `&&` and `||` by the left side: replace it by the result and jump,
   * or drop it and go on to the right side. */
  FA3_OP_AND,
  FA3_OP_OR
};

/* Values that an evaluation may have on its stack. */
enum { FA3_FORMULA_STACK = 128 };

#endif /* FA3_LIB_RUNTIME_FORMULAOPS_H */
