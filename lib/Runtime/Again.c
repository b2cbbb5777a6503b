/*===- Again.c - a launch whose arguments were seen before ----------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Most calls differ from the one before in addresses only. What depends on all
 * else, grids, numbers and tensor maps, is left in memory of the caller by the
 * first, and is there for the next; addresses are checked every time.
 *===----------------------------------------------------------------------===*/

#include "Launch.h"

#include <string.h>

enum { MAP_ALIGNMENT = 64 };

typedef struct {
  uint32_t blocks;
  fa3_kernel_state state;
  /* Of each argument that is a map, the address in it; null for one that stands
   * for an empty tensor. */
  void **addresses;
} known_launch;

/* At the beginning of the caller's memory, aligned. */
typedef struct {
  /* Itself, once a call was made: memory that was moved knows nothing. */
  const void *self;
  uint64_t program;
  int64_t workspace_size;
  /* Of that call, then the workspaces, whose addresses count from 0. */
  fa3_arg *args;
  known_launch *launches;
} memo;

/*===----------------------------------------------------------------------===*
 * Layout
 *===----------------------------------------------------------------------===*/

static size_t count_maps(const fa3_kernel_launch *launch) {
  size_t count = 0;
  for (size_t i = 0; i < launch->num_args; ++i)
    count += launch->args[i].kind == FA3_KERNEL_TENSOR_MAP;
  return count;
}

/* The next `size` bytes of a memory that begins at `base`, null to count. */
static void *take(char *base, size_t *used, size_t size) {
  size_t at = (*used + 15) / 16 * 16;
  *used = at + size;
  return base ? base + at : NULL;
}

/* Lays a memo out in memory; returns the bytes that it takes. */
static size_t lay_out(const fa3_program *program, char *base) {
  size_t used = 0;
  /* Maps first, whose alignment is that of the memory. */
  fa3_cu_tensor_map *maps;
  size_t num_maps = 0;
  for (size_t i = 0; i < program->num_launches; ++i)
    num_maps += count_maps(&program->launches[i]);
  memo *made = take(base, &used, MAP_ALIGNMENT);
  maps = take(base, &used, num_maps * sizeof(*maps));
  fa3_arg *args =
      take(base, &used,
           (program->num_args + program->num_workspaces) * sizeof(fa3_arg));
  known_launch *launches =
      take(base, &used, program->num_launches * sizeof(*launches));
  if (base) {
    made->args = args;
    made->launches = launches;
    made->program = program->number;
  }
  for (size_t i = 0; i < program->num_launches; ++i) {
    const fa3_kernel_launch *launch = &program->launches[i];
    size_t count = launch->num_args;
    fa3_kernel_value *values = take(base, &used, count * sizeof(*values));
    void **params = take(base, &used, count * sizeof(*params));
    void **addresses = take(base, &used, count * sizeof(*addresses));
    if (!base)
      continue;
    known_launch known = {0, {maps, values, params}, addresses};
    launches[i] = known;
    maps += count_maps(launch);
  }
  return used;
}

size_t fa3_memo_size(const fa3_program *program) {
  return program ? lay_out(program, NULL) + MAP_ALIGNMENT : 0;
}

/*===----------------------------------------------------------------------===*
 * The first call
 *===----------------------------------------------------------------------===*/

static fa3_code learn(const fa3_program *program,
                      const fa3_kernel_launch *launch, const fa3_arg *all,
                      void *stream, known_launch *known, int *started,
                      fa3_status *status) {
  fa3_code code =
      fa3_resolve_launch(program, launch, all, &known->blocks, status);
  if (code != FA3_OK || !known->blocks)
    return code;
  code = fa3_fill_params(program, launch, all, stream, &known->state, status);
  for (size_t i = 0; i < launch->num_args && code == FA3_OK; ++i) {
    const fa3_kernel_arg *arg = &launch->args[i];
    fa3_map_geometry geometry;
    if (arg->kind != FA3_KERNEL_TENSOR_MAP)
      continue;
    code = fa3_resolve_map(program, arg, all, &geometry, status);
    known->addresses[i] =
        geometry.is_empty ? NULL : all[arg->source].value.data;
  }
  if (code != FA3_OK)
    return code;
  return fa3_start(program, launch, known->blocks, stream, known->state.params,
                   started, status);
}

static fa3_code launch_first(const fa3_program *program, memo *known,
                             const fa3_arg *args, size_t num_args,
                             void *workspace, int64_t workspace_size,
                             void *stream, fa3_status *status) {
  fa3_arg storage[FA3_MAX_PARAMS];
  const fa3_arg *all;
  fa3_code code =
      fa3_bind_call(program, args, num_args, workspace, workspace_size, storage,
                    &all, &known->workspace_size, status);
  int pushed, started = 0;
  if (code == FA3_OK)
    code =
        fa3_context_enter(program->driver, program->context, &pushed, status);
  if (code != FA3_OK)
    return code;
  for (size_t i = 0; i < program->num_launches && code == FA3_OK; ++i)
    code = learn(program, &program->launches[i], all, stream,
                 &known->launches[i], &started, status);
  fa3_context_leave(program->driver, pushed);
  if (code != FA3_OK)
    return code;
  size_t count = program->num_args + program->num_workspaces;
  memcpy(known->args, all, count * sizeof(*all));
  for (size_t i = program->num_args; i < count; ++i)
    known->args[i].value.data =
        (void *)((uintptr_t)all[i].value.data - (uintptr_t)workspace);
  known->self = known;
  return FA3_OK;
}

