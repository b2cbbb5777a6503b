/*===- Program.h - a loaded manifest -------------------------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private: the form in which a manifest is kept. Everything lives in the arena
 * of the program and is constant once fa3_program_load returns.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_RUNTIME_PROGRAM_H
#define FA3_LIB_RUNTIME_PROGRAM_H

#include "Driver.h"
#include "Formula.h"

enum {
  FA3_MAX_PARAMS = 128, /* arguments of the function, and workspaces */
  FA3_MAX_LAUNCHES = 64,
  FA3_MAX_KERNEL_ARGS = 128, /* arguments of a kernel */
  FA3_MAX_TENSOR_MAPS = 24,  /* among them */
  FA3_MAX_MAP_RANK = 5
};

typedef struct fa3_dim {
  int64_t extent;   /* -1 when named */
  const char *name; /* null for a static extent */
  /* The first dimension of this name, whose extent this one must have. */
  size_t same_param;
  int same_dim;
} fa3_dim;

typedef struct fa3_param {
  const char *name;
  fa3_kind kind;
  fa3_type type;
  fa3_access access;
  int rank;
  fa3_dim dims[FA3_MAX_RANK];
  /* No formula reads the innermost stride, so that kernels take it to be 1. */
  int unit_inner_stride;
  int is_map_source;
} fa3_param;

/* Memory that a call lends: shape by the arguments. */
typedef struct fa3_workspace {
  fa3_formula shape[FA3_MAX_RANK];
} fa3_workspace;

typedef struct fa3_requirement {
  fa3_formula that;
  const char *message;
} fa3_requirement;

typedef enum fa3_kernel_arg_kind {
  FA3_KERNEL_TENSOR_MAP,
  FA3_KERNEL_POINTER,
  FA3_KERNEL_COUNTER,
  FA3_KERNEL_I32,
  FA3_KERNEL_I64,
  FA3_KERNEL_F32
} fa3_kernel_arg_kind;

typedef struct fa3_kernel_arg {
  fa3_kernel_arg_kind kind;
  const char *field; /* "launches[0].args[1]" */
  size_t source;     /* parameter of a map, a pointer or an f32 */
  fa3_formula value; /* i32, i64 */
  /* Tensor maps, innermost dimension first. */
  fa3_type type;
  int swizzle, rank;
  uint32_t box[FA3_MAX_MAP_RANK];
  fa3_formula dims[FA3_MAX_MAP_RANK];
  fa3_formula strides[FA3_MAX_MAP_RANK - 1];
  int inner_dim; /* dimension of the source that is innermost in the map */
} fa3_kernel_arg;

typedef struct fa3_kernel_launch {
  const char *kernel;
  fa3_formula condition; /* without operations: always */
  fa3_formula grid;
  uint32_t block, cluster, smem;
  /* The kernel waits for those in front of it before it touches memory, so it
   * may be placed while they run. */
  int waits;
  const fa3_kernel_arg *args;
  size_t num_args;
  fa3_cu_function function;
} fa3_kernel_launch;

/* Counters.c: integers that kernels start from 0 and leave at 0. */
typedef struct fa3_counters fa3_counters;

struct fa3_program {
  fa3_arena arena;
  uint64_t number; /* of no other program of the process */
  const char *function, *chip, *producer;
  uint64_t ptx_hash;
  /* The arguments, then the workspaces. Formulas of launches may name all,
   * others the arguments. */
  fa3_scope scope;
  size_t num_args, num_workspaces;
  const fa3_workspace *workspaces;
  const fa3_requirement *requirements;
  size_t num_requirements;
  fa3_kernel_launch *launches;
  size_t num_launches;
  fa3_formula costs[2]; /* indexed by fa3_quantity */

  int64_t device_sms;
  /* Whether the driver can start kernels early, in graphs as well. */
  int starts_early;
  /* Null for a program without code. */
  const fa3_driver *driver;
  fa3_cu_context context;
  fa3_cu_module module;
  int device;
  int retained; /* holds the primary context of `device` */
  /* Null if no kernel takes one. */
  fa3_counters *counters;
  /* A few bytes of zeros that stand for an empty tensor in a tensor map. */
  fa3_device_address empty;
};

/* Fills the program from a manifest. */
fa3_code fa3_manifest_read(const char *text, size_t size, fa3_program *program,
                           fa3_status *status);

/* Allocates the counters of a program whose context is current, if a kernel
 * takes one. */
fa3_code fa3_counters_create(fa3_program *program, fa3_status *status);
/* A counter for one launch. Needs the context to be current. */
fa3_code fa3_counters_borrow(const fa3_program *program, void *stream,
                             void **address, fa3_status *status);
/* Returns the first error of the driver. */
fa3_cu_result fa3_counters_destroy(fa3_program *program);

/* What a call needs besides the code, resolved for one tensor map. */
typedef struct fa3_map_geometry {
  int is_empty; /* then nothing below is set */
  uint64_t dims[FA3_MAX_MAP_RANK];
  uint64_t strides[FA3_MAX_MAP_RANK - 1];
} fa3_map_geometry;

/* Gives the arguments followed by the workspaces, which lie in `memory` one
 * after the other; null to know the size only. `storage` has room for
 * FA3_MAX_PARAMS. The arguments fit their signature. */
fa3_code fa3_bind_workspaces(const fa3_program *program, const fa3_arg *args,
                             void *memory, fa3_arg *storage,
                             const fa3_arg **all, int64_t *size,
                             fa3_status *status);

/* Number, kinds, types and ranks of arguments, and extents and strides in
 * themselves: what evaluation of formulas rests on. */
fa3_code fa3_check_signature(const fa3_program *program, const fa3_arg *args,
                             size_t num_args, fa3_status *status);
/* All else that does not depend on a launch. */
fa3_code fa3_check_values(const fa3_program *program, const fa3_arg *args,
                          fa3_status *status);
/* Of that, what depends on addresses, of arguments that differ in nothing else
 * from some that passed all checks. */
fa3_code fa3_check_addresses(const fa3_program *program, const fa3_arg *args,
                             fa3_status *status);
/* Whether `size` > 0 bytes can be lent to a call: alignment, and no memory of
 * the arguments, which were checked. */
fa3_code fa3_check_workspace(const fa3_program *program, const fa3_arg *args,
                             void *memory, int64_t size, fa3_status *status);
/* Whether a call makes this launch; if not, none of its formulas counts. */
fa3_code fa3_resolve_condition(const fa3_program *program,
                               const fa3_kernel_launch *launch,
                               const fa3_arg *args, int *holds,
                               fa3_status *status);
fa3_code fa3_resolve_grid(const fa3_program *program,
                          const fa3_kernel_launch *launch, const fa3_arg *args,
                          uint32_t *blocks, fa3_status *status);
fa3_code fa3_resolve_map(const fa3_program *program, const fa3_kernel_arg *arg,
                         const fa3_arg *args, fa3_map_geometry *geometry,
                         fa3_status *status);
fa3_code fa3_resolve_integer(const fa3_program *program,
                             const fa3_kernel_arg *arg, const fa3_arg *args,
                             int64_t *value, fa3_status *status);

#endif /* FA3_LIB_RUNTIME_PROGRAM_H */
