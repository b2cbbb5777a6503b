/*===- Exchange.h - DLPack's table of functions -------------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private: the part of DLPack 1.3's C interface that is used here
 * (__dlpack_c_exchange_api__). Its layout is stable within a major version.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_NATIVE_EXCHANGE_H
#define FA3_LIB_NATIVE_EXCHANGE_H

#include <stdint.h>

enum { FA3_DL_MAJOR = 1 };
#define FA3_DL_CAPSULE "dlpack_exchange_api"

/* DLTensor. */
typedef struct {
  void *data;
  int32_t device_type, device_id;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} fa3_dl_tensor;

/* DLPackExchangeAPI. */
typedef struct {
  uint32_t major, minor;
  const void *previous;
  void (*allocate)(void);
  void (*managed_from_object)(void);
  void (*managed_to_object)(void);
  /* May be null. Returns -1 with an exception. */
  int (*tensor_from_object)(void *object, fa3_dl_tensor *tensor);
  void (*current_stream)(void);
} fa3_exchange;

#endif /* FA3_LIB_NATIVE_EXCHANGE_H */
