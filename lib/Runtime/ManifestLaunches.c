/*===- ManifestLaunches.c - the launches of a manifest --------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Reads member `launches`: condition, grid, block and the arguments of each
 * kernel. What a tensor map can be is checked here as far as it does not depend
 * on a call.
 *===----------------------------------------------------------------------===*/

#include "ManifestReader.h"

#include <string.h>

enum {
  MAX_THREADS = 1024,
  MAX_CLUSTER = 8,       /* the portable limit */
  MAX_SMEM = 227 * 1024, /* of one block on sm_90 */
  MAX_BOX = 256,
  TMA_GRANULE = 16
};

/* The parameter that member `key` names. */
static int read_source(fa3_reader *r, const fa3_json *object, const char *where,
                       const char *key, size_t *source) {
  const char *field;
  const char *name = fa3_read_string(r, object, where, key, &field);
  if (!name)
    return 0;
  const fa3_scope *scope = &r->program->scope;
  for (*source = 0; *source < scope->num_params; ++*source)
    if (!strcmp(scope->params[*source].name, name))
      return 1;
  return fa3_wrong(r, field, "no argument of this name");
}

static int read_tensor_source(fa3_reader *r, const fa3_json *object,
                              const char *where, fa3_kernel_arg *arg) {
  if (!read_source(r, object, where, "source", &arg->source))
    return 0;
  if (r->params[arg->source].kind == FA3_TENSOR)
    return 1;
  const char *field = fa3_field(r, "%s.source", where);
  return field && fa3_wrong(r, field, "a scalar has no address");
}

/*===----------------------------------------------------------------------===*
 * Tensor maps
 *===----------------------------------------------------------------------===*/

static int read_formulas(fa3_reader *r, const fa3_json *object,
                         const char *where, const char *key, int count,
                         fa3_formula *formulas) {
  const char *field;
  const fa3_json *list =
      fa3_read_array(r, object, where, key, FA3_MAX_MAP_RANK, &field);
  if (!list)
    return 0;
  if (list->count != (size_t)count) {
    r->code = fa3_fail(r->status, FA3_ERROR_MANIFEST,
                       "manifest field '%s': %zu elements, expected %d", field,
                       list->count, count);
    return 0;
  }
  int index = 0;
  for (const fa3_json *e = list->first; e; e = e->next, ++index) {
    const char *at = fa3_field(r, "%s[%d]", field, index);
    if (!at || !fa3_compile_field(r, e, at, &formulas[index]))
      return 0;
  }
  return 1;
}

static int read_box(fa3_reader *r, const fa3_json *object, const char *where,
                    fa3_kernel_arg *arg) {
  const char *field;
  const fa3_json *box =
      fa3_read_array(r, object, where, "box", FA3_MAX_MAP_RANK, &field);
  if (!box)
    return 0;
  if (box->count == 0)
    return fa3_wrong(r, field, "a box has at least one dimension");
  for (const fa3_json *e = box->first; e; e = e->next, ++arg->rank) {
    const char *at = fa3_field(r, "%s[%d]", field, arg->rank);
    if (!at || !fa3_check_integer(r, e, at, 1, MAX_BOX))
      return 0;
    arg->box[arg->rank] = (uint32_t)e->integer;
  }
  size_t row = arg->box[0] * fa3_type_size(arg->type);
  if (row % TMA_GRANULE == 0 &&
      (arg->swizzle == 0 || row <= (size_t)arg->swizzle))
    return 1;
  r->code = fa3_fail(r->status, FA3_ERROR_MANIFEST,
                     "manifest field '%s[0]': a row of %zu bytes is not a "
                     "multiple of %d within a swizzle of %d",
                     field, row, (int)TMA_GRANULE, arg->swizzle);
  return 0;
}

