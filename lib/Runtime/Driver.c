/*===- Driver.c - the CUDA driver, opened at run time ---------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See Driver.h.
 *===----------------------------------------------------------------------===*/

#include "Driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Guards the driver below; once `driver_ready` is set it is constant. */
static pthread_mutex_t driver_lock = PTHREAD_MUTEX_INITIALIZER;
static fa3_driver the_driver;
static int driver_ready;

typedef struct {
  size_t offset;
  const char *symbol;
  int required;
} entry_point;

#define FA3_REQUIRED_ENTRY(field, symbol, parameters)                          \
  {offsetof(fa3_driver, field), symbol, 1},
#define FA3_OPTIONAL_ENTRY(field, symbol, parameters)                          \
  {offsetof(fa3_driver, field), symbol, 0},
static const entry_point entry_points[] = {FA3_DRIVER_REQUIRED(
    FA3_REQUIRED_ENTRY) FA3_DRIVER_OPTIONAL(FA3_OPTIONAL_ENTRY)};

static fa3_code open_driver(fa3_driver *driver, fa3_status *status) {
  const char *path = getenv("FA3_LIBCUDA");
  if (!path || !*path)
    path = "libcuda.so.1";
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    return fa3_fail(status, FA3_ERROR_NO_DRIVER,
                    "cannot open the CUDA driver: %s", reason ? reason : path);
  }
  fa3_code code = FA3_OK;
  for (size_t i = 0; i < sizeof(entry_points) / sizeof(entry_points[0]); ++i) {
    void *address = dlsym(library, entry_points[i].symbol);
    if (!address && entry_points[i].required) {
      code = fa3_fail(status, FA3_ERROR_NO_DRIVER,
                      "the CUDA driver '%s' has no '%s'; CUDA 12.0 or later is "
                      "needed",
                      path, entry_points[i].symbol);
      break;
    }
    /* POSIX: addresses of objects and functions have one representation. */
    memcpy((char *)driver + entry_points[i].offset, &address, sizeof(address));
  }
  if (code == FA3_OK) {
    fa3_cu_result result = driver->init(0);
    if (result == FA3_CU_SUCCESS)
      return FA3_OK; /* the library stays open as long as the process */
    code =
        fa3_driver_fail(driver, result, "initializing the CUDA driver", status);
  }
  dlclose(library);
  return code;
}

fa3_code fa3_driver_get(const fa3_driver **driver, fa3_status *status) {
  fa3_code code = FA3_OK;
  pthread_mutex_lock(&driver_lock);
  if (!driver_ready) {
    code = open_driver(&the_driver, status);
    driver_ready = code == FA3_OK;
  }
  pthread_mutex_unlock(&driver_lock);
  *driver = code == FA3_OK ? &the_driver : NULL;
  return code;
}

fa3_code fa3_driver_replace(const fa3_driver *driver, fa3_status *status) {
  pthread_mutex_lock(&driver_lock);
  int was_ready = driver_ready;
  if (!was_ready) {
    the_driver = *driver;
    driver_ready = 1;
  }
  pthread_mutex_unlock(&driver_lock);
  return was_ready ? fa3_fail(status, FA3_ERROR_DRIVER,
                              "a CUDA driver is open in this process")
                   : fa3_succeed(status);
}

/* Errors of kernels, which leave their context unusable (CUDA driver API,
 * CUresult: "must be destroyed"). */
static int is_sticky(fa3_cu_result result) {
  switch (result) {
  case 214: /* ECC_UNCORRECTABLE */
  case 220: /* NVLINK_UNCORRECTABLE */
  case 700: /* ILLEGAL_ADDRESS */
  case 702: /* LAUNCH_TIMEOUT */
  case 710: /* ASSERT */
  case 714: /* HARDWARE_STACK_ERROR */
  case 715: /* ILLEGAL_INSTRUCTION */
  case 716: /* MISALIGNED_ADDRESS */
  case 717: /* INVALID_ADDRESS_SPACE */
  case 718: /* INVALID_PC */
  case 719: /* LAUNCH_FAILED */
  case 721: /* TENSOR_MEMORY_LEAK */
    return 1;
  default:
    return 0;
  }
}

fa3_code fa3_driver_fail(const fa3_driver *driver, fa3_cu_result result,
                         const char *what, fa3_status *status) {
  const char *name = NULL, *text = NULL;
  if (driver->error_name(result, &name) != FA3_CU_SUCCESS || !name)
    name = "unknown error";
  if (driver->error_text(result, &text) != FA3_CU_SUCCESS || !text)
    text = "no description";
  int sticky = is_sticky(result);
  fa3_code code = sticky                       ? FA3_ERROR_KERNEL
                  : result == FA3_CU_NO_DEVICE ? FA3_ERROR_DEVICE
                                               : FA3_ERROR_DRIVER;
  fa3_fail(status, code, "%s: %s (%d): %s%s", what, name, result, text,
           sticky ? "; a kernel failed and its context is no longer usable"
                  : "");
  if (status)
    status->driver_code = result;
  return code;
}

fa3_code fa3_context_enter(const fa3_driver *driver, fa3_cu_context context,
                           int *pushed, fa3_status *status) {
  *pushed = 0;
  fa3_cu_context current = NULL;
  fa3_cu_result result = driver->context_current(&current);
  if (result != FA3_CU_SUCCESS)
    return fa3_driver_fail(driver, result, "asking for the current context",
                           status);
  if (current == context)
    return FA3_OK;
  if (current)
    return fa3_fail(status, FA3_ERROR_CONTEXT,
                    "the program was loaded into another context than the "
                    "current one; load it once per device");
  result = driver->context_push(context);
  if (result != FA3_CU_SUCCESS)
    return fa3_driver_fail(driver, result, "making the context current",
                           status);
  *pushed = 1;
  return FA3_OK;
}

void fa3_context_leave(const fa3_driver *driver, int pushed) {
  fa3_cu_context ignored;
  if (pushed)
    driver->context_pop(&ignored);
}

fa3_cu_result fa3_capture_relax(const fa3_driver *driver, int *mode) {
  *mode = FA3_CU_STREAM_CAPTURE_RELAXED;
  return driver->capture_mode_exchange(mode);
}

fa3_cu_result fa3_capture_restore(const fa3_driver *driver, int mode) {
  return driver->capture_mode_exchange(&mode);
}

fa3_cu_result fa3_allocate_zeros(const fa3_driver *driver, size_t size,
                                 fa3_device_address *address) {
  fa3_device_address memory = 0;
  void *stream = NULL;
  fa3_cu_result result = driver->memory_alloc(&memory, size);
  if (result != FA3_CU_SUCCESS)
    return result;
  result = driver->stream_create(&stream, FA3_CU_STREAM_NON_BLOCKING);
  if (result == FA3_CU_SUCCESS) {
    result = driver->memory_fill_async(memory, 0, size, stream);
    if (result == FA3_CU_SUCCESS)
      result = driver->stream_synchronize(stream);
    fa3_cu_result destroyed = driver->stream_destroy(stream);
    result = result == FA3_CU_SUCCESS ? destroyed : result;
  }
  if (result == FA3_CU_SUCCESS)
    *address = memory;
  else
    driver->memory_free(memory);
  return result;
}