/*===----------------------------------------------------------------------===*
 * Later calls
 *===----------------------------------------------------------------------===*/

/* Whether arguments differ in the addresses of tensors at most. */
static int is_same(const fa3_program *program, const fa3_arg *known,
                   const fa3_arg *args) {
  const size_t head = offsetof(fa3_arg, value), rest = offsetof(fa3_arg, rank);
  for (size_t i = 0; i < program->num_args; ++i) {
    const char *a = (const char *)&known[i], *b = (const char *)&args[i];
    size_t begin = args[i].kind == FA3_TENSOR ? rest : head;
    if (memcmp(a, b, head) ||
        memcmp(a + begin, b + begin, sizeof(*args) - begin))
      return 0;
  }
  return 1;
}

/* Puts another address into a map. */
static fa3_code move_map(const fa3_program *program, const fa3_kernel_arg *arg,
                         const fa3_arg *all, void *address,
                         fa3_cu_tensor_map *map, fa3_status *status) {
  const fa3_driver *driver = program->driver;
  if (!driver->map_replace_address)
    return fa3_encode_map(program, arg, all, map, status);
  fa3_cu_result result = driver->map_replace_address(map, address);
  if (result == FA3_CU_SUCCESS)
    return FA3_OK;
  return fa3_driver_fail(driver, result, "moving a tensor map", status);
}

static fa3_code relaunch(const fa3_program *program,
                         const fa3_kernel_launch *launch, const fa3_arg *all,
                         void *stream, known_launch *known, int *started,
                         fa3_status *status) {
  size_t maps = 0;
  fa3_code code = FA3_OK;
  for (size_t i = 0; i < launch->num_args && code == FA3_OK; ++i) {
    const fa3_kernel_arg *arg = &launch->args[i];
    void *address = all[arg->source].value.data;
    if (arg->kind == FA3_KERNEL_POINTER) {
      known->state.values[i].pointer = address;
    } else if (arg->kind == FA3_KERNEL_COUNTER) {
      code = fa3_counters_borrow(program, stream,
                                 &known->state.values[i].pointer, status);
    } else if (arg->kind == FA3_KERNEL_TENSOR_MAP) {
      fa3_cu_tensor_map *map = &known->state.maps[maps++];
      if (!known->addresses[i] || known->addresses[i] == address)
        continue;
      code = move_map(program, arg, all, address, map, status);
      known->addresses[i] = address;
    }
  }
  if (code != FA3_OK)
    return code;
  return fa3_start(program, launch, known->blocks, stream, known->state.params,
                   started, status);
}

static fa3_code launch_known(const fa3_program *program, memo *known,
                             const fa3_arg *args, void *workspace,
                             int64_t workspace_size, void *stream,
                             fa3_status *status) {
  fa3_code code = fa3_check_addresses(program, args, status);
  if (code == FA3_OK)
    code = fa3_check_lent(program, args, workspace, workspace_size,
                          known->workspace_size, status);
  if (code != FA3_OK)
    return code;
  const fa3_arg *all = args;
  fa3_arg storage[FA3_MAX_PARAMS];
  if (program->num_workspaces) {
    memcpy(storage, args, program->num_args * sizeof(*args));
    for (size_t i = 0; i < program->num_workspaces; ++i) {
      fa3_arg *arg = &storage[program->num_args + i];
      *arg = known->args[program->num_args + i];
      arg->value.data =
          (void *)((uintptr_t)arg->value.data + (uintptr_t)workspace);
    }
    all = storage;
  }
  int pushed, started = 0;
  code = fa3_context_enter(program->driver, program->context, &pushed, status);
  if (code != FA3_OK)
    return code;
  /* Maps that are moved in part only are not those of any call. */
  known->self = NULL;
  for (size_t i = 0; i < program->num_launches && code == FA3_OK; ++i)
    if (known->launches[i].blocks)
      code = relaunch(program, &program->launches[i], all, stream,
                      &known->launches[i], &started, status);
  fa3_context_leave(program->driver, pushed);
  if (code == FA3_OK)
    known->self = known;
  return code;
}

fa3_code fa3_launch_again(const fa3_program *program, const fa3_arg *args,
                          size_t num_args, void *workspace,
                          int64_t workspace_size, void *stream, void *memory,
                          fa3_status *status) {
  if (!program || !memory || num_args != program->num_args ||
      (num_args && !args))
    return fa3_launch_with_workspace(program, args, num_args, workspace,
                                     workspace_size, stream, status);
  memo *known = (memo *)(((uintptr_t)memory + MAP_ALIGNMENT - 1) /
                         MAP_ALIGNMENT * MAP_ALIGNMENT);
  if (known->self == known && known->program == program->number &&
      is_same(program, known->args, args))
    return launch_known(program, known, args, workspace, workspace_size, stream,
                        status);
  known->self = NULL;
  lay_out(program, (char *)known);
  return launch_first(program, known, args, num_args, workspace, workspace_size,
                      stream, status);
}
