/*===- Support.c - errors and memory of the runtime -----------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * See Support.h.
 *===----------------------------------------------------------------------===*/

#include "Support.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fa3_runtime_abi(void) { return FA3_RUNTIME_ABI; }

/*===----------------------------------------------------------------------===*
 * Errors
 *===----------------------------------------------------------------------===*/

fa3_code fa3_fail(fa3_status *status, fa3_code code, const char *format, ...) {
  if (!status)
    return code;
  va_list values;
  va_start(values, format);
  if (vsnprintf(status->message, sizeof(status->message), format, values) < 0)
    status->message[0] = '\0';
  va_end(values);
  status->code = code;
  status->driver_code = 0;
  return code;
}

fa3_code fa3_fail_memory(fa3_status *status) {
  return fa3_fail(status, FA3_ERROR_MEMORY, "out of host memory");
}

fa3_code fa3_succeed(fa3_status *status) {
  if (status) {
    status->code = FA3_OK;
    status->driver_code = 0;
    status->message[0] = '\0';
  }
  return FA3_OK;
}

const char *fa3_code_name(fa3_code code) {
  switch (code) {
  case FA3_OK:
    return "success";
  case FA3_ERROR_ARGUMENT:
    return "argument error";
  case FA3_ERROR_REQUIREMENT:
    return "requirement not met";
  case FA3_ERROR_MANIFEST:
    return "manifest error";
  case FA3_ERROR_MISMATCH:
    return "manifest and code do not match";
  case FA3_ERROR_IMAGE:
    return "code refused";
  case FA3_ERROR_NO_DRIVER:
    return "no usable driver";
  case FA3_ERROR_DEVICE:
    return "no usable device";
  case FA3_ERROR_CONTEXT:
    return "context error";
  case FA3_ERROR_DRIVER:
    return "driver error";
  case FA3_ERROR_KERNEL:
    return "kernel failed";
  case FA3_ERROR_MEMORY:
    return "out of memory";
  }
  return "unknown code";
}

/*===----------------------------------------------------------------------===*
 * Arena
 *===----------------------------------------------------------------------===*/

struct fa3_arena_block {
  struct fa3_arena_block *next;
  size_t used, size;
  alignas(max_align_t) unsigned char bytes[];
};

enum { MIN_BLOCK = 4096 };

void *fa3_arena_alloc(fa3_arena *arena, size_t size) {
  const size_t align = alignof(max_align_t);
  if (size > SIZE_MAX / 2)
    return NULL;
  size = (size + align - 1) / align * align;
  struct fa3_arena_block *block = arena->blocks;
  if (!block || block->size - block->used < size) {
    size_t capacity = size > MIN_BLOCK ? size : MIN_BLOCK;
    struct fa3_arena_block *fresh = calloc(1, sizeof(*fresh) + capacity);
    if (!fresh)
      return NULL;
    fresh->size = capacity;
    fresh->next = block;
    arena->blocks = block = fresh;
  }
  void *result = block->bytes + block->used;
  block->used += size;
  return result;
}

void *fa3_arena_array(fa3_arena *arena, size_t count, size_t size) {
  if (size && count > SIZE_MAX / 2 / size)
    return NULL;
  return fa3_arena_alloc(arena, count * size);
}

char *fa3_arena_copy(fa3_arena *arena, const char *text, size_t length) {
  char *copy = length < SIZE_MAX ? fa3_arena_alloc(arena, length + 1) : NULL;
  if (copy && length)
    memcpy(copy, text, length);
  return copy;
}

void fa3_arena_free(fa3_arena *arena) {
  struct fa3_arena_block *block = arena->blocks;
  arena->blocks = NULL;
  while (block) {
    struct fa3_arena_block *next = block->next;
    free(block);
    block = next;
  }
}

/*===----------------------------------------------------------------------===*
 * Element types
 *===----------------------------------------------------------------------===*/

/* Indexed by fa3_type. Tensor-map codes are CU_TENSOR_MAP_DATA_TYPE_*: TMA
 * moves 8-bit floats as UINT8. */
static const struct {
  const char *name;
  unsigned char size;
  signed char tensor_map_code;
  unsigned char is_integer;
} type_table[] = {
    {"f16", 2, 6, 0}, {"bf16", 2, 9, 0},     {"f32", 4, 7, 0},
    {"f64", 8, 8, 0}, {"f8E4M3FN", 1, 0, 0}, {"f8E5M2", 1, 0, 0},
    {"i1", 1, -1, 1}, {"i8", 1, 0, 1},       {"i16", 2, 1, 1},
    {"i32", 4, 3, 1}, {"i64", 8, 5, 1},
};
enum { NUM_TYPES = sizeof(type_table) / sizeof(type_table[0]) };

static int is_type(fa3_type type) {
  return (int)type >= 0 && (int)type < NUM_TYPES;
}

const char *fa3_type_name(fa3_type type) {
  return is_type(type) ? type_table[type].name : NULL;
}

size_t fa3_type_size(fa3_type type) {
  return is_type(type) ? type_table[type].size : 0;
}

int fa3_type_from_name(const char *name, fa3_type *type) {
  for (int i = 0; name && i < NUM_TYPES; ++i)
    if (!strcmp(name, type_table[i].name)) {
      *type = (fa3_type)i;
      return 1;
    }
  return 0;
}

int fa3_type_tensor_map_code(fa3_type type) {
  return is_type(type) ? type_table[type].tensor_map_code : -1;
}

int fa3_type_is_integer(fa3_type type) {
  return is_type(type) && type_table[type].is_integer;
}

/*===----------------------------------------------------------------------===*
 * Arguments
 *===----------------------------------------------------------------------===*/

fa3_arg fa3_tensor(fa3_type type, void *data, int32_t rank,
                   const int64_t *shape, const int64_t *stride) {
  fa3_arg arg;
  memset(&arg, 0, sizeof(arg));
  arg.kind = FA3_TENSOR;
  arg.type = type;
  arg.value.data = data;
  arg.rank = rank;
  /* A rank beyond the limit is kept and refused by the check of the call. */
  int32_t stored = rank < 0 ? 0 : rank > FA3_MAX_RANK ? FA3_MAX_RANK : rank;
  /* Saturates for absurd shapes, so that the span check refuses them. */
  int64_t running = 1;
  for (int32_t i = stored; i-- > 0;) {
    arg.shape[i] = shape[i];
    arg.stride[i] = stride ? stride[i] : running;
    int64_t extent = shape[i] > 0 ? shape[i] : 1;
    running = running > INT64_MAX / extent ? INT64_MAX : running * extent;
  }
  return arg;
}

fa3_arg fa3_scalar_real(fa3_type type, double value) {
  fa3_arg arg;
  memset(&arg, 0, sizeof(arg));
  arg.kind = FA3_SCALAR;
  arg.type = type;
  arg.value.real = value;
  return arg;
}

fa3_arg fa3_scalar_integer(fa3_type type, int64_t value) {
  fa3_arg arg;
  memset(&arg, 0, sizeof(arg));
  arg.kind = FA3_SCALAR;
  arg.type = type;
  arg.value.integer = value;
  return arg;
}
