/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers that upstream's gpu-to-llvm calls, on the CPU: memory is that of
 * the host, and the kernels of launch-func.mlir are the functions below. It
 * says what is launched. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int holds, const char *what) {
  if (!holds) {
    printf("wrappers: expects %s\n", what);
    ++failures;
  }
}

/* Tiles of 128 elements. Extents follow addresses, for bounds. */
static void scale(int64_t tiles, void **args) {
  const float *x = *(float **)args[0];
  int32_t n = *(int32_t *)args[1];
  float a = *(float *)args[2];
  float *w = *(float **)args[3];
  expect(*(int32_t *)args[4] == n, "arrays of one length");
  for (int64_t i = 0; i < tiles * 128 && i < n; ++i)
    w[i] = a * x[i];
}

static void add(int64_t tiles, void **args) {
  const float *w = *(float **)args[0];
  int32_t n = *(int32_t *)args[1];
  float *y = *(float **)args[2];
  expect(*(int32_t *)args[3] == n, "arrays of one length");
  for (int64_t i = 0; i < tiles * 128 && i < n; ++i)
    y[i] += w[i];
}

void *mgpuModuleLoadJIT(void *data, int optLevel) {
  (void)optLevel;
  expect(strstr(data, ".target sm_90a") != NULL, "PTX for sm_90a");
  return data;
}
void mgpuModuleUnload(void *module) { (void)module; }
void *mgpuModuleGetFunction(void *module, const char *name) {
  char entry[64];
  snprintf(entry, sizeof(entry), ".entry %s(", name);
  expect(strstr(module, entry) != NULL, "kernels that are in the PTX");
  return (void *)name;
}
void *mgpuStreamCreate(void) { return malloc(1); }
void mgpuStreamDestroy(void *stream) { free(stream); }
void mgpuStreamSynchronize(void *stream) { (void)stream; }
void *mgpuMemAlloc(uint64_t size, void *stream, int isHostShared) {
  expect(stream != NULL && !isHostShared, "memory of the device");
  printf("alloc %llu\n", (unsigned long long)size);
  return malloc(size);
}
void mgpuMemFree(void *memory, void *stream) {
  (void)stream;
  printf("free\n");
  free(memory);
}
void mgpuLaunchKernel(void *function, intptr_t gridX, intptr_t gridY,
                      intptr_t gridZ, intptr_t blockX, intptr_t blockY,
                      intptr_t blockZ, int32_t smem, void *stream, void **args,
                      void **extra, size_t count) {
  (void)stream;
  (void)extra;
  const char *name = function;
  expect(gridX > 0 && gridY == 1 && gridZ == 1 && blockY == 1 && blockZ == 1,
         "blocks and threads in one dimension");
  printf("launch %s: %ld blocks of %ld threads, %d bytes, %zu arguments\n",
         name, (long)gridX, (long)blockX, smem, count);
  if (!strcmp(name, "scale"))
    scale(gridX, args);
  else
    add(gridX, args);
  if (failures)
    abort();
}
