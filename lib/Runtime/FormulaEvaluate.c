/*===- FormulaEvaluate.c - evaluation of formulas -------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A stack machine whose stack the compiler has bounded. Every operation is
 * checked: overflow and division by zero are errors of the call.
 *===----------------------------------------------------------------------===*/

#include "FormulaOps.h"
#include "Program.h"

#include <inttypes.h>
#include <stdio.h>

/* The value that a kernel gets of an f32 scalar, or the number. */
static double real_operand(const fa3_op *op, uint32_t param,
                           const fa3_arg *args) {
  return param == FA3_NO_PARAM ? op->immediate.real
                               : (double)(float)args[param].value.real;
}

static int compare_real(const fa3_op *op, const fa3_arg *args) {
  double a = real_operand(op, op->param, args);
  double b = real_operand(op, (uint32_t)op->target, args);
  switch (op->dim) {
  case FA3_OP_EQ:
    return a == b;
  case FA3_OP_NE:
    return a != b;
  case FA3_OP_LT:
    return a < b;
  case FA3_OP_LE:
    return a <= b;
  case FA3_OP_GT:
    return a > b;
  default:
    return a >= b;
  }
}

static int64_t read(const fa3_op *op, const fa3_arg *args, int64_t device_sms) {
  switch (op->code) {
  case FA3_OP_SHAPE:
    return args[op->param].shape[op->dim];
  case FA3_OP_STRIDE:
    return args[op->param].stride[op->dim];
  case FA3_OP_SCALAR:
    return args[op->param].value.integer;
  case FA3_OP_COMPARE_REAL:
    return compare_real(op, args);
  case FA3_OP_SMS:
    return device_sms;
  default:
    return op->immediate.integer;
  }
}

/* Quotient and remainder of floor division; null or what went wrong. */
static const char *divide(int64_t a, int64_t b, int64_t *quotient,
                          int64_t *remainder) {
  if (b == 0)
    return "division by zero";
  if (a == INT64_MIN && b == -1)
    return "overflow of 64 bits";
  *quotient = a / b;
  *remainder = a % b;
  if (*remainder != 0 && (*remainder < 0) != (b < 0)) {
    --*quotient;
    *remainder += b;
  }
  return NULL;
}

/* a = a op b; null or what went wrong. */
static const char *apply(uint8_t code, int64_t *a, int64_t b) {
  static const char *const overflow = "overflow of 64 bits";
  int64_t quotient, remainder;
  const char *problem;
  switch (code) {
  case FA3_OP_ADD:
    return __builtin_add_overflow(*a, b, a) ? overflow : NULL;
  case FA3_OP_SUB:
    return __builtin_sub_overflow(*a, b, a) ? overflow : NULL;
  case FA3_OP_MUL:
    return __builtin_mul_overflow(*a, b, a) ? overflow : NULL;
  case FA3_OP_DIV:
  case FA3_OP_MOD:
  case FA3_OP_CEILDIV:
    problem = divide(*a, b, &quotient, &remainder);
    if (!problem)
      *a = code == FA3_OP_DIV   ? quotient
           : code == FA3_OP_MOD ? remainder
                                : quotient + (remainder != 0);
    return problem;
  case FA3_OP_MIN:
    *a = *a < b ? *a : b;
    return NULL;
  case FA3_OP_MAX:
    *a = *a > b ? *a : b;
    return NULL;
  case FA3_OP_EQ:
    *a = *a == b;
    return NULL;
  case FA3_OP_NE:
    *a = *a != b;
    return NULL;
  case FA3_OP_LT:
    *a = *a < b;
    return NULL;
  case FA3_OP_LE:
    *a = *a <= b;
    return NULL;
  case FA3_OP_GT:
    *a = *a > b;
    return NULL;
  default: /* FA3_OP_GE: the compiler emits no other code here */
    *a = *a >= b;
    return NULL;
  }
}

