/*===- Check.c - arguments against the manifest ---------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Everything about a call that can be checked without the driver, and the
 * values that the launch takes from the arguments.
 *===----------------------------------------------------------------------===*/

#include "Overlap.h"
#include "Program.h"

#include <float.h>
#include <inttypes.h>

enum { TMA_ALIGNMENT = 16 };

static const char *kind_name(fa3_kind kind) {
  return kind == FA3_TENSOR ? "tensor" : "scalar";
}

static const char *type_name(fa3_type type) {
  const char *name = fa3_type_name(type);
  return name ? name : "an unknown type";
}

/*===----------------------------------------------------------------------===*
 * What formulas rest on
 *===----------------------------------------------------------------------===*/

static fa3_code check_scalar(const fa3_param *param, const fa3_arg *arg,
                             fa3_status *status) {
  if (param->type == FA3_F32) {
    double value = arg->value.real;
    /* Infinities and NaN are values of f32. */
    if ((value > FLT_MAX || value < -FLT_MAX) && value - value == 0)
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument '%s': %g is beyond the range of f32",
                      param->name, value);
    return FA3_OK;
  }
  int64_t value = arg->value.integer;
  if (param->type == FA3_I32 && (value < INT32_MIN || value > INT32_MAX))
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "argument '%s': %" PRId64 " is beyond the range of i32",
                    param->name, value);
  return FA3_OK;
}

fa3_code fa3_check_signature(const fa3_program *program, const fa3_arg *args,
                             size_t num_args, fa3_status *status) {
  if (num_args != program->num_args)
    return fa3_fail(status, FA3_ERROR_ARGUMENT, "%zu arguments, '%s' takes %zu",
                    num_args, program->function, program->num_args);
  if (num_args && !args)
    return fa3_fail(status, FA3_ERROR_ARGUMENT, "null array of arguments");
  for (size_t i = 0; i < num_args; ++i) {
    const fa3_param *param = &program->scope.params[i];
    const fa3_arg *arg = &args[i];
    if (arg->kind != param->kind)
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument '%s': a %s, expected a %s", param->name,
                      kind_name(arg->kind), kind_name(param->kind));
    if (arg->type != param->type)
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument '%s': element type %s, expected %s",
                      param->name, type_name(arg->type),
                      type_name(param->type));
    if (param->kind == FA3_SCALAR) {
      fa3_code code = check_scalar(param, arg, status);
      if (code != FA3_OK)
        return code;
      continue;
    }
    if (arg->rank != param->rank)
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument '%s': rank %" PRId32 ", expected %d",
                      param->name, arg->rank, param->rank);
    for (int d = 0; d < param->rank; ++d)
      if (arg->shape[d] < 0)
        return fa3_fail(status, FA3_ERROR_ARGUMENT,
                        "argument '%s': extent %" PRId64
                        " of dimension %d is negative",
                        param->name, arg->shape[d], d);
  }
  return FA3_OK;
}

/*===----------------------------------------------------------------------===*
 * Tensors
 *===----------------------------------------------------------------------===*/

static int is_empty(const fa3_arg *arg) {
  for (int d = 0; d < arg->rank; ++d)
    if (arg->shape[d] == 0)
      return 1;
  return 0;
}

static fa3_code check_extents(const fa3_scope *scope, size_t index,
                              const fa3_arg *args, fa3_status *status) {
  const fa3_param *param = &scope->params[index];
  for (int d = 0; d < param->rank; ++d) {
    const fa3_dim *dim = &param->dims[d];
    int64_t extent = args[index].shape[d];
    if (!dim->name) {
      if (extent != dim->extent)
        return fa3_fail(status, FA3_ERROR_ARGUMENT,
                        "argument '%s': extent %" PRId64
                        " of dimension %d, expected %" PRId64,
                        param->name, extent, d, dim->extent);
      continue;
    }
    int64_t first = args[dim->same_param].shape[dim->same_dim];
    if (extent != first)
      return fa3_fail(
          status, FA3_ERROR_ARGUMENT,
          "argument '%s': extent %" PRId64
          " of dimension %d ('%s'), but '%s' has %" PRId64 " in dimension %d",
          param->name, extent, d, dim->name,
          scope->params[dim->same_param].name, first, dim->same_dim);
  }
  return FA3_OK;
}

static fa3_code check_strides(const fa3_param *param, const fa3_arg *arg,
                              fa3_status *status) {
  /* The bytes from the first to the end of the last element. */
  int64_t span = 1;
  for (int d = 0; d < param->rank; ++d) {
    /* The stride of a dimension of extent 1 addresses nothing. */
    if (arg->shape[d] <= 1)
      continue;
    int64_t stride = arg->stride[d], reach;
    if (stride < 0)
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument '%s': stride %" PRId64
                      " of dimension %d is negative",
                      param->name, stride, d);
    if (__builtin_mul_overflow(arg->shape[d] - 1, stride, &reach) ||
        __builtin_add_overflow(span, reach, &span))
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument '%s': spans more than 2^63 elements",
                      param->name);
  }
  int64_t size = (int64_t)fa3_type_size(param->type);
  if (__builtin_mul_overflow(span, size, &span))
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "argument '%s': spans more than 2^63 bytes", param->name);
  int inner = param->rank - 1;
  if (param->unit_inner_stride && arg->shape[inner] > 1 &&
      arg->stride[inner] != 1)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "argument '%s': stride %" PRId64
                    " of dimension %d, expected 1 in the innermost dimension",
                    param->name, arg->stride[inner], inner);
  return FA3_OK;
}