static int read_tensor_map(fa3_reader *r, const fa3_json *object,
                           const char *where, fa3_kernel_arg *arg) {
  static const char *const keys[] = {"kind", "source", "type",    "swizzle",
                                     "box",  "dims",   "strides", NULL};
  if (!fa3_read_object(r, object, where, keys) ||
      !read_tensor_source(r, object, where, arg) ||
      !fa3_read_type(r, object, where, &arg->type))
    return 0;
  fa3_param *source = &r->params[arg->source];
  const char *field = fa3_field(r, "%s.type", where);
  if (!field)
    return 0;
  if (arg->type != source->type)
    return fa3_wrong(r, field, "differs from the element type of the source");
  if (fa3_type_tensor_map_code(arg->type) < 0)
    return fa3_wrong(r, field, "an element type without tensor maps");
  int64_t swizzle;
  if (!fa3_read_integer(r, object, where, "swizzle", 0, 128, &swizzle))
    return 0;
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return (field = fa3_field(r, "%s.swizzle", where)) &&
           fa3_wrong(r, field, "expected 0, 32, 64 or 128");
  arg->swizzle = (int)swizzle;
  if (!read_box(r, object, where, arg) ||
      !read_formulas(r, object, where, "dims", arg->rank, arg->dims) ||
      !read_formulas(r, object, where, "strides", arg->rank - 1, arg->strides))
    return 0;
  source->is_map_source = 1;
  /* TMA takes the stride of the innermost dimension to be 1. A computed extent
   * splits a dimension of the source, the innermost one as a rule. */
  arg->inner_dim = fa3_formula_plain_shape(&arg->dims[0], arg->source);
  if (arg->inner_dim < 0)
    arg->inner_dim = source->rank - 1;
  return 1;
}

/*===----------------------------------------------------------------------===*
 * Launches
 *===----------------------------------------------------------------------===*/

static int read_kernel_arg(fa3_reader *r, const fa3_json *object,
                           const char *where, fa3_kernel_arg *arg) {
  static const char *const all_keys[] = {"kind",    "source", "type",
                                         "swizzle", "box",    "dims",
                                         "strides", "value",  NULL};
  static const char *const pointer_keys[] = {"kind", "source", NULL};
  static const char *const value_keys[] = {"kind", "value", NULL};
  static const char *const counter_keys[] = {"kind", NULL};
  arg->field = where;
  const char *field;
  if (!fa3_read_object(r, object, where, all_keys))
    return 0;
  const char *kind = fa3_read_string(r, object, where, "kind", &field);
  if (!kind)
    return 0;
  if (!strcmp(kind, "tensormap")) {
    arg->kind = FA3_KERNEL_TENSOR_MAP;
    return read_tensor_map(r, object, where, arg);
  }
  if (!strcmp(kind, "pointer")) {
    arg->kind = FA3_KERNEL_POINTER;
    return fa3_read_object(r, object, where, pointer_keys) &&
           read_tensor_source(r, object, where, arg);
  }
  if (!strcmp(kind, "counter")) {
    arg->kind = FA3_KERNEL_COUNTER;
    return fa3_read_object(r, object, where, counter_keys);
  }
  int is_f32 = !strcmp(kind, "f32");
  if (!is_f32 && strcmp(kind, "i32") != 0 && strcmp(kind, "i64") != 0)
    return fa3_wrong(r, field,
                     "expected 'tensormap', 'pointer', 'counter', 'i32', "
                     "'i64' or 'f32'");
  if (!fa3_read_object(r, object, where, value_keys))
    return 0;
  if (is_f32) {
    arg->kind = FA3_KERNEL_F32;
    if (!read_source(r, object, where, "value", &arg->source))
      return 0;
    const fa3_param *source = &r->params[arg->source];
    if (source->kind == FA3_SCALAR && source->type == FA3_F32)
      return 1;
    return (field = fa3_field(r, "%s.value", where)) &&
           fa3_wrong(r, field, "not a scalar of type f32");
  }
  arg->kind = strcmp(kind, "i32") == 0 ? FA3_KERNEL_I32 : FA3_KERNEL_I64;
  const fa3_json *value = fa3_read_member(r, object, where, "value", &field);
  return value && fa3_compile_field(r, value, field, &arg->value);
}

