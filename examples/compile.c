/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a module in the process and launches its kernel: libfa3.so, the
 * compiler, and libfa3_runtime.so. Needs no CUDA toolkit.
 *
 *   cc -I include compile.c -L build/lib -lfa3 -lfa3_runtime -o compile
 *   ./compile causal_gqa.mlir 1 2048
 *
 * The module is one on q, k, v, o and lse like causal_gqa.mlir. On a machine
 * without a GPU a small problem is run in the interpreter. */
#include "fa3-c/Compiler.h"
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
  fprintf(stderr, "compile: %s: %s\n", fa3_code_name(status->code),
          status->message);
  return 1;
}

/* q, k, v, o, lse: bf16 and f32, contiguous, at these addresses. Gives their
 * sizes in bytes. */
static void make_args(fa3_arg *args, size_t *sizes, int64_t batch,
                      int64_t length, void *const *data) {
  int64_t query[] = {batch, QUERY_HEADS, length, HEAD_DIM};
  int64_t key[] = {batch, KEY_HEADS, length, HEAD_DIM};
  args[0] = fa3_tensor(FA3_BF16, data[0], 4, query, NULL);
  args[1] = fa3_tensor(FA3_BF16, data[1], 4, key, NULL);
  args[2] = fa3_tensor(FA3_BF16, data[2], 4, key, NULL);
  args[3] = fa3_tensor(FA3_BF16, data[3], 4, query, NULL);
  args[4] = fa3_tensor(FA3_F32, data[4], 3, query, NULL);
  for (int i = 0; i < NUM_ARGS; ++i) {
    sizes[i] = fa3_type_size(args[i].type);
    for (int dim = 0; dim < args[i].rank; ++dim)
      sizes[i] *= (size_t)args[i].shape[dim];
  }
}

/* Scores are 0 everywhere, so a query that sees n keys has lse = ln(n). */
static int run_on_cpu(const char *text, size_t size) {
  const int64_t length = 4;
  void *data[NUM_ARGS] = {NULL};
  fa3_arg args[NUM_ARGS];
  size_t sizes[NUM_ARGS];
  make_args(args, sizes, 1, length, data);
  for (int i = 0; i < NUM_ARGS; ++i)
    if (!(data[i] = calloc(1, sizes[i])))
      return 1;
  make_args(args, sizes, 1, length, data);
  fa3_result *result;
  fa3_outcome outcome =
      fa3_interpret(text, size, NULL, NULL, args, NUM_ARGS, &result);
  fprintf(stderr, "%s", fa3_result_diagnostics(result));
  fa3_result_destroy(result);
  if (outcome != FA3_DONE)
    return 1;
  const float *lse = data[4];
  printf("no device; in the interpreter: lse %.4f %.4f %.4f %.4f\n", lse[0],
         lse[1], lse[2], lse[3]);
  for (int i = 0; i < NUM_ARGS; ++i)
    free(data[i]);
  return 0;
}

static int launch(const fa3_result *code, int64_t batch, int64_t length) {
  fa3_status status;
  fa3_arg args[NUM_ARGS];
  void *data[NUM_ARGS] = {NULL};
  size_t sizes[NUM_ARGS], manifest_size, ptx_size;
  make_args(args, sizes, batch, length, data);
  if (fa3_device_initialize(0, &status))
    return fail(&status);
  for (int i = 0; i < NUM_ARGS; ++i) {
    fa3_device_address address;
    if (fa3_device_alloc(sizes[i], &address, &status) ||
        fa3_device_fill(address, 0, sizes[i], &status))
      return fail(&status);
    data[i] = (void *)(uintptr_t)address;
  }
  make_args(args, sizes, batch, length, data);
  const char *manifest = fa3_result_manifest(code, &manifest_size);
  const char *ptx = fa3_result_ptx(code, &ptx_size);
  fa3_program *program;
  float lse[2];
  if (fa3_program_load(manifest, manifest_size, ptx, ptx_size, FA3_IMAGE_PTX,
                       &program, &status) ||
      fa3_launch(program, args, NUM_ARGS, /*stream=*/NULL, &status) ||
      fa3_device_synchronize(&status) ||
      fa3_device_download(lse, (fa3_device_address)(uintptr_t)data[4],
                          sizeof lse, &status))
    return fail(&status);
  printf("launched: lse of the first two queries %.4f %.4f\n", lse[0], lse[1]);
  for (int i = 0; i < NUM_ARGS; ++i)
    fa3_device_free((fa3_device_address)(uintptr_t)data[i], &status);
  return fa3_program_destroy(program, &status) ? fail(&status) : 0;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "compile: expects a module, batch and length\n");
    return 2;
  }
  size_t size;
  char *text = read_file(argv[1], &size);
  if (!text) {
    fprintf(stderr, "compile: cannot read %s\n", argv[1]);
    return 1;
  }
  fa3_options options = {.size = sizeof options, .source_name = argv[1]};
  fa3_result *code;
  fa3_outcome outcome = fa3_compile(text, size, &options, &code);
  /* Remarks and warnings too. */
  fprintf(stderr, "%s", fa3_result_diagnostics(code));
  int status = 1;
  if (outcome == FA3_DONE) {
    size_t ptx_size;
    fa3_result_ptx(code, &ptx_size);
    printf("fa3 %s: %zu bytes of PTX\n", fa3_version(), ptx_size);
    int32_t devices;
    if (fa3_device_count(&devices, NULL) || devices == 0)
      status = run_on_cpu(text, size);
    else
      status = launch(code, atoll(argv[2]), atoll(argv[3]));
  }
  fa3_result_destroy(code);
  free(text);
  return status;
}