static fa3_code check_address(const fa3_param *param, const fa3_arg *arg,
                              fa3_status *status) {
  uintptr_t address = (uintptr_t)arg->value.data;
  if (!address)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "argument '%s': null address of a tensor that is not empty",
                    param->name);
  size_t size = fa3_type_size(param->type);
  size_t alignment =
      param->is_map_source && size < TMA_ALIGNMENT ? TMA_ALIGNMENT : size;
  if (address % alignment != 0)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "argument '%s': address 0x%" PRIxPTR
                    " is not a multiple of %zu",
                    param->name, address, alignment);
  uint64_t span = fa3_span(arg);
  if (span - 1 > UINTPTR_MAX - address)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "argument '%s': %" PRIu64 " bytes from address 0x%" PRIxPTR
                    " leave the address space",
                    param->name, span, address);
  return FA3_OK;
}

/* Kernels write results in no particular order and while others read: memory
 * that is written is no part of anything else. */
static fa3_code check_overlaps(const fa3_program *program, const fa3_arg *args,
                               fa3_status *status) {
  const fa3_param *params = program->scope.params;
  for (size_t i = 0; i < program->num_args; ++i) {
    const fa3_param *param = &params[i];
    if (param->kind != FA3_TENSOR || param->access == FA3_READ ||
        is_empty(&args[i]))
      continue;
    if (fa3_overlaps_itself(&args[i]))
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument '%s': is written, and its strides put several "
                      "elements at one address",
                      param->name);
    for (size_t j = 0; j < program->num_args; ++j) {
      /* Of two that are written, the first has looked at both. */
      if (params[j].kind != FA3_TENSOR || is_empty(&args[j]) || j == i ||
          (j < i && params[j].access != FA3_READ) ||
          !fa3_overlap(&args[i], &args[j]))
        continue;
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument '%s': is written, and shares memory with '%s' "
                      "(0x%" PRIxPTR " and 0x%" PRIxPTR ")",
                      param->name, params[j].name,
                      (uintptr_t)args[i].value.data,
                      (uintptr_t)args[j].value.data);
    }
  }
  return FA3_OK;
}

fa3_code fa3_check_workspace(const fa3_program *program, const fa3_arg *args,
                             void *memory, int64_t size, fa3_status *status) {
  uintptr_t address = (uintptr_t)memory;
  if (address % FA3_WORKSPACE_ALIGNMENT)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "address 0x%" PRIxPTR
                    " of the workspace is not a multiple of %d",
                    address, FA3_WORKSPACE_ALIGNMENT);
  if ((uintptr_t)size - 1 > UINTPTR_MAX - address)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "%" PRId64 " bytes of workspace from address 0x%" PRIxPTR
                    " leave the address space",
                    size, address);
  const fa3_arg bytes = fa3_tensor(FA3_I8, memory, 1, &size, NULL);
  for (size_t i = 0; i < program->num_args; ++i)
    if (program->scope.params[i].kind == FA3_TENSOR && !is_empty(&args[i]) &&
        fa3_overlap(&bytes, &args[i]))
      return fa3_fail(
          status, FA3_ERROR_ARGUMENT,
          "the workspace shares memory with argument '%s' (0x%" PRIxPTR
          " and 0x%" PRIxPTR ")",
          program->scope.params[i].name, address,
          (uintptr_t)args[i].value.data);
  return FA3_OK;
}

static fa3_code check_requirements(const fa3_program *program,
                                   const fa3_arg *args, fa3_status *status) {
  for (size_t i = 0; i < program->num_requirements; ++i) {
    const fa3_requirement *requirement = &program->requirements[i];
    int64_t holds;
    fa3_code code = fa3_formula_evaluate(&requirement->that, args,
                                         program->device_sms, &holds, status);
    if (code != FA3_OK)
      return code;
    if (holds)
      continue;
    char values[256];
    fa3_formula_describe(&requirement->that, &program->scope, args,
                         program->device_sms, values, sizeof(values));
    return fa3_fail(status, FA3_ERROR_REQUIREMENT,
                    "%.400s: '%.300s' does not hold (%s)", requirement->message,
                    requirement->that.text, values);
  }
  return FA3_OK;
}

fa3_code fa3_check_addresses(const fa3_program *program, const fa3_arg *args,
                             fa3_status *status) {
  for (size_t i = 0; i < program->num_args; ++i) {
    const fa3_param *param = &program->scope.params[i];
    if (param->kind != FA3_TENSOR || is_empty(&args[i]))
      continue;
    fa3_code code = check_address(param, &args[i], status);
    if (code != FA3_OK)
      return code;
  }
  return check_overlaps(program, args, status);
}

