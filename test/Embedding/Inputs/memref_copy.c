/* SPDX-License-Identifier: Apache-2.0 */
/* What code of MLIR calls to copy arrays that are not contiguous. MLIR's own is
 * in a library that needs all of LLVM; a model that travels has this one. */
#include <stdint.h>
#include <string.h>

typedef struct {
  int64_t rank;
  void *descriptor;
} unranked;

/* (allocated, aligned, offset, sizes.., strides..) */
typedef struct {
  char *allocated, *aligned;
  int64_t offset, numbers[];
} strided;

static void copy(int64_t dims, int64_t bytes, const int64_t *sizes,
                 const char *from, const int64_t *from_strides, char *to,
                 const int64_t *to_strides) {
  if (dims == 0) {
    memcpy(to, from, (size_t)bytes);
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i)
    copy(dims - 1, bytes, sizes + 1, from + i * from_strides[0] * bytes,
         from_strides + 1, to + i * to_strides[0] * bytes, to_strides + 1);
}

void memrefCopy(int64_t bytes, unranked *source, unranked *target) {
  strided *from = source->descriptor, *to = target->descriptor;
  int64_t rank = source->rank;
  copy(rank, bytes, from->numbers, from->aligned + from->offset * bytes,
       from->numbers + rank, to->aligned + to->offset * bytes,
       to->numbers + rank);
}
