/*===- Support.h - errors and memory of the runtime ----------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private: error values with formatted messages, an arena that owns everything
 * a program or a parsed document consists of, and the table of element types.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_RUNTIME_SUPPORT_H
#define FA3_LIB_RUNTIME_SUPPORT_H

#include "fa3/Runtime/fa3_runtime.h"

#if defined(__GNUC__)
#define FA3_PRINTF(index, first) __attribute__((format(printf, index, first)))
#else
#define FA3_PRINTF(index, first)
#endif

/* Fills `status` (which may be null) and returns `code`. */
fa3_code fa3_fail(fa3_status *status, fa3_code code, const char *format, ...)
    FA3_PRINTF(3, 4);
fa3_code fa3_fail_memory(fa3_status *status);
/* Marks success. */
fa3_code fa3_succeed(fa3_status *status);

/* A list of blocks that are freed together. */
typedef struct fa3_arena {
  struct fa3_arena_block *blocks;
} fa3_arena;

/* Zeroed memory aligned for every type, or null. */
void *fa3_arena_alloc(fa3_arena *arena, size_t size);
/* As above for `count` elements; null also when the size overflows. */
void *fa3_arena_array(fa3_arena *arena, size_t count, size_t size);
/* A copy with a terminating zero, or null. */
char *fa3_arena_copy(fa3_arena *arena, const char *text, size_t length);
void fa3_arena_free(fa3_arena *arena);

/* CUtensorMapDataType of an element type, or -1 when TMA has none. */
int fa3_type_tensor_map_code(fa3_type type);
int fa3_type_is_integer(fa3_type type);

#endif /* FA3_LIB_RUNTIME_SUPPORT_H */
