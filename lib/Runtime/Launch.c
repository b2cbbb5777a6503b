/*===- Launch.c - validation, evaluation and launch -----------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The state of a call lives on the stack. The program is only read, but for its
 * counters; nothing is allocated but more of them for captured launches, and
 * threads share nothing else.
 *===----------------------------------------------------------------------===*/

#include "Launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static fa3_code null_program(fa3_status *status) {
  return fa3_fail(status, FA3_ERROR_ARGUMENT, "null program");
}

/*===----------------------------------------------------------------------===*
 * Without the driver
 *===----------------------------------------------------------------------===*/

/* All values that one launch takes from the arguments, for the errors. */
static fa3_code check_launch(const fa3_program *program,
                             const fa3_kernel_launch *launch,
                             const fa3_arg *args, fa3_status *status) {
  uint32_t blocks;
  int holds;
  fa3_code code = fa3_resolve_condition(program, launch, args, &holds, status);
  if (code != FA3_OK || !holds)
    return code;
  code = fa3_resolve_grid(program, launch, args, &blocks, status);
  for (size_t i = 0; i < launch->num_args && code == FA3_OK; ++i) {
    const fa3_kernel_arg *arg = &launch->args[i];
    fa3_map_geometry geometry;
    int64_t value;
    if (arg->kind == FA3_KERNEL_TENSOR_MAP)
      code = fa3_resolve_map(program, arg, args, &geometry, status);
    else if (arg->kind == FA3_KERNEL_I32 || arg->kind == FA3_KERNEL_I64)
      code = fa3_resolve_integer(program, arg, args, &value, status);
  }
  return code;
}

fa3_code fa3_validate(const fa3_program *program, const fa3_arg *args,
                      size_t num_args, fa3_status *status) {
  if (!program)
    return null_program(status);
  fa3_code code = fa3_check_signature(program, args, num_args, status);
  if (code == FA3_OK)
    code = fa3_check_values(program, args, status);
  fa3_arg storage[FA3_MAX_PARAMS];
  const fa3_arg *all = args;
  int64_t size;
  if (code == FA3_OK)
    code =
        fa3_bind_workspaces(program, args, NULL, storage, &all, &size, status);
  for (size_t i = 0; i < program->num_launches && code == FA3_OK; ++i)
    code = check_launch(program, &program->launches[i], all, status);
  return code == FA3_OK ? fa3_succeed(status) : code;
}

fa3_code fa3_evaluate(const fa3_program *program, fa3_quantity quantity,
                      const fa3_arg *args, size_t num_args, int64_t *value,
                      fa3_status *status) {
  if (!program)
    return null_program(status);
  if (!value || (quantity != FA3_FLOPS && quantity != FA3_BYTES))
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "unknown quantity or no place for its value");
  const fa3_formula *formula = &program->costs[quantity];
  if (formula->num_ops == 0)
    return fa3_fail(
        status, FA3_ERROR_ARGUMENT, "the manifest of '%s' has no member '%s'",
        program->function, quantity == FA3_FLOPS ? "flops" : "bytes");
  fa3_code code = fa3_check_signature(program, args, num_args, status);
  if (code == FA3_OK)
    code =
        fa3_formula_evaluate(formula, args, program->device_sms, value, status);
  return code == FA3_OK ? fa3_succeed(status) : code;
}

fa3_code fa3_evaluate_grid(const fa3_program *program, size_t launch,
                           const fa3_arg *args, size_t num_args,
                           int64_t *blocks, fa3_status *status) {
  if (!program)
    return null_program(status);
  if (!blocks || launch >= program->num_launches)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "no launch of this number or no place for its grid");
  const fa3_kernel_launch *chosen = &program->launches[launch];
  uint32_t value = 0;
  int holds = 0;
  fa3_arg storage[FA3_MAX_PARAMS];
  const fa3_arg *all;
  int64_t size;
  fa3_code code = fa3_check_signature(program, args, num_args, status);
  if (code == FA3_OK)
    code =
        fa3_bind_workspaces(program, args, NULL, storage, &all, &size, status);
  if (code == FA3_OK)
    code = fa3_resolve_condition(program, chosen, all, &holds, status);
  if (code == FA3_OK && holds)
    code = fa3_resolve_grid(program, chosen, all, &value, status);
  if (code != FA3_OK)
    return code;
  *blocks = value;
  return fa3_succeed(status);
}

