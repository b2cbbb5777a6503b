/*===- ManifestReader.c - from JSON to a program --------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads schema 1 of the launch manifest. Members that the schema does not have
 * are refused: a runtime that ignored one might launch something else than what
 * the compiler meant. `info` may appear anywhere and may hold anything.
 *===----------------------------------------------------------------------===*/

#include "ManifestReader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/*===----------------------------------------------------------------------===*
 * Access to members
 *===----------------------------------------------------------------------===*/

const char *fa3_field(fa3_reader *r, const char *format, ...) {
  char buffer[256];
  va_list values;
  va_start(values, format);
  vsnprintf(buffer, sizeof(buffer), format, values);
  va_end(values);
  const char *copy = fa3_arena_copy(r->arena, buffer, strlen(buffer));
  if (!copy)
    r->code = fa3_fail_memory(r->status);
  return copy;
}

int fa3_wrong(fa3_reader *r, const char *where, const char *what) {
  r->code = fa3_fail(r->status, FA3_ERROR_MANIFEST, "manifest field '%s': %s",
                     where, what);
  return 0;
}

static int wrong_type(fa3_reader *r, const char *where, const char *expected,
                      const fa3_json *value) {
  r->code = fa3_fail(r->status, FA3_ERROR_MANIFEST,
                     "manifest field '%s': expected %s, found %s", where,
                     expected, fa3_json_describe(value));
  return 0;
}

/* "where.key", or "key" at the top. */
static const char *member_field(fa3_reader *r, const char *where,
                                const char *key) {
  return fa3_field(r, "%s%s%s", where, *where ? "." : "", key);
}

int fa3_read_object(fa3_reader *r, const fa3_json *value, const char *where,
                    const char *const *keys) {
  if (value->type != FA3_JSON_OBJECT)
    return wrong_type(r, *where ? where : "(top)", "an object", value);
  for (const fa3_json *m = value->first; m; m = m->next) {
    int known = !strcmp(m->key, "info");
    for (size_t i = 0; keys[i] && !known; ++i)
      known = !strcmp(m->key, keys[i]);
    if (known)
      continue;
    const char *field = member_field(r, where, m->key);
    return field ? fa3_wrong(r, field, "not a member of schema 1") : 0;
  }
  return 1;
}

const fa3_json *fa3_read_member(fa3_reader *r, const fa3_json *object,
                                const char *where, const char *key,
                                const char **field) {
  if (!(*field = member_field(r, where, key)))
    return NULL;
  const fa3_json *value = fa3_json_member(object, key);
  if (!value)
    fa3_wrong(r, *field, "missing");
  return value;
}

const char *fa3_read_string(fa3_reader *r, const fa3_json *object,
                            const char *where, const char *key,
                            const char **field) {
  const fa3_json *value = fa3_read_member(r, object, where, key, field);
  if (!value)
    return NULL;
  if (value->type != FA3_JSON_STRING) {
    wrong_type(r, *field, "a string", value);
    return NULL;
  }
  const char *copy =
      fa3_arena_copy(r->arena, value->string, strlen(value->string));
  if (!copy)
    r->code = fa3_fail_memory(r->status);
  return copy;
}

int fa3_check_integer(fa3_reader *r, const fa3_json *value, const char *where,
                      int64_t low, int64_t high) {
  if (value->type != FA3_JSON_INTEGER)
    return wrong_type(r, where, "an integer", value);
  if (value->integer >= low && value->integer <= high)
    return 1;
  r->code =
      fa3_fail(r->status, FA3_ERROR_MANIFEST,
               "manifest field '%s': %lld is not between %lld and %lld", where,
               (long long)value->integer, (long long)low, (long long)high);
  return 0;
}

int fa3_read_integer(fa3_reader *r, const fa3_json *object, const char *where,
                     const char *key, int64_t low, int64_t high,
                     int64_t *result) {
  const char *field;
  const fa3_json *value = fa3_read_member(r, object, where, key, &field);
  if (!value || !fa3_check_integer(r, value, field, low, high))
    return 0;
  *result = value->integer;
  return 1;
}

