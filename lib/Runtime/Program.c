/*===- Program.c - loading of manifests and code --------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ties a manifest to its code: hash of the PTX, chip of the device, limits,
 * names and parameters of the kernels.
 *===----------------------------------------------------------------------===*/

#include "Program.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  EMPTY_SIZE = 256,         /* stands for empty tensors */
  DEFAULT_SMEM = 48 * 1024, /* what a kernel may use without asking */
  TENSOR_MAP_SIZE = 128
};

/*===----------------------------------------------------------------------===*
 * Without the driver
 *===----------------------------------------------------------------------===*/

fa3_code fa3_program_parse(const char *manifest, size_t manifest_size,
                           int64_t device_sms, fa3_program **result,
                           fa3_status *status) {
  if (!result)
    return fa3_fail(status, FA3_ERROR_ARGUMENT, "no place for the program");
  *result = NULL;
  if (!manifest)
    return fa3_fail(status, FA3_ERROR_ARGUMENT, "null manifest");
  static atomic_uint_fast64_t number;
  fa3_program *program = calloc(1, sizeof(*program));
  if (!program)
    return fa3_fail_memory(status);
  program->number = atomic_fetch_add(&number, 1) + 1;
  program->device_sms = device_sms;
  fa3_code code = fa3_manifest_read(manifest, manifest_size, program, status);
  if (code != FA3_OK) {
    fa3_program_destroy(program, NULL);
    return code;
  }
  *result = program;
  return fa3_succeed(status);
}

fa3_code fa3_program_check_ptx(const fa3_program *program, const char *ptx,
                               size_t ptx_size, fa3_status *status) {
  if (!program || !ptx)
    return fa3_fail(status, FA3_ERROR_ARGUMENT, "null program or PTX");
  /* A terminating zero, which callers may count, is not part of the text. */
  if (ptx_size && ptx[ptx_size - 1] == '\0')
    --ptx_size;
  uint64_t hash = fa3_hash(ptx, ptx_size);
  if (hash == program->ptx_hash)
    return fa3_succeed(status);
  return fa3_fail(status, FA3_ERROR_MISMATCH,
                  "the manifest of '%s' was written for another PTX: ptx_hash "
                  "is %016" PRIx64 ", the PTX has %016" PRIx64,
                  program->function, program->ptx_hash, hash);
}

const char *fa3_program_function(const fa3_program *program) {
  return program ? program->function : NULL;
}

const char *fa3_program_chip(const fa3_program *program) {
  return program ? program->chip : NULL;
}

const char *fa3_program_producer(const fa3_program *program) {
  return program ? program->producer : NULL;
}

int32_t fa3_program_device(const fa3_program *program) {
  return program && program->driver ? program->device : -1;
}

size_t fa3_program_num_args(const fa3_program *program) {
  return program ? program->num_args : 0;
}

fa3_code fa3_program_arg_info(const fa3_program *program, size_t index,
                              fa3_arg_info *info, fa3_status *status) {
  if (!program || !info || index >= program->num_args)
    return fa3_fail(status, FA3_ERROR_ARGUMENT, "no argument of this number");
  const fa3_param *param = &program->scope.params[index];
  memset(info, 0, sizeof(*info));
  info->name = param->name;
  info->kind = param->kind;
  info->type = param->type;
  info->access = param->access;
  info->rank = param->rank;
  for (int d = 0; d < param->rank; ++d) {
    info->extent[d] = param->dims[d].extent;
    info->dim_name[d] = param->dims[d].name;
  }
  return fa3_succeed(status);
}

size_t fa3_program_num_launches(const fa3_program *program) {
  return program ? program->num_launches : 0;
}

fa3_code fa3_program_launch_info(const fa3_program *program, size_t index,
                                 fa3_launch_info *info, fa3_status *status) {
  if (!program || !info || index >= program->num_launches)
    return fa3_fail(status, FA3_ERROR_ARGUMENT, "no launch of this number");
  const fa3_kernel_launch *launch = &program->launches[index];
  info->kernel = launch->kernel;
  info->block = (int32_t)launch->block;
  info->cluster = (int32_t)launch->cluster;
  info->smem = (int32_t)launch->smem;
  info->num_args = launch->num_args;
  return fa3_succeed(status);
}

/*===----------------------------------------------------------------------===*
 * Device and image
 *===----------------------------------------------------------------------===*/