fa3_code fa3_check_values(const fa3_program *program, const fa3_arg *args,
                          fa3_status *status) {
  const fa3_scope *scope = &program->scope;
  for (size_t i = 0; i < program->num_args; ++i) {
    const fa3_param *param = &scope->params[i];
    if (param->kind != FA3_TENSOR)
      continue;
    fa3_code code = check_extents(scope, i, args, status);
    /* Nothing in an empty tensor is addressed. */
    if (code == FA3_OK && !is_empty(&args[i])) {
      code = check_strides(param, &args[i], status);
      if (code == FA3_OK)
        code = check_address(param, &args[i], status);
    }
    if (code != FA3_OK)
      return code;
  }
  fa3_code code = check_overlaps(program, args, status);
  return code == FA3_OK ? check_requirements(program, args, status) : code;
}

/*===----------------------------------------------------------------------===*
 * What a launch takes from the arguments
 *===----------------------------------------------------------------------===*/

fa3_code fa3_resolve_condition(const fa3_program *program,
                               const fa3_kernel_launch *launch,
                               const fa3_arg *args, int *holds,
                               fa3_status *status) {
  int64_t value = 1;
  fa3_code code = FA3_OK;
  if (launch->condition.num_ops > 0)
    code = fa3_formula_evaluate(&launch->condition, args, program->device_sms,
                                &value, status);
  *holds = value != 0;
  return code;
}

fa3_code fa3_resolve_grid(const fa3_program *program,
                          const fa3_kernel_launch *launch, const fa3_arg *args,
                          uint32_t *blocks, fa3_status *status) {
  int64_t value;
  fa3_code code = fa3_formula_evaluate(&launch->grid, args, program->device_sms,
                                       &value, status);
  if (code != FA3_OK)
    return code;
  if (value < 0 || value > INT32_MAX)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "kernel '%s': grid of %" PRId64
                    " blocks is not between 0 and %" PRId32,
                    launch->kernel, value, INT32_MAX);
  if (value % launch->cluster != 0)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "kernel '%s': grid of %" PRId64
                    " blocks is not a multiple of the cluster of %" PRIu32,
                    launch->kernel, value, launch->cluster);
  *blocks = (uint32_t)value;
  return FA3_OK;
}

fa3_code fa3_resolve_map(const fa3_program *program, const fa3_kernel_arg *arg,
                         const fa3_arg *args, fa3_map_geometry *geometry,
                         fa3_status *status) {
  const char *name = program->scope.params[arg->source].name;
  const fa3_arg *source = &args[arg->source];
  geometry->is_empty = is_empty(source);
  for (int i = 0; i < arg->rank; ++i) {
    int64_t extent;
    fa3_code code = fa3_formula_evaluate(&arg->dims[i], args,
                                         program->device_sms, &extent, status);
    if (code != FA3_OK)
      return code;
    if (extent < 0 || extent > UINT32_MAX)
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument '%s': extent %" PRId64
                      " of tensor map dimension %d is not between 0 and "
                      "%" PRIu32,
                      name, extent, i, UINT32_MAX);
    geometry->is_empty |= extent == 0;
    geometry->dims[i] = (uint64_t)extent;
  }
  if (geometry->is_empty)
    return FA3_OK;
  if (arg->inner_dim >= 0 && source->shape[arg->inner_dim] > 1 &&
      source->stride[arg->inner_dim] != 1)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "argument '%s': stride %" PRId64
                    " of dimension %d, expected 1 for a tensor map",
                    name, source->stride[arg->inner_dim], arg->inner_dim);
  for (int i = 0; i + 1 < arg->rank; ++i) {
    if (geometry->dims[i + 1] == 1) {
      /* Never used, but the driver checks it; frameworks leave anything here.
       */
      uint64_t row = geometry->dims[0] * fa3_type_size(arg->type);
      geometry->strides[i] =
          (row + TMA_ALIGNMENT - 1) / TMA_ALIGNMENT * TMA_ALIGNMENT;
      continue;
    }
    int64_t stride;
    fa3_code code = fa3_formula_evaluate(&arg->strides[i], args,
                                         program->device_sms, &stride, status);
    if (code != FA3_OK)
      return code;
    const int64_t limit = INT64_C(1) << 40;
    if (stride < 0 || stride >= limit || stride % TMA_ALIGNMENT != 0)
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument '%s': stride of %" PRId64
                      " bytes of tensor map dimension %d is not a multiple of "
                      "%d between 0 and 2^40",
                      name, stride, i + 1, (int)TMA_ALIGNMENT);
    geometry->strides[i] = (uint64_t)stride;
  }
  return FA3_OK;
}

fa3_code fa3_resolve_integer(const fa3_program *program,
                             const fa3_kernel_arg *arg, const fa3_arg *args,
                             int64_t *value, fa3_status *status) {
  fa3_code code = fa3_formula_evaluate(&arg->value, args, program->device_sms,
                                       value, status);
  if (code == FA3_OK && arg->kind == FA3_KERNEL_I32 &&
      (*value < INT32_MIN || *value > INT32_MAX))
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "%s: '%.400s' is %" PRId64 ", beyond the range of i32",
                    arg->field, arg->value.text, *value);
  return code;
}