const fa3_json *fa3_read_array(fa3_reader *r, const fa3_json *object,
                               const char *where, const char *key, size_t limit,
                               const char **field) {
  const fa3_json *value = fa3_read_member(r, object, where, key, field);
  if (!value)
    return NULL;
  if (value->type != FA3_JSON_ARRAY) {
    wrong_type(r, *field, "an array", value);
    return NULL;
  }
  if (value->count > limit) {
    r->code = fa3_fail(r->status, FA3_ERROR_MANIFEST,
                       "manifest field '%s': %zu elements, at most %zu allowed",
                       *field, value->count, limit);
    return NULL;
  }
  return value;
}

int fa3_read_type(fa3_reader *r, const fa3_json *object, const char *where,
                  fa3_type *type) {
  const char *field;
  const char *name = fa3_read_string(r, object, where, "type", &field);
  return name && (fa3_type_from_name(name, type) ||
                  fa3_wrong(r, field, "not an element type"));
}

int fa3_compile_field(fa3_reader *r, const fa3_json *value, const char *field,
                      fa3_formula *formula) {
  if (value->type != FA3_JSON_STRING)
    return wrong_type(r, field, "a formula", value);
  const char *text =
      fa3_arena_copy(r->arena, value->string, strlen(value->string));
  r->code = text ? fa3_formula_compile(field, text, &r->program->scope,
                                       r->arena, formula, r->status)
                 : fa3_fail_memory(r->status);
  return r->code == FA3_OK;
}

void *fa3_reader_array(fa3_reader *r, size_t count, size_t size) {
  void *array = fa3_arena_array(r->arena, count, size);
  if (!array)
    r->code = fa3_fail_memory(r->status);
  return array;
}

/*===----------------------------------------------------------------------===*
 * Arguments of the function
 *===----------------------------------------------------------------------===*/

static int is_identifier(const char *s) {
  for (size_t i = 0; s[i]; ++i) {
    int letter = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
                 s[i] == '_';
    if (!letter && !(i > 0 && s[i] >= '0' && s[i] <= '9'))
      return 0;
  }
  return s[0] != '\0';
}

int fa3_check_name(fa3_reader *r, const char *name, const char *field,
                   const fa3_param *params, size_t count) {
  static const char *const reserved[] = {"device", "min", "max", "ceildiv"};
  if (!is_identifier(name))
    return fa3_wrong(r, field, "not an identifier");
  for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); ++i)
    if (!strcmp(name, reserved[i]))
      return fa3_wrong(r, field, "a reserved word of formulas");
  for (size_t i = 0; i < count; ++i)
    if (!strcmp(name, params[i].name))
      return fa3_wrong(r, field, "name used by an earlier argument");
  return 1;
}

/* Finds the first dimension of this name among those already read. */
static void resolve_dim(const fa3_param *params, size_t param, int dim,
                        fa3_dim *result) {
  result->same_param = param;
  result->same_dim = dim;
  for (size_t p = 0; p <= param; ++p)
    for (int d = 0; d < (p == param ? dim : params[p].rank); ++d)
      if (params[p].dims[d].name &&
          !strcmp(params[p].dims[d].name, result->name)) {
        result->same_param = p;
        result->same_dim = d;
        return;
      }
}

static int read_dims(fa3_reader *r, const fa3_json *object, const char *where,
                     fa3_param *params, size_t index) {
  fa3_param *param = &params[index];
  const char *field;
  const fa3_json *dims =
      fa3_read_array(r, object, where, "dims", FA3_MAX_RANK, &field);
  if (!dims)
    return 0;
  for (const fa3_json *d = dims->first; d; d = d->next, ++param->rank) {
    fa3_dim *dim = &param->dims[param->rank];
    const char *at = fa3_field(r, "%s[%d]", field, param->rank);
    if (!at)
      return 0;
    if (d->type == FA3_JSON_INTEGER) {
      if (!fa3_check_integer(r, d, at, 0, INT64_MAX))
        return 0;
      dim->extent = d->integer;
      continue;
    }
    if (d->type != FA3_JSON_STRING)
      return wrong_type(r, at, "a name or an extent", d);
    if (!is_identifier(d->string))
      return fa3_wrong(r, at, "not an identifier");
    dim->extent = -1;
    dim->name = fa3_arena_copy(r->arena, d->string, strlen(d->string));
    if (!dim->name) {
      r->code = fa3_fail_memory(r->status);
      return 0;
    }
    resolve_dim(params, index, param->rank, dim);
  }
  return 1;
}