/* Whether code for `chip` ("sm_90a") runs on compute capability major.minor. */
static int chip_runs_on(const char *chip, fa3_image_kind kind, int major,
                        int minor) {
  if (strncmp(chip, "sm_", 3) != 0)
    return 0;
  char *suffix;
  long number = strtol(chip + 3, &suffix, 10);
  long chip_major = number / 10, chip_minor = number % 10;
  if (suffix == chip + 3 || number <= 0)
    return 0;
  if (!strcmp(suffix, "a"))
    return major == chip_major && minor == chip_minor;
  int same_major_or_later = major == chip_major && minor >= chip_minor;
  if (!strcmp(suffix, "f") || kind == FA3_IMAGE_CUBIN)
    return same_major_or_later;
  return *suffix == '\0' && (same_major_or_later || major > chip_major);
}

static fa3_code check_device(fa3_program *program, fa3_image_kind kind,
                             fa3_status *status) {
  const fa3_driver *driver = program->driver;
  static const int attributes[] = {
      FA3_CU_DEVICE_SMS, FA3_CU_DEVICE_COMPUTE_MAJOR,
      FA3_CU_DEVICE_COMPUTE_MINOR, FA3_CU_DEVICE_MAX_SMEM};
  int values[4] = {0, 0, 0, 0};
  fa3_cu_result result = driver->context_device(&program->device);
  for (int i = 0; i < 4 && result == FA3_CU_SUCCESS; ++i)
    result =
        driver->device_attribute(&values[i], attributes[i], program->device);
  int version = 0;
  if (result == FA3_CU_SUCCESS)
    result = driver->driver_version(&version);
  if (result != FA3_CU_SUCCESS)
    return fa3_driver_fail(driver, result,
                           "asking for properties of the device", status);
  program->device_sms = values[0];
  program->starts_early = version >= FA3_CU_VERSION_EARLY_IN_GRAPHS;
  if (!chip_runs_on(program->chip, kind, values[1], values[2]))
    return fa3_fail(status, FA3_ERROR_DEVICE,
                    "code for '%s' does not run on device %d of compute "
                    "capability %d.%d",
                    program->chip, program->device, values[1], values[2]);
  for (size_t i = 0; i < program->num_launches; ++i)
    if (program->launches[i].smem > (uint32_t)values[3])
      return fa3_fail(status, FA3_ERROR_DEVICE,
                      "kernel '%s' needs %" PRIu32
                      " bytes of shared memory, the device has %d",
                      program->launches[i].kernel, program->launches[i].smem,
                      values[3]);
  return FA3_OK;
}

static uint64_t little_endian(const unsigned char *p, int bytes) {
  uint64_t value = 0;
  while (bytes-- > 0)
    value = value << 8 | p[bytes];
  return value;
}

/* The driver trusts the sizes inside of an ELF image; a truncated file would
 * make it read beyond the end. */
static int is_whole_elf(const unsigned char *image, size_t size) {
  enum { HEADER = 64, SECTION = 64, NOBITS = 8 };
  static const unsigned char magic[] = {0x7F,
                                        'E',
                                        'L',
                                        'F',
                                        /*64 bit*/ 2,
                                        /*little endian*/ 1};
  if (size < HEADER || memcmp(image, magic, sizeof(magic)) != 0)
    return 0;
  uint64_t table = little_endian(image + 40, 8);
  uint64_t entry_size = little_endian(image + 58, 2);
  uint64_t entries = little_endian(image + 60, 2);
  if (entry_size != SECTION || table > size ||
      entries > (size - table) / SECTION)
    return 0;
  for (uint64_t i = 0; i < entries; ++i) {
    const unsigned char *section = image + table + i * SECTION;
    uint64_t offset = little_endian(section + 24, 8);
    uint64_t length = little_endian(section + 32, 8);
    if (little_endian(section + 4, 4) != NOBITS &&
        (offset > size || length > size - offset))
      return 0;
  }
  return 1;
}

static fa3_code load_module(fa3_program *program, const void *image,
                            fa3_status *status) {
  char log[FA3_MESSAGE_SIZE / 2];
  log[0] = '\0';
  int options[] = {FA3_CU_JIT_ERROR_LOG, FA3_CU_JIT_ERROR_LOG_SIZE};
  void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
  fa3_cu_result result =
      program->driver->module_load(&program->module, image, 2, options, values);
  if (result == FA3_CU_SUCCESS)
    return FA3_OK;
  program->module = NULL;
  log[sizeof(log) - 1] = '\0';
  char what[FA3_MESSAGE_SIZE / 2 + 64];
  snprintf(what, sizeof(what), "loading the code%s%s", *log ? ": " : "", log);
  fa3_code code = fa3_driver_fail(program->driver, result, what, status);
  if (code != FA3_ERROR_DRIVER)
    return code;
  if (status)
    status->code = FA3_ERROR_IMAGE;
  return FA3_ERROR_IMAGE;
}

/*===----------------------------------------------------------------------===*
 * Kernels
 *===----------------------------------------------------------------------===*/

