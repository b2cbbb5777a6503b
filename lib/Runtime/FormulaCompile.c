/*===- FormulaCompile.c - formulas to stack code --------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Recursive descent. From weak to strong: `||`, `&&`, one comparison, `+ -`,
 * `* / %`, unary `-`. Comparisons do not chain. An f32 scalar has no
 * arithmetic: it may be compared with another one or with a decimal number.
 *===----------------------------------------------------------------------===*/

#include "FormulaOps.h"
#include "Program.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 200, MAX_OPS = 1 << 16 };

typedef struct {
  const char *field, *text, *at;
  const fa3_scope *scope;
  fa3_status *status;
  fa3_op *ops;
  size_t num_ops, capacity;
  int depth; /* values on the stack after the code so far */
  int nesting;
  fa3_code error;
} compiler;

/* All parse functions return 1 on success and 0 after reporting. */
static int fail(compiler *c, const char *what) {
  c->error = fa3_fail(c->status, FA3_ERROR_MANIFEST,
                      "manifest field '%s': %s at column %zu of '%.400s'",
                      c->field, what, (size_t)(c->at - c->text) + 1, c->text);
  return 0;
}

static int emit(compiler *c, fa3_op op) {
  if (c->num_ops == MAX_OPS)
    return fail(c, "formula too long");
  if (c->num_ops == c->capacity) {
    size_t capacity = c->capacity ? 2 * c->capacity : 32;
    fa3_op *grown = realloc(c->ops, capacity * sizeof(*grown));
    if (!grown) {
      c->error = fa3_fail_memory(c->status);
      return 0;
    }
    c->ops = grown;
    c->capacity = capacity;
  }
  if (op.code <= FA3_OP_SMS)
    ++c->depth;
  else if (op.code >= FA3_OP_ADD)
    --c->depth;
  if (c->depth > FA3_FORMULA_STACK)
    return fail(c, "formula nested too deeply");
  c->ops[c->num_ops++] = op;
  return 1;
}

static int emit_code(compiler *c, enum fa3_op_code code) {
  fa3_op op = {(uint8_t)code, 0, 0, 0, {0}};
  return emit(c, op);
}

/*===----------------------------------------------------------------------===*
 * Tokens
 *===----------------------------------------------------------------------===*/

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static int is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_space(compiler *c) {
  while (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')
    ++c->at;
}

/* Takes `token` if it is next. */
static int take(compiler *c, const char *token) {
  skip_space(c);
  size_t length = strlen(token);
  if (strncmp(c->at, token, length) != 0)
    return 0;
  c->at += length;
  return 1;
}

static int expect(compiler *c, const char *token, const char *message) {
  return take(c, token) || fail(c, message);
}

static int parse_integer(compiler *c, int64_t *value) {
  skip_space(c);
  if (!is_digit(*c->at))
    return fail(c, "expected an integer");
  const char *start = c->at;
  *value = 0;
  for (; is_digit(*c->at); ++c->at)
    if (__builtin_mul_overflow(*value, 10, value) ||
        __builtin_add_overflow(*value, *c->at - '0', value)) {
      c->at = start;
      return fail(c, "integer beyond 64 bits");
    }
  if (is_letter(*c->at))
    return fail(c, "expected an operator");
  return 1;
}

/* The length of the identifier that is next, or 0. */
static size_t identifier(compiler *c) {
  skip_space(c);
  if (!is_letter(*c->at))
    return 0;
  size_t length = 1;
  while (is_letter(c->at[length]) || is_digit(c->at[length]))
    ++length;
  return length;
}

static int is_word(const char *text, size_t length, const char *word) {
  return strlen(word) == length && !memcmp(text, word, length);
}

/*===----------------------------------------------------------------------===*
 * Operands
 *===----------------------------------------------------------------------===*/

static int parse_expression(compiler *c);

static int parse_call(compiler *c, enum fa3_op_code code) {
  return expect(c, "(", "expected '('") && parse_expression(c) &&
         expect(c, ",", "expected ','") && parse_expression(c) &&
         expect(c, ")", "expected ')'") && emit_code(c, code);
}

/* `.shape[i]` or `.stride[i]` of a tensor. */
static int parse_tensor_property(compiler *c, size_t param) {
  if (!expect(c, ".", "expected '.shape' or '.stride' of a tensor"))
    return 0;
  size_t length = identifier(c);
  int is_shape = is_word(c->at, length, "shape");
  if (!is_shape && !is_word(c->at, length, "stride"))
    return fail(c, "expected 'shape' or 'stride'");
  c->at += length;
  int64_t index;
  if (!expect(c, "[", "expected '['") || !parse_integer(c, &index))
    return 0;
  if (index >= c->scope->params[param].rank)
    return fail(c, "index beyond the rank of the tensor");
  fa3_op op = {(uint8_t)(is_shape ? FA3_OP_SHAPE : FA3_OP_STRIDE),
               (uint8_t)index,
               (uint16_t)param,
               0,
               {0}};
  return expect(c, "]", "expected ']'") && emit(c, op);
}

static int parse_name(compiler *c, size_t length) {
  static const struct {
    const char *name;
    enum fa3_op_code code;
  } calls[] = {
      {"ceildiv", FA3_OP_CEILDIV}, {"min", FA3_OP_MIN}, {"max", FA3_OP_MAX}};
  const char *name = c->at;
  for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); ++i)
    if (is_word(name, length, calls[i].name)) {
      c->at += length;
      return parse_call(c, calls[i].code);
    }
  if (is_word(name, length, "device")) {
    c->at += length;
    if (!expect(c, ".", "expected '.sms'"))
      return 0;
    length = identifier(c);
    if (!is_word(c->at, length, "sms"))
      return fail(c, "expected 'sms'");
    c->at += length;
    return emit_code(c, FA3_OP_SMS);
  }
  for (size_t i = 0; i < c->scope->num_params; ++i) {
    const fa3_param *param = &c->scope->params[i];
    if (!is_word(name, length, param->name))
      continue;
    if (param->kind == FA3_SCALAR && !fa3_type_is_integer(param->type))
      return fail(c, "an f32 scalar, which may only be compared with a decimal "
                     "number or another f32 scalar,");
    c->at += length;
    if (param->kind == FA3_TENSOR)
      return parse_tensor_property(c, i);
    fa3_op op = {FA3_OP_SCALAR, 0, (uint16_t)i, 0, {0}};
    return emit(c, op);
  }
  return fail(c, "no argument of this name");
}