static int read_kernel_args(fa3_reader *r, const fa3_json *object,
                            const char *where, fa3_kernel_launch *launch) {
  const char *field;
  const fa3_json *list =
      fa3_read_array(r, object, where, "args", FA3_MAX_KERNEL_ARGS, &field);
  if (!list)
    return 0;
  fa3_kernel_arg *args = fa3_reader_array(r, list->count, sizeof(*args));
  if (!args)
    return 0;
  size_t index = 0, maps = 0;
  for (const fa3_json *e = list->first; e; e = e->next, ++index) {
    const char *at = fa3_field(r, "%s[%zu]", field, index);
    if (!at || !read_kernel_arg(r, e, at, &args[index]))
      return 0;
    maps += args[index].kind == FA3_KERNEL_TENSOR_MAP;
  }
  if (maps > FA3_MAX_TENSOR_MAPS) {
    r->code = fa3_fail(r->status, FA3_ERROR_MANIFEST,
                       "manifest field '%s': %zu tensor maps, at most %d "
                       "allowed",
                       field, maps, FA3_MAX_TENSOR_MAPS);
    return 0;
  }
  launch->args = args;
  launch->num_args = list->count;
  return 1;
}

static int read_launch(fa3_reader *r, const fa3_json *object, const char *where,
                       fa3_kernel_launch *launch) {
  static const char *const keys[] = {"kernel", "condition", "grid",
                                     "block",  "cluster",   "smem",
                                     "waits",  "args",      NULL};
  const char *field;
  int64_t block, cluster = 1, smem;
  if (!fa3_read_object(r, object, where, keys) ||
      !(launch->kernel = fa3_read_string(r, object, where, "kernel", &field)))
    return 0;
  if (fa3_json_member(object, "condition")) {
    const fa3_json *condition =
        fa3_read_member(r, object, where, "condition", &field);
    if (!condition ||
        !fa3_compile_field(r, condition, field, &launch->condition))
      return 0;
  }
  const fa3_json *grid = fa3_read_member(r, object, where, "grid", &field);
  if (!grid || !fa3_compile_field(r, grid, field, &launch->grid) ||
      !fa3_read_integer(r, object, where, "block", 1, MAX_THREADS, &block) ||
      !fa3_read_integer(r, object, where, "smem", 0, MAX_SMEM, &smem))
    return 0;
  if (fa3_json_member(object, "cluster") &&
      !fa3_read_integer(r, object, where, "cluster", 1, MAX_CLUSTER, &cluster))
    return 0;
  const fa3_json *waits = fa3_json_member(object, "waits");
  if (waits && waits->type != FA3_JSON_BOOL)
    return (field = fa3_field(r, "%s.waits", where)) &&
           fa3_wrong(r, field, "expected true or false");
  launch->waits = waits && waits->integer;
  launch->block = (uint32_t)block;
  launch->cluster = (uint32_t)cluster;
  launch->smem = (uint32_t)smem;
  return read_kernel_args(r, object, where, launch);
}

int fa3_read_launches(fa3_reader *r, const fa3_json *top) {
  const char *field;
  const fa3_json *list =
      fa3_read_array(r, top, "", "launches", FA3_MAX_LAUNCHES, &field);
  if (!list)
    return 0;
  if (list->count == 0)
    return fa3_wrong(r, field, "a program has at least one launch");
  fa3_kernel_launch *launches =
      fa3_reader_array(r, list->count, sizeof(*launches));
  if (!launches)
    return 0;
  size_t index = 0;
  for (const fa3_json *e = list->first; e; e = e->next, ++index) {
    const char *where = fa3_field(r, "launches[%zu]", index);
    if (!where || !read_launch(r, e, where, &launches[index]))
      return 0;
  }
  r->program->launches = launches;
  r->program->num_launches = list->count;
  return 1;
}
