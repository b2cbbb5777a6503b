/*===- ManifestReader.h - reading of manifests ---------------------*- C -*-===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Private to the files that turn JSON into a program. Functions that return int
 * return 0, and those that return a pointer null, after setting the error of
 * the reader; its message names the field, such as "launches[0].args[2].box".
 *===----------------------------------------------------------------------===*/

#ifndef FA3_LIB_RUNTIME_MANIFESTREADER_H
#define FA3_LIB_RUNTIME_MANIFESTREADER_H

#include "Json.h"
#include "Program.h"

typedef struct fa3_reader {
  fa3_program *program;
  fa3_arena *arena;  /* of the program */
  fa3_param *params; /* of the program, still mutable */
  fa3_code code;
  fa3_status *status;
} fa3_reader;

/* The name of a field for messages. */
const char *fa3_field(fa3_reader *r, const char *format, ...) FA3_PRINTF(2, 3);
/* Always returns 0. */
int fa3_wrong(fa3_reader *r, const char *where, const char *what);

/* Checks that `value` is an object with no other members than `keys`. */
int fa3_read_object(fa3_reader *r, const fa3_json *value, const char *where,
                    const char *const *keys);
/* Members that must be there; each sets *field to the member's name. */
const fa3_json *fa3_read_member(fa3_reader *r, const fa3_json *object,
                                const char *where, const char *key,
                                const char **field);
const char *fa3_read_string(fa3_reader *r, const fa3_json *object,
                            const char *where, const char *key,
                            const char **field);
const fa3_json *fa3_read_array(fa3_reader *r, const fa3_json *object,
                               const char *where, const char *key, size_t limit,
                               const char **field);
int fa3_read_integer(fa3_reader *r, const fa3_json *object, const char *where,
                     const char *key, int64_t low, int64_t high,
                     int64_t *result);
/* The element type in member `type`. */
int fa3_read_type(fa3_reader *r, const fa3_json *object, const char *where,
                  fa3_type *type);

int fa3_check_integer(fa3_reader *r, const fa3_json *value, const char *where,
                      int64_t low, int64_t high);
int fa3_compile_field(fa3_reader *r, const fa3_json *value, const char *field,
                      fa3_formula *formula);
/* Zeroed memory of the program. */
void *fa3_reader_array(fa3_reader *r, size_t count, size_t size);

/* Whether a name is one that formulas can use and none of the first `count`
 * parameters has. */
int fa3_check_name(fa3_reader *r, const char *name, const char *field,
                   const fa3_param *params, size_t count);

/* Member `workspaces`. */
int fa3_read_workspaces(fa3_reader *r, const fa3_json *top);
/* Member `launches`. */
int fa3_read_launches(fa3_reader *r, const fa3_json *top);

#endif /* FA3_LIB_RUNTIME_MANIFESTREADER_H */
