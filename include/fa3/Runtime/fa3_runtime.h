/*===- fa3_runtime.h - load and launch fa3 kernels -----------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A C library that reads the launch manifest of a kernel, checks arguments
 * against it and launches the kernel through the CUDA driver, which it opens at
 * run time. It needs neither LLVM nor the CUDA toolkit. docs/Runtime.md is the
 * guide; docs/Design.md describes the manifest.
 *
 * Errors are values: every function that can fail returns an fa3_code and
 * fills the optional fa3_status of its last parameter, which may be null. The
 * caller owns the status; nothing in it needs to be freed.
 *
 * Threads: a loaded program never changes, as far as its callers see. Any
 * number of threads may validate, evaluate and launch it at the same time; only
 * fa3_program_destroy needs that no other thread uses the program.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_RUNTIME_FA3_RUNTIME_H
#define FA3_RUNTIME_FA3_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FA3_API __attribute__((visibility("default")))
#else
#define FA3_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Changes with every incompatible change of this header. */
#define FA3_RUNTIME_ABI 1
#define FA3_MAX_RANK 8
#define FA3_MESSAGE_SIZE 1024
/* Of the address of a workspace. */
#define FA3_WORKSPACE_ALIGNMENT 256

FA3_API int fa3_runtime_abi(void);

/*===----------------------------------------------------------------------===*
 * Errors
 *===----------------------------------------------------------------------===*/

typedef enum fa3_code {
  FA3_OK = 0,
  FA3_ERROR_ARGUMENT = 1,    /* an argument of the call breaks its contract */
  FA3_ERROR_REQUIREMENT = 2, /* a `requires` of the manifest does not hold */
  FA3_ERROR_MANIFEST = 3,    /* the manifest is malformed */
  FA3_ERROR_MISMATCH = 4,    /* manifest and code do not belong together */
  FA3_ERROR_IMAGE = 5,       /* the driver refuses the code */
  FA3_ERROR_NO_DRIVER = 6,   /* libcuda is missing or too old */
  FA3_ERROR_DEVICE = 7,      /* no device, or one that cannot run the code */
  FA3_ERROR_CONTEXT = 8,     /* wrong current context, or none */
  FA3_ERROR_DRIVER = 9,      /* any other driver call failed */
  FA3_ERROR_KERNEL = 10,     /* a kernel failed; its context stays unusable */
  FA3_ERROR_MEMORY = 11      /* out of host memory */
} fa3_code;

typedef struct fa3_status {
  fa3_code code;
  int32_t driver_code; /* the CUresult behind the error, or 0 */
  char message[FA3_MESSAGE_SIZE];
} fa3_status;

/* The name of a code, such as "manifest error". */
FA3_API const char *fa3_code_name(fa3_code code);

/*===----------------------------------------------------------------------===*
 * Arguments
 *===----------------------------------------------------------------------===*/

typedef enum fa3_type {
  FA3_F16 = 0,
  FA3_BF16 = 1,
  FA3_F32 = 2,
  FA3_F64 = 3,
  FA3_F8E4M3FN = 4,
  FA3_F8E5M2 = 5,
  FA3_I1 = 6, /* one byte per element in memory */
  FA3_I8 = 7,
  FA3_I16 = 8,
  FA3_I32 = 9,
  FA3_I64 = 10
} fa3_type;

typedef enum fa3_kind { FA3_TENSOR = 0, FA3_SCALAR = 1 } fa3_kind;

typedef enum fa3_access {
  FA3_READ = 0,
  FA3_WRITE = 1,
  FA3_READ_WRITE = 2
} fa3_access;

/* Spelling as in the manifest; null for a value outside of the enumeration. */
FA3_API const char *fa3_type_name(fa3_type type);
/* Bytes of an element in memory; 0 for a value outside of the enumeration. */
FA3_API size_t fa3_type_size(fa3_type type);
/* Returns 1 and sets *type, or 0 when no type has this name. */
FA3_API int fa3_type_from_name(const char *name, fa3_type *type);

/* An argument of a call. A tensor is a device address with extents and strides
 * in elements, outermost dimension first; the memory stays the caller's and
 * must live until the launch has finished. A scalar is f32 (`real`) or an
 * integer type (`integer`). */
typedef struct fa3_arg {
  fa3_kind kind;
  fa3_type type;
  union {
    void *data;
    int64_t integer;
    double real;
  } value;
  int32_t rank;
  int64_t shape[FA3_MAX_RANK];
  int64_t stride[FA3_MAX_RANK];
} fa3_arg;

