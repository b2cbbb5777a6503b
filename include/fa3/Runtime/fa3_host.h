/*===- fa3_host.h - kernels inside of compiled programs ------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What code that the pass fa3-lower-host has written calls. A program links
 * libfa3_runtime; it calls fa3_host_launch and fa3_host_launch_on by itself,
 * and may use the rest of this header to choose a stream, to hear of errors and
 * to give memory back. docs/Embedding.md is the guide.
 *
 * Threads: any number of threads may launch, each on the stream that it has
 * set. fa3_host_set_handler and fa3_host_release need that no other thread
 * launches.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_RUNTIME_FA3_HOST_H
#define FA3_RUNTIME_FA3_HOST_H

#include "fa3/Runtime/fa3_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fa3_host_image {
  FA3_HOST_PTX = 0,   /* text, compiled by the driver */
  FA3_HOST_CUBIN = 1, /* ELF */
  FA3_HOST_IR = 2     /* a module for the interpreter of libfa3.so */
} fa3_host_image;

typedef enum fa3_host_memory {
  FA3_HOST_ON_DEVICE = 0, /* arrays are where kernels take them */
  FA3_HOST_COPIED = 1     /* arrays are in host memory, copied for each call */
} fa3_host_memory;

/* A host function and its kernels, a global of the program. The runtime keeps
 * its address from the first launch to fa3_host_release: call that before code
 * with such globals is unloaded (dlclose, or the end of a JIT). */
typedef struct fa3_host_program {
  const char *name;
  const char *manifest;
  int64_t manifest_size;
  const void *image;
  int64_t image_size;
  int32_t image_kind; /* fa3_host_image */
  int32_t memory; /* fa3_host_memory; with FA3_HOST_IR arrays are on the host */
  void *state;    /* null at first; of the runtime */
} fa3_host_program;

/* Loads the kernels when it is called for the first time, then launches them on
 * the stream of the thread with the checks of fa3_launch_with_workspace. Memory
 * for workspaces is kept for the next call on the same stream. The kernels
 * belong to the context that is current then; other contexts are refused.
 *
 * With FA3_HOST_COPIED arrays are copied to the device, and what is written is
 * back when it returns. With FA3_HOST_IR the module runs in the interpreter,
 * and has run when it returns: fa3_interpret is taken from the process, or from
 * the library that the environment variable FA3_COMPILER_LIBRARY names
 * (libfa3.so).
 *
 * Errors go to the handler. */
FA3_API void fa3_host_launch(fa3_host_program *program, const fa3_arg *args,
                             int64_t num_args);

/* The same on a stream of the program, and in memory of the program where
 * kernels need some: fa3_workspace_size bytes or more, a multiple of 256. Null
 * for memory that the runtime keeps. With FA3_HOST_IR neither is looked at. */
FA3_API void fa3_host_launch_on(fa3_host_program *program, const fa3_arg *args,
                                int64_t num_args, void *stream, void *workspace,
                                int64_t workspace_size);

/* The stream of this thread's launches, a CUstream; null, the default stream,
 * at first. */
FA3_API void fa3_host_set_stream(void *stream);
FA3_API void *fa3_host_stream(void);

/* Is told of errors: `function` is the host function. When it returns, the
 * program goes on, with results that nobody has written. */
typedef void (*fa3_host_handler)(void *user, const char *function,
                                 const fa3_status *status);

/* Null: the default handler, which prints the error and aborts the program. */
FA3_API void fa3_host_set_handler(fa3_host_handler handler, void *user);

/* Unloads all kernels and frees all workspaces; the next launch loads again.
 * All launches must have finished. Reports the first error. */
FA3_API fa3_code fa3_host_release(fa3_status *status);

#ifdef __cplusplus
}
#endif

#endif /* FA3_RUNTIME_FA3_HOST_H */
