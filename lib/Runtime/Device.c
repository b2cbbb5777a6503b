/*===- Device.c - device helpers for tools and tests ----------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Thin wrappers of driver calls that report errors as values.
 *===----------------------------------------------------------------------===*/

#include "Driver.h"

#include <string.h>

/* The result of a driver call as an error value. */
static fa3_code report(const fa3_driver *driver, fa3_cu_result result,
                       const char *what, fa3_status *status) {
  return result == FA3_CU_SUCCESS
             ? fa3_succeed(status)
             : fa3_driver_fail(driver, result, what, status);
}

/* Calls a driver function by its field with the arguments in parentheses. */
#define FA3_CALL(field, arguments, what)                                       \
  do {                                                                         \
    const fa3_driver *driver;                                                  \
    fa3_code code = fa3_driver_get(&driver, status);                           \
    if (code != FA3_OK)                                                        \
      return code;                                                             \
    return report(driver, driver->field arguments, what, status);              \
  } while (0)

static fa3_code null_result(fa3_status *status) {
  return fa3_fail(status, FA3_ERROR_ARGUMENT, "no place for the result");
}

fa3_code fa3_device_count(int32_t *count, fa3_status *status) {
  if (!count)
    return null_result(status);
  FA3_CALL(device_count, (count), "counting devices");
}

fa3_code fa3_device_initialize(int32_t ordinal, fa3_status *status) {
  const fa3_driver *driver;
  fa3_code code = fa3_driver_get(&driver, status);
  if (code != FA3_OK)
    return code;
  fa3_cu_device device = 0;
  fa3_cu_context context = NULL;
  fa3_cu_result result = driver->device_get(&device, ordinal);
  if (result == FA3_CU_SUCCESS)
    result = driver->primary_retain(&context, device);
  if (result == FA3_CU_SUCCESS) {
    result = driver->context_set(context);
    if (result != FA3_CU_SUCCESS)
      driver->primary_release(device);
  }
  return report(driver, result, "making the primary context current", status);
}

fa3_code fa3_device_release(int32_t ordinal, fa3_status *status) {
  const fa3_driver *driver;
  fa3_code code = fa3_driver_get(&driver, status);
  if (code != FA3_OK)
    return code;
  fa3_cu_device device = 0;
  fa3_cu_result result = driver->device_get(&device, ordinal);
  if (result == FA3_CU_SUCCESS)
    result = driver->primary_release(device);
  return report(driver, result, "releasing the primary context", status);
}

fa3_code fa3_device_query(int32_t ordinal, fa3_device_info *info,
                          fa3_status *status) {
  if (!info)
    return null_result(status);
  const fa3_driver *driver;
  fa3_code code = fa3_driver_get(&driver, status);
  if (code != FA3_OK)
    return code;
  memset(info, 0, sizeof(*info));
  const struct {
    int attribute;
    int32_t *value;
  } wanted[] = {{FA3_CU_DEVICE_SMS, &info->sms},
                {FA3_CU_DEVICE_COMPUTE_MAJOR, &info->compute_major},
                {FA3_CU_DEVICE_COMPUTE_MINOR, &info->compute_minor},
                {FA3_CU_DEVICE_MAX_SMEM, &info->max_smem}};
  fa3_cu_device device = 0;
  fa3_cu_result result = driver->device_get(&device, ordinal);
  if (result == FA3_CU_SUCCESS)
    result = driver->device_name(info->name, (int)sizeof(info->name), device);
  info->name[sizeof(info->name) - 1] = '\0';
  for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); ++i)
    if (result == FA3_CU_SUCCESS)
      result = driver->device_attribute(wanted[i].value, wanted[i].attribute,
                                        device);
  if (result == FA3_CU_SUCCESS)
    result = driver->driver_version(&info->driver_version);
  return report(driver, result, "asking for properties of the device", status);
}

fa3_code fa3_device_alloc(size_t size, fa3_device_address *address,
                          fa3_status *status) {
  if (!address)
    return null_result(status);
  FA3_CALL(memory_alloc, (address, size), "allocating device memory");
}

fa3_code fa3_device_free(fa3_device_address address, fa3_status *status) {
  FA3_CALL(memory_free, (address), "freeing device memory");
}

fa3_code fa3_device_upload(fa3_device_address target, const void *source,
                           size_t size, fa3_status *status) {
  FA3_CALL(memory_upload, (target, source, size), "copying to the device");
}

fa3_code fa3_device_download(void *target, fa3_device_address source,
                             size_t size, fa3_status *status) {
  FA3_CALL(memory_download, (target, source, size), "copying from the device");
}

fa3_code fa3_device_fill(fa3_device_address target, uint8_t byte, size_t size,
                         fa3_status *status) {
  const fa3_driver *driver;
  fa3_code code = fa3_driver_get(&driver, status);
  if (code != FA3_OK)
    return code;
  fa3_cu_result result = driver->memory_fill(target, byte, size);
  /* The driver's fill returns before it is done. */
  if (result == FA3_CU_SUCCESS)
    result = driver->stream_synchronize(NULL);
  return report(driver, result, "filling device memory", status);
}

fa3_code fa3_device_synchronize(fa3_status *status) {
  FA3_CALL(context_synchronize, (), "waiting for the device");
}

fa3_code fa3_device_stream_create(void **stream, fa3_status *status) {
  enum { NON_BLOCKING = 1 };
  if (!stream)
    return null_result(status);
  FA3_CALL(stream_create, (stream, NON_BLOCKING), "creating a stream");
}

fa3_code fa3_device_stream_destroy(void *stream, fa3_status *status) {
  FA3_CALL(stream_destroy, (stream), "destroying a stream");
}

fa3_code fa3_device_stream_synchronize(void *stream, fa3_status *status) {
  FA3_CALL(stream_synchronize, (stream), "waiting for a stream");
}

fa3_code fa3_device_event_create(void **event, fa3_status *status) {
  if (!event)
    return null_result(status);
  FA3_CALL(event_create, (event, 0), "creating an event");
}

fa3_code fa3_device_event_destroy(void *event, fa3_status *status) {
  FA3_CALL(event_destroy, (event), "destroying an event");
}

fa3_code fa3_device_event_record(void *event, void *stream,
                                 fa3_status *status) {
  FA3_CALL(event_record, (event, stream), "recording an event");
}

fa3_code fa3_device_event_synchronize(void *event, fa3_status *status) {
  FA3_CALL(event_synchronize, (event), "waiting for an event");
}

fa3_code fa3_device_event_elapsed(void *start, void *end, float *milliseconds,
                                  fa3_status *status) {
  if (!milliseconds)
    return null_result(status);
  FA3_CALL(event_elapsed, (milliseconds, start, end),
           "asking for the time between events");
}