/* A tensor; without strides it is contiguous, the last dimension innermost. */
FA3_API fa3_arg fa3_tensor(fa3_type type, void *data, int32_t rank,
                           const int64_t *shape, const int64_t *stride);
FA3_API fa3_arg fa3_scalar_real(fa3_type type, double value);
FA3_API fa3_arg fa3_scalar_integer(fa3_type type, int64_t value);

/*===----------------------------------------------------------------------===*
 * Programs
 *===----------------------------------------------------------------------===*/

typedef struct fa3_program fa3_program;

typedef enum fa3_image_kind {
  FA3_IMAGE_PTX = 0,  /* text; compiled by the driver */
  FA3_IMAGE_CUBIN = 1 /* ELF */
} fa3_image_kind;

/* Reads a manifest and loads the code into the current context of the calling
 * thread or, when it has none, into the primary context of device 0, which the
 * program then holds until it is destroyed. The current context is unchanged
 * afterwards. PTX must have the hash that the manifest states; a cubin cannot
 * be checked in this way (see fa3_program_check_ptx), only its kernels are.
 * Manifest and image may be freed after the call. */
FA3_API fa3_code fa3_program_load(const char *manifest, size_t manifest_size,
                                  const void *image, size_t image_size,
                                  fa3_image_kind image_kind,
                                  fa3_program **program, fa3_status *status);

/* Reads a manifest only, without a driver: such a program can do all but
 * launch. `device_sms` is the value of `device.sms` in formulas. */
FA3_API fa3_code fa3_program_parse(const char *manifest, size_t manifest_size,
                                   int64_t device_sms, fa3_program **program,
                                   fa3_status *status);

/* Frees the program in any case; reports what the driver said of it. Null is
 * allowed. Launches that are still running must have finished. */
FA3_API fa3_code fa3_program_destroy(fa3_program *program, fa3_status *status);

/* Whether this PTX is the one that the manifest was written for. */
FA3_API fa3_code fa3_program_check_ptx(const fa3_program *program,
                                       const char *ptx, size_t ptx_size,
                                       fa3_status *status);

/* Strings of the manifest; owned by the program. */
FA3_API const char *fa3_program_function(const fa3_program *program);
FA3_API const char *fa3_program_chip(const fa3_program *program);
FA3_API const char *fa3_program_producer(const fa3_program *program);

/* The number of the device that the code is loaded on; -1 without code. */
FA3_API int32_t fa3_program_device(const fa3_program *program);

typedef struct fa3_arg_info {
  const char *name;
  fa3_kind kind;
  fa3_type type;
  fa3_access access; /* tensors */
  int32_t rank;
  int64_t extent[FA3_MAX_RANK];       /* static extent, or -1 */
  const char *dim_name[FA3_MAX_RANK]; /* null for a static extent */
} fa3_arg_info;

FA3_API size_t fa3_program_num_args(const fa3_program *program);
FA3_API fa3_code fa3_program_arg_info(const fa3_program *program, size_t index,
                                      fa3_arg_info *info, fa3_status *status);

typedef struct fa3_launch_info {
  const char *kernel;
  int32_t block, cluster, smem;
  size_t num_args;
} fa3_launch_info;

FA3_API size_t fa3_program_num_launches(const fa3_program *program);
FA3_API fa3_code fa3_program_launch_info(const fa3_program *program,
                                         size_t index, fa3_launch_info *info,
                                         fa3_status *status);

/* All checks of fa3_launch on the arguments; touches neither driver nor memory
 * behind the addresses. */
FA3_API fa3_code fa3_validate(const fa3_program *program, const fa3_arg *args,
                              size_t num_args, fa3_status *status);

/* Launches the kernels of the program whose conditions hold, in order, on
 * `stream` (a CUstream; null is the default stream). Nothing is launched unless
 * all arguments pass all checks; among them that what is written shares no
 * memory with anything else. Returns as soon as the work is queued. A launch of
 * 0 blocks does nothing. A program that needs a workspace is refused. */
FA3_API fa3_code fa3_launch(const fa3_program *program, const fa3_arg *args,
                            size_t num_args, void *stream, fa3_status *status);

/* The bytes of device memory that the kernels of a call use among themselves; 0
 * for most programs. Only kinds, types and ranks of the arguments are checked:
 * addresses may be null. */
FA3_API fa3_code fa3_workspace_size(const fa3_program *program,
                                    const fa3_arg *args, size_t num_args,
                                    int64_t *size, fa3_status *status);

/* As fa3_launch, with memory of at least that size, which must live until the
 * kernels have run and which no other launch may use at the same time. Its
 * contents do not matter before nor after. */
