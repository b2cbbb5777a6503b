/*===- Host.h - parts of fa3_host_launch ---------------------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private: arrays in host memory, and the interpreter in place of a device.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_RUNTIME_HOST_H
#define FA3_LIB_RUNTIME_HOST_H

#include "fa3/Runtime/fa3_host.h"

/* Calls `launch` with copies of the arrays of `args` in device memory, waits,
 * and copies back what the program writes. Arrays that overlap in host memory
 * overlap in the same way on the device. */
fa3_code fa3_host_launch_copied(const fa3_program *program, const fa3_arg *args,
                                size_t num_args, void *stream,
                                fa3_code (*launch)(void *user,
                                                   const fa3_arg *args,
                                                   fa3_status *status),
                                void *user, fa3_status *status);

/* Runs the module of `program` in the interpreter. */
fa3_code fa3_host_interpret(const fa3_host_program *program,
                            const fa3_arg *args, size_t num_args,
                            fa3_status *status);

#endif /* FA3_LIB_RUNTIME_HOST_H */