static int read_access(fa3_reader *r, const fa3_json *object, const char *where,
                       fa3_access *access) {
  const char *field;
  const char *name = fa3_read_string(r, object, where, "access", &field);
  if (!name)
    return 0;
  if (!strcmp(name, "read"))
    *access = FA3_READ;
  else if (!strcmp(name, "write"))
    *access = FA3_WRITE;
  else if (!strcmp(name, "readwrite"))
    *access = FA3_READ_WRITE;
  else
    return fa3_wrong(r, field, "expected 'read', 'write' or 'readwrite'");
  return 1;
}

static int read_param(fa3_reader *r, const fa3_json *object, const char *where,
                      fa3_param *params, size_t index) {
  static const char *const tensor_keys[] = {"name", "kind",   "type",
                                            "dims", "access", NULL};
  static const char *const scalar_keys[] = {"name", "kind", "type", NULL};
  fa3_param *param = &params[index];
  const char *field;
  if (object->type != FA3_JSON_OBJECT)
    return wrong_type(r, where, "an object", object);
  const char *kind = fa3_read_string(r, object, where, "kind", &field);
  if (!kind)
    return 0;
  if (!strcmp(kind, "tensor"))
    param->kind = FA3_TENSOR;
  else if (!strcmp(kind, "scalar"))
    param->kind = FA3_SCALAR;
  else
    return fa3_wrong(r, field, "expected 'tensor' or 'scalar'");
  if (!fa3_read_object(r, object, where,
                       param->kind == FA3_TENSOR ? tensor_keys : scalar_keys))
    return 0;
  param->name = fa3_read_string(r, object, where, "name", &field);
  if (!param->name || !fa3_check_name(r, param->name, field, params, index) ||
      !fa3_read_type(r, object, where, &param->type))
    return 0;
  if (param->kind == FA3_TENSOR)
    return read_dims(r, object, where, params, index) &&
           read_access(r, object, where, &param->access);
  if (param->type == FA3_F32 || param->type == FA3_I32 ||
      param->type == FA3_I64)
    return 1;
  return (field = member_field(r, where, "type")) &&
         fa3_wrong(r, field, "a scalar is of type f32, i32 or i64");
}

static int read_params(fa3_reader *r, const fa3_json *top) {
  const char *field;
  const fa3_json *args =
      fa3_read_array(r, top, "", "args", FA3_MAX_PARAMS, &field);
  if (!args)
    return 0;
  /* Workspaces follow. */
  const fa3_json *workspaces = fa3_json_member(top, "workspaces");
  size_t more =
      workspaces && workspaces->type == FA3_JSON_ARRAY ? workspaces->count : 0;
  r->params = fa3_reader_array(r, args->count + more, sizeof(*r->params));
  if (!r->params)
    return 0;
  r->program->scope.params = r->params;
  size_t index = 0;
  for (const fa3_json *a = args->first; a; a = a->next, ++index) {
    const char *where = fa3_field(r, "args[%zu]", index);
    if (!where || !read_param(r, a, where, r->params, index))
      return 0;
    r->program->scope.num_params = index + 1;
  }
  r->program->num_args = args->count;
  return 1;
}

/*===----------------------------------------------------------------------===*
 * The whole
 *===----------------------------------------------------------------------===*/

static int read_requirements(fa3_reader *r, const fa3_json *top) {
  static const char *const keys[] = {"that", "message", NULL};
  const char *field;
  const fa3_json *list = fa3_read_array(r, top, "", "requires", 1024, &field);
  if (!list)
    return 0;
  fa3_requirement *requirements =
      fa3_reader_array(r, list->count, sizeof(*requirements));
  if (!requirements)
    return 0;
  size_t index = 0;
  for (const fa3_json *e = list->first; e; e = e->next, ++index) {
    const char *where = fa3_field(r, "requires[%zu]", index);
    if (!where || !fa3_read_object(r, e, where, keys))
      return 0;
    const fa3_json *that = fa3_read_member(r, e, where, "that", &field);
    if (!that || !fa3_compile_field(r, that, field, &requirements[index].that))
      return 0;
    requirements[index].message =
        fa3_read_string(r, e, where, "message", &field);
    if (!requirements[index].message)
      return 0;
  }
  r->program->requirements = requirements;
  r->program->num_requirements = list->count;
  return 1;
}

