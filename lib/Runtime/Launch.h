/*===- Launch.h - the steps of a launch ----------------------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private: what a launch (Launch.c), and one whose arguments were seen before
 * (Again.c), consist of.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_RUNTIME_LAUNCH_H
#define FA3_LIB_RUNTIME_LAUNCH_H

#include "Program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef union {
  void *pointer;
  int32_t i32;
  int64_t i64;
  float f32;
} fa3_kernel_value;

/* What one kernel gets: `params` are addresses of the others. */
typedef struct {
  fa3_cu_tensor_map *maps;
  fa3_kernel_value *values;
  void **params;
} fa3_kernel_state;

/* Checks a call. `size` and the addresses of workspaces in `all` are as
 * fa3_bind_workspaces gives them. */
fa3_code fa3_bind_call(const fa3_program *program, const fa3_arg *args,
                       size_t num_args, void *workspace, int64_t workspace_size,
                       fa3_arg *storage, const fa3_arg **all, int64_t *size,
                       fa3_status *status);
/* Whether a call that needs `size` bytes was lent them. */
fa3_code fa3_check_lent(const fa3_program *program, const fa3_arg *args,
                        void *workspace, int64_t workspace_size, int64_t size,
                        fa3_status *status);

/* The blocks of a launch, 0 if there is none. */
fa3_code fa3_resolve_launch(const fa3_program *program,
                            const fa3_kernel_launch *launch,
                            const fa3_arg *args, uint32_t *blocks,
                            fa3_status *status);
fa3_code fa3_encode_map(const fa3_program *program, const fa3_kernel_arg *arg,
                        const fa3_arg *args, fa3_cu_tensor_map *map,
                        fa3_status *status);
fa3_code fa3_fill_params(const fa3_program *program,
                         const fa3_kernel_launch *launch, const fa3_arg *args,
                         void *stream, fa3_kernel_state *state,
                         fa3_status *status);
/* Sets *started; before that it says whether a kernel of this call was
 * launched, behind which this one may start early. What the stream has in front
 * of the call may not wait for what is in front of itself. */
fa3_code fa3_start(const fa3_program *program, const fa3_kernel_launch *launch,
                   uint32_t blocks, void *stream, void **params, int *started,
                   fa3_status *status);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FA3_LIB_RUNTIME_LAUNCH_H */