FA3_API fa3_code fa3_launch_with_workspace(const fa3_program *program,
                                           const fa3_arg *args, size_t num_args,
                                           void *workspace,
                                           int64_t workspace_size, void *stream,
                                           fa3_status *status);

/* As fa3_launch_with_workspace, for calls that are made again: what depends on
 * shapes, strides and numbers is computed by the first call and kept in `memo`,
 * memory of the caller of fa3_memo_size bytes, which are 0 in front of it. A
 * call that differs in more than addresses is a first one. Addresses are
 * checked in every call. One call at a time may use a memo; null is none. */
FA3_API size_t fa3_memo_size(const fa3_program *program);
FA3_API fa3_code fa3_launch_again(const fa3_program *program,
                                  const fa3_arg *args, size_t num_args,
                                  void *workspace, int64_t workspace_size,
                                  void *stream, void *memo, fa3_status *status);

typedef enum fa3_quantity {
  FA3_FLOPS = 0, /* floating-point operations of a call */
  FA3_BYTES = 1  /* least bytes of global memory that a call moves */
} fa3_quantity;

/* Evaluates a cost formula. Only kinds, types and ranks of the arguments are
 * checked: addresses may be null. */
FA3_API fa3_code fa3_evaluate(const fa3_program *program, fa3_quantity quantity,
                              const fa3_arg *args, size_t num_args,
                              int64_t *value, fa3_status *status);

/* The number of blocks of one launch, as fa3_evaluate; 0 if its condition does
 * not hold. */
FA3_API fa3_code fa3_evaluate_grid(const fa3_program *program, size_t launch,
                                   const fa3_arg *args, size_t num_args,
                                   int64_t *blocks, fa3_status *status);

/* The hash of `ptx_hash`: XXH3 with 64 bits and seed 0. */
FA3_API uint64_t fa3_hash(const void *data, size_t size);

/*===----------------------------------------------------------------------===*
 * Device helpers for tools and tests; frameworks have their own
 *===----------------------------------------------------------------------===*/

typedef uint64_t fa3_device_address;

typedef struct fa3_device_info {
  char name[256];
  int32_t sms;
  int32_t compute_major, compute_minor;
  int32_t max_smem;       /* dynamic shared memory of a block, bytes */
  int32_t driver_version; /* 1000 * major + 10 * minor */
} fa3_device_info;

FA3_API fa3_code fa3_device_count(int32_t *count, fa3_status *status);
/* Retains the primary context of a device and makes it the current one of the
 * calling thread; fa3_device_release gives it back. */
FA3_API fa3_code fa3_device_initialize(int32_t device, fa3_status *status);
FA3_API fa3_code fa3_device_release(int32_t device, fa3_status *status);
FA3_API fa3_code fa3_device_query(int32_t device, fa3_device_info *info,
                                  fa3_status *status);

/* The functions below need a current context. Copies and fills are complete
 * when they return. */
FA3_API fa3_code fa3_device_alloc(size_t size, fa3_device_address *address,
                                  fa3_status *status);
FA3_API fa3_code fa3_device_free(fa3_device_address address,
                                 fa3_status *status);
FA3_API fa3_code fa3_device_upload(fa3_device_address target,
                                   const void *source, size_t size,
                                   fa3_status *status);
FA3_API fa3_code fa3_device_download(void *target, fa3_device_address source,
                                     size_t size, fa3_status *status);
FA3_API fa3_code fa3_device_fill(fa3_device_address target, uint8_t byte,
                                 size_t size, fa3_status *status);
/* Waits for all work of the current context; reports a kernel that failed. */
FA3_API fa3_code fa3_device_synchronize(fa3_status *status);

FA3_API fa3_code fa3_device_stream_create(void **stream, fa3_status *status);
FA3_API fa3_code fa3_device_stream_destroy(void *stream, fa3_status *status);
FA3_API fa3_code fa3_device_stream_synchronize(void *stream,
                                               fa3_status *status);

FA3_API fa3_code fa3_device_event_create(void **event, fa3_status *status);
FA3_API fa3_code fa3_device_event_destroy(void *event, fa3_status *status);
FA3_API fa3_code fa3_device_event_record(void *event, void *stream,
                                         fa3_status *status);
FA3_API fa3_code fa3_device_event_synchronize(void *event, fa3_status *status);
/* Milliseconds between two recorded events that have both completed. */
FA3_API fa3_code fa3_device_event_elapsed(void *start, void *end,
                                          float *milliseconds,
                                          fa3_status *status);

#ifdef __cplusplus
}
#endif

#endif /* FA3_RUNTIME_FA3_RUNTIME_H */