static int read_cost(fa3_reader *r, const fa3_json *top, const char *key,
                     fa3_formula *formula) {
  const fa3_json *value = fa3_json_member(top, key);
  if (!value)
    return 1;
  const char *field = fa3_field(r, "%s", key);
  return field && fa3_compile_field(r, value, field, formula);
}

static int read_hash(fa3_reader *r, const fa3_json *top) {
  const char *field;
  const char *text = fa3_read_string(r, top, "", "ptx_hash", &field);
  if (!text)
    return 0;
  size_t digits = 0;
  uint64_t hash = 0;
  for (; text[digits] && digits <= 16; ++digits) {
    char c = text[digits];
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0)
      return fa3_wrong(r, field, "expected hexadecimal digits");
    hash = hash << 4 | (uint64_t)digit;
  }
  if (digits == 0 || digits > 16)
    return fa3_wrong(r, field, "expected 1 to 16 hexadecimal digits");
  r->program->ptx_hash = hash;
  return 1;
}

static int read_top(fa3_reader *r, const fa3_json *top) {
  static const char *const keys[] = {
      "schema",   "producer", "function",   "chip",     "ptx_isa",
      "args",     "requires", "workspaces", "launches", "flops",
      "ptx_hash", "bytes",    NULL};
  fa3_program *program = r->program;
  const char *field;
  int64_t schema;
  /* The schema comes first: another one may differ in everything else. */
  if (top->type != FA3_JSON_OBJECT)
    return wrong_type(r, "(top)", "an object", top);
  if (!fa3_read_integer(r, top, "", "schema", 1, 1, &schema) ||
      !fa3_read_object(r, top, "", keys))
    return 0;
  program->producer = fa3_read_string(r, top, "", "producer", &field);
  program->function = program->producer
                          ? fa3_read_string(r, top, "", "function", &field)
                          : NULL;
  program->chip =
      program->function ? fa3_read_string(r, top, "", "chip", &field) : NULL;
  if (!program->chip || !fa3_read_string(r, top, "", "ptx_isa", &field) ||
      !read_params(r, top) || !read_requirements(r, top) ||
      !read_cost(r, top, "flops", &program->costs[FA3_FLOPS]) ||
      !read_cost(r, top, "bytes", &program->costs[FA3_BYTES]))
    return 0;
  return fa3_read_workspaces(r, top) && fa3_read_launches(r, top) &&
         read_hash(r, top);
}

/* Notes for every tensor whether any formula reads its innermost stride. */
static void note_inner_strides(fa3_program *program, fa3_param *params) {
  for (size_t p = 0; p < program->scope.num_params; ++p) {
    fa3_param *param = &params[p];
    if (param->kind != FA3_TENSOR || param->rank == 0)
      continue;
    int dim = param->rank - 1, reads = 0;
    for (size_t i = 0; i < program->num_requirements && !reads; ++i)
      reads = fa3_formula_reads_stride(&program->requirements[i].that, p, dim);
    for (size_t l = 0; l < program->num_launches && !reads; ++l) {
      const fa3_kernel_launch *launch = &program->launches[l];
      for (size_t a = 0; a < launch->num_args && !reads; ++a) {
        const fa3_kernel_arg *arg = &launch->args[a];
        reads = fa3_formula_reads_stride(&arg->value, p, dim);
        for (int i = 0; i + 1 < arg->rank && !reads; ++i)
          reads = fa3_formula_reads_stride(&arg->strides[i], p, dim);
      }
    }
    param->unit_inner_stride = !reads;
  }
}

fa3_code fa3_manifest_read(const char *text, size_t size, fa3_program *program,
                           fa3_status *status) {
  enum { MAX_SIZE = 1 << 24 };
  if (size > MAX_SIZE)
    return fa3_fail(status, FA3_ERROR_MANIFEST,
                    "manifest of %zu bytes, at most %d allowed", size,
                    MAX_SIZE);
  fa3_arena document = {NULL};
  fa3_status local;
  fa3_succeed(&local);
  const fa3_json *top = fa3_json_parse(text, size, &document, &local);
  fa3_reader reader = {program, &program->arena, NULL, local.code, &local};
  if (top && read_top(&reader, top))
    note_inner_strides(program, reader.params);
  fa3_arena_free(&document);
  if (reader.code != FA3_OK && status)
    *status = local;
  return reader.code;
}