fa3_code fa3_formula_evaluate(const fa3_formula *formula, const fa3_arg *args,
                              int64_t device_sms, int64_t *value,
                              fa3_status *status) {
  int64_t stack[FA3_FORMULA_STACK];
  size_t top = 0; /* values on the stack */
  const char *problem = NULL;
  for (size_t i = 0; i < formula->num_ops && !problem; ++i) {
    const fa3_op *op = &formula->ops[i];
    if (op->code <= FA3_OP_SMS) {
      stack[top++] = read(op, args, device_sms);
    } else if (op->code == FA3_OP_NEGATE) {
      if (__builtin_sub_overflow((int64_t)0, stack[top - 1], &stack[top - 1]))
        problem = "overflow of 64 bits";
    } else if (op->code == FA3_OP_TRUTH) {
      stack[top - 1] = stack[top - 1] != 0;
    } else if (op->code == FA3_OP_AND || op->code == FA3_OP_OR) {
      int truth = stack[top - 1] != 0;
      if (truth == (op->code == FA3_OP_OR)) {
        stack[top - 1] = truth;
        i = (size_t)op->target - 1;
      } else {
        --top;
      }
    } else {
      --top;
      problem = apply(op->code, &stack[top - 1], stack[top]);
    }
  }
  if (problem)
    return fa3_fail(status, FA3_ERROR_ARGUMENT, "%s in %s: '%.400s'", problem,
                    formula->field, formula->text);
  *value = stack[0];
  return FA3_OK;
}

int fa3_formula_reads_stride(const fa3_formula *formula, size_t param,
                             int dim) {
  for (size_t i = 0; i < formula->num_ops; ++i)
    if (formula->ops[i].code == FA3_OP_STRIDE &&
        formula->ops[i].param == param && formula->ops[i].dim == dim)
      return 1;
  return 0;
}

int fa3_formula_plain_shape(const fa3_formula *formula, size_t param) {
  const fa3_op *op = formula->ops;
  return formula->num_ops == 1 && op->code == FA3_OP_SHAPE && op->param == param
             ? op->dim
             : -1;
}

/* Writes one thing that an operation reads; as snprintf. */
static int describe(const fa3_op *op, const fa3_scope *scope,
                    const fa3_arg *args, int64_t device_sms, char *buffer,
                    size_t size) {
  int64_t value = read(op, args, device_sms);
  const char *name =
      op->param < scope->num_params ? scope->params[op->param].name : "";
  switch (op->code) {
  case FA3_OP_SMS:
    return snprintf(buffer, size, "device.sms = %" PRId64, value);
  case FA3_OP_SCALAR:
    return snprintf(buffer, size, "%s = %" PRId64, name, value);
  case FA3_OP_COMPARE_REAL:
    if (op->param != FA3_NO_PARAM && op->target != FA3_NO_PARAM)
      return snprintf(
          buffer, size, "%s = %g, %s = %g", name, args[op->param].value.real,
          scope->params[op->target].name, args[op->target].value.real);
    if (op->param == FA3_NO_PARAM)
      return snprintf(buffer, size, "%s = %g", scope->params[op->target].name,
                      args[op->target].value.real);
    return snprintf(buffer, size, "%s = %g", name, args[op->param].value.real);
  default:
    return snprintf(buffer, size, "%s.%s[%d] = %" PRId64, name,
                    op->code == FA3_OP_SHAPE ? "shape" : "stride", op->dim,
                    value);
  }
}

void fa3_formula_describe(const fa3_formula *formula, const fa3_scope *scope,
                          const fa3_arg *args, int64_t device_sms, char *buffer,
                          size_t size) {
  buffer[0] = '\0';
  for (size_t i = 0, used = 0; i < formula->num_ops; ++i) {
    const fa3_op *op = &formula->ops[i];
    int skip = op->code == FA3_OP_CONSTANT || op->code > FA3_OP_SMS;
    for (size_t j = 0; j < i && !skip; ++j)
      skip = formula->ops[j].code == op->code &&
             formula->ops[j].param == op->param &&
             formula->ops[j].dim == op->dim;
    if (skip)
      continue;
    char item[128];
    int length = describe(op, scope, args, device_sms, item, sizeof(item));
    /* Whole items only. */
    if (length < 0 || (size_t)length >= sizeof(item) ||
        (size_t)length + 3 > size - used)
      return;
    used += (size_t)snprintf(buffer + used, size - used, "%s%s",
                             used ? ", " : "", item);
  }
}
