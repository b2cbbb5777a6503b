/*===- Json.h - strict JSON reader ---------------------------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private: parses a JSON text (RFC 8259) into a tree. Stricter than the RFC:
 * keys of an object are unique, strings hold no zero character, nesting and
 * the number of members of an object are bounded.
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_RUNTIME_JSON_H
#define FA3_LIB_RUNTIME_JSON_H

#include "Support.h"

typedef enum fa3_json_type {
  FA3_JSON_NULL,
  FA3_JSON_BOOL,
  FA3_JSON_INTEGER, /* a number without fraction that fits 64 bits */
  FA3_JSON_NUMBER,  /* any other number; its value is not kept */
  FA3_JSON_STRING,
  FA3_JSON_ARRAY,
  FA3_JSON_OBJECT
} fa3_json_type;

typedef struct fa3_json {
  fa3_json_type type;
  const char *key;    /* of a member of an object, else null */
  int64_t integer;    /* INTEGER; 0 or 1 for BOOL */
  const char *string; /* STRING: valid UTF-8, zero-terminated */
  size_t count;       /* ARRAY, OBJECT */
  struct fa3_json *first, *next;
} fa3_json;

/* Returns null after filling `status`. The tree lives in `arena`. */
const fa3_json *fa3_json_parse(const char *text, size_t size, fa3_arena *arena,
                               fa3_status *status);

/* The member of an object, or null. */
const fa3_json *fa3_json_member(const fa3_json *object, const char *key);

/* "a string", "an object", ... for messages. */
const char *fa3_json_describe(const fa3_json *value);

#endif /* FA3_LIB_RUNTIME_JSON_H */