static int parse_operand(compiler *c) {
  skip_space(c);
  if (*c->at == '(') {
    ++c->at;
    return parse_expression(c) && expect(c, ")", "expected ')'");
  }
  if (is_digit(*c->at)) {
    fa3_op op = {FA3_OP_CONSTANT, 0, 0, 0, {0}};
    return parse_integer(c, &op.immediate.integer) && emit(c, op);
  }
  size_t length = identifier(c);
  if (length)
    return parse_name(c, length);
  return fail(c, *c->at ? "expected an operand" : "unexpected end");
}

static int parse_unary(compiler *c) {
  int negations = 0;
  while (take(c, "-"))
    negations ^= 1;
  return parse_operand(c) && (!negations || emit_code(c, FA3_OP_NEGATE));
}

/*===----------------------------------------------------------------------===*
 * Operators
 *===----------------------------------------------------------------------===*/

static int parse_product(compiler *c) {
  if (!parse_unary(c))
    return 0;
  for (;;) {
    enum fa3_op_code code = take(c, "*")   ? FA3_OP_MUL
                            : take(c, "/") ? FA3_OP_DIV
                            : take(c, "%") ? FA3_OP_MOD
                                           : FA3_OP_CONSTANT;
    if (code == FA3_OP_CONSTANT)
      return 1;
    if (!parse_unary(c) || !emit_code(c, code))
      return 0;
  }
}

static int parse_sum(compiler *c) {
  if (!parse_product(c))
    return 0;
  for (;;) {
    enum fa3_op_code code = take(c, "+")   ? FA3_OP_ADD
                            : take(c, "-") ? FA3_OP_SUB
                                           : FA3_OP_CONSTANT;
    if (code == FA3_OP_CONSTANT)
      return 1;
    if (!parse_product(c) || !emit_code(c, code))
      return 0;
  }
}

/* Takes a comparison operator; longer spellings come first. */
static enum fa3_op_code take_comparison(compiler *c) {
  return take(c, "==")   ? FA3_OP_EQ
         : take(c, "!=") ? FA3_OP_NE
         : take(c, "<=") ? FA3_OP_LE
         : take(c, ">=") ? FA3_OP_GE
         : take(c, "<")  ? FA3_OP_LT
         : take(c, ">")  ? FA3_OP_GT
                         : FA3_OP_CONSTANT;
}

/* Takes an f32 scalar, or a decimal number with *param FA3_NO_PARAM. Numbers
 * are those that one division of exact values yields, which rounds correctly.
 */
