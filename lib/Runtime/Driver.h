/*===- Driver.h - the CUDA driver, opened at run time --------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private: the types, constants and entry points of libcuda that the runtime
 * uses. Entry points are looked up by their versioned names, so that each has
 * exactly the signature written here.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_RUNTIME_DRIVER_H
#define FA3_LIB_RUNTIME_DRIVER_H

#include "Support.h"

typedef int fa3_cu_result;
typedef int fa3_cu_device;
typedef struct fa3_cu_context_tag *fa3_cu_context;
typedef struct fa3_cu_module_tag *fa3_cu_module;
typedef struct fa3_cu_function_tag *fa3_cu_function;

enum {
  FA3_CU_SUCCESS = 0,
  FA3_CU_INVALID_VALUE = 1,
  FA3_CU_NO_DEVICE = 100,
  FA3_CU_NOT_FOUND = 500,

  FA3_CU_JIT_ERROR_LOG = 5,
  FA3_CU_JIT_ERROR_LOG_SIZE = 6,

  FA3_CU_DEVICE_SMS = 16,
  FA3_CU_DEVICE_COMPUTE_MAJOR = 75,
  FA3_CU_DEVICE_COMPUTE_MINOR = 76,
  FA3_CU_DEVICE_MAX_SMEM = 97,

  FA3_CU_FUNCTION_MAX_SMEM = 8,
  FA3_CU_LAUNCH_CLUSTER = 4,
  FA3_CU_LAUNCH_EARLY = 6, /* PROGRAMMATIC_STREAM_SERIALIZATION */
  /* From this version on such launches may be captured into graphs. */
  FA3_CU_VERSION_EARLY_IN_GRAPHS = 12030,

  FA3_CU_STREAM_NON_BLOCKING = 1,
  FA3_CU_STREAM_CAPTURE_RELAXED = 2,

  FA3_CU_MAP_L2_PROMOTION_256B = 3
};

#ifdef __cplusplus
extern "C" {
#define FA3_ALIGNAS(bytes) alignas(bytes)
#else
#define FA3_ALIGNAS(bytes) _Alignas(bytes)
#endif

/* CUtensorMap, which the driver wants on 64 bytes. */
typedef struct fa3_cu_tensor_map {
  FA3_ALIGNAS(64) unsigned char bytes[128];
} fa3_cu_tensor_map;

/* CUlaunchAttribute. */
typedef struct fa3_cu_launch_attribute {
  int id;
  char padding[4];
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
    int early;
  } value;
} fa3_cu_launch_attribute;

/* CUlaunchConfig. */
typedef struct fa3_cu_launch_config {
  unsigned grid[3], block[3];
  unsigned smem;
  void *stream;
  fa3_cu_launch_attribute *attributes;
  unsigned num_attributes;
} fa3_cu_launch_config;

