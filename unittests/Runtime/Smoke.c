/* SPDX-License-Identifier: Apache-2.0 */
/* A C program that embeds the runtime: reads a manifest, asks about it and gets
 * errors as values. Needs no driver. */

#include "fa3/Runtime/fa3_runtime.h"

#include <stdio.h>
#include <string.h>

static const char manifest[] =
    "{\"schema\": 1, \"producer\": \"by hand\", \"function\": \"twice\","
    " \"chip\": \"sm_90a\", \"ptx_isa\": \"9.0\","
    " \"args\": [{\"name\": \"x\", \"kind\": \"tensor\", \"type\": \"f32\","
    "             \"dims\": [\"n\"], \"access\": \"readwrite\"}],"
    " \"requires\": [{\"that\": \"x.shape[0] % 4 == 0\","
    "                 \"message\": \"length is no multiple of 4\"}],"
    " \"launches\": [{\"kernel\": \"twice\", \"grid\": \"ceildiv(x.shape[0], "
    "128)\","
    "   \"block\": 128, \"smem\": 0,"
    "   \"args\": [{\"kind\": \"pointer\", \"source\": \"x\"},"
    "              {\"kind\": \"i64\", \"value\": \"x.shape[0]\"}]}],"
    " \"workspaces\": [], \"flops\": \"x.shape[0]\","
    " \"bytes\": \"8 * x.shape[0]\", \"ptx_hash\": \"0\"}";

#define CHECK(condition)                                                       \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition,               \
              status.message);                                                 \
      return 1;                                                                \
    }                                                                          \
  } while (0)

int main(void) {
  fa3_status status;
  memset(&status, 0, sizeof(status));
  CHECK(fa3_runtime_abi() == FA3_RUNTIME_ABI);

  fa3_program *program;
  CHECK(fa3_program_parse(manifest, sizeof(manifest) - 1, 132, &program,
                          &status) == FA3_OK);
  CHECK(!strcmp(fa3_program_function(program), "twice"));

  float data[512];
  int64_t shape[] = {512}, value;
  fa3_arg x = fa3_tensor(FA3_F32, data, 1, shape, NULL);
  CHECK(fa3_validate(program, &x, 1, &status) == FA3_OK);
  CHECK(fa3_evaluate(program, FA3_BYTES, &x, 1, &value, &status) == FA3_OK);
  CHECK(value == 4096);
  CHECK(fa3_evaluate_grid(program, 0, &x, 1, &value, &status) == FA3_OK);
  CHECK(value == 4);

  x.shape[0] = 510;
  CHECK(fa3_validate(program, &x, 1, &status) == FA3_ERROR_REQUIREMENT);
  CHECK(strstr(status.message, "length is no multiple of 4"));
  CHECK(fa3_launch(program, &x, 1, NULL, &status) == FA3_ERROR_REQUIREMENT);

  /* PTX that the manifest was not written for is refused before any driver. */
  static const char ptx[] = ".version 9.0";
  fa3_program *loaded;
  CHECK(fa3_program_load(manifest, sizeof(manifest) - 1, ptx, sizeof(ptx) - 1,
                         FA3_IMAGE_PTX, &loaded,
                         &status) == FA3_ERROR_MISMATCH);
  CHECK(loaded == NULL);
  CHECK(fa3_program_destroy(program, &status) == FA3_OK);
  puts("ok");
  return 0;
}