static int take_real(compiler *c, uint32_t *param, double *number) {
  size_t length = identifier(c);
  for (size_t i = 0; length && i < c->scope->num_params; ++i)
    if (is_word(c->at, length, c->scope->params[i].name) &&
        c->scope->params[i].kind == FA3_SCALAR &&
        c->scope->params[i].type == FA3_F32) {
      *param = (uint32_t)i;
      c->at += length;
      return 1;
    }
  int negative = take(c, "-");
  skip_space(c);
  const int64_t exact = INT64_C(1) << 53;
  int64_t digits = 0;
  double scale = 1; /* powers of ten are exact up to 10^22 */
  int count = 0, fraction = 0;
  for (; is_digit(*c->at) || (*c->at == '.' && count && !fraction); ++c->at) {
    if (*c->at == '.') {
      fraction = 1;
      continue;
    }
    digits = digits * 10 + (*c->at - '0');
    if (fraction)
      scale *= 10;
    if (digits > exact || ++count > 22)
      return 0;
  }
  *param = FA3_NO_PARAM;
  *number = (negative ? -1 : 1) * ((double)digits / scale);
  return count > 0;
}

/* A comparison with an f32 scalar: 1 if there is one, 0 if there is something
 * else, whose start is then again next, and -1 after an error. */
static int parse_real_comparison(compiler *c) {
  const char *start = c->at;
  uint32_t left, right;
  double number = 0;
  enum fa3_op_code code = FA3_OP_CONSTANT;
  if (take_real(c, &left, &number) &&
      (code = take_comparison(c)) != FA3_OP_CONSTANT &&
      take_real(c, &right, &number) &&
      (left != FA3_NO_PARAM || right != FA3_NO_PARAM)) {
    fa3_op op = {FA3_OP_COMPARE_REAL,
                 (uint8_t)code,
                 (uint16_t)left,
                 (int32_t)right,
                 {0}};
    op.immediate.real = number;
    return emit(c, op) ? 1 : -1;
  }
  c->at = start;
  return 0;
}

static int parse_comparison(compiler *c) {
  int real = parse_real_comparison(c);
  if (real)
    return real > 0;
  if (!parse_sum(c))
    return 0;
  enum fa3_op_code code = take_comparison(c);
  if (code == FA3_OP_CONSTANT)
    return 1;
  if (!parse_sum(c) || !emit_code(c, code))
    return 0;
  if (take_comparison(c) != FA3_OP_CONSTANT)
    return fail(c, "comparisons do not chain: parentheses needed");
  return 1;
}

/* A list of comparisons joined by `&&`, or of such lists joined by `||`. */
static int parse_logic(compiler *c, int is_or) {
  const char *token = is_or ? "||" : "&&";
  if (!(is_or ? parse_logic(c, 0) : parse_comparison(c)))
    return 0;
  while (take(c, token)) {
    size_t jump = c->num_ops;
    if (!emit_code(c, is_or ? FA3_OP_OR : FA3_OP_AND) ||
        !(is_or ? parse_logic(c, 0) : parse_comparison(c)) ||
        !emit_code(c, FA3_OP_TRUTH))
      return 0;
    c->ops[jump].target = (int32_t)c->num_ops;
  }
  return 1;
}

static int parse_expression(compiler *c) {
  if (++c->nesting > MAX_NESTING)
    return fail(c, "formula nested too deeply");
  int parsed = parse_logic(c, 1);
  --c->nesting;
  return parsed;
}

fa3_code fa3_formula_compile(const char *field, const char *text,
                             const fa3_scope *scope, fa3_arena *arena,
                             fa3_formula *formula, fa3_status *status) {
  compiler c = {field, text, text, scope, status, NULL, 0, 0, 0, 0, FA3_OK};
  if (parse_expression(&c)) {
    skip_space(&c);
    if (*c.at)
      fail(&c, "expected an operator");
  }
  fa3_op *ops = NULL;
  if (c.error == FA3_OK) {
    ops = fa3_arena_array(arena, c.num_ops, sizeof(*ops));
    if (ops)
      memcpy(ops, c.ops, c.num_ops * sizeof(*ops));
    else
      c.error = fa3_fail_memory(status);
  }
  free(c.ops);
  if (c.error != FA3_OK)
    return c.error;
  formula->field = field;
  formula->text = text;
  formula->ops = ops;
  formula->num_ops = c.num_ops;
  return FA3_OK;
}