static size_t kernel_arg_size(fa3_kernel_arg_kind kind) {
  return kind == FA3_KERNEL_TENSOR_MAP ? TENSOR_MAP_SIZE
         : kind == FA3_KERNEL_POINTER || kind == FA3_KERNEL_COUNTER ||
                 kind == FA3_KERNEL_I64
             ? 8
             : 4;
}

/* The parameters of the kernel have the number and sizes that the manifest
 * states, as far as the driver can tell. */
static fa3_code check_params(const fa3_program *program,
                             const fa3_kernel_launch *launch,
                             fa3_status *status) {
  const fa3_driver *driver = program->driver;
  if (!driver->function_param)
    return FA3_OK;
  for (size_t i = 0; i <= launch->num_args; ++i) {
    size_t offset = 0, size = 0;
    fa3_cu_result result =
        driver->function_param(launch->function, i, &offset, &size);
    if (result == FA3_CU_INVALID_VALUE) {
      if (i == launch->num_args)
        return FA3_OK;
      return fa3_fail(status, FA3_ERROR_MISMATCH,
                      "kernel '%s' has %zu parameters, the manifest %zu",
                      launch->kernel, i, launch->num_args);
    }
    if (result != FA3_CU_SUCCESS)
      return fa3_driver_fail(driver, result, "asking for kernel parameters",
                             status);
    if (i == launch->num_args)
      return fa3_fail(status, FA3_ERROR_MISMATCH,
                      "kernel '%s' has more than the %zu parameters of the "
                      "manifest",
                      launch->kernel, launch->num_args);
    size_t expected = kernel_arg_size(launch->args[i].kind);
    if (size != expected)
      return fa3_fail(status, FA3_ERROR_MISMATCH,
                      "kernel '%s': parameter %zu has %zu bytes, %s has %zu",
                      launch->kernel, i, size, launch->args[i].field, expected);
  }
  return FA3_OK;
}

static fa3_code prepare_kernel(const fa3_program *program,
                               fa3_kernel_launch *launch, fa3_status *status) {
  const fa3_driver *driver = program->driver;
  fa3_cu_result result = driver->module_function(
      &launch->function, program->module, launch->kernel);
  if (result == FA3_CU_NOT_FOUND)
    return fa3_fail(status, FA3_ERROR_MISMATCH,
                    "the code has no kernel '%s', which the manifest launches",
                    launch->kernel);
  if (result != FA3_CU_SUCCESS)
    return fa3_driver_fail(driver, result, "looking for a kernel", status);
  /* Drivers load functions at their first launch; a call must not pay that. */
  if (driver->function_load)
    result = driver->function_load(launch->function);
  if (result == FA3_CU_SUCCESS && launch->smem > DEFAULT_SMEM)
    result = driver->function_set_attribute(
        launch->function, FA3_CU_FUNCTION_MAX_SMEM, (int)launch->smem);
  if (result != FA3_CU_SUCCESS)
    return fa3_driver_fail(driver, result, "preparing a kernel", status);
  return check_params(program, launch, status);
}

static fa3_code allocate_empty(fa3_program *program, fa3_status *status) {
  const fa3_driver *driver = program->driver;
  for (size_t i = 0; i < program->scope.num_params; ++i) {
    if (!program->scope.params[i].is_map_source)
      continue;
    fa3_cu_result result =
        fa3_allocate_zeros(driver, EMPTY_SIZE, &program->empty);
    return result == FA3_CU_SUCCESS
               ? FA3_OK
               : fa3_driver_fail(driver, result,
                                 "allocating memory for empty tensors", status);
  }
  return FA3_OK;
}

/*===----------------------------------------------------------------------===*
 * Load and destroy
 *===----------------------------------------------------------------------===*/

/* Sets the context of the program; the caller's, or device 0's primary one. */
static fa3_code choose_context(fa3_program *program, fa3_status *status) {
  const fa3_driver *driver = program->driver;
  fa3_cu_result result = driver->context_current(&program->context);
  if (result != FA3_CU_SUCCESS)
    return fa3_driver_fail(driver, result, "asking for the current context",
                           status);
  if (program->context)
    return FA3_OK;
  result = driver->device_get(&program->device, 0);
  if (result == FA3_CU_SUCCESS)
    result = driver->primary_retain(&program->context, program->device);
  if (result != FA3_CU_SUCCESS)
    return fa3_driver_fail(driver, result,
                           "retaining the primary context of device 0", status);
  program->retained = 1;
  return FA3_OK;
}

/* In the context of the program. */
static fa3_code load_into_context(fa3_program *program, const void *image,
                                  fa3_image_kind kind, fa3_status *status) {
  fa3_code code = check_device(program, kind, status);
  if (code == FA3_OK)
    code = load_module(program, image, status);
  for (size_t i = 0; i < program->num_launches && code == FA3_OK; ++i)
    code = prepare_kernel(program, &program->launches[i], status);
  if (code == FA3_OK)
    code = allocate_empty(program, status);
  if (code == FA3_OK)
    code = fa3_counters_create(program, status);
  return code;
}