fa3_code fa3_workspace_size(const fa3_program *program, const fa3_arg *args,
                            size_t num_args, int64_t *size,
                            fa3_status *status) {
  if (!program)
    return null_program(status);
  if (!size)
    return fa3_fail(status, FA3_ERROR_ARGUMENT, "no place for the size");
  fa3_arg storage[FA3_MAX_PARAMS];
  const fa3_arg *all;
  fa3_code code = fa3_check_signature(program, args, num_args, status);
  if (code == FA3_OK)
    code =
        fa3_bind_workspaces(program, args, NULL, storage, &all, size, status);
  return code == FA3_OK ? fa3_succeed(status) : code;
}

/*===----------------------------------------------------------------------===*
 * With the driver
 *===----------------------------------------------------------------------===*/

static int swizzle_code(int bytes) {
  return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0;
}

fa3_code fa3_encode_map(const fa3_program *program, const fa3_kernel_arg *arg,
                        const fa3_arg *args, fa3_cu_tensor_map *map,
                        fa3_status *status) {
  fa3_map_geometry geometry;
  fa3_code code = fa3_resolve_map(program, arg, args, &geometry, status);
  if (code != FA3_OK)
    return code;
  void *address = args[arg->source].value.data;
  static const uint32_t element_strides[FA3_MAX_MAP_RANK] = {1, 1, 1, 1, 1};
  if (geometry.is_empty) {
    /* A map of extent 0 cannot be encoded, and an empty tensor has no address.
     * The kernel runs nonetheless, for example to write zeros when there are no
     * keys. It gets a map of one zero element in memory of the program:
     * whatever box is read is zero. */
    address = (void *)(uintptr_t)program->empty;
    for (int i = 0; i < arg->rank; ++i)
      geometry.dims[i] = 1;
    for (int i = 0; i + 1 < arg->rank; ++i)
      geometry.strides[i] = 16;
  }
  fa3_cu_result result = program->driver->encode_tiled(
      map, fa3_type_tensor_map_code(arg->type), (uint32_t)arg->rank, address,
      geometry.dims, geometry.strides, arg->box, element_strides,
      /*interleave=*/0, swizzle_code(arg->swizzle),
      FA3_CU_MAP_L2_PROMOTION_256B, /*fill=*/0);
  if (result == FA3_CU_SUCCESS)
    return FA3_OK;
  char what[256];
  snprintf(what, sizeof(what), "encoding the tensor map of argument '%.100s'",
           program->scope.params[arg->source].name);
  return fa3_driver_fail(program->driver, result, what, status);
}

fa3_code fa3_fill_params(const fa3_program *program,
                         const fa3_kernel_launch *launch, const fa3_arg *args,
                         void *stream, fa3_kernel_state *state,
                         fa3_status *status) {
  size_t maps = 0;
  for (size_t i = 0; i < launch->num_args; ++i) {
    const fa3_kernel_arg *arg = &launch->args[i];
    state->params[i] = &state->values[i];
    fa3_code code = FA3_OK;
    int64_t value = 0;
    switch (arg->kind) {
    case FA3_KERNEL_TENSOR_MAP:
      state->params[i] = &state->maps[maps];
      code = fa3_encode_map(program, arg, args, &state->maps[maps++], status);
      break;
    case FA3_KERNEL_POINTER:
      state->values[i].pointer = args[arg->source].value.data;
      break;
    case FA3_KERNEL_COUNTER:
      code = fa3_counters_borrow(program, stream, &state->values[i].pointer,
                                 status);
      break;
    case FA3_KERNEL_F32:
      state->values[i].f32 = (float)args[arg->source].value.real;
      break;
    case FA3_KERNEL_I32:
      code = fa3_resolve_integer(program, arg, args, &value, status);
      state->values[i].i32 = (int32_t)value;
      break;
    case FA3_KERNEL_I64:
      code = fa3_resolve_integer(program, arg, args, &value, status);
      state->values[i].i64 = value;
      break;
    }
    if (code != FA3_OK)
      return code;
  }
  return FA3_OK;
}

/* Launches a kernel; `is_early` says that it may be placed before those in
 * front of it have ended. */
static fa3_cu_result start(const fa3_program *program,
                           const fa3_kernel_launch *launch, uint32_t blocks,
                           int is_early, void *stream, void **params) {
  fa3_cu_launch_attribute attributes[2];
  unsigned count = 0;
  memset(attributes, 0, sizeof(attributes));
  if (launch->cluster > 1) {
    fa3_cu_launch_attribute *cluster = &attributes[count++];
    cluster->id = FA3_CU_LAUNCH_CLUSTER;
    cluster->value.cluster.x = launch->cluster;
    cluster->value.cluster.y = cluster->value.cluster.z = 1;
  }
  if (is_early) {
    fa3_cu_launch_attribute *early = &attributes[count++];
    early->id = FA3_CU_LAUNCH_EARLY;
    early->value.early = 1;
  }
  if (count == 0)
    return program->driver->launch(launch->function, blocks, 1, 1,
                                   launch->block, 1, 1, launch->smem, stream,
                                   params, NULL);
  fa3_cu_launch_config config = {{blocks, 1, 1}, {launch->block, 1, 1},
                                 launch->smem,   stream,
                                 attributes,     count};
  return program->driver->launch_ex(&config, launch->function, params, NULL);
}

