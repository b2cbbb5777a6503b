/*===- HostCopies.c - arrays in host memory -------------------------------===*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Copies around a launch. Arrays may be parts of one, q, k and v of one packed
 * array for instance, also where they are written: what overlaps in host memory
 * is one piece of device memory.
 *===----------------------------------------------------------------------===*/

#include "Host.h"
#include "Support.h"

#include <inttypes.h>
#include <stdlib.h>

/* Host memory from the first to the last byte of some arrays. */
typedef struct piece {
  uintptr_t begin, end;
  int is_written;
  fa3_device_address address;
} piece;

/* Where the elements of an array are; the end is the begin if it has none. */
static fa3_code measure(const fa3_arg *arg, size_t index, piece *result,
                        fa3_status *status) {
  int64_t last = 0, bytes;
  int is_empty = 0;
  result->begin = result->end = (uintptr_t)arg->value.data;
  for (int32_t d = 0; d < arg->rank; ++d) {
    int64_t extent;
    if (arg->shape[d] < 0 || arg->stride[d] < 0)
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument %zu: extent %" PRId64 " and stride %" PRId64
                      " of dimension %d: both must be at least 0",
                      index, arg->shape[d], arg->stride[d], (int)d);
    is_empty |= arg->shape[d] == 0;
    if (arg->shape[d] > 0 &&
        (__builtin_mul_overflow(arg->shape[d] - 1, arg->stride[d], &extent) ||
         __builtin_add_overflow(last, extent, &last)))
      return fa3_fail(status, FA3_ERROR_ARGUMENT,
                      "argument %zu: more than 2^63 bytes", index);
  }
  if (is_empty)
    return FA3_OK;
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, (int64_t)fa3_type_size(arg->type), &bytes) ||
      __builtin_add_overflow(result->begin, (uintptr_t)bytes, &result->end))
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "argument %zu: more than 2^63 bytes", index);
  return FA3_OK;
}

static int compare(const void *x, const void *y) {
  const piece *a = x, *b = y;
  return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* Joins pieces that overlap; gives the number that are left. */
static size_t join(piece *pieces, size_t count) {
  size_t left = 0;
  qsort(pieces, count, sizeof(*pieces), compare);
  for (size_t i = 0; i < count; ++i) {
    if (pieces[i].begin == pieces[i].end)
      continue;
    if (left && pieces[i].begin < pieces[left - 1].end) {
      if (pieces[i].end > pieces[left - 1].end)
        pieces[left - 1].end = pieces[i].end;
      pieces[left - 1].is_written |= pieces[i].is_written;
    } else {
      pieces[left++] = pieces[i];
    }
  }
  return left;
}

/* Pieces keep their place modulo this, so that an array is aligned on the
 * device as it is on the host. */
enum { ALIGNMENT = 256 };

static fa3_device_address place(const piece *p) {
  return p->address + p->begin % ALIGNMENT;
}

static fa3_code copy_in(piece *pieces, size_t count, size_t *made,
                        fa3_status *status) {
  for (size_t i = 0; i < count; ++i) {
    piece *p = &pieces[i];
    size_t size = p->end - p->begin;
    fa3_code code = fa3_device_alloc(size + ALIGNMENT, &p->address, status);
    if (code != FA3_OK)
      return code;
    ++*made;
    /* Also what is only written: elements between its rows stay. */
    code = fa3_device_upload(place(p), (const void *)p->begin, size, status);
    if (code != FA3_OK)
      return code;
  }
  return FA3_OK;
}

static fa3_code copy_out(const piece *pieces, size_t count,
                         fa3_status *status) {
  for (size_t i = 0; i < count; ++i) {
    const piece *p = &pieces[i];
    fa3_code code = FA3_OK;
    if (p->is_written)
      code = fa3_device_download((void *)p->begin, place(p), p->end - p->begin,
                                 status);
    if (code != FA3_OK)
      return code;
  }
  return FA3_OK;
}

fa3_code fa3_host_launch_copied(const fa3_program *program, const fa3_arg *args,
                                size_t num_args, void *stream,
                                fa3_code (*launch)(void *user,
                                                   const fa3_arg *args,
                                                   fa3_status *status),
                                void *user, fa3_status *status) {
  size_t count = 0, made = 0;
  fa3_code code = FA3_OK;
  if (num_args != fa3_program_num_args(program))
    return fa3_fail(status, FA3_ERROR_ARGUMENT,
                    "expects %zu arguments, got %zu",
                    fa3_program_num_args(program), num_args);
  piece *pieces = calloc(num_args + 1, sizeof(*pieces));
  fa3_arg *copies = calloc(num_args + 1, sizeof(*copies));
  if (!pieces || !copies)
    code = fa3_fail_memory(status);
  for (size_t i = 0; i < num_args && code == FA3_OK; ++i) {
    fa3_arg_info info;
    copies[i] = args[i];
    if (args[i].kind != FA3_TENSOR)
      continue;
    code = fa3_program_arg_info(program, i, &info, status);
    if (code == FA3_OK)
      code = measure(&args[i], i, &pieces[count], status);
    if (code == FA3_OK)
      pieces[count++].is_written = info.access != FA3_READ;
  }
  if (code == FA3_OK) {
    count = join(pieces, count);
    code = copy_in(pieces, count, &made, status);
  }
  for (size_t i = 0; i < num_args && code == FA3_OK; ++i)
    for (size_t j = 0; j < count && args[i].kind == FA3_TENSOR; ++j) {
      uintptr_t data = (uintptr_t)args[i].value.data;
      if (pieces[j].begin <= data && data < pieces[j].end)
        copies[i].value.data =
            (void *)(uintptr_t)(place(&pieces[j]) + (data - pieces[j].begin));
    }
  if (code == FA3_OK)
    code = launch(user, copies, status);
  if (code == FA3_OK)
    code = fa3_device_stream_synchronize(stream, status);
  if (code == FA3_OK)
    code = copy_out(pieces, count, status);
  for (size_t i = 0; i < made; ++i) {
    fa3_status other;
    fa3_code freed =
        fa3_device_free(pieces[i].address, code == FA3_OK ? status : &other);
    code = code == FA3_OK ? freed : code;
  }
  free(pieces);
  free(copies);
  return code;
}
