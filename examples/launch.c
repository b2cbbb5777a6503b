/* SPDX-License-Identifier: Apache-2.0 */
/* Launches the kernel of causal_gqa.mlir from C.
 *
 *   fa3-translate --mlir-to-ptx causal_gqa.mlir -o causal_gqa.ptx \
 *     --pass-pipeline='builtin.module(fa3-lower-to-nvvm-pipeline)'
 *   cc -I include launch.c lib/Runtime/[A-Z]*.c -ldl -o launch
 *   ./launch causal_gqa.json causal_gqa.ptx 1 2048
 *
 * Without a GPU it says what a launch would be. */
#include "fa3/Runtime/fa3_runtime.h"

#include <stdio.h>
#include <stdlib.h>

enum { QUERY_HEADS = 32, KEY_HEADS = 8, HEAD_DIM = 128, NUM_ARGS = 5 };

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return NULL;
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char *text = malloc(*size + 1);
  if (text && fread(text, 1, *size, file) != *size) {
    free(text);
    text = NULL;
  }
  fclose(file);
  return text;
}

static int fail(const fa3_status *status) {
  fprintf(stderr, "launch: %s: %s\n", fa3_code_name(status->code),
          status->message);
  return 1;
}

/* q, k, v, o, lse: bf16 and f32, contiguous, at these addresses. */
static void make_args(fa3_arg *args, int64_t batch, int64_t length,
                      void *const *data) {
  int64_t query[] = {batch, QUERY_HEADS, length, HEAD_DIM};
  int64_t key[] = {batch, KEY_HEADS, length, HEAD_DIM};
  args[0] = fa3_tensor(FA3_BF16, data[0], 4, query, NULL);
  args[1] = fa3_tensor(FA3_BF16, data[1], 4, key, NULL);
  args[2] = fa3_tensor(FA3_BF16, data[2], 4, key, NULL);
  args[3] = fa3_tensor(FA3_BF16, data[3], 4, query, NULL);
  args[4] = fa3_tensor(FA3_F32, data[4], 3, query, NULL);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fprintf(stderr, "launch: expects manifest, PTX, batch and length\n");
    return 2;
  }
  size_t manifest_size, ptx_size;
  char *manifest = read_file(argv[1], &manifest_size);
  char *ptx = read_file(argv[2], &ptx_size);
  if (!manifest || !ptx) {
    fprintf(stderr, "launch: cannot read %s\n", argv[manifest ? 2 : 1]);
    return 1;
  }
  int64_t batch = atoll(argv[3]), length = atoll(argv[4]);

  /* What the manifest says needs neither driver nor memory. */
  fa3_status status;
  fa3_program *program;
  fa3_arg args[NUM_ARGS];
  void *data[NUM_ARGS] = {NULL};
  int64_t flops, blocks;
  make_args(args, batch, length, data);
  if (fa3_program_parse(manifest, manifest_size, 132, &program, &status) ||
      fa3_program_check_ptx(program, ptx, ptx_size, &status) ||
      fa3_evaluate(program, FA3_FLOPS, args, NUM_ARGS, &flops, &status) ||
      fa3_evaluate_grid(program, 0, args, NUM_ARGS, &blocks, &status))
    return fail(&status);
  printf("%s: %lld blocks, %lld operations\n", fa3_program_function(program),
         (long long)blocks, (long long)flops);
  if (fa3_program_destroy(program, &status))
    return fail(&status);

  /* With a device: memory, code, launch. */
  int32_t devices;
  if (fa3_device_count(&devices, &status) || devices == 0) {
    printf("no device: not launched\n");
    return 0;
  }
  size_t rows = (size_t)(batch * length), row = HEAD_DIM * 2;
  size_t sizes[NUM_ARGS] = {rows * QUERY_HEADS * row, rows * KEY_HEADS * row,
                            rows * KEY_HEADS * row, rows * QUERY_HEADS * row,
                            rows * QUERY_HEADS * 4};
  if (fa3_device_initialize(0, &status))
    return fail(&status);
  for (int i = 0; i < NUM_ARGS; ++i) {
    fa3_device_address address;
    if (fa3_device_alloc(sizes[i], &address, &status) ||
        fa3_device_fill(address, 0, sizes[i], &status))
      return fail(&status);
    data[i] = (void *)(uintptr_t)address;
  }
  make_args(args, batch, length, data);
  float lse;
  if (fa3_program_load(manifest, manifest_size, ptx, ptx_size, FA3_IMAGE_PTX,
                       &program, &status) ||
      fa3_launch(program, args, NUM_ARGS, /*stream=*/NULL, &status) ||
      fa3_device_synchronize(&status) ||
      fa3_device_download(&lse, (fa3_device_address)(uintptr_t)data[4], 4,
                          &status))
    return fail(&status);
  /* All scores are 0 and the first query sees one key: ln(exp(0)). */
  printf("launched: lse of the first query is %g\n", lse);
  fa3_program_destroy(program, &status);
  free(manifest);
  free(ptx);
  return 0;
}
