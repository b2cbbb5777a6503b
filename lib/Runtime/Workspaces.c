/*===- Workspaces.c - memory between the kernels of a call ----------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tensors that one kernel of a program writes and a later one reads. Kernels
 * take them as they take arguments: behind the parameters of the function there
 * is one for each, which a call fills from the memory that it is given.
 *===----------------------------------------------------------------------===*/

#include "ManifestReader.h"

#include <inttypes.h>
#include <string.h>

/*===----------------------------------------------------------------------===*
 * Member `workspaces`
 *===----------------------------------------------------------------------===*/

static int read_shape(fa3_reader *r, const fa3_json *object, const char *where,
                      fa3_param *param, fa3_workspace *workspace) {
  const char *field;
  const fa3_json *shape =
      fa3_read_array(r, object, where, "shape", FA3_MAX_RANK, &field);
  if (!shape)
    return 0;
  for (const fa3_json *e = shape->first; e; e = e->next, ++param->rank) {
    const char *at = fa3_field(r, "%s[%d]", field, param->rank);
    if (!at || !fa3_compile_field(r, e, at, &workspace->shape[param->rank]))
      return 0;
  }
  return 1;
}

int fa3_read_workspaces(fa3_reader *r, const fa3_json *top) {
  static const char *const keys[] = {"name", "type", "shape", NULL};
  fa3_program *program = r->program;
  const char *field;
  const fa3_json *list = fa3_read_array(
      r, top, "", "workspaces", FA3_MAX_PARAMS - program->num_args, &field);
  if (!list)
    return 0;
  fa3_workspace *workspaces =
      fa3_reader_array(r, list->count, sizeof(*workspaces));
  if (!workspaces)
    return 0;
  size_t index = 0;
  for (const fa3_json *e = list->first; e; e = e->next, ++index) {
    const char *where = fa3_field(r, "workspaces[%zu]", index), *at;
    fa3_param *param = &r->params[program->num_args + index];
    if (!where || !fa3_read_object(r, e, where, keys))
      return 0;
    param->kind = FA3_TENSOR;
    param->name = fa3_read_string(r, e, where, "name", &at);
    /* Formulas of shapes see the arguments only. */
    if (!param->name ||
        !fa3_check_name(r, param->name, at, r->params,
                        program->num_args + index) ||
        !fa3_read_type(r, e, where, &param->type) ||
        !read_shape(r, e, where, param, &workspaces[index]))
      return 0;
  }
  program->workspaces = workspaces;
  program->num_workspaces = list->count;
  program->scope.num_params += list->count;
  return 1;
}

/*===----------------------------------------------------------------------===*
 * Of a call
 *===----------------------------------------------------------------------===*/

/* Shape and size of one workspace. */
static fa3_code resolve(const fa3_program *program, size_t index,
                        const fa3_arg *args, fa3_arg *result, int64_t *bytes,
                        fa3_status *status) {
  const fa3_param *param = &program->scope.params[program->num_args + index];
  const fa3_workspace *workspace = &program->workspaces[index];
  int64_t shape[FA3_MAX_RANK];
  *bytes = (int64_t)fa3_type_size(param->type);
  for (int d = 0; d < param->rank; ++d) {
    fa3_code code = fa3_formula_evaluate(
        &workspace->shape[d], args, program->device_sms, &shape[d], status);
    if (code != FA3_OK)
      return code;
    if (shape[d] < 0)
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "workspace '%s': extent %" PRId64
                      " of dimension %d is negative",
                      param->name, shape[d], d);
    if (__builtin_mul_overflow(*bytes, shape[d], bytes))
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "workspace '%s': more than 2^63 bytes", param->name);
  }
  *result = fa3_tensor(param->type, NULL, param->rank, shape, NULL);
  return FA3_OK;
}

fa3_code fa3_bind_workspaces(const fa3_program *program, const fa3_arg *args,
                             void *memory, fa3_arg *storage,
                             const fa3_arg **all, int64_t *size,
                             fa3_status *status) {
  *all = args;
  *size = 0;
  if (program->num_workspaces == 0)
    return FA3_OK;
  memcpy(storage, args, program->num_args * sizeof(*args));
  for (size_t i = 0; i < program->num_workspaces; ++i) {
    fa3_arg *arg = &storage[program->num_args + i];
    int64_t bytes, rest;
    fa3_code code = resolve(program, i, args, arg, &bytes, status);
    if (code != FA3_OK)
      return code;
    /* An address of the device: no object of C's, so no sum of pointers. */
    if (memory && bytes)
      arg->value.data = (void *)((uintptr_t)memory + (uintptr_t)*size);
    rest = bytes % FA3_WORKSPACE_ALIGNMENT;
    if (__builtin_add_overflow(*size, bytes, size) ||
        (rest &&
         __builtin_add_overflow(*size, FA3_WORKSPACE_ALIGNMENT - rest, size)))
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "workspaces of '%s': more than 2^63 bytes",
                      program->function);
  }
  *all = storage;
  return FA3_OK;
}