static fa3_code load_image(fa3_program *program, const void *image,
                           fa3_image_kind kind, fa3_status *status) {
  fa3_code code = fa3_driver_get(&program->driver, status);
  if (code == FA3_OK)
    code = choose_context(program, status);
  if (code != FA3_OK)
    return code;
  const fa3_driver *driver = program->driver;
  int pushed, mode;
  code = fa3_context_enter(driver, program->context, &pushed, status);
  if (code != FA3_OK)
    return code;
  /* The first call of a kernel may be one that is captured. */
  fa3_cu_result result = fa3_capture_relax(driver, &mode);
  if (result == FA3_CU_SUCCESS) {
    code = load_into_context(program, image, kind, status);
    result = fa3_capture_restore(driver, mode);
  }
  if (code == FA3_OK && result != FA3_CU_SUCCESS)
    code = fa3_driver_fail(driver, result, "loading beside captures", status);
  fa3_context_leave(driver, pushed);
  return code;
}

/* Checks the image and gives it the form in which the driver wants it: PTX with
 * a terminating zero, in memory that the caller frees. */
static fa3_code check_image(const fa3_program *program, const void *image,
                            size_t size, fa3_image_kind kind, char **terminated,
                            fa3_status *status) {
  *terminated = NULL;
  if (kind == FA3_IMAGE_CUBIN)
    return is_whole_elf(image, size)
               ? FA3_OK
               : fa3_fail(status, FA3_ERROR_IMAGE,
                          "the image of %zu bytes is no complete cubin", size);
  if (kind != FA3_IMAGE_PTX)
    return fa3_fail(status, FA3_ERROR_ARGUMENT, "unknown kind of image");
  fa3_code code = fa3_program_check_ptx(program, image, size, status);
  if (code != FA3_OK)
    return code;
  if (!(*terminated = malloc(size + 1)))
    return fa3_fail_memory(status);
  memcpy(*terminated, image, size);
  (*terminated)[size] = '\0';
  return FA3_OK;
}

fa3_code fa3_program_load(const char *manifest, size_t manifest_size,
                          const void *image, size_t image_size,
                          fa3_image_kind image_kind, fa3_program **result,
                          fa3_status *status) {
  fa3_program *program;
  fa3_code code =
      fa3_program_parse(manifest, manifest_size, 0, &program, status);
  if (result)
    *result = NULL;
  if (code != FA3_OK)
    return code;
  char *terminated = NULL;
  if (!result)
    code = fa3_fail(status, FA3_ERROR_ARGUMENT, "no place for the program");
  else if (!image)
    code = fa3_fail(status, FA3_ERROR_ARGUMENT, "null image");
  else
    code = check_image(program, image, image_size, image_kind, &terminated,
                       status);
  if (code == FA3_OK)
    code = load_image(program, terminated ? terminated : image, image_kind,
                      status);
  free(terminated);
  if (code != FA3_OK) {
    fa3_program_destroy(program, NULL);
    return code;
  }
  *result = program;
  return fa3_succeed(status);
}

fa3_code fa3_program_destroy(fa3_program *program, fa3_status *status) {
  fa3_succeed(status);
  if (!program)
    return FA3_OK;
  const fa3_driver *driver = program->driver;
  fa3_cu_result result = FA3_CU_SUCCESS;
  if (program->context) {
    /* Whatever context is current, the resources belong to the program's. */
    fa3_cu_context popped;
    result = driver->context_push(program->context);
    int is_current = result == FA3_CU_SUCCESS, mode;
    int is_relaxed = fa3_capture_relax(driver, &mode) == FA3_CU_SUCCESS;
    if (program->empty && is_current)
      result = driver->memory_free(program->empty);
    /* What they have on the host is freed without a context, too. */
    fa3_cu_result freed = fa3_counters_destroy(program);
    result = result == FA3_CU_SUCCESS ? freed : result;
    if (is_current) {
      fa3_cu_result unload =
          program->module ? driver->module_unload(program->module) : 0;
      result = result == FA3_CU_SUCCESS ? unload : result;
      driver->context_pop(&popped);
    }
    if (is_relaxed)
      fa3_capture_restore(driver, mode);
  }
  if (program->retained) {
    fa3_cu_result release = driver->primary_release(program->device);
    result = result == FA3_CU_SUCCESS ? release : result;
  }
  fa3_arena_free(&program->arena);
  free(program);
  return result == FA3_CU_SUCCESS
             ? FA3_OK
             : fa3_driver_fail(driver, result, "unloading a program", status);
}