/* X(field, symbol, parameters) for every entry point that must be there ... */
#define FA3_DRIVER_REQUIRED(X)                                                 \
  X(init, "cuInit", (unsigned flags))                                          \
  X(driver_version, "cuDriverGetVersion", (int *version))                      \
  X(error_name, "cuGetErrorName", (fa3_cu_result code, const char **name))     \
  X(error_text, "cuGetErrorString", (fa3_cu_result code, const char **text))   \
  X(device_count, "cuDeviceGetCount", (int *count))                            \
  X(device_get, "cuDeviceGet", (fa3_cu_device * device, int ordinal))          \
  X(device_name, "cuDeviceGetName",                                            \
    (char *name, int size, fa3_cu_device device))                              \
  X(device_attribute, "cuDeviceGetAttribute",                                  \
    (int *value, int attribute, fa3_cu_device device))                         \
  X(primary_retain, "cuDevicePrimaryCtxRetain",                                \
    (fa3_cu_context * context, fa3_cu_device device))                          \
  X(primary_release, "cuDevicePrimaryCtxRelease_v2", (fa3_cu_device device))   \
  X(context_current, "cuCtxGetCurrent", (fa3_cu_context * context))            \
  X(context_set, "cuCtxSetCurrent", (fa3_cu_context context))                  \
  X(context_push, "cuCtxPushCurrent_v2", (fa3_cu_context context))             \
  X(context_pop, "cuCtxPopCurrent_v2", (fa3_cu_context * context))             \
  X(context_device, "cuCtxGetDevice", (fa3_cu_device * device))                \
  X(context_synchronize, "cuCtxSynchronize", (void))                           \
  X(module_load, "cuModuleLoadDataEx",                                         \
    (fa3_cu_module * module, const void *image, unsigned num_options,          \
     int *options, void **values))                                             \
  X(module_unload, "cuModuleUnload", (fa3_cu_module module))                   \
  X(module_function, "cuModuleGetFunction",                                    \
    (fa3_cu_function * function, fa3_cu_module module, const char *name))      \
  X(function_set_attribute, "cuFuncSetAttribute",                              \
    (fa3_cu_function function, int attribute, int value))                      \
  X(launch, "cuLaunchKernel",                                                  \
    (fa3_cu_function function, unsigned grid_x, unsigned grid_y,               \
     unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,    \
     unsigned smem, void *stream, void **params, void **extra))                \
  X(launch_ex, "cuLaunchKernelEx",                                             \
    (const fa3_cu_launch_config *config, fa3_cu_function function,             \
     void **params, void **extra))                                             \
  X(encode_tiled, "cuTensorMapEncodeTiled",                                    \
    (fa3_cu_tensor_map * map, int type, uint32_t rank, void *address,          \
     const uint64_t *dims, const uint64_t *strides, const uint32_t *box,       \
     const uint32_t *element_strides, int interleave, int swizzle,             \
     int l2_promotion, int fill))                                              \
  X(memory_alloc, "cuMemAlloc_v2",                                             \
    (fa3_device_address * address, size_t size))                               \
  X(memory_free, "cuMemFree_v2", (fa3_device_address address))                 \
  X(memory_upload, "cuMemcpyHtoD_v2",                                          \
    (fa3_device_address target, const void *source, size_t size))              \
  X(memory_download, "cuMemcpyDtoH_v2",                                        \
    (void *target, fa3_device_address source, size_t size))                    \
  X(memory_fill, "cuMemsetD8_v2",                                              \
    (fa3_device_address target, unsigned char byte, size_t size))              \
  X(memory_fill_async, "cuMemsetD8Async",                                      \
    (fa3_device_address target, unsigned char byte, size_t size,               \
     void *stream))                                                            \
  X(capture_mode_exchange, "cuThreadExchangeStreamCaptureMode", (int *mode))   \
  X(stream_create, "cuStreamCreate", (void **stream, unsigned flags))          \
  X(stream_destroy, "cuStreamDestroy_v2", (void *stream))                      \
  X(stream_synchronize, "cuStreamSynchronize", (void *stream))                 \
  X(stream_is_capturing, "cuStreamIsCapturing", (void *stream, int *state))    \
  X(event_create, "cuEventCreate", (void **event, unsigned flags))             \
  X(event_destroy, "cuEventDestroy_v2", (void *event))                         \
  X(event_record, "cuEventRecord", (void *event, void *stream))                \
  X(event_synchronize, "cuEventSynchronize", (void *event))                    \
  X(event_elapsed, "cuEventElapsedTime",                                       \
    (float *milliseconds, void *start, void *end))

/* ... and for those that older drivers lack (then null). */
#define FA3_DRIVER_OPTIONAL(X)                                                 \
  X(function_load, "cuFuncLoad", (fa3_cu_function function))                   \
  X(function_param, "cuFuncGetParamInfo",                                      \
    (fa3_cu_function function, size_t index, size_t *offset, size_t *size))    \
  X(map_replace_address, "cuTensorMapReplaceAddress",                          \
    (fa3_cu_tensor_map * map, void *address))

typedef struct fa3_driver {
#define FA3_DECLARE(field, symbol, parameters) fa3_cu_result(*field) parameters;
  FA3_DRIVER_REQUIRED(FA3_DECLARE)
  FA3_DRIVER_OPTIONAL(FA3_DECLARE)
#undef FA3_DECLARE
} fa3_driver;

/* The driver of the process: opened and initialized at the first success, then
 * kept. FA3_LIBCUDA overrides its path. */
fa3_code fa3_driver_get(const fa3_driver **driver, fa3_status *status);

/* Puts other entry points in place of the driver's, for the rest of the
 * process: a model of the device. No driver may have been opened before. */
fa3_code fa3_driver_replace(const fa3_driver *driver, fa3_status *status);

/* Turns the result of a driver call into an error value; `what` says what was
 * tried. */
fa3_code fa3_driver_fail(const fa3_driver *driver, fa3_cu_result result,
                         const char *what, fa3_status *status);

/* Makes `context` current if the thread has no context, for which *pushed is
 * set and fa3_context_leave must follow; refuses another current context. */
fa3_code fa3_context_enter(const fa3_driver *driver, fa3_cu_context context,
                           int *pushed, fa3_status *status);
void fa3_context_leave(const fa3_driver *driver, int pushed);

/* While streams are being captured the driver refuses, and ends the capture,
 * what could be part of it by mistake: allocations, unloading. What a program
 * owns is never part of it. The thread says so between fa3_capture_relax and
 * fa3_capture_restore; `mode` is the thread's own, and is given back. */
fa3_cu_result fa3_capture_relax(const fa3_driver *driver, int *mode);
fa3_cu_result fa3_capture_restore(const fa3_driver *driver, int mode);

/* `size` bytes of zeros, complete for every stream. Default streams are not
 * touched, since they wait for streams that are captured. */
fa3_cu_result fa3_allocate_zeros(const fa3_driver *driver, size_t size,
                                 fa3_device_address *address);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FA3_LIB_RUNTIME_DRIVER_H */