fa3_code fa3_start(const fa3_program *program, const fa3_kernel_launch *launch,
                   uint32_t blocks, void *stream, void **params, int *started,
                   fa3_status *status) {
  int is_early = *started && launch->waits && program->starts_early;
  fa3_cu_result result =
      start(program, launch, blocks, is_early, stream, params);
  if (result == FA3_CU_SUCCESS) {
    *started = 1;
    return FA3_OK;
  }
  char what[256];
  snprintf(what, sizeof(what), "launching kernel '%.200s'", launch->kernel);
  return fa3_driver_fail(program->driver, result, what, status);
}

fa3_code fa3_resolve_launch(const fa3_program *program,
                            const fa3_kernel_launch *launch,
                            const fa3_arg *args, uint32_t *blocks,
                            fa3_status *status) {
  int holds;
  *blocks = 0;
  fa3_code code = fa3_resolve_condition(program, launch, args, &holds, status);
  if (code != FA3_OK || !holds)
    return code;
  return fa3_resolve_grid(program, launch, args, blocks, status);
}

static fa3_code launch_one(const fa3_program *program,
                           const fa3_kernel_launch *launch, const fa3_arg *args,
                           void *stream, int *started, fa3_status *status) {
  uint32_t blocks;
  fa3_code code = fa3_resolve_launch(program, launch, args, &blocks, status);
  if (code != FA3_OK || blocks == 0)
    return code;
  fa3_cu_tensor_map maps[FA3_MAX_TENSOR_MAPS];
  fa3_kernel_value values[FA3_MAX_KERNEL_ARGS];
  void *params[FA3_MAX_KERNEL_ARGS];
  fa3_kernel_state state = {maps, values, params};
  code = fa3_fill_params(program, launch, args, stream, &state, status);
  if (code != FA3_OK)
    return code;
  return fa3_start(program, launch, blocks, stream, params, started, status);
}

static fa3_code launch_all(const fa3_program *program, const fa3_arg *args,
                           void *stream, fa3_status *status) {
  int pushed, started = 0;
  fa3_code code =
      fa3_context_enter(program->driver, program->context, &pushed, status);
  if (code != FA3_OK)
    return code;
  for (size_t i = 0; i < program->num_launches && code == FA3_OK; ++i)
    code = launch_one(program, &program->launches[i], args, stream, &started,
                      status);
  fa3_context_leave(program->driver, pushed);
  return code;
}

fa3_code fa3_check_lent(const fa3_program *program, const fa3_arg *args,
                        void *workspace, int64_t workspace_size, int64_t size,
                        fa3_status *status) {
  if (!size)
    return FA3_OK;
  if (!workspace || workspace_size < size)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "'%s' needs %" PRId64 " bytes of workspace, got %" PRId64
                    " (fa3_launch_with_workspace)",
                    program->function, size, workspace ? workspace_size : 0);
  return fa3_check_workspace(program, args, workspace, size, status);
}

fa3_code fa3_bind_call(const fa3_program *program, const fa3_arg *args,
                       size_t num_args, void *workspace, int64_t workspace_size,
                       fa3_arg *storage, const fa3_arg **all, int64_t *size,
                       fa3_status *status) {
  fa3_code code = fa3_validate(program, args, num_args, status);
  if (code != FA3_OK)
    return code;
  if (!program->driver)
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "program '%s' was loaded without code", program->function);
  code =
      fa3_bind_workspaces(program, args, workspace, storage, all, size, status);
  if (code != FA3_OK)
    return code;
  return fa3_check_lent(program, args, workspace, workspace_size, *size,
                        status);
}

fa3_code fa3_launch_with_workspace(const fa3_program *program,
                                   const fa3_arg *args, size_t num_args,
                                   void *workspace, int64_t workspace_size,
                                   void *stream, fa3_status *status) {
  fa3_arg storage[FA3_MAX_PARAMS];
  const fa3_arg *all;
  int64_t size;
  fa3_code code = fa3_bind_call(program, args, num_args, workspace,
                                workspace_size, storage, &all, &size, status);
  return code == FA3_OK ? launch_all(program, all, stream, status) : code;
}

fa3_code fa3_launch(const fa3_program *program, const fa3_arg *args,
                    size_t num_args, void *stream, fa3_status *status) {
  return fa3_launch_with_workspace(program, args, num_args, NULL, 0, stream,
                                   status);
}
